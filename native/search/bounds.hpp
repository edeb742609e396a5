// Subsequence search: means and deviations of all pieces of a series, and lower bounds of their distances to a query.
// Eight pieces that follow each other are side by side.
#pragma once

#include "lanes.hpp"
#include "search/kernels.hpp"

namespace seminorm {
namespace {
constexpr i64 kPieces = 8;
using Eight = Lanes<double, kPieces>;

SEMINORM_INLINE Eight square(Eight a) { return a * a; }

// The first of eight pieces, so that all eight exist: the last block overlaps the one before it.
SEMINORM_INLINE i64 block_start(i64 block, i64 pieces) { return least(block * kPieces, pieces - kPieces); }

void units(const Pieces& a, i64 begin, i64 end) {
    const Eight zero = Eight::all(0), number = Eight::all(double(a.length));
    for (i64 block = begin; block < end; ++block) {
        const i64 first = block_start(block, a.pieces);
        const double* x = a.series + first;
        Eight mean = zero, inverse = Eight::all(1);
        if (a.standardized) {
            for (i64 j = 0; j < a.length; ++j) mean = mean + Eight::load(x + j);
            mean = mean / number;
            Eight squares = zero;
            for (i64 j = 0; j < a.length; ++j) squares = squares + square(Eight::load(x + j) - mean);
            const Eight deviation = root(squares / number), least = Eight::all(a.least);
            inverse = if_less(least, deviation, inverse / larger(deviation, least), zero);
        }
        mean.store(a.means + first);
        inverse.store(a.inverses + first);
    }
}

// how far x is outside [low, high]
SEMINORM_INLINE Eight outside(Eight x, Eight low, Eight high) {
    return larger(larger(x - high, low - x), Eight::all(0));
}

void bounds(const Bounds& a, i64 begin, i64 end) {
    for (i64 block = begin; block < end; ++block) {
        const i64 first = block_start(block, a.pieces.pieces);
        const Eight mean = Eight::load(a.pieces.means + first), inverse = Eight::load(a.pieces.inverses + first);
        Eight own = Eight::all(0), other = own;
        for (i64 j = 0; j < a.pieces.length; ++j) {
            const Eight x = (Eight::load(a.pieces.series + first + j) - mean) * inverse;
            const Eight low = (Eight::load(a.series_low + first + j) - mean) * inverse;
            const Eight high = (Eight::load(a.series_high + first + j) - mean) * inverse;
            own = own + square(outside(x, Eight::all(a.lowest[j]), Eight::all(a.highest[j])));
            other = other + square(outside(Eight::all(a.query[j]), low, high));
        }
        larger(own, other).store(a.out + first);
    }
}
}  // namespace
}  // namespace seminorm
