// Atomics with HIP's contract: relaxed order, device (agent) scope, the old value returned.
// The _system forms widen the scope, the _block forms narrow it to the workgroup.
//
// The clang __hip_atomic_* builtins work directly and are what these are made of.
#pragma once

#include "qualifiers.h"

#define __KB_RMW(name, builtin, T)                                                             \
  __KB_DEVICE T name(T *address, T value) {                                                    \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                \
  }                                                                                            \
  __KB_DEVICE T name##_system(T *address, T value) {                                           \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);               \
  }                                                                                            \
  __KB_DEVICE T name##_block(T *address, T value) {                                            \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);            \
  }

#define __KB_RMW_INTEGER(T)                              \
  __KB_RMW(atomicAdd, __hip_atomic_fetch_add, T)         \
  __KB_RMW(atomicMin, __hip_atomic_fetch_min, T)         \
  __KB_RMW(atomicMax, __hip_atomic_fetch_max, T)         \
  __KB_RMW(atomicAnd, __hip_atomic_fetch_and, T)         \
  __KB_RMW(atomicOr, __hip_atomic_fetch_or, T)           \
  __KB_RMW(atomicXor, __hip_atomic_fetch_xor, T)         \
  __KB_RMW(atomicExch, __hip_atomic_exchange, T)

__KB_RMW_INTEGER(int)
__KB_RMW_INTEGER(unsigned)
__KB_RMW_INTEGER(unsigned long)
__KB_RMW_INTEGER(long long)
__KB_RMW_INTEGER(unsigned long long)
// Floating point add becomes the hardware instruction where the target has it, by clang's rule for
// HIP that atomics are on coarse-grained device memory; min and max of float become a
// compare-and-swap loop. The order of a sum is not fixed.
__KB_RMW(atomicAdd, __hip_atomic_fetch_add, float)
__KB_RMW(atomicAdd, __hip_atomic_fetch_add, double)
__KB_RMW(atomicExch, __hip_atomic_exchange, float)
__KB_RMW(atomicExch, __hip_atomic_exchange, double)
__KB_RMW(atomicMin, __hip_atomic_fetch_min, float)
__KB_RMW(atomicMax, __hip_atomic_fetch_max, float)
__KB_RMW(atomicMin, __hip_atomic_fetch_min, double)
__KB_RMW(atomicMax, __hip_atomic_fetch_max, double)
#undef __KB_RMW_INTEGER
#undef __KB_RMW

#define __KB_SUB(T)                                                                            \
  __KB_DEVICE T atomicSub(T *address, T value) {                                               \
    return __hip_atomic_fetch_add(address, (T)(0 - value), __ATOMIC_RELAXED,                   \
                                  __HIP_MEMORY_SCOPE_AGENT);                                   \
  }
__KB_SUB(int)
__KB_SUB(unsigned)
__KB_SUB(unsigned long)
__KB_SUB(long long)
__KB_SUB(unsigned long long)
__KB_SUB(float)
__KB_SUB(double)
#undef __KB_SUB

#define __KB_CAS(T)                                                                            \
  __KB_DEVICE T atomicCAS(T *address, T compare, T value) {                                    \
    __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED,           \
                                         __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);          \
    return compare;                                                                            \
  }
__KB_CAS(int)
__KB_CAS(unsigned)
__KB_CAS(unsigned long)
__KB_CAS(long long)
__KB_CAS(unsigned long long)
__KB_CAS(float)
__KB_CAS(double)
#undef __KB_CAS

// Wrapping counters: inc returns to 0 past the limit, dec returns to the limit past 0.
__KB_DEVICE unsigned atomicInc(unsigned *address, unsigned limit) {
  return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
__KB_DEVICE unsigned atomicDec(unsigned *address, unsigned limit) {
  return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}

// "Unsafe" in HIP's sense: always the hardware instruction, which is only right for memory that the
// GPU caches coarsely (ordinary hipMalloc memory, LDS); on fine-grained memory it may be lost.
__KB_DEVICE float unsafeAtomicAdd(float *address, float value) {
  [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {
    return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}
__KB_DEVICE double unsafeAtomicAdd(double *address, double value) {
  [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {
    return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}
