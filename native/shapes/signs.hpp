// The signs of the corners of blocks: from samples, agreed on by neighbours, and where they change on faces.
//
// values (n, width, width, width) at the corners, negative inside, NaN outside; rows and agreed (n, width * width);
// neighbors (n, 27): slot 9 (dx + 1) + 3 (dy + 1) + dz + 1 is the block a step (dx, dy, dz) away, -1 if there is none;
// changes (n, 6): the faces -x, +x, -y, +y, -z, +z.
#pragma once

#include <type_traits>

#include "shapes/blocks.hpp"

namespace seminorm {
constexpr i64 kNeighbors = 27, kItself = 13;

// Bit k is set where row[k] < 0, 16 bytes of the row at a time. Width: known to the compiler, or 0.
template <int Width, class T> u32 negative_bits(const T* row, i64 some_width) {
    const i64 width = Width ? Width : some_width;
    using Lane = std::conditional_t<sizeof(T) == 4, i32, i64>;
    constexpr int lanes = 16 / sizeof(T);
    typedef T Values __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
    typedef Lane Bits __attribute__((vector_size(16)));
    Bits found = {}, bit;
    for (int lane = 0; lane < lanes; ++lane) bit[lane] = Lane(1) << lane;
    i64 k = 0;
    for (; k + lanes <= width; k += lanes) {
        found |= (*reinterpret_cast<const Values*>(row + k) < 0) & bit;
        bit <<= lanes;
    }
    u32 bits = 0;
    for (int lane = 0; lane < lanes; ++lane) bits |= static_cast<u32>(found[lane]);
    for (; k < width; ++k) bits |= u32(row[k] < 0) << k;
    return bits;
}

// With `closed` the corners on the border of the grid are outside.
template <class T> void sign_rows(const BlockGrid& grid, const T* values, bool closed, u32* rows, i64 begin, i64 end) {
    const i64 width = grid.width;
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        u32 free = low_bits(block.cells[2] + 1);
        if (closed && block.corner[2] == 0) free &= ~u32(1);
        if (closed && block.corner[2] + block.cells[2] == grid.cells[2]) free &= low_bits(block.cells[2]);
        const auto is_free = [&](int axis, i64 i) {
            const i64 place = block.corner[axis] + i;
            return i <= block.cells[axis] && !(closed && (place == 0 || place == grid.cells[axis]));
        };
        for (i64 i = 0; i < width; ++i) {
            for (i64 j = 0; j < width; ++j) {
                const i64 row = b * grid.rows() + i * width + j;
                if (!is_free(0, i) || !is_free(1, j))
                    rows[row] = 0;
                else if (width == 17)
                    rows[row] = negative_bits<17>(values + row * width, width) & free;
                else
                    rows[row] = negative_bits<0>(values + row * width, width) & free;
            }
        }
    }
}

inline void face_changes(const BlockGrid& grid, const u32* rows, bool* changes, i64 begin, i64 end) {
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        const i64 last_x = block.cells[0], last_y = block.cells[1], last_z = block.cells[2];
        const u32* signs = rows + b * grid.rows();
        const u32 whole = low_bits(last_z + 1);
        u32 some[6] = {}, every[6] = {whole, whole, whole, whole, whole, whole};
        const auto see = [&](int face, u32 bits) {
            some[face] |= bits;
            every[face] &= bits;
        };
        for (i64 i = 0; i <= last_x; ++i) {
            for (i64 j = 0; j <= last_y; ++j) {
                const u32 bits = signs[i * grid.width + j];
                if (i == 0) see(0, bits);
                if (i == last_x) see(1, bits);
                if (j == 0) see(2, bits);
                if (j == last_y) see(3, bits);
                see(4, bits);
            }
        }
        for (int face = 0; face < 4; ++face) changes[6 * b + face] = some[face] != 0 && every[face] != whole;
        const u32 mixed = some[4] & ~every[4];  // positions k with both signs in their layer
        changes[6 * b + 4] = (mixed & 1) != 0;
        changes[6 * b + 5] = ((mixed >> last_z) & 1) != 0;
    }
}

// A corner of several blocks gets the sign that it has in the first of them, in lexicographic order.
inline void agree_on_signs(const BlockGrid& grid, const u32* rows, const i32* neighbors, u32* agreed, i64 begin,
                           i64 end) {
    const i64 width = grid.width, side = grid.side;
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        const u32* before = rows + b * grid.rows();
        u32* now = agreed + b * grid.rows();
        for (i64 row = 0; row < grid.rows(); ++row) now[row] = before[row];
        for (i64 slot = kItself - 1; slot >= 0; --slot) {  // those before b; the first of them has the last word
            const i64 other = neighbors[kNeighbors * b + slot];
            if (other < 0) continue;
            const i64 dx = slot / 9 - 1, dy = slot / 3 % 3 - 1, dz = slot % 3 - 1;
            const u32* there = rows + other * grid.rows() + most<i64>(-dx, 0) * side * width + most<i64>(-dy, 0) * side;
            u32* here = now + most<i64>(dx, 0) * side * width + most<i64>(dy, 0) * side;
            const i64 rows_x = dx == 0 ? block.cells[0] + 1 : 1, rows_y = dy == 0 ? block.cells[1] + 1 : 1;
            for (i64 i = 0; i < rows_x; ++i) {
                for (i64 j = 0; j < rows_y; ++j) {
                    const u32 bits = there[i * width + j];
                    u32& own = here[i * width + j];
                    if (dz < 0)
                        own = (own & ~u32(1)) | ((bits >> side) & 1);
                    else if (dz > 0)
                        own = (own & ~(u32(1) << side)) | ((bits & 1) << side);
                    else
                        own = bits;
                }
            }
        }
    }
}
}  // namespace seminorm
