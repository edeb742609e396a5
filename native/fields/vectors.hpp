// Operations on long vectors, in stretches of fixed length: sums depend on nothing but the length.
#pragma once

#include "fields/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
// partial[c]: the part of x . y in stretch c, in double precision, as eight sums side by side.
template <class T> void partial_dots(const DotProduct<T>& a, i64 begin, i64 end) {
    constexpr int lanes = 8;
    using L = Lanes<double, lanes>;
    for (i64 c = begin; c < end; ++c) {
        const i64 first = c * kStretch, last = least(a.size, first + kStretch);
        L sums = L::all(0.0);
        i64 i = first;
        for (; i + lanes <= last; i += lanes) {
            double x[lanes], y[lanes];
            for (int k = 0; k < lanes; ++k) {
                x[k] = double(a.x[i + k]);
                y[k] = double(a.y[i + k]);
            }
            sums = sums + L::load(x) * L::load(y);
        }
        double parts[lanes];
        sums.store(parts);
        double total = 0.0;
        for (int k = 0; k < lanes; ++k) total += parts[k];
        for (; i < last; ++i) total += double(a.x[i]) * double(a.y[i]);
        a.partial[c] = total;
    }
}

// y = factor x + share y in the stretches begin .. end - 1.
template <class T> void combine(const Combination<T>& a, i64 begin, i64 end) {
    const i64 last = least(a.size, end * kStretch);
    for (i64 i = begin * kStretch; i < last; ++i) a.y[i] = a.factor * a.x[i] + a.share * a.y[i];
}
}  // namespace
}  // namespace seminorm
