// Distances by a C function of the user: out[i, j] = function(x_i, y_j, d, user_data), with rows of X (n, d), Y (m, d).
#pragma once

#include <cstdint>

#include "basics.hpp"

namespace seminorm {
using UserFunction = double (*)(const double*, const double*, std::int64_t, void*);

struct UserPairs {
    const double* X;
    const double* Y;
    i64 n, m, d;
    UserFunction function;
    void* user_data;
    bool symmetric;  // X is Y: pairs below the diagonal are computed, both halves written, the diagonal left alone
    double* out;     // (n, m)
};

// Item k is the pair (k / m, k % m).
inline void call_pairs(const UserPairs& a, i64 begin, i64 end) {
    for (i64 item = begin; item < end;) {
        const i64 i = item / a.m, first = item % a.m, last = least(a.m, first + end - item);
        for (i64 j = first; j < (a.symmetric ? least(i, last) : last); ++j) {
            const double value = a.function(a.X + i * a.d, a.Y + j * a.d, a.d, a.user_data);
            a.out[i * a.m + j] = value;
            if (a.symmetric) a.out[j * a.m + i] = value;
        }
        item += last - first;
    }
}
}  // namespace seminorm
