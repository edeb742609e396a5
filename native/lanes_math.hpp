// Powers of e and of two of numbers side by side, and what is cheap with their bits: the same steps, and so the same
// bits, on every instruction set.
#pragma once

#include "lanes.hpp"

namespace seminorm {
namespace {
template <class T> struct Floating;
template <> struct Floating<double> {
    using Integer = i64;
    static constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
    static constexpr int kMantissa = 52, kTerms = 11;
    static constexpr i64 kBias = 1023;
    static constexpr double kLog2High = 0x1.62e42fee00000p-1, kLog2Low = 0x1.a39ef35793c76p-33, kLeast = -1000.0;
    static constexpr double kTaylor[] = {1,        1,         1. / 2,     1. / 6,      1. / 24,      1. / 120,
                                         1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800};
};
template <> struct Floating<float> {
    using Integer = i32;
    static constexpr float kRounder = 12582912.0f;
    static constexpr int kMantissa = 23, kTerms = 7;
    static constexpr i32 kBias = 127;
    static constexpr float kLog2High = 0x1.62e4p-1f, kLog2Low = 0x1.7f7d1cp-20f, kLeast = -120.0f;
    static constexpr float kTaylor[] = {1, 1, 1.f / 2, 1.f / 6, 1.f / 24, 1.f / 120, 1.f / 720, 1.f / 5040};
};

#if defined(__AVX512F__)
constexpr bool kWholeNumbersCompare = true;  // there are instructions for the lesser of 64-bit whole numbers
#else
constexpr bool kWholeNumbersCompare = false;
#endif

// The numbers that function(bits...) gives, for vectors that fit into one of the processor.
template <class T, int N, class Function, class... More>
SEMINORM_INLINE Lanes<T, N> by_bits(const Function& function, Lanes<T, N> a, More... more) {
    if constexpr (N * int(sizeof(T)) <= kVectorBytes) {
        typedef typename Floating<T>::Integer Bits __attribute__((vector_size(N * sizeof(T))));
        return {reinterpret_cast<typename Lanes<T, N>::Vector>(
            function(reinterpret_cast<Bits>(a.v), reinterpret_cast<Bits>(more.v)...))};
    } else {
        return {by_bits<T, N / 2>(function, a.low, more.low...), by_bits<T, N / 2>(function, a.high, more.high...)};
    }
}

template <class T> constexpr typename Floating<T>::Integer sign_bit() {
    return typename Floating<T>::Integer(1) << (8 * sizeof(T) - 1);
}

template <class T, int N> SEMINORM_INLINE Lanes<T, N> absolute(Lanes<T, N> a) {
    return by_bits([](auto bits) { return bits & ~sign_bit<T>(); }, a);
}

// a, with its sign changed where b is negative
template <class T, int N> SEMINORM_INLINE Lanes<T, N> with_sign(Lanes<T, N> a, Lanes<T, N> b) {
    return by_bits([](auto bits, auto sign) { return bits ^ (sign & sign_bit<T>()); }, a, b);
}

// smaller and larger for numbers that are not negative: their bits are in the same order, and whole numbers have more
// units that compare them.
template <class T, int N> SEMINORM_INLINE Lanes<T, N> lesser(Lanes<T, N> a, Lanes<T, N> b) {
    if constexpr (!kWholeNumbersCompare) return smaller(a, b);
    return by_bits([](auto x, auto y) { return x < y ? x : y; }, a, b);
}
template <class T, int N> SEMINORM_INLINE Lanes<T, N> greater(Lanes<T, N> a, Lanes<T, N> b) {
    if constexpr (!kWholeNumbersCompare) return larger(a, b);
    return by_bits([](auto x, auto y) { return x > y ? x : y; }, a, b);
}

// 2^k for whole numbers k <= 0; 2^kLeast below that
template <class T, int N> SEMINORM_INLINE Lanes<T, N> power_of_two(Lanes<T, N> k) {
    using F = Floating<T>;
    // the last bits of the sum are those of k + kBias, and the others are shifted out
    return by_bits([](auto bits) { return bits << F::kMantissa; },
                   larger(k, Lanes<T, N>::all(F::kLeast)) + Lanes<T, N>::all(F::kRounder + T(F::kBias)));
}

// A number that is not negative as mantissa 2^exponent: e^-2000 is one of them.
template <class T, int N> struct Scaled {
    using L = Lanes<T, N>;
    L mantissa, exponent;

    static SEMINORM_INLINE Scaled load(const T* from) { return {L::load(from), L::load(from + N)}; }
    SEMINORM_INLINE void store(T* to) const {
        mantissa.store(to);
        exponent.store(to + N);
    }
    // mantissa between 1 and 2
    SEMINORM_INLINE Scaled normalized() const {
        using F = Floating<T>;
        const L rounder = L::all(F::kRounder);
        const L shifted =
            by_bits([](auto bits, auto zero) { return ((bits >> F::kMantissa) - F::kBias) + zero; }, mantissa, rounder);
        const L inverse =
            by_bits([](auto bits) { return (2 * F::kBias - (bits >> F::kMantissa)) << F::kMantissa; }, mantissa);
        return {mantissa * inverse, exponent + (shifted - rounder)};
    }
    friend SEMINORM_INLINE Scaled operator*(Scaled a, Scaled b) {
        return {a.mantissa * b.mantissa, a.exponent + b.exponent};
    }
    static SEMINORM_INLINE Scaled sum(Scaled a, Scaled b, Scaled c) {
        const L most = larger(larger(a.exponent, b.exponent), c.exponent);
        const L ab = a.mantissa * power_of_two(a.exponent - most) + b.mantissa * power_of_two(b.exponent - most);
        return {ab + c.mantissa * power_of_two(c.exponent - most), most};
    }
    // e^-x for x >= 0, with a mantissa between 0.7 and 1.42; beyond half the range of whole numbers it is cut off
    static SEMINORM_INLINE Scaled exponential(L unbounded) {
        using F = Floating<T>;
        const L x = smaller(unbounded, L::all(F::kRounder / 6));
        const L rounder = L::all(F::kRounder);
        const L whole = (rounder - x * L::all(T(1.4426950408889634))) - rounder;
        const L rest = (L::all(0) - x - whole * L::all(F::kLog2High)) - whole * L::all(F::kLog2Low);
        L result = L::all(F::kTaylor[F::kTerms]);
        for (int k = F::kTerms - 1; k >= 0; --k) result = result * rest + L::all(F::kTaylor[k]);
        return {result, whole};
    }
};
}  // namespace
}  // namespace seminorm
