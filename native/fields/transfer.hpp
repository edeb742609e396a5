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

// First coarse function of the fine one n; it has those up to (n + Q) / 2.
constexpr int first_coarse(int n) { return n / 2; }

// One axis of a cube: to (outer, side, inner) from (outer, reach, inner).
template <class T, int D, int Q> SEMINORM_INLINE void refine_axis(const T* from, i64 outer, i64 inner, T* to) {
    constexpr int side = kSides[D], reach = kReach<D, Q>;
    for (i64 o = 0; o < outer; ++o)
        for (int n = 0; n < side; ++n) {
            T* row = to + (o * side + n) * inner;
            const T* coarse = from + (o * reach + first_coarse(n)) * inner;
            for (i64 i = 0; i < inner; ++i) row[i] = T(0);
            for (int j = first_coarse(n); j <= (n + Q) / 2; ++j, coarse += inner) {
                const T weight = kMask<T, Q>.of[n - 2 * j + Q];
                for (i64 i = 0; i < inner; ++i) row[i] += weight * coarse[i];
            }
        }
}

// The transpose: to (outer, reach, inner) from (outer, side, inner).
template <class T, int D, int Q> SEMINORM_INLINE void coarsen_axis(const T* from, i64 outer, i64 inner, T* to) {
    constexpr int side = kSides[D], reach = kReach<D, Q>;
    for (i64 o = 0; o < outer; ++o)
        for (int j = 0; j < reach; ++j) {
            T* row = to + (o * reach + j) * inner;
            for (i64 i = 0; i < inner; ++i) row[i] = T(0);
            const int first = most(0, 2 * j - Q), last = least(side - 1, 2 * j + 1);
            for (int n = first; n <= last; ++n) {
                const T weight = kMask<T, Q>.of[n - 2 * j + Q];
                const T* fine = from + (o * side + n) * inner;
                for (i64 i = 0; i < inner; ++i) row[i] += weight * fine[i];
            }
        }
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
            T *from = first.data(), *to = second.data();
            for (int r = 0; r < rows; ++r) {
                const T* row = patch.data() + row_of_half<D, Q>(half, r);
                for (int k = 0; k < reach; ++k) from[r * reach + k] = row[k];
            }
            for (int axis = 0; axis < D; ++axis) {
                refine_axis<T, D, Q>(from, power(B::side, axis), power(reach, D - 1 - axis), to);
                T* const swap = from;
                from = to;
                to = swap;
            }
            T* fine = a.x + i64(child) * B::nodes;
            for (int node = 0; node < B::nodes; ++node) fine[node] += from[node];
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
            const T* from = a.x + i64(child) * B::nodes;
            T *to = first.data(), *other = second.data();
            for (int axis = 0; axis < D; ++axis) {
                coarsen_axis<T, D, Q>(from, power(reach, axis), power(B::side, D - 1 - axis), to);
                from = to;
                T* const swap = to;
                to = other;
                other = swap;
            }
            for (int r = 0; r < rows; ++r) {
                T* row = patch.data() + row_of_half<D, Q>(half, r);
                for (int k = 0; k < reach; ++k) row[k] += from[r * reach + k];
            }
        }
        add_patch<D, Q>(patch.data(), a.links.neighbors + b * B::around, a.x);
    }
}
}  // namespace
}  // namespace seminorm
