// A stiff network of rate equations as it is written first: one workgroup a zone, everything that does not change read
// from global memory in every step, and one lane of a wavefront adding up what changes a species.
//
// Equations and arguments: network.h.
#include "network.h"

using namespace network;

extern "C" __global__ __launch_bounds__(256) void stiff_ode_naive(
    const double* __restrict__ a, const double* __restrict__ b, const double* __restrict__ temperature,
    const double* __restrict__ y0, const int32_t* __restrict__ reactants, const int32_t* __restrict__ starts,
    const int32_t* __restrict__ terms, const int32_t* __restrict__ weights, double* __restrict__ rates,
    double* __restrict__ y_out, double dt, int32_t steps) {
    __shared__ double y[SPECIES], flux[TERMS];
    const int32_t thread = threadIdx.x, wave = thread / LANES, lane = thread % LANES;
    double* rate = rates + size_t(blockIdx.x) * TERMS;
    for (int32_t r = thread; r < TERMS; r += THREADS) rate[r] = coefficient(a[r], b[r], temperature[blockIdx.x]);
    for (int32_t s = thread; s < SPECIES; s += THREADS) y[s] = y0[blockIdx.x * SPECIES + s];
    __syncthreads();

    for (int32_t step = 0; step < steps; ++step) {
        for (int32_t r = thread; r < TERMS; r += THREADS)
            flux[r] = rate[r] * y[reactants[2 * r]] * y[reactants[2 * r + 1]];
        __syncthreads();
        for (int32_t s = wave; s < SPECIES; s += WAVES) {
            if (lane == 0) {
                double made = 0.0, lost = 0.0;
                for (int32_t i = starts[2 * s]; i < starts[2 * s + 1]; ++i) made += weights[i] * flux[terms[i]];
                for (int32_t i = starts[2 * s + 1]; i < starts[2 * s + 2]; ++i) lost += weights[i] * flux[terms[i]];
                y[s] = stepped(y[s], made, lost, dt);
            }
        }
        __syncthreads();
    }
    for (int32_t s = thread; s < SPECIES; s += THREADS) y_out[blockIdx.x * SPECIES + s] = y[s];
}
