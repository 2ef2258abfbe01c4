// <math.h>: the device math of hip/detail, nothing from the machine.
#pragma once
#include <hip/detail/math_constants.h>
#include <hip/detail/math_double.h>
#include <hip/detail/math_float.h>
