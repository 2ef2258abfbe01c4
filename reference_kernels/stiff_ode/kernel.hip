// A stiff network of rate equations, one workgroup a zone: what every step reads again lies in LDS or in registers.
//
// KB_LANES_A_ROW says who adds up a row of the ragged table:
//   1   lane 0 of a wavefront, the others wait; a species a wavefront
//   64  all lanes of the wavefront, then a sum over the lanes
//   8   eight lanes, so that a wavefront has eight species at a time: rows are short
// KB_RATES_IN_REGISTERS = 1 keeps rates and reactants in registers of the thread that alone uses them. That is 10 bytes
// of LDS a reaction less, and the LDS decides how many workgroups share a compute unit.
#include "network.h"

using namespace network;

namespace {

constexpr int32_t LANES_A_ROW = KB_LANES_A_ROW;
constexpr int32_t AT_A_TIME = LANES_A_ROW == 1 ? 1 : LANES / LANES_A_ROW;  // species of a wavefront
constexpr int32_t PER_THREAD = (TERMS + THREADS - 1) / THREADS;            // reactions of a thread
constexpr bool IN_REGISTERS = KB_RATES_IN_REGISTERS;

// Narrow copies of the tables: 2 bytes where global memory has 8.
constexpr int32_t TERM_BITS = 12;
static_assert(TERMS <= 1 << TERM_BITS && SPECIES <= 256, "an entry is 12 + 4 bits, a reactant 8");
__device__ uint16_t packed_entry(int32_t term, int32_t weight) { return uint16_t(term | weight << TERM_BITS); }
__device__ uint16_t packed_pair(int32_t first, int32_t second) { return uint16_t(first | second << 8); }

struct Zone {
    double y[SPECIES], flux[TERMS];
    double rate[IN_REGISTERS ? 1 : TERMS];
    uint16_t pair[IN_REGISTERS ? 1 : TERMS];
    uint16_t entry[ENTRIES], start[ROWS + 1];
};

// Returns the value of the lane that DPP control CONTROL names; the two halves of a double move on their own.
template <int32_t CONTROL, int32_t ROW_MASK>
__device__ double moved(double value) {
    const uint64_t bits = __builtin_bit_cast(uint64_t, value);
    const uint32_t low = __builtin_amdgcn_update_dpp(0, uint32_t(bits), CONTROL, ROW_MASK, 0xf, false);
    const uint32_t high = __builtin_amdgcn_update_dpp(0, uint32_t(bits >> 32), CONTROL, ROW_MASK, 0xf, false);
    return __builtin_bit_cast(double, uint64_t{high} << 32 | low);
}

// Returns the sum over the lanes of a row. Of eight lanes, all have it; of 64, the last one, whence an SGPR takes it.
__device__ double over_lanes(double value) {
    if (LANES_A_ROW == 1) return value;
    value += moved<0xb1, 0xf>(value);   // quad_perm 1,0,3,2: lane ^ 1
    value += moved<0x4e, 0xf>(value);   // quad_perm 2,3,0,1: lane ^ 2
    value += moved<0x141, 0xf>(value);  // row_half_mirror: the other quad of eight
    if (LANES_A_ROW == 8) return value;
    value += moved<0x140, 0xf>(value);  // row_mirror: the other eight of sixteen
    value += moved<0x142, 0xa>(value);  // row_bcast:15 into rows 1 and 3; the others add 0
    value += moved<0x143, 0xc>(value);  // row_bcast:31 into rows 2 and 3
    const uint64_t bits = __builtin_bit_cast(uint64_t, value);
    const uint32_t low = __builtin_amdgcn_readlane(uint32_t(bits), LANES - 1);
    const uint32_t high = __builtin_amdgcn_readlane(uint32_t(bits >> 32), LANES - 1);
    return __builtin_bit_cast(double, uint64_t{high} << 32 | low);
}

// Returns this lane's share of a row's sum: every LANES_A_ROW-th entry, from entry `lane` on.
__device__ double share(const Zone& zone, int32_t row, int32_t lane) {
    double sum = 0.0;
    const int32_t end = zone.start[row + 1];
    for (int32_t i = zone.start[row] + lane; i < end; i += LANES_A_ROW) {
        const int32_t entry = zone.entry[i];
        sum += (entry >> TERM_BITS) * zone.flux[entry & ((1 << TERM_BITS) - 1)];
    }
    return sum;
}

}  // namespace

extern "C" __global__ __launch_bounds__(256) void stiff_ode(
    const double* __restrict__ a, const double* __restrict__ b, const double* __restrict__ temperature,
    const double* __restrict__ y0, const int32_t* __restrict__ reactants, const int32_t* __restrict__ starts,
    const int32_t* __restrict__ terms, const int32_t* __restrict__ weights, double* __restrict__ y_out, double dt,
    int32_t steps) {
    __shared__ Zone zone;
    const int32_t thread = threadIdx.x;
    double rate[PER_THREAD];
    uint32_t pair[PER_THREAD];
    for (int32_t k = 0; k < PER_THREAD; ++k) {
        const int32_t r = k * THREADS + thread;
        if (r >= TERMS) continue;
        rate[k] = coefficient(a[r], b[r], temperature[blockIdx.x]);
        pair[k] = packed_pair(reactants[2 * r], reactants[2 * r + 1]);
        if (IN_REGISTERS) continue;
        zone.rate[r] = rate[k];
        zone.pair[r] = uint16_t(pair[k]);
    }
    for (int32_t i = thread; i < ENTRIES; i += THREADS) zone.entry[i] = packed_entry(terms[i], weights[i]);
    for (int32_t i = thread; i <= ROWS; i += THREADS) zone.start[i] = uint16_t(starts[i]);
    for (int32_t s = thread; s < SPECIES; s += THREADS) zone.y[s] = y0[blockIdx.x * SPECIES + s];
    __syncthreads();

    const int32_t group = thread % LANES / LANES_A_ROW, lane = thread % LANES % LANES_A_ROW;
    const int32_t first = __builtin_amdgcn_readfirstlane(thread / LANES) * AT_A_TIME;
    for (int32_t step = 0; step < steps; ++step) {
        for (int32_t k = 0; k < PER_THREAD; ++k) {
            const int32_t r = k * THREADS + thread;
            if (r >= TERMS) continue;
            const uint32_t both = IN_REGISTERS ? pair[k] : zone.pair[r];
            zone.flux[r] = (IN_REGISTERS ? rate[k] : zone.rate[r]) * zone.y[both & 0xff] * zone.y[both >> 8];
        }
        __syncthreads();
        for (int32_t from = first; from < SPECIES; from += WAVES * AT_A_TIME) {
            // Lanes without a species, or beside lane 0, stay out; a sum over lanes needs whole rows of them only.
            const int32_t s = from + (LANES_A_ROW == 1 ? 0 : group);
            if (s >= SPECIES || (LANES_A_ROW == 1 && thread % LANES != 0)) continue;
            const double made = over_lanes(share(zone, 2 * s, lane));
            const double lost = over_lanes(share(zone, 2 * s + 1, lane));
            if (lane == 0) zone.y[s] = stepped(zone.y[s], made, lost, dt);
        }
        __syncthreads();
    }
    for (int32_t s = thread; s < SPECIES; s += THREADS) y_out[blockIdx.x * SPECIES + s] = zone.y[s];
}
