// Arguments of the loops over pairs of patterns, and the table of these loops.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
constexpr int kSeriesSideBySide = 8;

// Squared warping distances of `series` series to `others` series. Series i has the samples starts[i] .. starts[i + 1]
// - 1 of values (samples, channels); order lists the series, other_order those they are compared with, eight at a time.
struct Warping {
    const double* values;
    const i64* starts;
    const i64* order;
    i64 series;
    const double* other_values;
    const i64* other_starts;
    const i64* other_order;
    i64 others;
    const i64* blocks;  // the items of the loop: which eights of other_order
    i64 channels;
    i64 window;      // how far apart in time matched samples may be ...
    double share;    // ... or, if not negative, as part of the longer length
    bool symmetric;  // both lists are the same: pairs up to the diagonal are computed, both halves written
    bool largest;    // the largest difference along the path instead of the sum
    double* out;     // (series, others)
};

struct DistanceKernels {
    Loop<Warping> warp;
};
}  // namespace seminorm

SEMINORM_KERNELS(DistanceKernels, distance_kernels)
