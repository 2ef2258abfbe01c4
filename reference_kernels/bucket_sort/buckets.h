// What the passes share: which keys a thread has, prefix sums over a workgroup, and which lanes have the same key.
#pragma once
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace buckets {

constexpr int32_t THREADS = 256, LANES = 64, WAVES = THREADS / LANES;
constexpr int32_t ITEMS = 4;               // keys of a thread: loads in flight, and ranks that fit in registers
constexpr int32_t TILE = THREADS * ITEMS;  // keys of a workgroup; task files have it as 1024
constexpr int32_t COUNT = KB_BUCKETS;
static_assert(COUNT >= 1 && COUNT <= THREADS, "one thread a bucket in the prefix sums");

constexpr int32_t NOT_EQUAL = 33;  // LLVM's number of the predicate (CmpInst::ICMP_NE), for __builtin_amdgcn_uicmp

constexpr int32_t bits_of(int32_t highest) { return highest == 0 ? 0 : 1 + bits_of(highest / 2); }
constexpr int32_t BITS = bits_of(COUNT - 1);  // of a key

// Returns the place of key `item` of this thread within the tile: a wavefront owns 256 neighbouring keys and takes 64
// of them at a time, so that items, then lanes, are the order of the input. A stable rank needs that.
__device__ inline int32_t place_in_tile(int32_t item) {
    const int32_t thread = threadIdx.x;
    return thread / LANES * (LANES * ITEMS) + item * LANES + thread % LANES;
}

template <int32_t CONTROL, int32_t ROWS>
__device__ uint32_t plus_moved(uint32_t value) {
    // Lanes without a source add 0, the first operand.
    return value + __builtin_amdgcn_update_dpp(0, int32_t(value), CONTROL, ROWS, 0xf, false);
}

// Returns the sum over the lanes up to and including this one: six additions, no LDS.
__device__ inline uint32_t inclusive_in_wave(uint32_t value) {
    value = plus_moved<0x111, 0xf>(value);  // row_shr:1, then 2, 4, 8: within sixteen lanes
    value = plus_moved<0x112, 0xf>(value);
    value = plus_moved<0x114, 0xf>(value);
    value = plus_moved<0x118, 0xf>(value);
    value = plus_moved<0x142, 0xa>(value);  // row_bcast:15: row 0 into row 1, row 2 into row 3
    return plus_moved<0x143, 0xc>(value);  // row_bcast:31: the lower half into the upper
}

// Returns the sum over the threads before this one; *all is that of the workgroup. `totals` holds WAVES words of LDS
// that nobody else uses until the next barrier.
__device__ inline uint32_t exclusive_in_workgroup(uint32_t value, uint32_t* totals, uint32_t* all) {
    const uint32_t inclusive = inclusive_in_wave(value);
    const int32_t wave = threadIdx.x / LANES;
    if (threadIdx.x % LANES == LANES - 1) totals[wave] = inclusive;
    __syncthreads();
    uint32_t before = 0, sum = 0;
    for (int32_t i = 0; i < WAVES; ++i) {
        if (i < wave) before += totals[i];
        sum += totals[i];
    }
    *all = sum;
    return before + inclusive - value;
}

// Sets same[i] to the mask of lanes whose key `i` is this lane's: one ballot a bit, in which a lane keeps the side that
// it is on. In halves of 32 bits, because no vector instruction does logic on 64. All items together, bit by bit: a
// ballot is read some cycles after it was written, and the other items' instructions fill the gap.
__device__ inline void lanes_with(const uint32_t (&key)[ITEMS], const bool (&there)[ITEMS], uint64_t (&same)[ITEMS]) {
    uint32_t low[ITEMS], high[ITEMS];
    for (int32_t i = 0; i < ITEMS; ++i) {
        const uint64_t all = __builtin_amdgcn_ballot_w64(there[i]);
        low[i] = uint32_t(all);
        high[i] = uint32_t(all >> 32);
    }
    for (int32_t bit = 0; bit < BITS; ++bit) {
        for (int32_t i = 0; i < ITEMS; ++i) {
            const uint32_t own = int32_t(key[i] << (31 - bit)) >> 31;  // the bit, 32 times: v_bfe_i32
            // The comparison itself gives the mask. A ballot of `own != 0` took three instructions (clang 22).
            const uint64_t set = __builtin_amdgcn_uicmp(own, 0u, NOT_EQUAL);
            low[i] &= ~(uint32_t(set) ^ own);
            high[i] &= ~(uint32_t(set >> 32) ^ own);
        }
    }
    for (int32_t i = 0; i < ITEMS; ++i) same[i] = uint64_t{high[i]} << 32 | low[i];
}

// Returns how many lanes of `mask` are below this one.
__device__ inline uint32_t lanes_below(uint64_t mask) {
    return __builtin_amdgcn_mbcnt_hi(uint32_t(mask >> 32), __builtin_amdgcn_mbcnt_lo(uint32_t(mask), 0));
}

}  // namespace buckets
