// Arguments of the loops of subsequence search, and the table of these loops.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
// Pieces t of a series are its samples t .. t + length - 1, as they are or standardised.
struct Pieces {
    const double* series;  // (pieces + length - 1,)
    i64 pieces, length;
    bool standardized;
    double least;      // deviations below this count as zero: such a piece is constant
    double* means;     // (pieces,) 0 if not standardised
    double* inverses;  // (pieces,) of the deviations; 1 if not standardised, 0 for constant pieces
};

// Lower bounds of the squared DTW distances of a query and all pieces, from envelopes: samples of one outside the range
// of those samples of the other that they may be matched with [Keogh and Ratanamahatana 2005].
struct Bounds {
    Pieces pieces;
    const double* query;                     // (length,)
    const double *lowest, *highest;          // (length,) of the samples of the query within the window
    const double *series_low, *series_high;  // of those of the series, like it
    double* out;                             // (pieces,)
};

struct SearchKernels {
    Loop<Pieces> units;
    Loop<Bounds> bounds;
};
}  // namespace seminorm

SEMINORM_KERNELS(SearchKernels, search_kernels)
