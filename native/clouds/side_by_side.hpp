// As many points side by side as a vector has numbers. Each goes through the arithmetic of one point alone, so results
// do not depend on how many there are, nor on which points share a vector.
#pragma once

#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kSide = kVectorBytes / int(sizeof(double));
using Side = Lanes<double, kSide>;

SEMINORM_INLINE Side all(double number) { return Side::all(number); }
SEMINORM_INLINE Side magnitude(Side a) { return larger(a, all(0.0) - a); }

// values (k, kSide) in increasing order from top to bottom: Batcher's merge exchange (Knuth, 5.2.2, algorithm M), which
// compares the same places whatever the values are.
inline void sort_columns(double* values, i64 k) {
    i64 whole = 1;
    while (2 * whole < k) whole *= 2;
    for (i64 p = whole; p > 0; p /= 2) {
        i64 remainder = 0, apart = p;
        for (i64 q = whole;; q /= 2) {
            for (i64 i = 0; i + apart < k; ++i) {
                if ((i & p) != remainder) continue;
                double *upper = values + i * kSide, *lower = upper + apart * kSide;
                const Side a = Side::load(upper), b = Side::load(lower);
                smaller(a, b).store(upper);
                larger(a, b).store(lower);
            }
            if (q == p) break;
            apart = q - p;
            remainder = p;
        }
    }
}
}  // namespace
}  // namespace seminorm
