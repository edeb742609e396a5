// Profiles h(s), s = r^2, of radial kernels: values of many at once, in place.
//
// A profile is a form with numbers (12): its name below, then b, n, q and eight coefficients c.
//
//   kPower      c0 s^(n/2)
//   kLog        s^n (c0 log s + c1)
//   kRoot       c0 (1 + b s)^(n/2)
//   kGauss      c0 exp(-b s)
//   kDecay      exp(-z) P(z) z^-q,  z = sqrt(b s),  P(z) = c0 + c1 z + ... + c7 z^7
//   kTruncated  (1 - z)_+^n P(z) z^-q,  likewise
//   kTable      polynomials of 8 terms on 2^n cells for each octave of b s (see table); c0 at s = 0
//
// Where a profile is infinite at s = 0 its value there is 0.
#pragma once

#include "summation/kernels.hpp"
#include "summation/vector_math.hpp"

namespace seminorm {
namespace {
SEMINORM_INLINE Side whole_power(Side x, i64 n) {
    Side result = all(1.0);
    for (i64 k = 0; k < (n < 0 ? -n : n); ++k) result = result * x;
    return n < 0 ? all(1.0) / result : result;
}

// x^(n/2), by a root at most and a division at most
SEMINORM_INLINE Side half_power(Side x, i64 n) {
    const i64 size = n < 0 ? -n : n;
    Side result = whole_power(x, size / 2);
    if (size % 2) result = result * root(x);
    return n < 0 ? all(1.0) / result : result;
}

SEMINORM_INLINE Side polynomial(const double* c, Side z) {
    Side result = all(c[7]);
    for (int k = 6; k >= 0; --k) result = result * z + all(c[k]);
    return result;
}

SEMINORM_INLINE Side nothing_at_zero(Side s, Side value) { return if_less(all(0.0), s, value, all(0.0)); }

template <class Function> SEMINORM_INLINE void each(double* s, i64 count, const Function& function) {
    for (i64 k = 0; k < count; k += kSide) function(Side::load(s + k)).store(s + k);
}

inline void read_table(const Profile& p, double* s, i64 count) {
    const i64 below = 52 - p.n, n = p.n;
    const unsigned long long mask = (1ull << below) - 1, one = 0x3ff0000000000000ull;
    const double* table = p.table;
    const i64 first = p.first, cells = p.cells;
    const double at_zero = p.c[0], b = p.b;
    for (i64 k = 0; k < count; ++k) {
        const unsigned long long bits = __builtin_bit_cast(unsigned long long, s[k] * b);
        const i64 place = i64(bits >> below) - first;
        const i64 cell = place < 0 ? 0 : place < cells ? place : cells - 1;
        const double t = 2.0 * __builtin_bit_cast(double, ((bits & mask) << n) | one) - 3.0;
        double value = table[(kTableTerms - 1) * cells + cell];
        for (i64 term = kTableTerms - 2; term >= 0; --term) value = value * t + table[term * cells + cell];
        s[k] = s[k] > 0.0 ? value : at_zero;
    }
}

// s (count), a multiple of kSide, becomes h(s).
inline void evaluate(const Profile& p, double* s, i64 count) {
    const Side factor = all(p.c[0]), b = all(p.b), one = all(1.0);
    const i64 n = p.n, q = p.q;
    switch (p.form) {
        case kPower:
            if (n == 1)
                each(s, count, [=](Side x) { return factor * root(x); });
            else if (n == 3)
                each(s, count, [=](Side x) { return factor * (x * root(x)); });
            else if (n >= 0)
                each(s, count, [=](Side x) { return factor * half_power(x, n); });
            else
                each(s, count, [=](Side x) { return nothing_at_zero(x, factor * half_power(x, n)); });
            break;
        case kLog: {
            const Side plain = all(p.c[1]), least = all(1e-300);
            if (n == 1 && p.c[1] == 0.0)
                each(s, count, [=](Side x) { return x * (factor * logarithm(larger(x, least))); });
            else
                each(s, count, [=](Side x) {
                    const Side value = factor * logarithm(larger(x, least)) + plain;
                    return nothing_at_zero(x, whole_power(x, n) * value);
                });
            break;
        }
        case kRoot:
            if (n == 1)
                each(s, count, [=](Side x) { return factor * root(one + b * x); });
            else
                each(s, count, [=](Side x) { return factor * half_power(one + b * x, n); });
            break;
        case kGauss:
            each(s, count, [=](Side x) { return factor * exponential(all(0.0) - b * x); });
            break;
        case kDecay:
            each(s, count, [&](Side x) {
                const Side z = root(b * x), value = exponential(all(0.0) - z) * polynomial(p.c, z);
                return q > 0 ? nothing_at_zero(x, value / whole_power(z, q)) : value;
            });
            break;
        case kTruncated:
            each(s, count, [&](Side x) {
                const Side z = root(b * x), inside = larger(one - z, all(0.0));
                const Side value = whole_power(inside, n) * polynomial(p.c, z);
                return q > 0 ? nothing_at_zero(x, value / whole_power(z, q)) : value;
            });
            break;
        default:
            read_table(p, s, count);
    }
}
}  // namespace
}  // namespace seminorm
