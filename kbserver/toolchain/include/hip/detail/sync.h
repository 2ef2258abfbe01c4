// Barriers and memory fences.
#pragma once

#include "qualifiers.h"

// Release before, acquire after, both at workgroup scope: LDS and global writes of every wavefront
// of the workgroup are visible past the barrier. The compiler places the waits for what it issued
// itself. It cannot see loads issued by inline assembly: those need their own s_waitcnt first.
__KB_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__KB_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__KB_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__KB_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// The 64 lanes of a wavefront run in lockstep, so nothing is executed; the fence keeps the compiler
// from moving memory accesses across the point. A partial mask cannot be honoured and is ignored.
__KB_DEVICE void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

__KB_DEVICE long long clock64() { return (long long)__builtin_readcyclecounter(); }
__KB_DEVICE long long wall_clock64() { return (long long)__builtin_readsteadycounter(); }
