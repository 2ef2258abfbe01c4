// Function, memory and launch qualifiers of the HIP language as clang attributes.
#pragma once

#if !defined(__HIP__) || !defined(__HIP_DEVICE_COMPILE__) || !defined(__AMDGCN__)
#error "these headers serve device-only HIP compiles: clang -x hip --cuda-device-only --offload-arch=gfx9.."
#endif

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

// Dynamic LDS is an unsized extern array: its bytes are those given at launch.
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

// __launch_bounds__(N) and __launch_bounds__(N, W).
//
// N is written as amdgpu_flat_work_group_size because clang's own launch_bounds attribute, in a
// compile without the HIP headers, leaves .max_flat_workgroup_size at 1024: the register allocator
// then plans for 16 wavefronts in a workgroup and every occupancy figure of the build is wrong.
//
// W is, in HIP, the least number of wavefronts that should stay resident on each execution unit
// (SIMD), not CUDA's blocks per multiprocessor. amdgpu_waves_per_eu(W) says exactly that.
#define __KB_LAUNCH_BOUNDS_1(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __KB_LAUNCH_BOUNDS_2(n, w) \
  __attribute__((amdgpu_flat_work_group_size(1, n), amdgpu_waves_per_eu(w)))
#define __KB_LAUNCH_BOUNDS_PICK(_1, _2, chosen, ...) chosen
#define __launch_bounds__(...)                                                              \
  __KB_LAUNCH_BOUNDS_PICK(__VA_ARGS__, __KB_LAUNCH_BOUNDS_2, __KB_LAUNCH_BOUNDS_1, ) \
  (__VA_ARGS__)

// Everything below this line of headers is a small function that must vanish into its caller:
// there is no device library to link against, so nothing may stay a call.
#define __KB_DEVICE static __device__ inline __attribute__((always_inline))

#define __KB_LDS __attribute__((address_space(3)))
#define __KB_GLOBAL __attribute__((address_space(1)))
#define __KB_CONSTANT __attribute__((address_space(4)))
