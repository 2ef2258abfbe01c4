// The short vector types under the name that HIP gives their header.
#pragma once
#include "detail/vector_types.h"
