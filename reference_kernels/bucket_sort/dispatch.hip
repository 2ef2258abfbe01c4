// Unstable bucketing, as tokens go to experts: an LDS atomic a key, a global atomic a bucket and workgroup.
//
//   dispatch_clear    the counters, since workspace holds anything
//   dispatch_count    a histogram of each tile in LDS, added to the global one bucket by bucket
//   dispatch_offsets  prefix sums over the buckets, one workgroup
//   dispatch_scatter  the histogram again, this time with ranks; each workgroup reserves its places of a bucket at once
//
// KB_MERGE = 1 lets the lanes of a wavefront that have the same key send one LDS atomic instead of one each.
#include "buckets.h"
#include "experts.h"

using namespace buckets;

namespace {

struct Keys {
    uint32_t key[ITEMS], rank[ITEMS];  // rank: among the equal keys of the workgroup that came before
    bool there[ITEMS];
};

// Reads this thread's keys of a tile and counts them in the histogram, which must be clear.
__device__ void count_tile(const uint32_t* __restrict__ keys, int32_t n, uint32_t* histogram, Keys& mine) {
    for (int32_t item = 0; item < ITEMS; ++item) {
        const int32_t index = blockIdx.x * TILE + place_in_tile(item);
        mine.there[item] = index < n;
        mine.key[item] = mine.there[item] ? keys[index] : 0;
    }
#if KB_MERGE
    uint64_t same[ITEMS];
    lanes_with(mine.key, mine.there, same);
    for (int32_t item = 0; item < ITEMS; ++item) {
        const uint32_t below = lanes_below(same[item]);
        uint32_t before = 0;
        if (mine.there[item] && below == 0)
            before = atomicAdd(&histogram[mine.key[item]], uint32_t(__builtin_popcountll(same[item])));
        // The first of the equal lanes has the answer: ds_bpermute fetches it, 4 bytes a lane.
        const int32_t leader = __builtin_ffsll(int64_t(same[item])) - 1;
        mine.rank[item] = __builtin_amdgcn_ds_bpermute(4 * leader, before) + below;
    }
#else
    for (int32_t item = 0; item < ITEMS; ++item)
        mine.rank[item] = mine.there[item] ? atomicAdd(&histogram[mine.key[item]], 1u) : 0;
#endif
}

}  // namespace

extern "C" __global__ __launch_bounds__(256) void dispatch_clear(uint32_t* __restrict__ counts) {
    if (threadIdx.x < COUNT) counts[threadIdx.x] = 0;
}

extern "C" __global__ __launch_bounds__(256) void dispatch_count(const uint32_t* __restrict__ keys,
                                                                 uint32_t* __restrict__ counts, int32_t n) {
    __shared__ uint32_t histogram[COUNT];
    const int32_t thread = threadIdx.x;
    if (thread < COUNT) histogram[thread] = 0;
    __syncthreads();
    Keys mine;  // the ranks are not used here: the compiler leaves them out, and the atomics return nothing
    count_tile(keys, n, histogram, mine);
    __syncthreads();
    if (thread < COUNT && histogram[thread] != 0) atomicAdd(&counts[thread], histogram[thread]);
}

extern "C" __global__ __launch_bounds__(256) void dispatch_offsets(const uint32_t* __restrict__ counts,
                                                                   uint32_t* __restrict__ offsets,
                                                                   uint32_t* __restrict__ cursors) {
    __shared__ uint32_t totals[WAVES];
    const int32_t thread = threadIdx.x;
    uint32_t all;
    const uint32_t start = exclusive_in_workgroup(thread < COUNT ? counts[thread] : 0, totals, &all);
    if (thread < COUNT) offsets[thread] = cursors[thread] = start;
    if (thread == 0) offsets[COUNT] = all;
}

extern "C" __global__ __launch_bounds__(256) void dispatch_scatter(const uint32_t* __restrict__ keys,
                                                                   uint32_t* __restrict__ cursors,
                                                                   uint32_t* __restrict__ order, int32_t n) {
    __shared__ uint32_t histogram[COUNT];
    const int32_t thread = threadIdx.x;
    if (thread < COUNT) histogram[thread] = 0;
    __syncthreads();
    Keys mine;
    count_tile(keys, n, histogram, mine);
    __syncthreads();
    // One returning global atomic for all keys that this workgroup has of a bucket; its answer replaces the count.
    if (thread < COUNT && histogram[thread] != 0) histogram[thread] = atomicAdd(&cursors[thread], histogram[thread]);
    __syncthreads();
    for (int32_t item = 0; item < ITEMS; ++item) {
        if (mine.there[item])
            order[histogram[mine.key[item]] + mine.rank[item]] = blockIdx.x * TILE + place_in_tile(item);
    }
}
