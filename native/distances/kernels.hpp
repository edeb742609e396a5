// Arguments of the loops over pairs of patterns, and the table of these loops.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
constexpr int kSeriesSideBySide = 8;
constexpr int kImagesSideBySide = 16;

// Squared warping distances of `series` series to `others` series. Series i has the samples starts[i] .. starts[i + 1]
// - 1 of values (samples, channels); order lists the series, other_order those they are compared with, eight at a time.
// An item of the loop is one of `parts` parts of the series against eight others. The last eight come first: they are
// the longest, and in the symmetric case have most to be compared with.
struct Warping {
    const double* values;
    const i64* starts;
    const i64* order;
    i64 series;
    const double* other_values;
    const i64* other_starts;
    const i64* other_order;
    i64 others;
    i64 parts;
    i64 channels;
    i64 window;      // how far apart in time matched samples may be ...
    double share;    // ... or, if not negative, as part of the longer length
    bool symmetric;  // both lists are the same: pairs up to the diagonal are computed, both halves written
    bool largest;    // the largest difference along the path instead of the sum
    double* out;     // (series, others)

    i64 blocks() const { return (others + kSeriesSideBySide - 1) / kSeriesSideBySide; }
};

// Squared tangent distances of n patterns x to m patterns y, which have p tangents each. An item of the loop is one x.
struct TangentPlanes {
    const float* squares;      // (n, m): |x - y|^2
    const float* along;        // (n, p, m): T_x (x - y)
    const float* other_along;  // (n, p, m): T_y (x - y)
    const float* mixed;        // (n, p, p, m): T_x T_y'
    i64 n, p, m;
    double spring;
    float* out;  // (n, m)
};

// Costs of the distortion of n images into m others, both (images, channels, height, width) with a border of zeros,
// reach + context wide. Item k of the loop compares image k % n with block k / n of sixteen others.
struct Distortion {
    const float* images;
    const float* others;
    i64 n, m, channels, height, width, reach, context;
    bool upper;   // only pairs above the diagonal
    double* out;  // (n, m)

    i64 blocks() const { return (m + kImagesSideBySide - 1) / kImagesSideBySide; }
};

struct DistanceKernels {
    Loop<Warping> warp;
    Loop<TangentPlanes> tangent_planes;
    Loop<Distortion> distort;
};
}  // namespace seminorm

SEMINORM_KERNELS(DistanceKernels, distance_kernels)
