// The tree of blocks: which cell holds a point, which cells are leaves, which functions are active, where to refine.
#pragma once

#include "fields/links.hpp"

namespace seminorm {
namespace {
SEMINORM_INLINE i64 cell_of(double coordinate, i64 cells) {
    if (!(coordinate >= 0.0)) return 0;  // NaN too
    return coordinate < double(cells) ? i64(coordinate) : cells - 1;
}

struct Locating {
    const double* points;    // (n, D), in cells of level 0
    const i32* roots;        // the blocks of cells of level 0, row by row
    const i64* root_blocks;  // (D,): how many of them along each axis
    const i64* root_cells;   // (D,)
    i32 *block, *cell;       // (n,)
};

// The leaf cell of each point: descend while the block that holds it has a child there.
template <int D> void locate(const Links& links, const Locating& a, i64 begin, i64 end) {
    constexpr int side = kSides[D];
    for (i64 i = begin; i < end; ++i) {
        const double* point = a.points + i * D;
        i64 position = 0;
        for (int axis = 0; axis < D; ++axis)
            position = position * a.root_blocks[axis] + cell_of(point[axis], a.root_cells[axis]) / side;
        i64 current = a.roots[position], factor = 1;
        for (;;) {
            int half = 0;
            for (int axis = 0; axis < D; ++axis) {
                const i64 cells = a.root_cells[axis] * 2 * factor;
                half = half * 2 + int(cell_of(point[axis] * 2.0 * double(factor), cells) / side % 2);
            }
            const i32 child = links.children[current * (1 << D) + half];
            if (child < 0) break;
            current = child;
            factor *= 2;
        }
        i64 inside = 0;
        for (int axis = 0; axis < D; ++axis)
            inside = inside * side + cell_of(point[axis] * double(factor), a.root_cells[axis] * factor) % side;
        a.block[i] = i32(current);
        a.cell[i] = i32(inside);
    }
}

// Cells that belong to the region of their level, and those of them that no child covers; (blocks, side**D) each.
template <int D> void mark_cells(const Links& links, bool* region, bool* leaf, i64 begin, i64 end) {
    constexpr int side = kSides[D], nodes = int(power(side, D));
    for (i64 b = begin; b < end; ++b) {
        if (!links.is_cell[b]) continue;
        const i64* limits = links.limits + links.level_of[b] * D;
        for (int node = 0; node < nodes; ++node) {
            i64 place[D];
            node_place<D>(node, place);
            bool inside = true;
            int half = 0;
            for (int axis = 0; axis < D; ++axis) {
                inside = inside && links.coords[b * D + axis] * side + place[axis] < limits[axis];
                half = half * 2 + int(2 * place[axis] / side);
            }
            region[b * nodes + node] = inside;
            leaf[b * nodes + node] = inside && links.children[b * (1 << D) + half] < 0;
        }
    }
}

// Whether functions of a block reach to the border of the box or beyond.
template <int D, int Q> bool at_border(const Links& links, i64 b) {
    for (int axis = 0; axis < D; ++axis) {
        if (links.wraps[axis]) continue;
        const i64 first = links.coords[b * D + axis] * kSides[D];
        if (first < Q || first + kSides[D] > links.limits[links.level_of[b] * D + axis]) return true;
    }
    return false;
}

// Whether a cell of the padded block lies outside the box.
template <int D, int Q> bool outside_box(const Links& links, i64 b, int position) {
    for (int axis = D - 1; axis >= 0; --axis) {
        const i64 c = links.coords[b * D + axis] * kSides[D] + position % Block<D, Q>::width - Q;
        position /= Block<D, Q>::width;
        if (!links.wraps[axis] && (c < 0 || c >= links.limits[links.level_of[b] * D + axis])) return true;
    }
    return false;
}

// Replaces each entry of a padded block by the sum over the cells under the function of its number.
template <int D, int Q> void sum_under(short* padded) {
    using B = Block<D, Q>;
    i64 stride = 1;
    for (int axis = D - 1; axis >= 0; --axis) {
        for (i64 outer = 0; outer < B::padded; outer += stride * B::width)
            for (int place = B::width - 1; place >= Q; --place)
                for (i64 inner = 0; inner < stride; ++inner) {
                    short* to = padded + outer + place * stride + inner;
                    short sum = *to;
                    for (int k = 1; k <= Q; ++k) sum = short(sum + to[-k * stride]);
                    *to = sum;
                }
        stride *= B::width;
    }
}

// Functions whose support inside the box lies in the region, and the number of leaf cells each one covers.
template <int D, int Q> void mark_functions(const Links& links, const bool* region, const bool* leaf, bool* active,
                                            short* covered, i64 begin, i64 end) {
    using B = Block<D, Q>;
    Scratch<bool> in_region(B::padded), is_leaf(B::padded);
    Scratch<short> missing(B::padded), within(B::padded), leaves(B::padded);
    for (i64 b = begin; b < end; ++b) {
        const i32* near = links.neighbors + b * B::around;
        read_padded<D, Q>(region, near, in_region.data());
        read_padded<D, Q>(leaf, near, is_leaf.data());
        const bool border = at_border<D, Q>(links, b);
        for (int p = 0; p < B::padded; ++p) {
            const bool inside = !border || !outside_box<D, Q>(links, b, p);
            within[p] = inside;
            missing[p] = inside && !in_region[p];
            leaves[p] = inside && is_leaf[p];
        }
        sum_under<D, Q>(missing.data());
        sum_under<D, Q>(leaves.data());
        if (border) sum_under<D, Q>(within.data());
        for (int line = 0; line < B::lines; ++line) {
            const int base = line_in_padded<D, Q>(line);
            for (int j = 0; j < B::side; ++j) {
                const i64 node = b * B::nodes + line * B::side + j;
                active[node] = missing[base + j] == 0 && within[base + j] > 0;
                covered[node] = leaves[base + j];
            }
        }
    }
}

// Child blocks, -1 .. 2 along each axis relative to twice the block, that hold the functions alive on marked cells,
// refined; marked (blocks, side**D), coords (blocks, D), limits (D,), flags (blocks, 4**D).
template <int D, int Q>
void flag_children(const bool* marked, const i64* coords, const i64* limits, bool* flags, i64 begin, i64 end) {
    using B = Block<D, Q>;
    for (i64 b = begin; b < end; ++b)
        for (int cell = 0; cell < B::nodes; ++cell) {
            if (!marked[b * B::nodes + cell]) continue;
            i64 place[D], low[D], extent[D], number = 1;
            node_place<D>(cell, place);
            bool inside = true;
            for (int axis = 0; axis < D; ++axis) {
                inside = inside && coords[b * D + axis] * B::side + place[axis] < limits[axis];
                low[axis] = floor_divide(2 * place[axis] - Q, B::side) + 1;
                extent[axis] = floor_divide(2 * place[axis] + 1 + Q, B::side) + 2 - low[axis];
                number *= extent[axis];
            }
            for (i64 n = 0; inside && n < number; ++n) {
                i64 rest = n, flag = 0, stride = 1;
                for (int axis = D - 1; axis >= 0; --axis) {
                    flag += (low[axis] + rest % extent[axis]) * stride;
                    rest /= extent[axis];
                    stride *= 4;
                }
                flags[b * power(4, D) + flag] = true;
            }
        }
}
}  // namespace
}  // namespace seminorm
