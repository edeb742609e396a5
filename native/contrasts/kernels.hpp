// Arguments of the loop over local contrasts, and its table.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
// For each of `count` points: the combination c of the values at its m neighbours and at the point itself (the last)
// that vanishes on the null space and is uncorrelated with all others of these that do; scaled to unit variance.
// Covariances are those of a kernel plus independent noise.
struct Contrasts {
    const i64* points;     // (count,)
    const i32* neighbors;  // (count, m), the most important first; -1 at the end where there are fewer
    const double* kernel;  // (count, (m + 1) (m + 2) / 2): upper triangles of the kernel matrices, row by row
    const double* noise;   // (n,) variances
    const double* null;    // (n, r): the functions of the null space at the points
    const double* sizes;   // (r,): the largest value of each
    i64 count, m, r;
    double negligible;  // share of a variance, or of a function's size, that is lost in rounding errors
    double remote;      // how many times larger than at its neighbours a function may be at the point
    double* out;        // (count, m + 1): c, zeros for neighbours that are not there
    i32* found;         // (count,): 0 where the neighbours do not determine the null space at the point; then c = 0
};

struct ContrastKernels {
    Loop<Contrasts> contrasts;
};
}  // namespace seminorm

SEMINORM_KERNELS(ContrastKernels, contrast_kernels)
