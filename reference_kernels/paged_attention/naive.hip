// Paged attention, decode, as a textbook writes it: a workgroup of 128 a query head, scores in LDS, softmax, then V.
//
// Thread t takes the tokens t, t + 128, ... and reads a row of K of each, 2 bytes a load: the lanes of a wavefront are
// 256 bytes apart, so that every load touches 64 lines. The query heads that share a KV head read it each for itself.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace {

constexpr int32_t THREADS = 128, HEAD = 128, PAGE = 16;

__device__ float wide(uint16_t bits) { return __builtin_bit_cast(float, uint32_t(bits) << 16); }

// Rounds a finite value to bfloat16, to nearest even.
__device__ uint16_t narrow(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Combines a value of each thread; all get the result.
template <typename Op>
__device__ float tree(float* shared, float value, Op op) {
    shared[threadIdx.x] = value;
    for (int32_t half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (int32_t(threadIdx.x) < half) shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    const float result = shared[0];
    __syncthreads();
    return result;
}

}  // namespace

extern "C" __global__ __launch_bounds__(128) void paged_attention_naive(
    const uint16_t* __restrict__ q, const uint16_t* __restrict__ k, const uint16_t* __restrict__ v,
    const int32_t* __restrict__ table, const int32_t* __restrict__ lengths, uint16_t* __restrict__ y, int32_t heads,
    int32_t group, int32_t pages, float scale) {
    extern __shared__ float scores[];
    __shared__ float shared[THREADS];
    const int32_t sequence = blockIdx.y, query = blockIdx.x, head = query / group, thread = threadIdx.x;
    const int32_t length = lengths[sequence];
    const size_t place = (size_t(sequence) * heads * group + query) * HEAD;
    const auto row = [=](int32_t token) {
        const int32_t page = table[size_t(sequence) * pages + token / PAGE];
        return ((size_t(page) * heads + head) * PAGE + token % PAGE) * HEAD;
    };

    float top = -__builtin_inff();
    for (int32_t token = thread; token < length; token += THREADS) {
        const uint16_t* key = k + row(token);
        float dot = 0.0f;
        for (int32_t d = 0; d < HEAD; ++d) dot += wide(q[place + d]) * wide(key[d]);
        scores[token] = dot * scale;
        top = __builtin_fmaxf(top, scores[token]);
    }
    top = tree(shared, top, [](float a, float b) { return __builtin_fmaxf(a, b); });

    float sum = 0.0f;
    for (int32_t token = thread; token < length; token += THREADS) {
        scores[token] = __expf(scores[token] - top);
        sum += scores[token];
    }
    sum = tree(shared, sum, [](float a, float b) { return a + b; });

    float value = 0.0f;
    for (int32_t token = 0; token < length; ++token) value += scores[token] * wide(v[row(token) + thread]);
    y[place + thread] = narrow(value / sum);
}
