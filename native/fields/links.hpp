// How the blocks of a tree hang together, and how a block is laid out.
//
// A level of the multilevel basis is a grid of functions in D dimensions, stored in blocks of `side` functions along
// each axis; coefficients are arrays (blocks, side**D), the last axis fastest. Function j of degree Q is positive on
// the cells j - Q .. j of its level, so the functions c .. c + Q are alive on cell c.
//
// Two copies of the surroundings of a block occur: its *patch*, the (side + Q)**D functions alive on its cells, and its
// *padded* copy, (side + 2 Q)**D, in which every function finds the others whose support meets its own at fixed
// offsets.
#pragma once

#include "basics.hpp"

namespace seminorm {
constexpr int kDimensions = 4, kDegrees = 3;  // 1 .. 4 and 1 .. 3

struct Links {
    int dimension, degree;
    i64 blocks, levels;
    const i64* coords;      // (blocks, D): position of each block in its level
    const bool* is_cell;    // (blocks,): whether it has cells of the region, or only functions that reach in
    const i64* level_of;    // (blocks,)
    const i64* limits;      // (levels, D): number of cells along each axis
    const bool* wraps;      // (D,): whether the last cell along an axis is followed by the first
    const double* factors;  // (levels,): cells of the level along a cell of level 0
    const i32* neighbors;   // (blocks, 3**D): blocks around each block; here and below -1 stands for none
    const i32* finer;       // (blocks, 2**D): blocks of the next level inside each block
    const i32* children;    // (blocks, 2**D): those of them that have cells of the region
};

namespace {
constexpr int kSides[] = {0, 64, 16, 8, 4};

template <int D, int Q> struct Block {
    static constexpr int side = kSides[D], whole = side + Q, width = side + 2 * Q, lines = int(power(side, D - 1));
    static constexpr int nodes = int(power(side, D)), patch = int(power(whole, D)), padded = int(power(width, D));
    static constexpr int alive = int(power(Q + 1, D)), around = int(power(3, D)), halves = 1 << D;
    static constexpr int stencil = int(power(2 * Q + 1, D));
};

// Where the rows (along the last axis) of a cube of positions First .. First + Width - 1 around a block come from.
template <int D, int First, int Width> struct CubeRows {
    static constexpr int count = int(power(Width, D - 1));
    int slot[count] = {}, node[count] = {};  // neighbour, apart from its last digit; position there, likewise

    constexpr CubeRows() {
        for (int row = 0; row < count; ++row) {
            int rest = row;
            i64 slots = 3, nodes = kSides[D];
            for (int axis = D - 2; axis >= 0; --axis) {
                const int place = First + rest % Width;
                rest /= Width;
                slot[row] += int((floor_divide(place, kSides[D]) + 1) * slots);
                node[row] += int(floor_remainder(place, kSides[D]) * nodes);
                slots *= 3;
                nodes *= kSides[D];
            }
        }
    }
};
template <int D, int First, int Width> constexpr CubeRows<D, First, Width> kCubeRows;

// The functions alive on a cell: their digits 0 .. Q along each axis, and the digits as a number with base Base.
template <int D, int Q, int Base> struct AliveOffsets {
    int of[power(Q + 1, D)] = {};
    constexpr AliveOffsets() {
        for (int k = 0; k < power(Q + 1, D); ++k) {
            int rest = k;
            i64 stride = 1;
            for (int axis = D - 1; axis >= 0; --axis) {
                of[k] += int(rest % (Q + 1) * stride);
                rest /= Q + 1;
                stride *= Base;
            }
        }
    }
};
template <int D, int Q, int Base> constexpr AliveOffsets<D, Q, Base> kAliveOffsets;

template <class T> SEMINORM_INLINE void copy_or_zero(const T* x, i32 block, i64 nodes, i64 first, int count, T* to) {
    if (block >= 0) {
        const T* from = x + block * nodes + first;
        for (int k = 0; k < count; ++k) to[k] = from[k];
    } else {
        for (int k = 0; k < count; ++k) to[k] = T(0);
    }
}

// Coefficients of the functions alive on the cells of a block; near: its row of Links::neighbors.
template <int D, int Q, class T> SEMINORM_INLINE void read_patch(const T* x, const i32* near, T* patch) {
    using B = Block<D, Q>;
    constexpr auto& rows = kCubeRows<D, 0, B::whole>;
    for (int r = 0; r < rows.count; ++r) {
        T* to = patch + r * B::whole;
        copy_or_zero(x, near[rows.slot[r] + 1], B::nodes, rows.node[r], B::side, to);
        copy_or_zero(x, near[rows.slot[r] + 2], B::nodes, rows.node[r], Q, to + B::side);
    }
}

// The transpose: adds a patch to the coefficients.
template <int D, int Q, class T> SEMINORM_INLINE void add_patch(const T* patch, const i32* near, T* y) {
    using B = Block<D, Q>;
    constexpr auto& rows = kCubeRows<D, 0, B::whole>;
    for (int r = 0; r < rows.count; ++r) {
        const T* from = patch + r * B::whole;
        if (const i32 here = near[rows.slot[r] + 1]; here >= 0) {
            T* to = y + i64(here) * B::nodes + rows.node[r];
            for (int k = 0; k < B::side; ++k) to[k] += from[k];
        }
        if (const i32 next = near[rows.slot[r] + 2]; next >= 0) {
            T* to = y + i64(next) * B::nodes + rows.node[r];
            for (int k = 0; k < Q; ++k) to[k] += from[B::side + k];
        }
    }
}

// The padded copy of a block.
template <int D, int Q, class T> SEMINORM_INLINE void read_padded(const T* x, const i32* near, T* padded) {
    using B = Block<D, Q>;
    constexpr auto& rows = kCubeRows<D, -Q, B::width>;
    for (int r = 0; r < rows.count; ++r) {
        T* to = padded + r * B::width;
        copy_or_zero(x, near[rows.slot[r]], B::nodes, rows.node[r] + B::side - Q, Q, to);
        copy_or_zero(x, near[rows.slot[r] + 1], B::nodes, rows.node[r], B::side, to + Q);
        copy_or_zero(x, near[rows.slot[r] + 2], B::nodes, rows.node[r], Q, to + Q + B::side);
    }
}

// Position in the padded copy of the first function of a line (along the last axis) of the block.
template <int D, int Q> constexpr int line_in_padded(int line) {
    using B = Block<D, Q>;
    int position = Q, stride = B::width;
    for (int axis = D - 2; axis >= 0; --axis) {
        position += (line % B::side + Q) * stride;
        line /= B::side;
        stride *= B::width;
    }
    return position;
}

// Coordinates in a block of the node with a given number.
template <int D> SEMINORM_INLINE void node_place(i64 node, i64* place) {
    for (int axis = D - 1; axis >= 0; --axis) {
        place[axis] = node % kSides[D];
        node /= kSides[D];
    }
}

// The functions alive on a cell at a place in its block: fills positions (block, node) as offsets into the
// coefficients, -1 where there is no block.
template <int D, int Q> SEMINORM_INLINE void alive_positions(const i32* near, const i64* place, i64* positions) {
    using B = Block<D, Q>;
    int slot[D][Q + 1], node[D][Q + 1];
    int slots = 1, nodes = 1;
    for (int axis = D - 1; axis >= 0; --axis) {
        for (int j = 0; j <= Q; ++j) {
            const int c = int(place[axis]) + j;
            slot[axis][j] = (c < B::side ? 1 : 2) * slots;
            node[axis][j] = (c < B::side ? c : c - B::side) * nodes;
        }
        slots *= 3;
        nodes *= B::side;
    }
    for (int k = 0; k < B::alive; ++k) {
        int rest = k, s = 0, n = 0;
        for (int axis = D - 1; axis >= 0; --axis) {
            s += slot[axis][rest % (Q + 1)];
            n += node[axis][rest % (Q + 1)];
            rest /= Q + 1;
        }
        positions[k] = near[s] >= 0 ? i64(near[s]) * B::nodes + n : -1;
    }
}
}  // namespace
}  // namespace seminorm
