// Between levels: coefficients of a level as coefficients of the next finer one, and the transpose.
//
// A B-spline of degree Q is sum_t mask[t] times the functions 2 j - Q + t of the grid twice as fine, mask[t] = binomial
// (Q + 1, t) / 2**Q, along each axis. The `side` fine functions of half a block come from `reach` coarse ones.
#pragma once

#include "fields/kernels.hpp"

namespace seminorm {
namespace {
template <class T, int Q> struct RefinementMask {
    T of[Q + 2] = {};
    constexpr RefinementMask() {
        double value = 1.0;
        for (int k = 0; k < Q; ++k) value /= 2.0;
        for (int t = 0; t < Q + 2; ++t) {
            of[t] = T(value);
            value = value * (Q + 1 - t) / (t + 1);
        }
    }
};
template <class T, int Q> constexpr RefinementMask<T, Q> kMask;

template <int D, int Q> constexpr int kReach = kSides[D] / 2 + (Q + 1) / 2;

// The fine functions 2 h and 2 h + 1 come from the coarse ones h, h + 1, ..: their weights, and how many they are.
template <int Q, bool Odd> constexpr int kTerms = (Q + (Odd ? 1 : 0)) / 2 + 1;
template <class T, int Q, bool Odd> constexpr T fine_weight(int k) { return kMask<T, Q>.of[Q + (Odd ? 1 : 0) - 2 * k]; }

// A row of `inner` numbers of every second fine function, from the rows of the coarse ones.
template <class T, int Q, bool Odd, int Inner> SEMINORM_INLINE void refine_row(const T* coarse, T* fine) {
    for (int i = 0; i < Inner; ++i) {
        T sum = fine_weight<T, Q, Odd>(0) * coarse[i];
        for (int k = 1; k < kTerms<Q, Odd>; ++k) sum += fine_weight<T, Q, Odd>(k) * coarse[k * Inner + i];
        fine[i] = sum;
    }
}

// One axis of a cube: to (side**Axis, side, reach**..) from (side**Axis, reach, reach**..).
template <class T, int D, int Q, int Axis> SEMINORM_INLINE void refine_axis(const T* from, T* to) {
    constexpr int half = kSides[D] / 2, reach = kReach<D, Q>, outer = int(power(kSides[D], Axis));
    constexpr int inner = int(power(reach, D - 1 - Axis));
    for (int o = 0; o < outer; ++o) {
        const T* coarse = from + o * reach * inner;
        T* fine = to + o * 2 * half * inner;
        if constexpr (inner > 1) {
            for (int h = 0; h < half; ++h) {
                refine_row<T, Q, false, inner>(coarse + h * inner, fine + 2 * h * inner);
                refine_row<T, Q, true, inner>(coarse + h * inner, fine + (2 * h + 1) * inner);
            }
        } else {
            T even[half], odd[half];  // side by side, so that vectors can be used
            for (int h = 0; h < half; ++h) {
                even[h] = odd[h] = T(0);
                for (int k = 0; k < kTerms<Q, false>; ++k) even[h] += fine_weight<T, Q, false>(k) * coarse[h + k];
                for (int k = 0; k < kTerms<Q, true>; ++k) odd[h] += fine_weight<T, Q, true>(k) * coarse[h + k];
            }
            for (int h = 0; h < half; ++h) {
                fine[2 * h] = even[h];
                fine[2 * h + 1] = odd[h];
            }
        }
    }
}

// The transpose: to (reach**Axis, reach, side**..) from (reach**Axis, side, side**..).
template <class T, int D, int Q, int Axis> SEMINORM_INLINE void coarsen_axis(const T* from, T* to) {
    constexpr int side = kSides[D], reach = kReach<D, Q>, outer = int(power(reach, Axis));
    constexpr int inner = int(power(side, D - 1 - Axis));
    for (int o = 0; o < outer; ++o)
        for (int j = 0; j < reach; ++j) {
            const int first = most(0, 2 * j - Q), last = least(side - 1, 2 * j + 1);
            const T* fine = from + (o * side + first) * inner;
            T* coarse = to + (o * reach + j) * inner;
            if (last - first == Q + 1) {
                for (int i = 0; i < inner; ++i) {
                    T sum = kMask<T, Q>.of[0] * fine[i];
                    for (int t = 1; t < Q + 2; ++t) sum += kMask<T, Q>.of[t] * fine[t * inner + i];
                    coarse[i] = sum;
                }
                continue;
            }
            for (int i = 0; i < inner; ++i) {
                T sum = T(0);
                for (int n = first; n <= last; ++n)
                    sum += kMask<T, Q>.of[n - 2 * j + Q] * fine[(n - first) * inner + i];
                coarse[i] = sum;
            }
        }
}

// All axes, one after the other; returns the buffer that holds the result.
template <class T, int D, int Q, int Axis = 0> SEMINORM_INLINE T* refine_all(T* from, T* to) {
    refine_axis<T, D, Q, Axis>(from, to);
    if constexpr (Axis + 1 < D) return refine_all<T, D, Q, Axis + 1>(to, from);
    return to;
}
template <class T, int D, int Q, int Axis = 0> SEMINORM_INLINE T* coarsen_all(const T* from, T* to, T* other) {
    coarsen_axis<T, D, Q, Axis>(from, to);
    if constexpr (Axis + 1 < D) return coarsen_all<T, D, Q, Axis + 1>(to, other, to);
    return to;
}

// Where row r (along the last axis) of the box of `reach` functions of a half begins in the patch.
template <int D, int Q> SEMINORM_INLINE int row_of_half(int half, int r) {
    constexpr int side = kSides[D], reach = kReach<D, Q>, whole = side + Q;
    int position = (half & 1) * (side / 2), stride = whole;
    for (int axis = D - 2; axis >= 0; --axis) {
        position += ((half >> (D - 1 - axis) & 1) * (side / 2) + r % reach) * stride;
        r /= reach;
        stride *= whole;
    }
    return position;
}

template <int D, int Q> constexpr i64 kTransferRoom = power(most(kReach<D, Q>, kSides[D]), D) + 16;

// Adds to the coefficients of the blocks inside the given ones those of the given ones, refined.
template <class T, int D, int Q> void prolong_add(const Transfer<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    constexpr int reach = kReach<D, Q>, rows = int(power(reach, D - 1));
    Scratch<T> patch(B::patch), first(kTransferRoom<D, Q>), second(kTransferRoom<D, Q>);
    for (i64 n = begin; n < end; ++n) {
        const i64 b = a.parents[n];
        read_patch<D, Q>(a.x, a.links.neighbors + b * B::around, patch.data());
        for (int half = 0; half < B::halves; ++half) {
            const i32 child = a.links.finer[b * B::halves + half];
            if (child < 0) continue;
            T* from = first.data();
            for (int r = 0; r < rows; ++r) {
                const T* row = patch.data() + row_of_half<D, Q>(half, r);
                for (int k = 0; k < reach; ++k) from[r * reach + k] = row[k];
            }
            const T* refined = refine_all<T, D, Q>(from, second.data());
            T* fine = a.x + i64(child) * B::nodes;
            for (int node = 0; node < B::nodes; ++node) fine[node] += refined[node];
        }
    }
}

// The transpose: adds to the functions of the given blocks, no two of which share one, what the finer functions in them
// have.
template <class T, int D, int Q> void restrict_add(const Transfer<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    constexpr int reach = kReach<D, Q>, rows = int(power(reach, D - 1));
    Scratch<T> patch(B::patch), first(kTransferRoom<D, Q>), second(kTransferRoom<D, Q>);
    for (i64 n = begin; n < end; ++n) {
        const i64 b = a.parents[n];
        for (int k = 0; k < B::patch; ++k) patch[k] = T(0);
        for (int half = 0; half < B::halves; ++half) {
            const i32 child = a.links.finer[b * B::halves + half];
            if (child < 0) continue;
            const T* coarse = coarsen_all<T, D, Q>(a.x + i64(child) * B::nodes, first.data(), second.data());
            for (int r = 0; r < rows; ++r) {
                T* row = patch.data() + row_of_half<D, Q>(half, r);
                for (int k = 0; k < reach; ++k) row[k] += coarse[r * reach + k];
            }
        }
        add_patch<D, Q>(patch.data(), a.links.neighbors + b * B::around, a.x);
    }
}
}  // namespace
}  // namespace seminorm
