// Signs of normals: how far the ends of edges agree, and flips of points that disagree with their neighbours.
#pragma once

#include <cmath>

#include "basics.hpp"

namespace seminorm {
// agreement (n, k) in [-1, 1] of points (n, 3) with their neighbors (n, k): the normal at one end is mirrored in the
// plane that bisects the edge, mirrored = n_i . n_j - 2 (n_i . d)(n_j . d) / |d|^2, so that on circles and spheres, and
// across the gap between facing sheets, agreement is perfect. Edges that run along the normals count less.
template <class Index> struct EdgeAgreement {
    const double* points;
    const double* normals;  // (n, 3)
    const double* trust;    // (n,)
    const Index* neighbors;
    i64 columns;
    double least_flat;  // weight of edges along the normals
    double* agreement;
};

template <class Index> void edge_agreement(const EdgeAgreement<Index>& a, i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
        const double x = a.points[3 * i], y = a.points[3 * i + 1], z = a.points[3 * i + 2], trust = a.trust[i];
        const double nx = a.normals[3 * i], ny = a.normals[3 * i + 1], nz = a.normals[3 * i + 2];
        for (i64 edge = i * a.columns; edge < (i + 1) * a.columns; ++edge) {
            const i64 j = a.neighbors[edge];
            const double *point = a.points + 3 * j, *normal = a.normals + 3 * j;
            const double u = point[0] - x, v = point[1] - y, w = point[2] - z;
            const double square = u * u + v * v + w * w;
            const double along_i = u * nx + v * ny + w * nz;
            const double along_j = u * normal[0] + v * normal[1] + w * normal[2];
            const double dot = nx * normal[0] + ny * normal[1] + nz * normal[2];
            if (j == i || square == 0.0) {
                a.agreement[edge] = j == i ? 0.0 : dot * trust * a.trust[j];
                continue;
            }
            const double inverse = 1.0 / square;  // one division, which takes as long as all the rest
            const double mirrored = dot - 2.0 * along_i * along_j * inverse;
            const double flat = 1.0 - most(along_i * along_i, along_j * along_j) * inverse;
            a.agreement[edge] = mirrored * std::fabs(mirrored) * most(flat, a.least_flat) * trust * a.trust[j];
        }
    }
}

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
