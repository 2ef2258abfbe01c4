// Cross-lane operations of a 64-lane wavefront: shuffles, votes, lane numbers.
//
// Shuffles go through ds_bpermute_b32: any lane may read any lane, at LDS latency but without LDS
// space. Reading a lane that is switched off (EXEC bit 0) gives 0 on the hardware, as in HIP an
// undefined value: call them in converged code.
#pragma once

#include "qualifiers.h"

// A constant, not a runtime query: gfx9 wavefronts have 64 lanes.
static constexpr int warpSize = 64;

__KB_DEVICE unsigned __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

// ---- moving one value -------------------------------------------------------------------------

template <typename T>
__KB_DEVICE T __kb_read_lane(T value, int lane) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                "shuffles move values of 2, 4 or 8 bytes");
  static_assert(__is_trivially_copyable(T), "shuffles move plain data");
  const int address = lane << 2;  // ds_bpermute counts bytes and wraps at 64 lanes
  T out;
  if constexpr (sizeof(T) == 2) {
    const int word = __builtin_amdgcn_ds_bpermute(address, __builtin_bit_cast(short, value));
    out = __builtin_bit_cast(T, (short)word);
  } else if constexpr (sizeof(T) == 4) {
    const int word = __builtin_amdgcn_ds_bpermute(address, __builtin_bit_cast(int, value));
    out = __builtin_bit_cast(T, word);
  } else {
    const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
    const unsigned low = (unsigned)__builtin_amdgcn_ds_bpermute(address, (int)(unsigned)bits);
    const unsigned high = (unsigned)__builtin_amdgcn_ds_bpermute(address, (int)(bits >> 32));
    out = __builtin_bit_cast(T, ((unsigned long long)high << 32) | low);
  }
  return out;
}

// A width of 2, 4, .. 64 splits the wavefront into groups of that many lanes; a source outside the
// group leaves the lane's own value. `var` is what HIP calls it in its own prototypes.
template <typename T>
__KB_DEVICE T __shfl(T var, int src_lane, int width = warpSize) {
  const int self = (int)__lane_id();
  return __kb_read_lane(var, (src_lane & (width - 1)) + (self & ~(width - 1)));
}

template <typename T>
__KB_DEVICE T __shfl_up(T var, unsigned delta, int width = warpSize) {
  const int self = (int)__lane_id();
  const int source = self - (int)delta;
  return __kb_read_lane(var, source < (self & ~(width - 1)) ? self : source);
}

template <typename T>
__KB_DEVICE T __shfl_down(T var, unsigned delta, int width = warpSize) {
  const int self = (int)__lane_id();
  const int inside = (self & (width - 1)) + (int)delta;
  return __kb_read_lane(var, inside >= width ? self : self + (int)delta);
}

template <typename T>
__KB_DEVICE T __shfl_xor(T var, int lane_mask, int width = warpSize) {
  const int self = (int)__lane_id();
  const int source = self ^ lane_mask;
  return __kb_read_lane(var, source >= ((self + width) & ~(width - 1)) ? self : source);
}

// The _sync forms of newer HIP take a 64-bit mask. gfx9 has no hardware for a partial mask, so the
// mask only promises that the named lanes are converged, which it does not check.
template <typename T>
__KB_DEVICE T __shfl_sync(unsigned long long, T var, int src_lane, int width = warpSize) {
  return __shfl(var, src_lane, width);
}
template <typename T>
__KB_DEVICE T __shfl_up_sync(unsigned long long, T var, unsigned delta, int width = warpSize) {
  return __shfl_up(var, delta, width);
}
template <typename T>
__KB_DEVICE T __shfl_down_sync(unsigned long long, T var, unsigned delta, int width = warpSize) {
  return __shfl_down(var, delta, width);
}
template <typename T>
__KB_DEVICE T __shfl_xor_sync(unsigned long long, T var, int lane_mask, int width = warpSize) {
  return __shfl_xor(var, lane_mask, width);
}

// ---- votes ------------------------------------------------------------------------------------

// One bit per lane that is switched on and whose predicate is non-zero: 64 bits, never 32.
__KB_DEVICE unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0);
}
__KB_DEVICE unsigned long long __ballot64(int predicate) { return __ballot(predicate); }
__KB_DEVICE unsigned long long __activemask() { return __ballot(1); }
__KB_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
__KB_DEVICE int __all(int predicate) { return __ballot(predicate == 0) == 0; }

__KB_DEVICE unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
  return __ballot(predicate) & mask;
}
__KB_DEVICE int __any_sync(unsigned long long mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
__KB_DEVICE int __all_sync(unsigned long long mask, int predicate) {
  return __ballot_sync(mask, predicate == 0) == 0;
}
