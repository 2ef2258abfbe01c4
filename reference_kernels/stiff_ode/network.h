// What all variants share: the equations of a stiff network, and its sizes.
//
// A zone has SPECIES amounts y and TERMS reactions. Reaction r turns two species into two others with the flux
//     flux[r] = rate[r] * y[first reactant] * y[second reactant]
// Species s gains made[s], the sum of weight * flux over row 2 s of a ragged table, and loses lost[s], the sum over row
// 2 s + 1. Rows are of very different lengths. The rates of a zone do not change from step to step, nor do the tables.
#pragma once
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace network {

constexpr int32_t THREADS = 256, LANES = 64, WAVES = THREADS / LANES;  // one workgroup a zone
constexpr int32_t SPECIES = KB_SPECIES, TERMS = KB_TERMS;
constexpr int32_t ENTRIES = 4 * TERMS;  // of the table: two reactants lose, two products gain
constexpr int32_t ROWS = 2 * SPECIES;

// Returns the rate of a reaction at the temperature of a zone: computed once, used in every step.
__device__ inline double coefficient(double a, double b, double temperature) { return a * (1.0 + b * temperature); }

// Returns y after a step by the asymptotic form, (y + dt made) / (1 + dt lost / y): it stays positive for any dt, and
// it is Euler's where dt lost is small against y. Written with one division.
__device__ inline double stepped(double y, double made, double lost, double dt) {
    return y * (y + dt * made) / (y + dt * lost);
}

}  // namespace network
