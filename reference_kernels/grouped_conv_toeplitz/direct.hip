// Grouped 5 x 5 convolution on the vector ALU, as well as it can be done there: the kernel to beat.
//
// Pixels are stored with the C channels of their group together, so that two channels are a pair for v_dot2c_f32_bf16.
// A thread makes one column of four pixels. It streams down eight rows of the tile in LDS: each pixel that it reads serves
// up to four output rows. The weights are the same for the whole workgroup and come through SGPRs, 40 pairs at a time:
// that many output channels are summed together, and the tile is read again for the next ones.
//
// gfx942 has no dot product of bfloat16: pairs are unpacked and multiplied as floats.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace {

constexpr int C = KB_CHANNELS, PAIRS = C / 2, TAPS = 5, PAD = 2;
constexpr int COLUMNS = 64, WAVES = 4, ROWS = 4, IN_ROWS = ROWS + TAPS - 1;
constexpr int TILE_ROWS = WAVES * ROWS + TAPS - 1, PITCH = (COLUMNS + TAPS - 1) * PAIRS;  // dwords
constexpr int SGPRS = 40, AT_ONCE = SGPRS / (TAPS * PAIRS) < C ? SGPRS / (TAPS * PAIRS) : C;  // output channels
static_assert(C % 2 == 0 && C % AT_ONCE == 0, "channels come in pairs");

typedef short Pair __attribute__((ext_vector_type(2)));
typedef uint32_t Pixel __attribute__((ext_vector_type(PAIRS)));
typedef uint32_t Outputs __attribute__((ext_vector_type(AT_ONCE / 2)));
typedef float Floats __attribute__((ext_vector_type(2)));
typedef __bf16 Halves __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(4))) const uint32_t* Scalar;  // read by s_load

__device__ float dot2(uint32_t a, uint32_t b, float sum) {
#ifdef __gfx950__
    return __builtin_amdgcn_fdot2_f32_bf16(__builtin_bit_cast(Pair, a), __builtin_bit_cast(Pair, b), sum, false);
#else
    sum = __builtin_fmaf(__builtin_bit_cast(float, a << 16), __builtin_bit_cast(float, b << 16), sum);
    return __builtin_fmaf(__builtin_bit_cast(float, a & 0xffff0000u), __builtin_bit_cast(float, b & 0xffff0000u), sum);
#endif
}

__device__ uint32_t pack(float low, float high) {
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(Floats{low, high}, Halves));
}

}  // namespace

extern "C" __global__ __launch_bounds__(256) void grouped_conv_direct(const uint32_t* __restrict__ x,
                                                                     const uint32_t* __restrict__ weights,
                                                                     uint32_t* __restrict__ y, int height, int width) {
    __shared__ __attribute__((aligned(16))) uint32_t tile[TILE_ROWS * PITCH];
    const int thread = threadIdx.x, lane = thread % 64, wave = thread / 64;
    const int first_column = blockIdx.x * COLUMNS, first_row = blockIdx.y * WAVES * ROWS;
    const size_t group = size_t(blockIdx.z) * height * width;

    for (int i = thread; i < TILE_ROWS * (COLUMNS + TAPS - 1); i += 256) {
        const int row = first_row + i / (COLUMNS + TAPS - 1) - PAD, column = first_column + i % (COLUMNS + TAPS - 1) - PAD;
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        *(Pixel*)(tile + i * PAIRS) = inside ? *(const Pixel*)(x + (group + row * width + column) * PAIRS) : Pixel(0);
    }
    __syncthreads();

    const uint32_t* window = tile + wave * ROWS * PITCH + lane * PAIRS;
    const int column = first_column + lane;
    for (int first = 0; first < C; first += AT_ONCE) {
        float sums[ROWS][AT_ONCE] = {};
#pragma unroll 1
        for (int tap = 0; tap < TAPS; ++tap) {
            // [r][s][output channel][input channel]: the channels of one filter row lie together
            const Scalar w = (Scalar)weights + ((blockIdx.z * TAPS * TAPS + tap) * C + first) * PAIRS;
#pragma unroll
            for (int in = 0; in < IN_ROWS; ++in) {
                const Pixel pixel = *(const Pixel*)(window + in * PITCH + tap * PAIRS);
#pragma unroll
                for (int out = 0; out < ROWS; ++out) {
                    const int row = in - out;
                    if (row < 0 || row >= TAPS) continue;
#pragma unroll
                    for (int channel = 0; channel < AT_ONCE; ++channel) {
#pragma unroll
                        for (int pair = 0; pair < PAIRS; ++pair) {
                            const uint32_t weight = w[(row * TAPS * C + channel) * PAIRS + pair];
                            sums[out][channel] = dot2(weight, pixel[pair], sums[out][channel]);
                        }
                    }
                }
            }
        }
        if (column >= width) continue;
#pragma unroll
        for (int out = 0; out < ROWS; ++out) {
            const int row = first_row + wave * ROWS + out;
            if (row >= height) break;
            Outputs result;
#pragma unroll
            for (int i = 0; i < AT_ONCE / 2; ++i) result[i] = pack(sums[out][2 * i], sums[out][2 * i + 1]);
            *(Outputs*)(y + (group + row * width + column) * PAIRS + first / 2) = result;
        }
    }
}
