// Paged attention, decode: one query token a sequence, GROUP query heads to a KV head, keys and values in pages.
//
// A workgroup of four wavefronts takes a KV head, all its query heads and a part of the context, so that a byte of K
// and V is read once. A page is 16 tokens of 256 bytes; 16 lanes, a row of DPP, hold a token's 128 numbers, 16 bytes a
// lane, and a load brings four tokens. Each row of lanes is an online softmax of its own over every fourth token:
// maximum and sum of head h live in its lanes l % GROUP == h, the weighted values of all heads in all lanes. Sixteen
// such streams are combined once at the end. `paged_attention_split` leaves parts to `paged_attention_reduce`.
#include "lanes.h"

#include <stddef.h>

using namespace lanes;

namespace {

constexpr int32_t GROUP = KB_GROUP, CHUNK = KB_CHUNK;  // query heads of a KV head; tokens of a part of the context
constexpr int32_t HEAD = 128, PAGE = 16, WAVES = 4;
constexpr int32_t VECTOR = 8;                   // numbers of a lane
constexpr int32_t STEPS = PAGE * ROW / 64;      // loads that bring a page
constexpr int32_t STREAMS = WAVES * 64 / ROW;   // online softmaxes of a workgroup
constexpr int32_t SUMS = GROUP * VECTOR / 2;    // pairs of weighted values of a lane
constexpr int32_t KEPT = SUMS / 4;              // of these, what a lane keeps of its wave's sums: each row a quarter
// LDS from one kept pair of a wave to the next: 64 lanes and some more. The lanes that are served together read four
// kept pairs of neighbouring lanes: on gfx950 32 lanes, four times 16 of 64 banks, elsewhere 16 lanes, four times 8 of
// 32. The padding moves each of the four by as much.
#if defined(__gfx950__)
constexpr int32_t PITCH = 64 + 8;
#else
constexpr int32_t PITCH = 64 + 4;
#endif
// Of a head's maxima and sums, which the four streams of a wave write side by side: multiples of 20 spread eight heads
// over the banks, multiples of 16 would meet in two places.
constexpr int32_t STREAM_PITCH = STREAMS + 4;
static_assert(HEAD == ROW * VECTOR && (GROUP & (GROUP - 1)) == 0 && GROUP <= 8 && CHUNK % PAGE == 0);

struct Cache {
    const uint16_t *k, *v;   // [page][KV head][token of the page][HEAD]
    const int32_t* table;    // of this sequence
    int32_t heads, head, length;

    // Returns where a token's row starts in a page. Tokens beyond the end read the last one again: what lies behind it
    // was never written, and 0 times a NaN is a NaN.
    __device__ size_t row(int32_t page, int32_t number, int32_t slot) const {
        const int32_t last = length - 1 - page * PAGE;
        return ((size_t(number) * heads + head) * PAGE + (slot < last ? slot : last)) * HEAD;
    }
    __device__ void load(Words* rows, const uint16_t* from, int32_t page, int32_t number, int32_t lane) const {
        for (int32_t i = 0; i < STEPS; ++i) {
            const size_t start = row(page, number, i * 4 + lane / ROW);
            rows[i] = *(const Words*)(from + start + lane % ROW * VECTOR);
        }
    }
};

// A lane's eight numbers of each query head, packed for v_dot2_f32_bf16 or else widened once. Slot i of lane l is head
// (i ^ l) % GROUP, which is how `row_sum` wants its values.
struct Queries {
#if defined(__gfx950__)
    typedef __bf16 Halves __attribute__((ext_vector_type(2)));
    Words values[GROUP];
    __device__ void set(int32_t slot, Words words) { values[slot] = words; }
    __device__ float dot(int32_t slot, Words key) const {
        float sum = 0.0f;
        for (int32_t i = 0; i < 4; ++i) {
            const uint32_t a = values[slot][i], b = key[i];
            const Halves two = __builtin_bit_cast(Halves, a), others = __builtin_bit_cast(Halves, b);
            sum = __builtin_amdgcn_fdot2_f32_bf16(two, others, sum, false);
        }
        return sum;
    }
#else
    Pair values[GROUP][4];
    __device__ void set(int32_t slot, Words words) {
        for (int32_t i = 0; i < 4; ++i) values[slot][i] = widened(words[i]);
    }
    __device__ float dot(int32_t slot, Words key) const {
        Pair sum = values[slot][0] * widened(key[0]);
        for (int32_t i = 1; i < 4; ++i) sum = __builtin_elementwise_fma(values[slot][i], widened(key[i]), sum);
        return sum[0] + sum[1];
    }
#endif
};

// One stream: `top` and `sum` are of head lane % GROUP, in units of log2; `values` of all heads.
struct Softmax {
    float top = LOWEST, sum = 0.0f;
    Pair values[SUMS] = {};

