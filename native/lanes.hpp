// N numbers side by side (N = 1, 2, 4, ...): one vector of the processor, or several where it has shorter ones.
//
// The halves are nested instead of being an array of vectors, which GCC would keep in memory. The arithmetic is that of
// single numbers in the order written, so every instruction set gives the same bits.
#pragma once

#include "basics.hpp"

namespace seminorm {
namespace {
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int N, bool Whole = (N * int(sizeof(T)) <= kVectorBytes)> struct Lanes;

template <class T, int N> struct Lanes<T, N, true> {
    typedef T Vector __attribute__((vector_size(N * sizeof(T))));
    typedef T Unaligned __attribute__((vector_size(N * sizeof(T)), aligned(alignof(T)), may_alias));
    Vector v;

    static SEMINORM_INLINE Lanes all(T number) { return {number - Vector{}}; }
    static SEMINORM_INLINE Lanes load(const T* from) { return {*reinterpret_cast<const Unaligned*>(from)}; }
    SEMINORM_INLINE void store(T* to) const { *reinterpret_cast<Unaligned*>(to) = v; }
    friend SEMINORM_INLINE Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
    friend SEMINORM_INLINE Lanes operator-(Lanes a, Lanes b) { return {a.v - b.v}; }
    friend SEMINORM_INLINE Lanes operator*(Lanes a, Lanes b) { return {a.v * b.v}; }
    friend SEMINORM_INLINE Lanes operator/(Lanes a, Lanes b) { return {a.v / b.v}; }
    friend SEMINORM_INLINE Lanes smaller(Lanes a, Lanes b) { return {a.v < b.v ? a.v : b.v}; }
    friend SEMINORM_INLINE Lanes larger(Lanes a, Lanes b) { return {a.v > b.v ? a.v : b.v}; }
    friend SEMINORM_INLINE Lanes root(Lanes a) {
        Vector roots;  // number by number: compilers make one vector instruction of it
        for (int k = 0; k < N; ++k) roots[k] = sizeof(T) == 4 ? __builtin_sqrtf(a.v[k]) : __builtin_sqrt(a.v[k]);
        return {roots};
    }
    // where a < b: yes, elsewhere: no
    friend SEMINORM_INLINE Lanes if_less(Lanes a, Lanes b, Lanes yes, Lanes no) { return {a.v < b.v ? yes.v : no.v}; }
    friend SEMINORM_INLINE bool any_less(Lanes a, Lanes b) {
        const auto less = a.v < b.v;
        bool any = false;
        for (int k = 0; k < N; ++k) any |= less[k] != 0;
        return any;
    }
};

template <class T, int N> struct Lanes<T, N, false> {
    using Half = Lanes<T, N / 2>;
    Half low, high;

    static SEMINORM_INLINE Lanes all(T number) { return {Half::all(number), Half::all(number)}; }
    static SEMINORM_INLINE Lanes load(const T* from) { return {Half::load(from), Half::load(from + N / 2)}; }
    SEMINORM_INLINE void store(T* to) const {
        low.store(to);
        high.store(to + N / 2);
    }
    friend SEMINORM_INLINE Lanes operator+(Lanes a, Lanes b) { return {a.low + b.low, a.high + b.high}; }
    friend SEMINORM_INLINE Lanes operator-(Lanes a, Lanes b) { return {a.low - b.low, a.high - b.high}; }
    friend SEMINORM_INLINE Lanes operator*(Lanes a, Lanes b) { return {a.low * b.low, a.high * b.high}; }
    friend SEMINORM_INLINE Lanes operator/(Lanes a, Lanes b) { return {a.low / b.low, a.high / b.high}; }
    friend SEMINORM_INLINE Lanes smaller(Lanes a, Lanes b) { return {smaller(a.low, b.low), smaller(a.high, b.high)}; }
    friend SEMINORM_INLINE Lanes larger(Lanes a, Lanes b) { return {larger(a.low, b.low), larger(a.high, b.high)}; }
    friend SEMINORM_INLINE Lanes root(Lanes a) { return {root(a.low), root(a.high)}; }
    friend SEMINORM_INLINE Lanes if_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
        return {if_less(a.low, b.low, yes.low, no.low), if_less(a.high, b.high, yes.high, no.high)};
    }
    friend SEMINORM_INLINE bool any_less(Lanes a, Lanes b) {
        return any_less(a.low, b.low) || any_less(a.high, b.high);
    }
};
}  // namespace
}  // namespace seminorm
