// Logarithm and exponential of several numbers at once, to about a unit in the last place.
//
// The arithmetic is that of single numbers in the order written (no contraction), so every instruction set gives the
// same bits. log: for positive normal numbers; exp: for numbers up to 700, 0 below -708.
#pragma once

#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kSide = kVectorBytes / int(sizeof(double));
using Side = Lanes<double, kSide>;
typedef double Reals __attribute__((vector_size(kVectorBytes)));
typedef i64 Words __attribute__((vector_size(kVectorBytes)));
typedef unsigned long long Bits __attribute__((vector_size(kVectorBytes)));

SEMINORM_INLINE Side all(double number) { return Side::all(number); }

// log(2^e m) = e log 2 + log m with m in 0.707 .. 1.414; log m by the series of the inverse hyperbolic tangent with the
// coefficients of fdlibm's e_log.c.
SEMINORM_INLINE Side logarithm(Side x) {
    constexpr double high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10;
    constexpr double magic = 4503599627370496.0;  // 2^52: whole numbers are its last bits
    const Bits bits = (Bits)x.v;
    const Bits half = (bits & 0x000fffffffffffffull) + 0x00095f6400000000ull;  // carries where m is above sqrt 2
    const Bits carry = (half >> 52) & 1ull;
    const Bits exponent = (bits >> 52) + carry;
    const Reals m = (Reals)((bits & 0x000fffffffffffffull) | ((0x3ffull - carry) << 52));
    const Reals e = (Reals)(exponent | 0x4330000000000000ull) - (magic + 1023.0);
    const Reals f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z;
    const Reals even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const Reals odd =
        z * (6.666666666666735130e-01 +
             w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const Reals square = 0.5 * f * f;
    return {e * high - ((square - (s * (square + (even + odd)) + e * low)) - f)};
}

// exp(k log 2 + r) with |r| up to log(2) / 2, by the Taylor polynomial of degree 13.
SEMINORM_INLINE Side exponential(Side x) {
    constexpr double high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10;
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: rounds to whole numbers
    const Side bounded = larger(x, all(-708.0));
    const Reals shifted = bounded.v * 1.44269504088896338700 + magic, k = shifted - magic;
    const Reals r = (bounded.v - k * high) - k * low, r2 = r * r, r4 = r2 * r2;
    const Reals a = 1.0 + r, b = 0.5 + r * (1.0 / 6.0), c = 1.0 / 24.0 + r * (1.0 / 120.0);
    const Reals d = 1.0 / 720.0 + r * (1.0 / 5040.0), e = 1.0 / 40320.0 + r * (1.0 / 362880.0);
    const Reals f = 1.0 / 3628800.0 + r * (1.0 / 39916800.0), g = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
    const Reals sum = (a + r2 * b) + r4 * ((c + r2 * d) + r4 * ((e + r2 * f) + r4 * g));
    const Side scaled = {(Reals)((Bits)sum + ((Bits)shifted << 52))};
    return if_less(x, all(-708.0), all(0.0), scaled);
}
}  // namespace
}  // namespace seminorm
