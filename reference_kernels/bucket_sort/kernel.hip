// Stable bucket sort of indices by key, three launches, no global atomics: in a bucket, indices keep their order.
//
//   bucket_count    a histogram of each tile of 1,024 keys by LDS atomics, stored bucket by bucket, tile by tile
//   bucket_starts   prefix sums over these numbers: where each tile's share of each bucket starts
//   bucket_scatter  the rank of each key among equal ones of its tile, by ballots; then the indices go to their places
//
// KB_THROUGH_LDS = 1 sorts a tile in LDS first, so that stores of a wavefront go to a few runs of neighbours.
#include "buckets.h"

using namespace buckets;

extern "C" __global__ __launch_bounds__(256) void bucket_count(const uint32_t* __restrict__ keys,
                                                               uint32_t* __restrict__ counts, int32_t n,
                                                               int32_t tiles) {
    __shared__ uint32_t histogram[COUNT];
    const int32_t thread = threadIdx.x, first = blockIdx.x * TILE;
    if (thread < COUNT) histogram[thread] = 0;
    __syncthreads();
    for (int32_t item = 0; item < ITEMS; ++item) {
        const int32_t index = first + place_in_tile(item);
        if (index < n) atomicAdd(&histogram[keys[index]], 1u);
    }
    __syncthreads();
    // Bucket-major: the prefix sums then run over all tiles of bucket 0, of bucket 1, ..., which is the stable order.
    if (thread < COUNT) counts[size_t(thread) * tiles + blockIdx.x] = histogram[thread];
}

// One workgroup: `length` numbers in chunks of TILE, four neighbours a thread, the sum so far carried along.
extern "C" __global__ __launch_bounds__(256) void bucket_starts(const uint32_t* __restrict__ counts,
                                                                uint32_t* __restrict__ starts, int32_t length) {
    __shared__ uint32_t totals[2][WAVES];  // two, so that one barrier a chunk is enough
    uint32_t carried = 0;
    for (int32_t chunk = 0; chunk * TILE < length; ++chunk) {
        const int32_t first = chunk * TILE + int32_t(threadIdx.x) * ITEMS;
        uint32_t values[ITEMS], sum = 0, all;
        for (int32_t i = 0; i < ITEMS; ++i) {
            values[i] = first + i < length ? counts[first + i] : 0;
            sum += values[i];
        }
        uint32_t start = carried + exclusive_in_workgroup(sum, totals[chunk % 2], &all);
        for (int32_t i = 0; i < ITEMS; ++i) {
            if (first + i < length) starts[first + i] = start;
            start += values[i];
        }
        carried += all;
    }
}

extern "C" __global__ __launch_bounds__(256) void bucket_scatter(const uint32_t* __restrict__ keys,
                                                                 const uint32_t* __restrict__ starts,
                                                                 uint32_t* __restrict__ offsets,
                                                                 uint32_t* __restrict__ order, int32_t n,
                                                                 int32_t tiles) {
    __shared__ uint32_t seen[WAVES][COUNT];  // keys so far; then where a wavefront's keys of a bucket begin
    __shared__ uint32_t to_global[COUNT];    // what leads from a place in the sorted tile to one in `order`
    __shared__ uint32_t totals[WAVES];
    const int32_t thread = threadIdx.x, wave = thread / LANES, first = blockIdx.x * TILE;
    for (int32_t i = thread; i < WAVES * COUNT; i += THREADS) seen[i / COUNT][i % COUNT] = 0;
    __syncthreads();

    uint32_t key[ITEMS], rank[ITEMS];
    bool there[ITEMS];
    uint64_t same[ITEMS];
    for (int32_t item = 0; item < ITEMS; ++item) {
        const int32_t index = first + place_in_tile(item);
        there[item] = index < n;
        key[item] = there[item] ? keys[index] : 0;
    }
    lanes_with(key, there, same);
    for (int32_t item = 0; item < ITEMS; ++item) {
        const uint32_t below = lanes_below(same[item]);
        rank[item] = seen[wave][key[item]] + below;
        // The LDS serves a wavefront's instructions in order: all lanes have read before the first of each key adds.
        // The fence keeps the compiler from changing that; it costs no instruction. One lane an address: no two meet.
        __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
        __builtin_amdgcn_wave_barrier();
        if (there[item] && below == 0) atomicAdd(&seen[wave][key[item]], uint32_t(__builtin_popcountll(same[item])));
        __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
        __builtin_amdgcn_wave_barrier();
    }
    __syncthreads();

    // Thread b knows bucket b: how many keys of each wavefront, where they start in the tile and in the result.
    uint32_t mine[WAVES], sum = 0, all;
    for (int32_t w = 0; w < WAVES; ++w) {
        mine[w] = thread < COUNT ? seen[w][thread] : 0;
        sum += mine[w];
    }
    uint32_t local = exclusive_in_workgroup(sum, totals, &all);
    if (thread < COUNT) {
        const uint32_t start = starts[size_t(thread) * tiles + blockIdx.x];
        if (blockIdx.x == 0) {
            offsets[thread] = start;
            if (thread == 0) offsets[COUNT] = n;
        }
        to_global[thread] = start - local;
        for (int32_t w = 0; w < WAVES; ++w) {
            seen[w][thread] = local;
            local += mine[w];
        }
    }
    __syncthreads();

#if KB_THROUGH_LDS
    __shared__ uint32_t sorted[TILE];  // key and place in the tile: 8 and 10 bits
    for (int32_t item = 0; item < ITEMS; ++item) {
        if (there[item]) sorted[seen[wave][key[item]] + rank[item]] = key[item] << 16 | place_in_tile(item);
    }
    __syncthreads();
    for (int32_t item = 0; item < ITEMS; ++item) {
        const uint32_t at = item * THREADS + thread;
        if (at < all) order[at + to_global[sorted[at] >> 16]] = first + (sorted[at] & 0xffff);
    }
#else
    for (int32_t item = 0; item < ITEMS; ++item) {
        if (there[item]) order[seen[wave][key[item]] + rank[item] + to_global[key[item]]] = first + place_in_tile(item);
    }
#endif
}
