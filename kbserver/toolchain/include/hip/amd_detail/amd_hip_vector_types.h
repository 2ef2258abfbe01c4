// ROCm spells this header two ways; both give the same declarations.
#pragma once
#include "../hip_vector_types.h"
