// Values and gradients at points as normal equations that are applied point by point, never stored:
// sum_i v_i (f(x_i) - y_i)^2 + w_i |grad f(x_i) - g_i|^2.
//
// Points are sorted by block. corner[i] is the position in the patch of the first function alive on the point's cell,
// t (n, D) the point in its cell. weights (n, 2) are v and w, axis_weights (D,) factors of w for each component,
// observed (n, 1 + D) value and gradient.
#pragma once

#include "fields/kernels.hpp"
#include "fields/splines.hpp"

namespace seminorm {
namespace {
constexpr int kSlack = 16;  // rows of four may reach beyond the end of a patch

template <class T, int D, int Q, PointSum What> void add_point_sums(const PointData<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    Scratch<T> patch(B::patch + kSlack, T(0)), image(B::patch + kSlack, T(0));
    T axis_weights[D];
    for (int axis = 0; axis < D; ++axis) axis_weights[axis] = T(a.axis_weights[axis]);
    for (i64 c = begin; c < end; ++c) {
        const i64 b = a.chosen[c];
        const i32* near = a.links.neighbors + b * B::around;
        const T inverse = T(1.0 / a.spacings[a.links.level_of[b]]);
        if (What == PointSum::applied) read_patch<D, Q>(a.x, near, patch.data());
        for (int k = 0; k < B::patch; ++k) image[k] = T(0);
        for (i64 i = a.start[b]; i < a.start[b + 1]; ++i) {
            PointTables<T, D, Q> tables(a.t + i * D, inverse);
            T jet[1 + D];
            if constexpr (What == PointSum::applied) {
                read_jet<T, D, Q, B::whole>(patch.data() + a.corner[i], tables, jet);
            } else {
                for (int k = 0; k <= D; ++k)
                    jet[k] = What == PointSum::observed ? T(a.observed[i * (1 + D) + k]) : T(1);
            }
            if constexpr (What == PointSum::squared) tables.square();
            jet[0] *= T(a.weights[2 * i]);
            for (int axis = 0; axis < D; ++axis) jet[1 + axis] *= T(a.weights[2 * i + 1]) * axis_weights[axis];
            add_jet<T, D, Q, B::whole>(jet, tables, image.data() + a.corner[i]);
        }
        add_patch<D, Q>(image.data(), near, a.y);
    }
}

template <class T, int D, int Q> void add_point_data(const PointData<T>& a, i64 begin, i64 end) {
    switch (a.what) {
        case PointSum::observed:
            return add_point_sums<T, D, Q, PointSum::observed>(a, begin, end);
        case PointSum::applied:
            return add_point_sums<T, D, Q, PointSum::applied>(a, begin, end);
        case PointSum::squared:
            return add_point_sums<T, D, Q, PointSum::squared>(a, begin, end);
    }
}

// Value and gradient of the field at the points of the blocks begin .. end - 1; out (n, 1 + D).
template <class T, int D, int Q> void read_points(const PointReading<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    Scratch<T> patch(B::patch + kSlack, T(0));
    for (i64 b = begin; b < end; ++b) {
        if (a.start[b + 1] == a.start[b]) continue;
        const T inverse = T(1.0 / a.spacings[a.links.level_of[b]]);
        read_patch<D, Q>(a.x, a.links.neighbors + b * B::around, patch.data());
        for (i64 i = a.start[b]; i < a.start[b + 1]; ++i) {
            const PointTables<T, D, Q> tables(a.t + i * D, inverse);
            T jet[1 + D];
            read_jet<T, D, Q, B::whole>(patch.data() + a.corner[i], tables, jet);
            for (int k = 0; k <= D; ++k) a.out[i * (1 + D) + k] = float(jet[k]);
        }
    }
}
}  // namespace
}  // namespace seminorm
