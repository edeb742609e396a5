// Arguments of the loop over local contrasts, and its table.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
// Observations are c f(x) + g . grad f(x) with a jet (c, g) each; those at one place make a group. For each observation
// of `count` groups: the combination of those of the m neighbouring groups, of the ones before it in its own, and of
// itself that vanishes on the null space and is uncorrelated with all others of these that do; scaled to unit variance.
// Covariances are those of a radial kernel h(|x - y|^2) plus independent noise.
struct Contrasts {
    const i64* groups;       // (count,)
    const i32* neighbors;    // (count, m) groups, the most important first; -1 at the end where there are fewer
    const i64* first;        // (groups + 1,): the observations of group k are first[k] .. first[k + 1] - 1
    const double* places;    // (groups, d)
    const double* profiles;  // (count, orders, pairs): h, or h, h' and h'' if there are jets, between all places of a
                             // neighbourhood, its own one last: upper triangles, row by row, (m + 1) (m + 2) / 2 pairs
    const double* jets;      // (observations, 1 + d), or null: all are values
    const double* noise;     // (observations,) variances
    const double* null;      // (observations, r): what they make of the functions of the null space
    const double* sizes;     // (r,): the largest of each, for values
    const i64* begins;       // (count + 1,): where the rows of each group begin in values and columns
    const i32* index;        // (observations,): the columns of the matrix
    i64 count, m, r, d, orders;
    i64 most;           // observations of the largest neighbourhood
    double negligible;  // share of a variance, or of a function's size, that is lost in rounding errors
    double remote;      // how many times larger than at its neighbours a function may be at a place
    double* values;     // for each observation of a group a row: neighbours in their order, then the group itself
    i32* columns;
    i32* found;  // (count,): 0 where the neighbours do not determine the null space; then all is 0
};

struct ContrastKernels {
    Loop<Contrasts> contrasts;
};
}  // namespace seminorm

SEMINORM_KERNELS(ContrastKernels, contrast_kernels)
