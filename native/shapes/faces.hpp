// The triangles of the mesh: those of each cell stand in a table, by the signs of its corners.
//
// Corner (i, j, k) of a cell is bit 4 i + 2 j + k of its case. The table has, of each case, triangles of edges of the
// cell; the vertex on an edge belongs to the block itself or to a neighbour beyond its upper faces. counts (n,) are the
// triangles of each block, first_face (n,) the numbers of the first ones, faces (f, 3) vertex numbers, -1 for a vertex
// that no block owns.
#pragma once

#include "shapes/signs.hpp"

namespace seminorm {
constexpr int kCases = 256, kEdges = 12, kMostTriangles = 5;

struct MarchingTable {
    std::int8_t counts[kCases];
    std::int8_t triangles[kCases][kMostTriangles][3];  // edges
    u32 edges[kCases];                                 // those in triangles, as bits
    std::int8_t axis[kEdges];
    std::int8_t corner[kEdges][3];  // where the edge starts
};

// The four rows of corners around a row of cells, and the cells with corners of both signs.
struct CellRow {
    u32 r00, r01, r10, r11, mixed;

    CellRow(const u32* signs, i64 width, const Block& block, i64 i, i64 j) {
        const u32* here = signs + i * width + j;
        r00 = here[0], r01 = here[1], r10 = here[width], r11 = here[width + 1];
        const u32 some = r00 | r01 | r10 | r11, every = r00 & r01 & r10 & r11;
        mixed = (some | (some >> 1)) & ~(every & (every >> 1)) & low_bits(block.cells[2]);
    }

    u32 marching_case(int k) const {
        return ((r00 >> k) & 3) | ((r01 >> k) & 3) << 2 | ((r10 >> k) & 3) << 4 | ((r11 >> k) & 3) << 6;
    }
};

inline void count_faces(const BlockGrid& grid, const u32* signs, const MarchingTable& table, i64* counts, i64 begin,
                        i64 end) {
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        i64 total = 0;
        for (i64 i = 0; i < block.cells[0]; ++i) {
            for (i64 j = 0; j < block.cells[1]; ++j) {
                const CellRow row(signs + b * grid.rows(), grid.width, block, i, j);
                for_bits(row.mixed, [&](int k) { total += table.counts[row.marching_case(k)]; });
            }
        }
        counts[b] = total;
    }
}

// Numbers of the vertices on edges along x, y, z that start on one row of corners.
struct EdgeRow {
    i64 first[3];
    u32 crossings[3];

    i64 vertex(int axis, i64 k) const { return first[axis] + count_bits(crossings[axis] & low_bits(k)); }
};

struct VertexNumbers {
    const BlockGrid& grid;
    const u32* signs;
    const std::uint16_t* ranks;
    const i64* first;
    const i32* neighbors;

    // The row (i, j) of block b, or with `beyond` that of the block after it along z, in the block that owns it.
    EdgeRow edge_row(i64 b, i64 i, i64 j, bool beyond) const {
        i64 slot = kItself + (beyond ? 1 : 0);
        if (i == grid.side && !grid.is_last(b, 0)) slot += 9, i = 0;
        if (j == grid.side && !grid.is_last(b, 1)) slot += 3, j = 0;
        const i64 owner = neighbors[kNeighbors * b + slot];
        if (owner < 0) return {{-1, -1, -1}, {0, 0, 0}};
        const Crossings found = crossings_of_row(signs + owner * grid.rows(), grid.width, grid.block(owner), i, j);
        EdgeRow row;
        i64 v = first[owner] + ranks[owner * grid.rows() + i * grid.width + j];
        for (int axis = 0; axis < 3; ++axis) {
            row.first[axis] = v;
            row.crossings[axis] = found.along[axis];
            v += count_bits(found.along[axis]);
        }
        return row;
    }
};

template <class Index> struct FacesOut {
    const i64* first_face;
    Index* faces;
    i64 room;
};

// Returns false where there is no room.
template <class Index> bool write_faces(const VertexNumbers& numbers, const MarchingTable& table,
                                        const FacesOut<Index>& out, i64 begin, i64 end) {
    const BlockGrid& grid = numbers.grid;
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        const i64 beyond_at = grid.is_last(b, 2) ? grid.width : grid.side;  // corners of the next block
        i64 face = out.first_face[b];
        for (i64 i = 0; i < block.cells[0]; ++i) {
            for (i64 j = 0; j < block.cells[1]; ++j) {
                const CellRow row(numbers.signs + b * grid.rows(), grid.width, block, i, j);
                if (row.mixed == 0) continue;
                EdgeRow edges[2][4];  // of this block and the one beyond it, rows (i, j), (i, j + 1), (i + 1, j), ...
                const bool reaches_beyond = (row.mixed >> (beyond_at - 1)) & 1;
                for (int r = 0; r < 4; ++r) {
                    edges[0][r] = numbers.edge_row(b, i + r / 2, j + r % 2, false);
                    if (reaches_beyond) edges[1][r] = numbers.edge_row(b, i + r / 2, j + r % 2, true);
                }
                for (u32 left = row.mixed; left != 0; left &= left - 1) {
                    const int k = std::countr_zero(left);
                    const u32 found = row.marching_case(k);
                    if (face + table.counts[found] > out.room) return false;
                    i64 vertex[kEdges];
                    for_bits(table.edges[found], [&](int e) {
                        const int r = 2 * table.corner[e][0] + table.corner[e][1];
                        const i64 at = k + table.corner[e][2];
                        const bool beyond = at == beyond_at;
                        vertex[e] = edges[beyond][r].vertex(table.axis[e], beyond ? 0 : at);
                    });
                    for (int n = 0; n < table.counts[found]; ++n, ++face) {
                        for (int corner = 0; corner < 3; ++corner) {
                            const i64 v = vertex[int(table.triangles[found][n][corner])];
                            out.faces[3 * face + corner] = static_cast<Index>(v);
                        }
                    }
                }
            }
        }
    }
    return true;
}
}  // namespace seminorm
