// Arguments of the loops over pairs of patterns, and the table of these loops.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
template <class T> constexpr int kSeriesSideBySide = sizeof(T) == 8 ? 8 : 32;
constexpr int kImagesSideBySide = 16;

// The rules by which tables of elastic distances are filled; see elastic_rules.hpp.
enum class ElasticRule {
    warping,
    weighted,
    penalized,
    largest,
    gaps,
    edits,
    common,
    twists,
    splits,
    soft,
    alignments,
    shapes,
    symbols,
    count
};

// Series i has the samples starts[i] .. starts[i + 1] - 1 of values (samples, channels), and a number for each of them
// in marks; order lists the series.
template <class T> struct SeriesList {
    const T* values;
    const T* marks;
    const i64* starts;
    const i64* order;
    i64 count;

    i64 length(i64 series) const { return starts[series + 1] - starts[series]; }
};

// What the cells of a table depend on, besides the samples.
template <class T> struct ElasticTerms {
    i64 channels;
    i64 window;    // how far apart in time matched samples may be ...
    double share;  // ... or, if not negative, as part of the longer length
    const T*
        table;   // numbers for the distance k in time at table[k * stride] or, if middle >= 0, at table[middle - the
    i64 stride;  // longer length + k * stride]
    i64 middle;
    T first, second;  // parameters of the rule
};

// Elastic distances of series to others, several of these side by side. An item of the loop is one of `parts` parts of
// the series against one block of others. The last block comes first: its series are the longest, and in the symmetric
// case have most to be compared with.
template <class T> struct Elastic {
    ElasticRule rule;
    SeriesList<T> rows, others;
    ElasticTerms<T> terms;
    i64 parts;
    bool symmetric;  // both lists are the same: pairs up to the diagonal are computed, both halves written
    T* out;          // (rows, others)

    i64 blocks() const { return (others.count + kSeriesSideBySide<T> - 1) / kSeriesSideBySide<T>; }
};

// The whole table of two series, and which step leads to each cell: 0 both, 1 a row down, 2 a column on.
struct ElasticTableOf {
    ElasticRule rule;
    SeriesList<double> rows, others;  // one series each
    ElasticTerms<double> terms;
    double* out;  // (rows, columns)
    char* steps;  // (rows, columns)
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
    Loop<Elastic<double>> elastic;
    Loop<Elastic<float>> elastic_single;
    Loop<ElasticTableOf> elastic_table;
    Loop<TangentPlanes> tangent_planes;
    Loop<Distortion> distort;
};
}  // namespace seminorm

SEMINORM_KERNELS(DistanceKernels, distance_kernels)
