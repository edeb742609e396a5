// Sums over cells and points that need no vector instructions: weights, diagonals, places, residuals.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "fields/evaluation.hpp"
#include "fields/tree.hpp"

namespace seminorm {
namespace {
// For points in the given order: position in the patch of the first function alive on the point's cell, and the point
// in the cell, t (n, D).
template <int D, int Q> void place_points(const Links& links, const double* points, const i32* block, const i32* cell,
                                          const i64* order, i32* corner, float* t, i64 begin, i64 end) {
    for (i64 n = begin; n < end; ++n) {
        const i64 i = order[n];
        i64 place[D], first = 0;
        double inside[D];
        cell_place<D>(links, block[i], points + i * D, cell[i], place, inside);
        for (int axis = 0; axis < D; ++axis) {
            first = first * Block<D, Q>::whole + place[axis];
            t[n * D + axis] = float(inside[axis]);
        }
        corner[n] = i32(first);
    }
}

// Sums of the weights (n, 2) in each cell; those of gradients times `axes`, the number of their components.
template <class T, int D, int Q> void sum_point_weights(const i64* start, const i32* corner, const float* weights,
                                                        double axes, T* value_weight, T* gradient_weight, i64 begin,
                                                        i64 end) {
    using B = Block<D, Q>;
    for (i64 b = begin; b < end; ++b)
        for (i64 i = start[b]; i < start[b + 1]; ++i) {
            i64 rest = corner[i], cell = b * B::nodes, stride = 1;
            for (int axis = 0; axis < D; ++axis) {
                cell += rest % B::whole * stride;
                rest /= B::whole;
                stride *= B::side;
            }
            value_weight[cell] += T(weights[2 * i]);
            gradient_weight[cell] += T(axes * double(weights[2 * i + 1]));
        }
}

// Adds to the cells of the blocks of a level the sums of the cells of the next level that they hold.
template <class T, int D> void add_to_parents(const Links& links, T* sums, i64 begin, i64 end) {
    constexpr int side = kSides[D], halves = 1 << D;
    constexpr i64 nodes = power(side, D);
    for (i64 b = begin; b < end; ++b)
        for (i64 node = 0; node < nodes; ++node) {
            i64 place[D];
            node_place<D>(node, place);
            int half = 0;
            for (int axis = 0; axis < D; ++axis) half = half * 2 + int(2 * place[axis] / side);
            const i64 child = links.children[b * halves + half];
            if (child < 0) continue;
            for (int corner = 0; corner < halves; ++corner) {
                i64 position = 0;
                for (int axis = 0; axis < D; ++axis)
                    position = position * side + (2 * place[axis] + (corner >> (D - 1 - axis) & 1)) % side;
                sums[b * nodes + node] += sums[child * nodes + position];
            }
        }
}

// Completes the diagonal of the normal equations of all levels, given that of the data on the level's own leaves: adds
// the energy (levels, alive, alive: of one cell), and data on finer leaves from averages over cells, means (2, alive).
template <class T> struct Diagonal {
    const bool* leaf;
    const double *energy, *energy_factors, *spacings, *means;
    const T *value_weight, *gradient_weight;
    T* out;
};
template <class T, int D, int Q> void add_diagonal(const Links& links, const Diagonal<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    constexpr auto& offsets = kAliveOffsets<D, Q, B::width>;
    Scratch<T> values(B::padded), slopes(B::padded);
    Scratch<bool> leaf(B::padded);
    for (i64 b = begin; b < end; ++b) {
        const i64 level = links.level_of[b];
        const double* energy = a.energy + level * B::alive * B::alive;
        double inner = 0.0;
        for (int k = 0; k < B::alive; ++k) inner += energy[k * B::alive + k];
        const i32* near = links.neighbors + b * B::around;
        const double inverse_square = 1.0 / (a.spacings[level] * a.spacings[level]) / D,
                     factor = a.energy_factors[level];
        const bool border = at_border<D, Q>(links, b);
        read_padded<D, Q>(a.value_weight, near, values.data());
        read_padded<D, Q>(a.gradient_weight, near, slopes.data());
        read_padded<D, Q>(a.leaf, near, leaf.data());
        bool some = false;
        for (int p = 0; p < B::padded; ++p) {
            if (leaf[p]) values[p] = slopes[p] = T(0);
            some = some || values[p] > T(0) || slopes[p] > T(0);
        }
        for (int line = 0; line < B::lines; ++line)
            for (int j = 0; j < B::side; ++j) {
                double total = border ? 0.0 : factor * inner;
                for (int k = 0; (border || some) && k < B::alive; ++k) {
                    const int position = line_in_padded<D, Q>(line) + j - offsets.of[k];
                    if (border && !outside_box<D, Q>(links, b, position)) total += factor * energy[k * B::alive + k];
                    total += a.means[k] * double(values[position]);
                    total += a.means[B::alive + k] * double(slopes[position]) * inverse_square;
                }
                a.out[b * B::nodes + line * B::side + j] += T(total);
            }
    }
}

// Gives a place to every line with a function alive on a cell that holds a point; returns the number of places.
template <int D, int Q>
i64 new_lines(const Links& links, const i32* block, const i32* cell, i64 number, i32* data_line, i64 used) {
    using B = Block<D, Q>;
    std::vector<bool> seen(static_cast<size_t>(links.blocks * B::nodes));
    for (i64 i = 0; i < number; ++i) {
        const size_t number_of_cell = static_cast<size_t>(i64(block[i]) * B::nodes + cell[i]);
        if (seen[number_of_cell]) continue;
        seen[number_of_cell] = true;
        i64 place[D], positions[B::alive];
        node_place<D>(cell[i], place);
        alive_positions<D, Q>(links.neighbors + i64(block[i]) * B::around, place, positions);
        for (int k = 0; k < B::alive; ++k)
            if (i32& line = data_line[positions[k] / B::side]; line < 0) line = i32(used++);
    }
    return used;
}

// The transpose of evaluating values: adds the coefficient of each point times the functions alive there.
template <int D, int Q> void spread_points(const Links& links, const double* points, const i32* block, const i32* cell,
                                           const double* coefficients, i64 number, double* out) {
    using B = Block<D, Q>;
    for (i64 i = 0; i < number; ++i) {
        i64 place[D], positions[B::alive];
        double t[D];
        cell_place<D>(links, block[i], points + i * D, cell[i], place, t);
        alive_positions<D, Q>(links.neighbors + i64(block[i]) * B::around, place, positions);
        const PointTables<double, D, Q> tables(t, 1.0);
        for (int k = 0; k < B::alive; ++k) {
            double product = coefficients[i];
            for (int axis = D - 1, rest = k; axis >= 0; --axis, rest /= Q + 1)
                product *= tables.value[axis][rest % (Q + 1)];
            if (positions[k] >= 0) out[positions[k]] += product;
        }
    }
}

// Adds roots[level] factor[level] numbers, a vector for each leaf cell, to the functions alive on the cell; factor
// (levels, alive, r), numbers (leaf cells, r).
template <int D, int Q> void spread_cells(const Links& links, const bool* leaf, const double* roots,
                                          const double* factor, const double* numbers, i64 columns, double* out) {
    using B = Block<D, Q>;
    i64 used = 0;
    for (i64 b = 0; b < links.blocks; ++b)
        for (i64 cell = 0; cell < B::nodes; ++cell) {
            if (!leaf[b * B::nodes + cell]) continue;
            i64 place[D], positions[B::alive];
            const double* own = factor + links.level_of[b] * B::alive * columns;
            node_place<D>(cell, place);
            alive_positions<D, Q>(links.neighbors + b * B::around, place, positions);
            for (int k = 0; k < B::alive; ++k) {
                double total = 0.0;
                for (i64 r = 0; r < columns; ++r) total += own[k * columns + r] * numbers[used * columns + r];
                if (positions[k] >= 0) out[positions[k]] += roots[links.level_of[b]] * total;
            }
            ++used;
        }
}

// Position along a curve through a block: the leading bits of the coordinates in the block, interleaved.
template <int D> i64 morton_key(const double* point, const i64* block_coords, double scale) {
    constexpr int bits = 40 / D;
    i64 digits[D], key = 0;
    for (int axis = 0; axis < D; ++axis) {
        const double t = std::min(std::max(point[axis] * scale - double(block_coords[axis]), 0.0), 1.0 - 1e-15);
        digits[axis] = i64(t * double(i64(1) << bits));
    }
    for (int bit = bits - 1; bit >= 0; --bit)
        for (int axis = 0; axis < D; ++axis) key = 2 * key + (digits[axis] >> bit & 1);
    return key;
}

// Sums over blocks, the first of which has number `first`: of squared residuals (n, columns), and of half the squared
// differences of residuals that are neighbours along a curve through the block (Morton order); the number of these
// pairs, and of distinct points by cell. Points with the same coordinates are no pair.
struct ResidualSums {
    const double* residuals;
    i64 columns;
    const double* points;
    const i64 *order, *start;
    i64 first;
    const i32* cell;
    i64* number;
    double *squares, *jumps;
    i64* pairs;
};
template <int D> void add_residuals(const Links& links, const ResidualSums& a, i64 begin, i64 end) {
    constexpr i64 nodes = power(kSides[D], D);
    std::vector<std::pair<i64, i64>> curve;
    for (i64 b = begin; b < end; ++b) {
        const i64 block = a.first + b;
        const double scale = links.factors[links.level_of[block]] / kSides[D];
        curve.clear();
        for (i64 n = a.start[block]; n < a.start[block + 1]; ++n)
            curve.emplace_back(morton_key<D>(a.points + a.order[n] * D, links.coords + block * D, scale), a.order[n]);
        std::stable_sort(curve.begin(), curve.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        for (size_t n = 0; n < curve.size(); ++n) {
            const i64 i = curve[n].second, last = n > 0 ? curve[n - 1].second : -1;
            const double *here = a.residuals + i * a.columns, *there = a.residuals + last * a.columns;
            bool same = last >= 0;
            for (int axis = 0; same && axis < D; ++axis) same = a.points[i * D + axis] == a.points[last * D + axis];
            for (i64 column = 0; column < a.columns; ++column) {
                a.squares[b] += here[column] * here[column];
                if (last < 0 || same) continue;
                a.jumps[b] += 0.5 * (here[column] - there[column]) * (here[column] - there[column]);
            }
            if (same) continue;
            a.number[b * nodes + a.cell[i]] += 1;
            a.pairs[b] += last >= 0;
        }
    }
}
}  // namespace
}  // namespace seminorm
