// Marching cubes works on blocks of cells of a grid and on the signs of their corners.
//
// A block has `side` cells along each axis, fewer at the upper end of the grid. The signs of its corners are rows of
// bits: bit k of rows[b, i * width + j], width = side + 1, is set where corner (i, j, k) of block b is inside.
//
// An edge with a change of sign carries one vertex. It belongs to the block that has its lower corner among its lower
// side^3 corners; the last block along an axis also owns the border of the grid. Vertices are numbered block by block,
// in a block row by row, in a row those on edges along x, y, z in this order, by k.
#pragma once

#include <bit>
#include <cstdint>

#include "basics.hpp"

namespace seminorm {
using u32 = std::uint32_t;

struct Block {
    i64 corner[3];  // its lower corner, in cells of the grid
    i64 cells[3];   // along x, y, z
    i64 owned[3];   // corners that it owns along x, y, z
};

struct BlockGrid {
    const i64* blocks;  // (n, 3)
    i64 cells[3];
    i64 side, width;

    i64 rows() const { return width * width; }

    Block block(i64 b) const {
        Block result;
        for (int axis = 0; axis < 3; ++axis) {
            result.corner[axis] = side * blocks[3 * b + axis];
            const i64 left = cells[axis] - result.corner[axis];
            result.cells[axis] = least(left, side);
            result.owned[axis] = left > side ? side : left + 1;
        }
        return result;
    }

    bool is_last(i64 b, int axis) const { return side * (blocks[3 * b + axis] + 1) >= cells[axis]; }
};

inline u32 low_bits(i64 n) { return (u32(1) << n) - 1; }

// Without an instruction of its own in the baseline, the compiler would call a function for this.
inline i64 count_bits(u32 x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0Fu;
    return (x * 0x01010101u) >> 24;
}

// Calls work(k) for every bit k that is set, from the lowest on.
template <class Work> void for_bits(u32 bits, const Work& work) {
    for (; bits != 0; bits &= bits - 1) work(std::countr_zero(bits));
}

// The edges along x, y, z from a row of corners that carry a vertex of the block, as bits over k.
struct Crossings {
    u32 along[3];

    bool any() const { return (along[0] | along[1] | along[2]) != 0; }
    i64 count() const { return count_bits(along[0]) + count_bits(along[1]) + count_bits(along[2]); }
};

// signs: the rows of this block
inline Crossings crossings_of_row(const u32* signs, i64 width, const Block& block, i64 i, i64 j) {
    const u32* here = signs + i * width + j;
    const bool own_x = i < block.owned[0], own_y = j < block.owned[1];
    Crossings found = {};
    if (i < block.cells[0] && own_y) found.along[0] = (here[0] ^ here[width]) & low_bits(block.owned[2]);
    if (j < block.cells[1] && own_x) found.along[1] = (here[0] ^ here[1]) & low_bits(block.owned[2]);
    if (own_x && own_y) found.along[2] = (here[0] ^ (here[0] >> 1)) & low_bits(block.cells[2]);
    return found;
}
}  // namespace seminorm
