// Device side of hip/hip_runtime.h for machines without ROCm.
//
// Offered: the qualifiers, builtin indices, short vectors, barriers and fences, cross-lane
// operations, atomics, integer intrinsics and the math of the detail/ headers. Not offered: the
// host API, <<<>>> launches, printf, assert, malloc, textures, cooperative groups. Using one of
// those is a compile error. Host code in a source file belongs under #if !__HIP_DEVICE_COMPILE__.
#pragma once

#include "detail/qualifiers.h"  // first: it refuses a host compile with a reason

// ROCm's header brings size_t and the fixed-width integers along, and kernels rely on it.
#include <stddef.h>
#include <stdint.h>

#include "detail/atomics.h"
#include "detail/cross_lane.h"
#include "detail/indices.h"
#include "detail/integer.h"
#include "detail/math_constants.h"
#include "detail/math_double.h"
#include "detail/math_float.h"
#include "detail/sync.h"
#include "detail/vector_types.h"
