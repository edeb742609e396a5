// Tangent distances: small systems for sixteen pairs side by side.
//
// With D = |x - y|^2, g = T_x (x - y), h = T_y (x - y) and S = T_x T_y' the least value of
//
//     |x + T_x' a - y - T_y' b|^2 + spring (|a|^2 + |b|^2)
//
// is, after elimination of a,
//
//     D - s |g|^2 - w' M^-1 w,   w = h - s S' g,   M = (1 + spring) I - s S' S,   s = 1 / (1 + spring).
//
// Of a matrix (p, p) for sixteen pairs, entry (a, b) is the vector at (a p + b) 16.
#pragma once

#include "distances/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kSixteen = 16;
using Pairs = Lanes<float, kSixteen>;

SEMINORM_INLINE Pairs reciprocal_root(Pairs a) {
    float numbers[kSixteen];
    a.store(numbers);
    for (int k = 0; k < kSixteen; ++k) numbers[k] = 1.0f / __builtin_sqrtf(numbers[k]);
    return Pairs::load(numbers);
}

// P: number of tangents, or 0 for one known only at run time.
template <int P> class TangentSystem {
  public:
    TangentSystem(i64 p, double spring)
        : p_(P ? P : p),
          s_(Pairs::all(float(1.0 / (1.0 + spring)))),
          diagonal_(Pairs::all(float(1.0 + spring))),
          S_(p_ * p_ * kSixteen),
          M_(p_ * p_ * kSixteen),
          g_(p_ * kSixteen),
          w_(p_ * kSixteen) {}

    // The pairs start .. start + width - 1 of row i.
    SEMINORM_INLINE Pairs solve(const TangentPlanes& a, i64 i, i64 start, i64 width) {
        for (i64 r = 0; r < p_; ++r) put(g_, r, taken(a.along + (i * p_ + r) * a.m + start, width));
        for (i64 r = 0; r < p_; ++r) put(w_, r, taken(a.other_along + (i * p_ + r) * a.m + start, width));
        for (i64 r = 0; r < p_ * p_; ++r) put(S_, r, taken(a.mixed + (i * p_ * p_ + r) * a.m + start, width));
        Pairs value = taken(a.squares + i * a.m + start, width);
        for (i64 r = 0; r < p_; ++r) value = value - s_ * at(g_, r) * at(g_, r);
        assemble();
        return factorize(value);
    }

  private:
    static SEMINORM_INLINE Pairs at(Scratch<float>& from, i64 k) { return Pairs::load(from.data() + k * kSixteen); }
    static SEMINORM_INLINE void put(Scratch<float>& to, i64 k, Pairs value) { value.store(to.data() + k * kSixteen); }
    static SEMINORM_INLINE Pairs taken(const float* from, i64 width) {
        if (width == kSixteen) return Pairs::load(from);
        float numbers[kSixteen] = {};
        for (i64 k = 0; k < width; ++k) numbers[k] = from[k];
        return Pairs::load(numbers);
    }

    // w = h - s S' g and the lower half of M
    SEMINORM_INLINE void assemble() {
        for (i64 a = 0; a < p_; ++a) {
            Pairs w = at(w_, a);
            for (i64 c = 0; c < p_; ++c) w = w - s_ * at(S_, c * p_ + a) * at(g_, c);
            put(w_, a, w);
            for (i64 b = 0; b <= a; ++b) {
                Pairs sum = Pairs::all(0.0f);
                for (i64 c = 0; c < p_; ++c) sum = sum - s_ * at(S_, c * p_ + a) * at(S_, c * p_ + b);
                put(M_, a * p_ + b, a == b ? sum + diagonal_ : sum);
            }
        }
    }

    // M = L L' with the reciprocals of L's diagonal in its place, w -> L^-1 w; returns value - |L^-1 w|^2.
    SEMINORM_INLINE Pairs factorize(Pairs value) {
        for (i64 a = 0; a < p_; ++a) {
            Pairs pivot = at(M_, a * p_ + a), w = at(w_, a);
            for (i64 b = 0; b < a; ++b) {
                Pairs entry = at(M_, a * p_ + b);
                for (i64 c = 0; c < b; ++c) entry = entry - at(M_, a * p_ + c) * at(M_, b * p_ + c);
                entry = entry * at(M_, b * p_ + b);
                put(M_, a * p_ + b, entry);
                pivot = pivot - entry * entry;
                w = w - entry * at(w_, b);
            }
            pivot = reciprocal_root(pivot);
            w = w * pivot;
            put(M_, a * p_ + a, pivot);
            put(w_, a, w);
            value = value - w * w;
        }
        return value;
    }

    i64 p_;
    Pairs s_, diagonal_;
    Scratch<float> S_, M_, g_, w_;
};

template <int P> void tangent_rows(const TangentPlanes& a, i64 begin, i64 end) {
    TangentSystem<P> system(a.p, a.spring);
    for (i64 i = begin; i < end; ++i)
        for (i64 start = 0; start < a.m; start += kSixteen) {
            const i64 width = least<i64>(kSixteen, a.m - start);
            float numbers[kSixteen];
            system.solve(a, i, start, width).store(numbers);
            for (i64 k = 0; k < width; ++k) a.out[i * a.m + start + k] = numbers[k] < 0.0f ? 0.0f : numbers[k];
        }
}

void tangent_planes(const TangentPlanes& a, i64 begin, i64 end) {
    a.p == 7 ? tangent_rows<7>(a, begin, end) : tangent_rows<0>(a, begin, end);  // seven: the deformations of images
}
}  // namespace
}  // namespace seminorm
