// Which tile a workgroup computes: the order in which XCDs find in their own L2 what they share.
//
// The hardware deals workgroups to the XCDs in turns: workgroup i runs on XCD i % xcds. Neighbours, which read the same
// rows of A or B, would so sit on different L2 caches. Two steps undo that:
//   1. The workgroups of one XCD get consecutive places. With t tiles, t / xcds each and t % xcds left, the first
//      t % xcds XCDs have one more, which is what the turns give them: places stay a permutation for any t.
//   2. Places run through bands of BAND rows of tiles, column after column. What an XCD works on at one time is then a
//      block that is about as high as it is wide: 64 tiles read 8 + 8 stripes of A and B; in one row they read 1 + 64.
#pragma once
#include <hip/hip_runtime.h>

#include <stdint.h>

namespace gemm {

constexpr int32_t BAND = 8;  // 32 CUs of an XCD, two workgroups each: 8 x 8 tiles at one time; one each: 8 x 4

struct Place {
    int32_t row, column;  // of tiles
};

// Returns the tile of workgroup `id` of rows * columns; every tile is that of one workgroup.
__device__ inline Place tile_of(int32_t id, int32_t rows, int32_t columns, int32_t xcds) {
    const int32_t tiles = rows * columns, each = tiles / xcds, more = tiles % xcds;
    const int32_t xcd = id % xcds, before = xcd < more ? xcd : more;
    const int32_t place = xcd * each + before + id / xcds;

    const int32_t first = place / (BAND * columns) * BAND, inside = place % (BAND * columns);
    const int32_t height = rows - first < BAND ? rows - first : BAND;  // the last band may be lower
    return {first + inside % height, inside / height};
}

}  // namespace gemm
