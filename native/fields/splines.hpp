// Values and slopes of B-splines on a cell, and their contraction with coefficients.
//
// A tensor product is contracted axis by axis: rows along the last axis are vectors of four numbers (degree 3 has four
// functions alive on a cell; for lower degrees the table of the last axis is filled up with zeros).
#pragma once

#include "fields/links.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kRow = 4;

// The functions alive on a cell at t in [0, 1]: values, and first derivatives times inverse.
template <class T, int Q> SEMINORM_INLINE void spline_tables(T t, T inverse, T* value, T* slope) {
    static_assert(Q >= 1 && Q <= 3);
    const T s = T(1) - t;
    if constexpr (Q == 1) {
        value[0] = s;
        value[1] = t;
        slope[0] = -inverse;
        slope[1] = inverse;
    } else if constexpr (Q == 2) {
        value[0] = T(0.5) * s * s;
        value[1] = T(0.5) + t * s;
        value[2] = T(0.5) * t * t;
        slope[0] = -s * inverse;
        slope[1] = (s - t) * inverse;
        slope[2] = t * inverse;
    } else {
        const T tt = t * t, ss = s * s;
        value[0] = ss * s * T(1.0 / 6.0);
        value[1] = T(2.0 / 3.0) - tt + T(0.5) * tt * t;
        value[2] = T(2.0 / 3.0) - ss + T(0.5) * ss * s;
        value[3] = tt * t * T(1.0 / 6.0);
        slope[0] = T(-0.5) * ss * inverse;
        slope[1] = (T(1.5) * tt - T(2) * t) * inverse;
        slope[2] = (T(2) * s - T(1.5) * ss) * inverse;
        slope[3] = T(0.5) * tt * inverse;
    }
}

// The tables of all axes for a point.
template <class T, int D, int Q> struct PointTables {
    T value[D][kRow], slope[D][kRow];

    template <class Place> SEMINORM_INLINE PointTables(const Place* t, T inverse) {
        for (int axis = 0; axis < D; ++axis) {
            for (int j = Q + 1; j < kRow; ++j) value[axis][j] = slope[axis][j] = T(0);
            spline_tables<T, Q>(T(t[axis]), inverse, value[axis], slope[axis]);
        }
    }
    SEMINORM_INLINE void square() {
        for (int axis = 0; axis < D; ++axis)
            for (int j = 0; j < kRow; ++j) {
                value[axis][j] *= value[axis][j];
                slope[axis][j] *= slope[axis][j];
            }
    }
};

template <class T> SEMINORM_INLINE T row_sum(Lanes<T, kRow> row) {
    T numbers[kRow];
    row.store(numbers);
    return (numbers[0] + numbers[1]) + (numbers[2] + numbers[3]);
}

// Rows contracted along the axes Axis .. D - 2: with values, and with the slope along one of these axes.
template <class T, int D> struct Contracted {
    Lanes<T, kRow> value, slope[D];
};

// Stride: of the last axis but one in the array of coefficients, whose extents along all axes but the first are Stride.
template <class T, int D, int Q, int Stride, int Axis = 0>
SEMINORM_INLINE Contracted<T, D> contract(const T* from, const PointTables<T, D, Q>& tables) {
    using L = Lanes<T, kRow>;
    Contracted<T, D> result;
    if constexpr (Axis == D - 1) {
        result.value = L::load(from);
    } else {
        constexpr i64 step = power(Stride, D - 1 - Axis);
        result.value = L::all(T(0));
        for (int axis = Axis; axis < D - 1; ++axis) result.slope[axis] = L::all(T(0));
        for (int j = 0; j <= Q; ++j) {
            const Contracted<T, D> inner = contract<T, D, Q, Stride, Axis + 1>(from + j * step, tables);
            const L value = L::all(tables.value[Axis][j]), slope = L::all(tables.slope[Axis][j]);
            result.value = result.value + value * inner.value;
            result.slope[Axis] = result.slope[Axis] + slope * inner.value;
            for (int axis = Axis + 1; axis < D - 1; ++axis)
                result.slope[axis] = result.slope[axis] + value * inner.slope[axis];
        }
    }
    return result;
}

// Value and gradient, jet[0] and jet[1 ..], of the function with coefficients from the given position on.
template <class T, int D, int Q, int Stride>
SEMINORM_INLINE void read_jet(const T* from, const PointTables<T, D, Q>& tables, T* jet) {
    using L = Lanes<T, kRow>;
    const Contracted<T, D> rows = contract<T, D, Q, Stride>(from, tables);
    const L value = L::load(tables.value[D - 1]), slope = L::load(tables.slope[D - 1]);
    jet[0] = row_sum<T>(rows.value * value);
    for (int axis = 0; axis < D - 1; ++axis) jet[1 + axis] = row_sum<T>(rows.slope[axis] * value);
    jet[D] = row_sum<T>(rows.value * slope);
}

template <class T, int D, int Q, int Stride, int Axis = 0>
SEMINORM_INLINE void expand(const Contracted<T, D>& rows, const PointTables<T, D, Q>& tables, T* to) {
    using L = Lanes<T, kRow>;
    if constexpr (Axis == D - 1) {
        (L::load(to) + rows.value).store(to);
    } else {
        constexpr i64 step = power(Stride, D - 1 - Axis);
        for (int j = 0; j <= Q; ++j) {
            const L value = L::all(tables.value[Axis][j]), slope = L::all(tables.slope[Axis][j]);
            Contracted<T, D> inner;
            inner.value = value * rows.value + slope * rows.slope[Axis];
            for (int axis = Axis + 1; axis < D - 1; ++axis) inner.slope[axis] = value * rows.slope[axis];
            expand<T, D, Q, Stride, Axis + 1>(inner, tables, to + j * step);
        }
    }
}

// The transpose of read_jet: adds the coefficients of the functional with the given weights.
template <class T, int D, int Q, int Stride>
SEMINORM_INLINE void add_jet(const T* jet, const PointTables<T, D, Q>& tables, T* to) {
    using L = Lanes<T, kRow>;
    const L value = L::load(tables.value[D - 1]), slope = L::load(tables.slope[D - 1]);
    Contracted<T, D> rows;
    rows.value = L::all(jet[0]) * value + L::all(jet[D]) * slope;
    for (int axis = 0; axis < D - 1; ++axis) rows.slope[axis] = L::all(jet[1 + axis]) * value;
    expand<T, D, Q, Stride>(rows, tables, to);
}
}  // namespace
}  // namespace seminorm
