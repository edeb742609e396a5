// Normal equations of values and gradients at points, summed into stencils of the lines they touch.
//
// Points are sorted by block (order, start) and taken cell by cell: the equations of a cell are summed as a dense
// (alive, alive) matrix, then added to data (lines, stencil, side) and right (sides, blocks, side**D).
#pragma once

#include "fields/evaluation.hpp"
#include "fields/kernels.hpp"

namespace seminorm {
namespace {
constexpr int kOuterLanes = 8;
constexpr i64 kAhead = 16;  // observations
constexpr int filled_row(int alive) { return (alive + kOuterLanes - 1) / kOuterLanes * kOuterLanes; }

// The equations of one cell: the upper triangle of the matrix, and the right-hand sides.
template <int D, int Q> class CellEquations {
  public:
    static constexpr int alive = Block<D, Q>::alive, row = filled_row(alive);

    explicit CellEquations(i64 sides) : sides_(sides), matrix_(i64(alive) * row), vector_(sides * row) {
        for (int k = 0; k < row; ++k) basis_[k] = 0.0;
    }
    void clear() {
        for (i64 k = 0; k < i64(alive) * row; ++k) matrix_[k] = 0.0;
        for (i64 k = 0; k < sides_ * row; ++k) vector_[k] = 0.0;
    }

    // Adds an observation of the products of the functions along the axes, axes (D, kRow).
    void add(const double (*axes)[kRow], double weight, const double* observed) {
        using L = Lanes<double, kOuterLanes>;
        basis_[0] = 1.0;
        int size = 1;
        for (int axis = 0; axis < D; ++axis) {
            for (int k = size - 1; k >= 0; --k) {
                const double value = basis_[k];
                for (int j = Q; j >= 0; --j) basis_[k * (Q + 1) + j] = value * axes[axis][j];
            }
            size *= Q + 1;
        }
        for (int k = 0; k < alive; ++k) {
            const double scaled = weight * basis_[k];
            double* to = matrix_.data() + k * row;
            for (i64 s = 0; s < sides_; ++s) vector_[s * row + k] += scaled * observed[s];
            for (int other = k / kOuterLanes * kOuterLanes; other < row; other += kOuterLanes)
                (L::load(to + other) + L::all(scaled) * L::load(basis_ + other)).store(to + other);
        }
    }
    double entry(int k, int other) const { return k <= other ? matrix_[k * row + other] : matrix_[other * row + k]; }
    double right(i64 side, int k) const { return vector_[side * row + k]; }

  private:
    i64 sides_;
    Scratch<double> matrix_, vector_;
    alignas(64) double basis_[row];
};

// A block's points sorted by cell, stable.
template <int D> void sort_by_cell(const i64* points, i64 number, const i32* cell, i64* sorted) {
    constexpr i64 cells = power(kSides[D], D);
    i64 first[cells + 1] = {};
    for (i64 n = 0; n < number; ++n) ++first[cell[points[n]] + 1];
    for (i64 c = 0; c < cells; ++c) first[c + 1] += first[c];
    for (i64 n = 0; n < number; ++n) sorted[first[cell[points[n]]]++] = points[n];
}

// Asks for an observation, which lies anywhere in memory, before it is needed.
template <int D> SEMINORM_INLINE void fetch(const Assembly& a, i64 i) {
    __builtin_prefetch(a.points + i * D);
    __builtin_prefetch(a.weights + i * a.columns);
    __builtin_prefetch(a.observations + i * a.columns * a.sides);
}

template <int D, int Q> void assemble(const Assembly& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    constexpr auto& codes = kAliveOffsets<D, Q, 2 * Q + 1>;
    CellEquations<D, Q> equations(a.sides);
    for (i64 c = begin; c < end; ++c) {
        const i64 b = a.chosen[c], number = a.start[b + 1] - a.start[b];
        const double inverse = 1.0 / a.spacings[a.links.level_of[b]];
        Scratch<i64> sorted(number);
        sort_by_cell<D>(a.order + a.start[b], number, a.cell, sorted.data());
        for (i64 n = 0; n < least(number, kAhead); ++n) fetch<D>(a, sorted[n]);
        for (i64 n = 0; n < number;) {
            const i32 here = a.cell[sorted[n]];
            i64 place[D];
            node_place<D>(here, place);
            equations.clear();
            for (; n < number && a.cell[sorted[n]] == here; ++n) {
                const i64 i = sorted[n];
                if (n + kAhead < number) fetch<D>(a, sorted[n + kAhead]);
                double t[D];
                cell_place<D>(a.links, b, a.points + i * D, here, place, t);
                const PointTables<double, D, Q> tables(t, inverse);
                double axes[D][kRow];
                for (int axis = 0; axis < D; ++axis)
                    for (int j = 0; j < kRow; ++j) axes[axis][j] = tables.value[axis][j];
                const double *weights = a.weights + i * a.columns, *observed = a.observations + i * a.columns * a.sides;
                if (a.values_first >= 0 && weights[a.values_first] > 0.0)
                    equations.add(axes, weights[a.values_first], observed + a.values_first * a.sides);
                for (int axis = 0; a.gradients_first >= 0 && axis < D; ++axis) {
                    const i64 column = a.gradients_first + axis;
                    if (!(weights[column] > 0.0)) continue;
                    for (int j = 0; j < kRow; ++j) axes[axis][j] = tables.slope[axis][j];
                    equations.add(axes, weights[column], observed + column * a.sides);
                    for (int j = 0; j < kRow; ++j) axes[axis][j] = tables.value[axis][j];
                }
            }
            i64 positions[B::alive];
            alive_positions<D, Q>(a.links.neighbors + b * B::around, place, positions);
            for (int k = 0; k < B::alive; ++k) {
                const i64 line = a.data_line[positions[k] / B::side], j = positions[k] % B::side;
                double* data = a.data + line * B::stencil * B::side + (B::stencil / 2 - codes.of[k]) * B::side + j;
                for (i64 s = 0; s < a.sides; ++s)
                    a.right[s * a.links.blocks * B::nodes + positions[k]] += equations.right(s, k);
                for (int other = 0; other < B::alive; ++other)
                    data[codes.of[other] * B::side] += equations.entry(k, other);
            }
        }
    }
}
}  // namespace
}  // namespace seminorm
