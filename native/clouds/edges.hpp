// How far the normals at both ends of an edge agree, in [-1, 1].
//
// With the unit vector d along the edge, the normal at one end is mirrored in the plane that bisects the edge,
// mirrored = n_i . n_j - 2 (n_i . d)(n_j . d), so that on circles and spheres, and across the gap between facing
// sheets, agreement is perfect. It is mirrored |mirrored| times the trust in both ends, and less for edges along the
// normals.
#pragma once

#include "clouds/kernels.hpp"

namespace seminorm {
namespace {
template <class Index> void edge_agreement(const EdgeAgreement<Index>& a, i64 begin, i64 end) {
    const i64 count = a.columns;
    Scratch<double> room(5 * count);
    double *square = room.data(), *along = square + count, *other = along + count, *dot = other + count;
    double* trust_there = dot + count;
    for (i64 i = begin; i < end; ++i) {
        const double x = a.points[3 * i], y = a.points[3 * i + 1], z = a.points[3 * i + 2], trust = a.trust[i];
        const double nx = a.normals[3 * i], ny = a.normals[3 * i + 1], nz = a.normals[3 * i + 2];
        const Index* neighbors = a.neighbors + i * count;
        double* agreement = a.agreement + i * count;
        for (i64 k = 0; k < count; ++k) {
            const i64 j = neighbors[k];
            const double *point = a.points + 3 * j, *normal = a.normals + 3 * j;
            const double u = point[0] - x, v = point[1] - y, w = point[2] - z;
            square[k] = u * u + v * v + w * w;
            along[k] = u * nx + v * ny + w * nz;
            other[k] = u * normal[0] + v * normal[1] + w * normal[2];
            dot[k] = nx * normal[0] + ny * normal[1] + nz * normal[2];
            trust_there[k] = a.trust[j];
        }
        for (i64 k = 0; k < count; ++k) {  // apart from the above, where memory decides: this is vectorised
            const double inverse = 1.0 / square[k];
            const double mirrored = dot[k] - 2.0 * along[k] * other[k] * inverse;
            const double flat = 1.0 - most(along[k] * along[k], other[k] * other[k]) * inverse;
            agreement[k] = mirrored * __builtin_fabs(mirrored) * most(flat, a.least_flat) * trust * trust_there[k];
        }
        for (i64 k = 0; k < count; ++k)  // edges without length, if they lead to another point
            if (square[k] == 0.0) agreement[k] = neighbors[k] == i ? 0.0 : dot[k] * trust * trust_there[k];
    }
}
}  // namespace
}  // namespace seminorm
