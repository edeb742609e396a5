// Translations: rows of numbers, one for each box and column, times small matrices, added to the rows of other boxes.
//
// out[to] += in[from] matrix, for the triples (matrix, from, to) of a chunk, in which a row `to` occurs once for each
// matrix. Four rows with the same matrix go together: every number of the matrix that is read serves all of them.
#pragma once

#include "summation/kernels.hpp"
#include "summation/vector_math.hpp"

namespace seminorm {
namespace {
constexpr i64 kRows = 4;

// Columns first .. first + V kSide - 1 of four rows
template <int V> SEMINORM_INLINE void add_products(const Translations& a, const double* matrix,
                                                   const double* const* from, double* const* to, i64 rows, i64 first) {
    Side totals[kRows][V];
    for (i64 row = 0; row < kRows; ++row)
        for (int v = 0; v < V; ++v) totals[row][v] = all(0.0);
    const double* line = matrix + first;
    for (i64 k = 0; k < a.in_width; ++k, line += a.out_width) {
        Side numbers[V];
        for (int v = 0; v < V; ++v) numbers[v] = Side::load(line + v * kSide);
        for (i64 row = 0; row < kRows; ++row) {
            const Side own = all(from[row][k]);
            for (int v = 0; v < V; ++v) totals[row][v] = totals[row][v] + own * numbers[v];
        }
    }
    for (i64 row = 0; row < rows; ++row)
        for (int v = 0; v < V; ++v) {
            double* place = to[row] + first + v * kSide;
            (Side::load(place) + totals[row][v]).store(place);
        }
}

void translate(const Translations& a, i64 begin, i64 end) {
    const double* from[kRows];
    double* to[kRows];
    for (i64 chunk = begin; chunk < end; ++chunk) {
        const i64 last = a.chunk_from[chunk + 1];
        for (i64 next = a.chunk_from[chunk]; next < last;) {
            const i32 number = a.matrix[next];
            i64 same = next;
            while (same < last && a.matrix[same] == number) ++same;
            const double* matrix = a.matrices + i64(number) * a.in_width * a.out_width;
            const i64 count = (same - next) * a.columns;
            for (i64 item = 0; item < count; item += kRows) {
                const i64 rows = least<i64>(kRows, count - item);
                for (i64 row = 0; row < kRows; ++row) {
                    const i64 mine = least<i64>(item + row, count - 1), pair = next + mine / a.columns;
                    from[row] = a.in + (i64(a.from[pair]) * a.columns + mine % a.columns) * a.in_width;
                    to[row] = a.out + (i64(a.to[pair]) * a.columns + mine % a.columns) * a.out_width;
                }
                i64 first = 0;
                for (; first + 3 * kSide <= a.out_width; first += 3 * kSide)
                    add_products<3>(a, matrix, from, to, rows, first);
                for (; first < a.out_width; first += kSide) add_products<1>(a, matrix, from, to, rows, first);
            }
            next = same;
        }
    }
}
}  // namespace
}  // namespace seminorm
