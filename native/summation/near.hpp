// Direct sums over pairs: f(x_i) = sum_j a_j h(|x_i - y_j|^2) and its derivatives, kSide targets side by side.
//
// With u = x - y, s = |u|^2:  values at the targets of gradient sources b are -2 h'(s) u . b, gradients of value
// sources 2 h'(s) u a, gradients of gradient sources -2 h'(s) b - 4 h''(s) (u . b) u.
#pragma once

#include "summation/kernels.hpp"
#include "summation/profiles.hpp"

namespace seminorm {
namespace {
constexpr i64 kTile = 64;  // sources whose kernel values are kept at a time

struct Corner {
    Side x, y, z;
};

SEMINORM_INLINE Corner difference(const Corner& at, const double* source) {
    return {at.x - all(source[0]), at.y - all(source[1]), at.z - all(source[2])};
}

// totals[c] += sum_j h_j a[j, c] for each of the columns
SEMINORM_INLINE void add_values(const double* h, const double* a, i64 count, i64 columns, Side* totals) {
    for (i64 c = 0; c < columns; ++c) {
        Side even = all(0.0), odd = all(0.0);
        i64 j = 0;
        for (; j + 1 < count; j += 2) {
            even = even + Side::load(h + j * kSide) * all(a[j * columns + c]);
            odd = odd + Side::load(h + (j + 1) * kSide) * all(a[(j + 1) * columns + c]);
        }
        if (j < count) even = even + Side::load(h + j * kSide) * all(a[j * columns + c]);
        totals[c] = totals[c] + (even + odd);
    }
}

// The same for gradients on either side or both; coefficients and totals of gradients have three components.
template <int Sources, int Targets>
SEMINORM_INLINE void add_slopes(const Corner& at, const double* sources, const double* first, const double* second,
                                const double* a, i64 count, i64 columns, Side* totals) {
    for (i64 j = 0; j < count; ++j) {
        const Corner u = difference(at, sources + 3 * j);
        const Side slope = all(2.0) * Side::load(first + j * kSide);
        for (i64 c = 0; c < columns; ++c) {
            const double* own = a + (j * columns + c) * (Sources ? 3 : 1);
            Side* to = totals + c * (Targets ? 3 : 1);
            if (Sources == 0) {
                const Side product = slope * all(own[0]);
                to[0] = to[0] + product * u.x;
                to[1] = to[1] + product * u.y;
                to[2] = to[2] + product * u.z;
                continue;
            }
            const Side along = u.x * all(own[0]) + u.y * all(own[1]) + u.z * all(own[2]);
            if (Targets == 0) {
                to[0] = to[0] - slope * along;
                continue;
            }
            const Side bend = all(4.0) * Side::load(second + j * kSide) * along;
            to[0] = to[0] - (slope * all(own[0]) + bend * u.x);
            to[1] = to[1] - (slope * all(own[1]) + bend * u.y);
            to[2] = to[2] - (slope * all(own[2]) + bend * u.z);
        }
    }
}

// kSide targets from `first` on, and the sources of one tile.
inline void add_tile(const NearSums& a, const Corner& at, i64 first, i64 count, double* values, Side* totals) {
    double* second = values + kTile * kSide;
    const double *sources = a.sources + 3 * first, *coefficients = a.coefficients + first * a.columns * a.source_parts;
    for (i64 j = 0; j < count; ++j) {
        const Corner u = difference(at, sources + 3 * j);
        (u.x * u.x + u.y * u.y + u.z * u.z).store(values + j * kSide);
    }
    const bool from_slopes = a.source_parts > 1, to_slopes = a.target_parts > 1;
    if (from_slopes && to_slopes) {
        for (i64 k = 0; k < count * kSide; ++k) second[k] = values[k];
        evaluate(a.profiles[2], second, count * kSide);
    }
    evaluate(a.profiles[from_slopes || to_slopes], values, count * kSide);
    if (from_slopes && to_slopes)
        add_slopes<1, 1>(at, sources, values, second, coefficients, count, a.columns, totals);
    else if (from_slopes)
        add_slopes<1, 0>(at, sources, values, second, coefficients, count, a.columns, totals);
    else if (to_slopes)
        add_slopes<0, 1>(at, sources, values, second, coefficients, count, a.columns, totals);
    else
        add_values(values, coefficients, count, a.columns, totals);
}

// Adds to the targets of the leaves begin .. end - 1 what the sources of their ranges give.
void sum_near(const NearSums& a, i64 begin, i64 end) {
    const i64 width = a.columns * a.target_parts;
    Scratch<double> values(2 * kTile * kSide);
    Scratch<Side> totals(width);
    for (i64 leaf = begin; leaf < end; ++leaf) {
        const i64 *span = a.spans + 2 * leaf, ranges = a.range_from[leaf + 1];
        if (a.range_from[leaf] == ranges) continue;
        for (i64 first = span[0]; first < span[1]; first += kSide) {
            const double* target = a.targets + first;
            const Corner at{Side::load(target), Side::load(target + a.stride), Side::load(target + 2 * a.stride)};
            for (i64 c = 0; c < width; ++c) totals[c] = all(0.0);
            for (i64 r = a.range_from[leaf]; r < ranges; ++r)
                for (i64 j = a.ranges[2 * r]; j < a.ranges[2 * r + 1]; j += kTile)
                    add_tile(a, at, j, least<i64>(kTile, a.ranges[2 * r + 1] - j), values.data(), totals.data());
            for (i64 c = 0; c < width; ++c) {
                double lanes[kSide];
                totals[c].store(lanes);
                for (i64 lane = 0; lane < least<i64>(kSide, span[1] - first); ++lane)
                    a.out[(first + lane) * width + c] += lanes[lane];
            }
        }
    }
}

void read_profile(const ProfileValues& a, i64 begin, i64 end) {
    Scratch<double> values(kTile * kSide);
    for (i64 first = begin; first < end; first += kTile * kSide) {
        const i64 count = least<i64>(kTile * kSide, end - first);
        for (i64 k = 0; k < kTile * kSide; ++k) values[k] = a.squares[first + least<i64>(k, count - 1)];
        evaluate(a.profile, values.data(), kTile * kSide);
        for (i64 k = 0; k < count; ++k) a.values[first + k] = values[k];
    }
}
}  // namespace
}  // namespace seminorm
