// Fields at any points of the box, and on the corners of the cells of blocks.
#pragma once

#include "fields/kernels.hpp"
#include "fields/splines.hpp"

namespace seminorm {
namespace {
// The cell of a point in its block, and the point in the cell, along each axis.
template <int D>
SEMINORM_INLINE void cell_place(const Links& links, i64 b, const double* point, i64 cell, i64* place, double* t) {
    node_place<D>(cell, place);
    const double factor = links.factors[links.level_of[b]];
    for (int axis = 0; axis < D; ++axis)
        t[axis] = point[axis] * factor - double(links.coords[b * D + axis] * kSides[D] + place[axis]);
}

// Coefficients of the functions alive on the point's cell as an array with kRow entries along every axis.
template <class T, int D, int Q>
SEMINORM_INLINE void gather_alive(const Points<T>& a, i64 b, const i64* place, double* local) {
    i64 positions[Block<D, Q>::alive];
    alive_positions<D, Q>(a.links.neighbors + b * Block<D, Q>::around, place, positions);
    for (int k = 0; k < Block<D, Q>::alive; ++k)
        local[kAliveOffsets<D, Q, kRow>.of[k]] = positions[k] >= 0 ? double(a.x[positions[k]]) : 0.0;
}

// Value and gradient at points given in cells of level 0; out (n, 1 + D).
template <class T, int D, int Q> void read_jets(const Points<T>& a, i64 begin, i64 end) {
    double local[power(kRow, D)] = {};
    for (i64 i = begin; i < end; ++i) {
        const i64 b = a.block[i];
        i64 place[D];
        double t[D];
        cell_place<D>(a.links, b, a.points + i * D, a.cell[i], place, t);
        gather_alive<T, D, Q>(a, b, place, local);
        const PointTables<double, D, Q> tables(t, 1.0 / a.spacings[a.links.level_of[b]]);
        read_jet<double, D, Q, kRow>(local, tables, a.out + i * (1 + D));
    }
}

// Values of the polynomials coefficients (Q + 1, Q + 1), a row each, lowest power first, at t.
template <int Q> SEMINORM_INLINE void polynomials(const double* coefficients, double t, double* values) {
    for (int j = 0; j <= Q; ++j) {
        double value = coefficients[j * (Q + 1) + Q];
        for (int k = Q - 1; k >= 0; --k) value = value * t + coefficients[j * (Q + 1) + k];
        values[j] = value;
    }
}

// Products of derivatives along the axes: out (n, columns) with the orders orders (columns, D), in units of the cell.
// pieces (most + 1, Q + 1, Q + 1): the derivatives of the functions alive on a cell as polynomials.
template <class T, int D, int Q> void read_derivatives(const Derivatives<T>& a, i64 begin, i64 end) {
    constexpr int rows = int(power(Q + 1, D - 1));
    double local[power(kRow, D)] = {};
    for (i64 i = begin; i < end; ++i) {
        const i64 b = a.points.block[i];
        i64 place[D];
        double t[D];
        cell_place<D>(a.points.links, b, a.points.points + i * D, a.points.cell[i], place, t);
        gather_alive<T, D, Q>(a.points, b, place, local);
        for (i64 column = 0; column < a.columns; ++column) {
            double axes[D][Q + 1];
            for (int axis = 0; axis < D; ++axis)
                polynomials<Q>(a.pieces + a.orders[column * D + axis] * (Q + 1) * (Q + 1), t[axis], axes[axis]);
            double total = 0.0;
            for (int r = 0; r < rows; ++r) {
                const double* row = local + kAliveOffsets<D, Q, kRow>.of[r * (Q + 1)];
                double factor = 1.0, sum = 0.0;
                for (int axis = D - 2, rest = r; axis >= 0; --axis, rest /= Q + 1) factor *= axes[axis][rest % (Q + 1)];
                for (int j = 0; j <= Q; ++j) sum += axes[D - 1][j] * row[j];
                total += factor * sum;
            }
            a.points.out[i * a.columns + column] = total;
        }
    }
}

// Values on the corners of the cells of blocks (n, D) of a grid whose cells are 2**finest times narrower than those of
// level 0, and that is at least as fine as the tree there; out (n, (side + 1)**D).
template <class T, int D, int Q> void sample_blocks(const Sampling<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    constexpr int samples = B::side + 1;
    constexpr i64 room = power(most(B::whole, samples), D);
    Scratch<T> first(room), second(room);
    for (i64 n = begin; n < end; ++n) {
        const i64* coords = a.blocks + n * D;
        i64 position = 0;
        for (int axis = 0; axis < D; ++axis) position = position * a.root_blocks[axis] + (coords[axis] >> a.finest);
        i64 current = a.roots[position], level = 0;
        for (; level < a.finest; ++level) {
            int half = 0;
            for (int axis = 0; axis < D; ++axis) half = half * 2 + int(coords[axis] >> (a.finest - level - 1) & 1);
            const i32 child = a.links.children[current * B::halves + half];
            if (child < 0) break;
            current = child;
        }
        T *from = first.data(), *to = second.data();
        read_patch<D, Q>(a.x, a.links.neighbors + current * B::around, from);
        const i64 shrink = a.finest - level, scale = i64(1) << shrink;
        for (int axis = 0; axis < D; ++axis) {
            const i64 outer = power(samples, axis), inner = power(B::whole, D - 1 - axis);
            const i64 start = (coords[axis] & (scale - 1)) * B::side;
            for (int s = 0; s < samples; ++s) {
                const double place = double(start + s) / double(scale);
                const i64 cell = least<i64>(i64(place), B::side - 1);
                T values[kRow] = {}, slopes[kRow];
                spline_tables<T, Q>(T(place - double(cell)), T(1), values, slopes);
                for (i64 o = 0; o < outer; ++o) {
                    const T* rows = from + (o * B::whole + cell) * inner;
                    T* sums = to + (o * samples + s) * inner;
                    for (i64 i = 0; i < inner; ++i) {
                        T sum = values[0] * rows[i];
                        for (int j = 1; j <= Q; ++j) sum += values[j] * rows[j * inner + i];
                        sums[i] = sum;
                    }
                }
            }
            T* const swap = from;
            from = to;
            to = swap;
        }
        T* out = a.out + n * power(samples, D);
        for (i64 k = 0; k < power(samples, D); ++k) out[k] = from[k] + a.offset;
    }
}
}  // namespace
}  // namespace seminorm
