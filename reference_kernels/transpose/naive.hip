// Transpose of 16-bit elements, one thread an element, straight from global memory to global memory.
//
// A wavefront reads 64 neighbours of one row, 128 bytes in one line, and writes them to 64 rows of the result: 64 lines
// for 128 bytes. Half of the memory requests move 2 useful bytes a line.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

extern "C" __global__ __launch_bounds__(256) void transpose_naive(const uint16_t* __restrict__ x,
                                                                  uint16_t* __restrict__ y, int32_t rows,
                                                                  int32_t columns) {
    const int32_t column = blockIdx.x * 64 + threadIdx.x % 64;
    const int32_t row = blockIdx.y * 4 + threadIdx.x / 64;
    if (row < rows && column < columns) y[size_t(column) * rows + row] = x[size_t(row) * columns + column];
}
