// What the portable kernels need of HIP, on CUDA: the languages agree on almost everything.
// Used only to cross-check numerics and the harness on NVIDIA GPUs; code for AMD never sees this.
#pragma once
#include <stdint.h>

#ifndef __CUDACC__
#error "kbserver's portable headers are for NVRTC; HIP has its own hip_runtime.h"
#endif
