// threadIdx, blockIdx, blockDim, gridDim.
//
// threadIdx and blockIdx come from registers that the hardware fills. blockDim and gridDim come
// from the implicit kernel arguments of code object version 5 and 6: three 32-bit workgroup counts
// at offset 0, three 16-bit workgroup sizes at offset 12. A launcher that passes only the explicit
// arguments must not run a kernel that reads them; the metadata lists them (hidden_block_count_x).
#pragma once

#include "qualifiers.h"
#include "vector_types.h"

struct __kb_thread_idx {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __device__ static unsigned get_x() { return __builtin_amdgcn_workitem_id_x(); }
  __device__ static unsigned get_y() { return __builtin_amdgcn_workitem_id_y(); }
  __device__ static unsigned get_z() { return __builtin_amdgcn_workitem_id_z(); }
  __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }
};

struct __kb_block_idx {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __device__ static unsigned get_x() { return __builtin_amdgcn_workgroup_id_x(); }
  __device__ static unsigned get_y() { return __builtin_amdgcn_workgroup_id_y(); }
  __device__ static unsigned get_z() { return __builtin_amdgcn_workgroup_id_z(); }
  __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }
};

struct __kb_block_dim {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __device__ static unsigned get_x() { return __builtin_amdgcn_workgroup_size_x(); }
  __device__ static unsigned get_y() { return __builtin_amdgcn_workgroup_size_y(); }
  __device__ static unsigned get_z() { return __builtin_amdgcn_workgroup_size_z(); }
  __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }
};

struct __kb_grid_dim {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __device__ static unsigned count(unsigned axis) {
    return ((const __KB_CONSTANT unsigned *)__builtin_amdgcn_implicitarg_ptr())[axis];
  }
  __device__ static unsigned get_x() { return count(0); }
  __device__ static unsigned get_y() { return count(1); }
  __device__ static unsigned get_z() { return count(2); }
  __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }
};

// No storage is ever used: every member is a property. `const` plus weak keeps one name per image.
extern const __device__ __attribute__((weak)) __kb_thread_idx threadIdx;
extern const __device__ __attribute__((weak)) __kb_block_idx blockIdx;
extern const __device__ __attribute__((weak)) __kb_block_dim blockDim;
extern const __device__ __attribute__((weak)) __kb_grid_dim gridDim;

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)
