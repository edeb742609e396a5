// A function of positive numbers by polynomials on quarters of its octaves.
//
// Quarter q of octave e is 2^e (1 + q/4) .. 2^e (1 + (q + 1)/4): the first 14 bits of a positive number tell which one
// it lies in, the others where. pieces (cells, terms): the coefficients of 1, t, t^2, ... with t from -1 to 1, for the
// cells first, first + 1, ... in the order of these bits. Numbers in other cells give NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "basics.hpp"

namespace seminorm {
inline constexpr i64 piece_terms = 12;

inline double read_piece(const double* pieces, i64 first, i64 cells, double number) {
    constexpr int below = 50;  // bits of a number within its cell
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const i64 cell = static_cast<i64>(bits >> below) - first;
    if (cell < 0 || cell >= cells) return std::numeric_limits<double>::quiet_NaN();
    const std::uint64_t within = bits & ((std::uint64_t(1) << below) - 1);
    const double t = 2.0 * std::bit_cast<double>(within << 2 | std::bit_cast<std::uint64_t>(1.0)) - 3.0;
    const double *a = pieces + cell * piece_terms, t2 = t * t;
    double even = a[piece_terms - 2], odd = a[piece_terms - 1];  // two chains, half as long
    for (i64 k = piece_terms - 4; k >= 0; k -= 2) {
        even = even * t2 + a[k];
        odd = odd * t2 + a[k + 1];
    }
    return even + t * odd;
}
}  // namespace seminorm
