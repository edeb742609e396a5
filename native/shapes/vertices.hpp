// The vertices of the mesh: one on each edge with a change of sign, at start / (start - end) of its way.
//
// first (n,) is the number of the first vertex of each block, ranks (n, width * width) that of vertices of the block
// before each row, counts (n,) that of all of the block. crossings holds the positions 0 .. 1 along the edges, vertices
// (v, 3) coordinates in cells from the corner of the grid. Loops that write return false where there is no room.
#pragma once

#include <algorithm>
#include <cmath>

#include "shapes/blocks.hpp"

namespace seminorm {
inline void count_vertices(const BlockGrid& grid, const u32* rows, std::uint16_t* ranks, i64* counts, i64 begin,
                           i64 end) {
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        i64 total = 0;
        for (i64 i = 0; i < grid.width; ++i) {
            for (i64 j = 0; j < grid.width; ++j) {
                ranks[b * grid.rows() + i * grid.width + j] = static_cast<std::uint16_t>(total);
                if (i >= block.owned[0] || j >= block.owned[1]) continue;
                const Crossings found = crossings_of_row(rows + b * grid.rows(), grid.width, block, i, j);
                if (found.any()) total += found.count();
            }
        }
        counts[b] = total;
    }
}

// Where a value changes sign on an edge; at its outside end if that is inside by value, but not by rule.
inline double crossing(double start, double end, bool start_inside, double margin) {
    if (start < 0 && end < 0) return start_inside ? 1.0 : 0.0;
    const double t = start / (start - end);
    return std::isfinite(t) ? std::min(std::max(t, margin), 1.0 - margin) : 0.5;
}

struct CrossingsOut {
    const i64* first;
    float* crossings;
    i64 room;
};

// Positions of all vertices by linear interpolation of the samples, `margin` away from the ends of their edges.
template <class T> bool place_crossings(const BlockGrid& grid, const T* values, const u32* rows, double margin,
                                        const CrossingsOut& out, i64 begin, i64 end) {
    const i64 width = grid.width, steps[3] = {width * width, width, 1};
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        const u32* signs = rows + b * grid.rows();
        i64 v = out.first[b];
        for (i64 i = 0; i < block.owned[0]; ++i) {
            for (i64 j = 0; j < block.owned[1]; ++j) {
                const Crossings found = crossings_of_row(signs, width, block, i, j);
                if (!found.any()) continue;
                if (v + found.count() > out.room) return false;
                const u32 inside = signs[i * width + j];
                const T* row = values + (b * grid.rows() + i * width + j) * width;
                for (int axis = 0; axis < 3; ++axis) {
                    for_bits(found.along[axis], [&](int k) {
                        const double t = crossing(row[k], row[k + steps[axis]], (inside >> k) & 1, margin);
                        out.crossings[v++] = static_cast<float>(t);
                    });
                }
            }
        }
    }
    return true;
}

struct Placed {
    const i64* first;
    const float* crossings;
    i64 count;
};

struct VerticesOut {
    const i64* first;
    double* vertices;
    i64 room;
};

// `signs` are the agreed ones. Where an edge had no crossing by the block's own signs, `rows`, its vertex lies next to
// the corner whose sign was overruled.
inline bool write_vertices(const BlockGrid& grid, const u32* signs, const u32* rows, double margin,
                           const Placed& placed, const VerticesOut& out, i64 begin, i64 end) {
    const i64 width = grid.width;
    for (i64 b = begin; b < end; ++b) {
        const Block block = grid.block(b);
        const u32 *agreed = signs + b * grid.rows(), *sampled = rows + b * grid.rows();
        i64 v = out.first[b], c = placed.first[b];
        for (i64 i = 0; i < block.owned[0]; ++i) {
            for (i64 j = 0; j < block.owned[1]; ++j) {
                const Crossings found = crossings_of_row(agreed, width, block, i, j);
                const Crossings own = crossings_of_row(sampled, width, block, i, j);
                if (!found.any() && !own.any()) continue;
                if (v + found.count() > out.room || c + own.count() > placed.count) return false;
                const u32 overruled = agreed[i * width + j] ^ sampled[i * width + j];
                const double x = double(block.corner[0] + i), y = double(block.corner[1] + j);
                for (int axis = 0; axis < 3; ++axis) {
                    for_bits(found.along[axis] | own.along[axis], [&](int k) {
                        const bool is_own = (own.along[axis] >> k) & 1;
                        if ((found.along[axis] >> k) & 1) {
                            double* vertex = out.vertices + 3 * v++;
                            vertex[0] = x;
                            vertex[1] = y;
                            vertex[2] = double(block.corner[2] + k);
                            const double next_to = (overruled >> k) & 1 ? margin : 1.0 - margin;
                            vertex[axis] += is_own ? double(placed.crossings[c]) : next_to;
                        }
                        c += is_own;
                    });
                }
            }
        }
    }
    return true;
}
}  // namespace seminorm