    // Multiplies the values of every head by that head's factor, which lane `head` of each row has.
    template <int32_t H = 0>
    __device__ void scale(float factor) {
        const Pair both = moved<row_newbcast(H)>(factor);
        for (int32_t i = 0; i < 4; ++i) values[H * 4 + i] *= both;
        if constexpr (H + 1 < GROUP) scale<H + 1>(factor);
    }
    template <int32_t H = 0>
    __device__ void add(float weight, const Pair* row) {
        const Pair both = moved<row_newbcast(H)>(weight);
        for (int32_t i = 0; i < 4; ++i) values[H * 4 + i] = __builtin_elementwise_fma(both, row[i], values[H * 4 + i]);
        if constexpr (H + 1 < GROUP) add<H + 1>(weight, row);
    }

    // Takes in the scores and rows of V of a page.
    __device__ void step(const float* scores, const Words* rows) {
        float best = top;
        for (int32_t i = 0; i < STEPS; ++i) best = __builtin_fmaxf(best, scores[i]);
        // Maxima grow for the first few pages and seldom after; a branch of the whole wave skips 4 GROUP products.
        if (__builtin_amdgcn_ballot_w64(best > top)) {
            const float factor = __builtin_amdgcn_exp2f(top - best);
            sum *= factor;
            scale(factor);
            top = best;
        }
        for (int32_t i = 0; i < STEPS; ++i) {
            const float weight = __builtin_amdgcn_exp2f(scores[i] - top);
            Pair row[4];
            for (int32_t j = 0; j < 4; ++j) row[j] = widened(rows[i][j]);
            sum += weight;
            add(weight, row);
        }
    }
};

// Attends to pages `first` to `end` (excluded) and gives each output pair to `store(head, pair of the head, sum of the
// weighted values, maximum, sum of the weights)`, 64 neighbouring pairs a wavefront.
template <typename Store>
__device__ void attend(const Cache& cache, const uint16_t* q, float scale, int32_t first, int32_t end, Store store) {
    __shared__ float tops[GROUP][STREAM_PITCH], sums[GROUP][STREAM_PITCH];
    __shared__ Pair parts[WAVES][KEPT][PITCH];
    const int32_t lane = threadIdx.x % 64, wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    const int32_t mine = lane % GROUP, stream = threadIdx.x / ROW;

    Queries queries;
    for (int32_t slot = 0; slot < GROUP; ++slot) {
        queries.set(slot, *(const Words*)(q + ((slot ^ lane) % GROUP) * HEAD + lane % ROW * VECTOR));
    }

    Softmax softmax;
    // K of the next page is on its way while this page's values are added, and its number is known a turn earlier.
    const auto number = [&](int32_t page) { return cache.table[page < end ? page : end - 1]; };
    int32_t now = number(first + wave), next = number(first + wave + WAVES);
    Words keys[STEPS], rows[STEPS];
    if (first + wave < end) cache.load(keys, cache.k, first + wave, now, lane);
    for (int32_t page = first + wave; page < end; page += WAVES) {
        cache.load(rows, cache.v, page, now, lane);
        float scores[STEPS];
        for (int32_t i = 0; i < STEPS; ++i) {
            float dots[GROUP];
            for (int32_t slot = 0; slot < GROUP; ++slot) dots[slot] = queries.dot(slot, keys[i]);
            const float dot = row_sum<GROUP>(dots);
            scores[i] = page * PAGE + i * 4 + lane / ROW < cache.length ? dot * scale : -__builtin_inff();
        }
        if (page + WAVES < end) cache.load(keys, cache.k, page + WAVES, next, lane);
        now = next;
        next = number(page + 2 * WAVES);
        softmax.step(scores, rows);
    }

    if (lane % ROW < GROUP) {
        tops[mine][stream] = softmax.top;
        sums[mine][stream] = softmax.sum;
    }
    __syncthreads();
    float top = LOWEST;
    for (int32_t i = 0; i < STREAMS; ++i) top = __builtin_fmaxf(top, tops[mine][i]);
    softmax.scale(__builtin_amdgcn_exp2f(softmax.top - top));

    // The four rows of a wave add up, each keeping a quarter; the four waves add up in LDS.
    float* values = (float*)softmax.values;
    for (int32_t i = 0; i < SUMS; ++i) values[i] = joined<32>(values[i], values[i + SUMS], lane);
    for (int32_t i = 0; i < SUMS / 2; ++i) values[i] = joined<16>(values[i], values[i + SUMS / 2], lane);
    for (int32_t i = 0; i < KEPT; ++i) parts[wave][i][lane] = softmax.values[i];
    __syncthreads();
    for (int32_t h = wave; h < GROUP; h += WAVES) {
        const int32_t flat = h * 4 + lane % 4;  // of SUMS: lane / 4 held it, in row flat / KEPT
        Pair value = {};
        for (int32_t w = 0; w < WAVES; ++w) value += parts[w][flat % KEPT][flat / KEPT * ROW + lane / 4];
        float highest = LOWEST, weights = 0.0f;
        for (int32_t i = 0; i < STREAMS; ++i) highest = __builtin_fmaxf(highest, tops[h][i]);
        for (int32_t i = 0; i < STREAMS; ++i) weights += sums[h][i] * __builtin_amdgcn_exp2f(tops[h][i] - highest);
        store(h, lane, value, highest, weights);
    }
}

__device__ int32_t pages_of(int32_t tokens) { return (tokens + PAGE - 1) / PAGE; }

}  // namespace

