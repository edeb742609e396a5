// Signs of normals: flips of those that disagree with their neighbours.
#pragma once

#include "basics.hpp"

namespace seminorm {
// Row i of a sparse symmetric matrix has the columns indices[indptr[i]] .. with the entries coupling[indptr[i]] ..
template <class Index> struct Couplings {
    const Index* indptr;
    const Index* indices;
    const double* coupling;
    const double* pull;  // (n,)
    double* signs;       // (n,)
};

// One after the other, flips each sign against pull_i + sum_j coupling_ij sign_j; returns the number of flips.
template <class Index> i64 flip_signs(const Couplings<Index>& a, i64 begin, i64 end) {
    i64 flips = 0;
    for (i64 i = begin; i < end; ++i) {
        double force = a.pull[i];
        for (i64 b = a.indptr[i]; b < a.indptr[i + 1]; ++b) force += a.coupling[b] * a.signs[a.indices[b]];
        if (force * a.signs[i] < 0.0) {
            a.signs[i] = -a.signs[i];
            ++flips;
        }
    }
    return flips;
}
}  // namespace seminorm
