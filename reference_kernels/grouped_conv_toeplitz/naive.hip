// Grouped 5 x 5 convolution, one thread an output, everything from global memory.
//
// 25 * C products need 25 * C loads of an input and as many of a weight, 2 bytes each, and 25 tests of the border. Threads
// are numbered as outputs lie in memory, so that a wavefront's accesses share lines; they are requests all the same.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace {

constexpr int C = KB_CHANNELS, TAPS = 5, PAD = 2;

__device__ float value(uint16_t bits) { return __builtin_bit_cast(float, uint32_t(bits) << 16); }

}  // namespace

extern "C" __global__ __launch_bounds__(256) void grouped_conv_naive(const uint16_t* __restrict__ x,
                                                                    const uint16_t* __restrict__ weights,
                                                                    __bf16* __restrict__ y, int height, int width) {
    const int at = blockIdx.x * 256 + threadIdx.x, group = blockIdx.y, plane = height * width * C;
    if (at >= plane) return;
    const int channel = at % C, column = at / C % width, row = at / C / width;
    x += size_t(group) * plane;
    weights += (group * C + channel) * (C * TAPS * TAPS);
    float sum = 0.0f;
    for (int r = 0; r < TAPS; ++r) {
        for (int s = 0; s < TAPS; ++s) {
            const int from_row = row + r - PAD, from_column = column + s - PAD;
            if (from_row < 0 || from_row >= height || from_column < 0 || from_column >= width) continue;
            for (int c = 0; c < C; ++c)
                sum += value(x[(from_row * width + from_column) * C + c]) * value(weights[(c * TAPS + r) * TAPS + s]);
        }
    }
    y[size_t(group) * plane + at] = (__bf16)sum;
}