extern "C" __global__ __launch_bounds__(256) void paged_attention_one_pass(
    const uint16_t* __restrict__ q, const uint16_t* __restrict__ k, const uint16_t* __restrict__ v,
    const int32_t* __restrict__ table, const int32_t* __restrict__ lengths, uint32_t* __restrict__ y, int32_t pages,
    float scale) {
    const int32_t head = blockIdx.x, heads = gridDim.x, sequence = blockIdx.y;
    const size_t first = (size_t(sequence) * heads + head) * GROUP * HEAD;
    const Cache cache = {k, v, table + size_t(sequence) * pages, heads, head, lengths[sequence]};
    attend(cache, q + first, scale, 0, pages_of(cache.length),
           [=](int32_t h, int32_t pair, Pair value, float, float sum) {
               y[first / 2 + h * (HEAD / 2) + pair] = narrowed(value * __builtin_amdgcn_rcpf(sum));
           });
}

extern "C" __global__ __launch_bounds__(256) void paged_attention_split(
    const uint16_t* __restrict__ q, const uint16_t* __restrict__ k, const uint16_t* __restrict__ v,
    const int32_t* __restrict__ table, const int32_t* __restrict__ lengths, Pair* __restrict__ partial,
    Pair* __restrict__ state, int32_t pages, float scale) {
    const int32_t chunk = blockIdx.x, chunks = gridDim.x, head = blockIdx.y, heads = gridDim.y, sequence = blockIdx.z;
    const Cache cache = {k, v, table + size_t(sequence) * pages, heads, head, lengths[sequence]};
    const int32_t begin = chunk * CHUNK, end = begin + CHUNK < cache.length ? begin + CHUNK : cache.length;
    if (begin >= end) return;
    const int32_t index = sequence * heads + head, place = (index * chunks + chunk) * GROUP;
    attend(cache, q + size_t(index) * GROUP * HEAD, scale, begin / PAGE, pages_of(end),
           [=](int32_t h, int32_t pair, Pair value, float top, float sum) {
               partial[size_t(place + h) * (HEAD / 2) + pair] = value;
               if (pair == 0) state[place + h] = {top, sum};
           });
}

// One wavefront a query head: lane c takes the maximum and the sum of part c, DPP combines them over the lanes, and the
// parts are added by their weights, each of which v_readlane takes from its lane. Parts that do not exist are not read.
extern "C" __global__ __launch_bounds__(256) void paged_attention_reduce(
    const Pair* __restrict__ partial, const Pair* __restrict__ state, const int32_t* __restrict__ lengths,
    uint32_t* __restrict__ y, int32_t chunks, int32_t heads, int32_t count) {
    const int32_t lane = threadIdx.x % 64;
    const int32_t query = blockIdx.x * WAVES + __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    if (query >= count) return;
    const int32_t index = query / GROUP, first = index * chunks * GROUP + query % GROUP;  // parts are GROUP apart
    const int32_t parts = (lengths[index / heads] + CHUNK - 1) / CHUNK;
    float top = LOWEST;
    for (int32_t c = lane; c < parts; c += 64) top = __builtin_fmaxf(top, state[first + c * GROUP][0]);
    top = reduced<Max>(top);

    float sum = 0.0f;
    Pair value = {};
    for (int32_t base = 0; base < parts; base += 64) {
        float weight = 0.0f;
        if (base + lane < parts) {
            const Pair one = state[first + (base + lane) * GROUP];
            weight = __builtin_amdgcn_exp2f(one[0] - top);
            sum += weight * one[1];
        }
        const int32_t here = parts - base < 64 ? parts - base : 64;
        for (int32_t c = 0; c < here; ++c) {
            value += partial[size_t(first + (base + c) * GROUP) * (HEAD / 2) + lane] * Pair(from_lane(weight, c));
        }
    }
    y[size_t(query) * (HEAD / 2) + lane] = narrowed(value * __builtin_amdgcn_rcpf(reduced<Add>(sum)));
}
