// The field of sources: sum over j of source_j (x - x_j) / max(|x - x_j|, width_j)^3 at targets x.
//
// From afar a node counts as one: with the sum S of its sources and T (3) of their products with x_j - center, that of
// its 4 `sums`, it gives ((S + 3 T . d / |d|^2) d - T) / |d|^3 at d = x - center.
#pragma once

#include "clouds/tree.hpp"

namespace seminorm {
struct SourceFields {
    Tree tree;
    const double* points;   // (n, 3)
    const double* sources;  // (n,)
    const double* widths;   // (n,)
    const double* sums;     // (nodes, 4)
    const double* targets;  // (m, 3)
    double* result;         // (m, 3)
};

inline void source_fields(const SourceFields& a, i64 begin, i64 end) {
    const Tree& tree = a.tree;
    Scratch<i64> waiting(tree.depth + 1);
    for (i64 i = begin; i < end; ++i) {
        const double x = a.targets[3 * i], y = a.targets[3 * i + 1], z = a.targets[3 * i + 2];
        double fx = 0.0, fy = 0.0, fz = 0.0;
        walk(tree, waiting.data(), [&](i64 node) {
            const double* center = tree.centers + 3 * node;
            const double u = x - center[0], v = y - center[1], w = z - center[2];
            const double square = u * u + v * v + w * w, distance = std::sqrt(square);
            if (distance * tree.opening > tree.radii[node]) {
                const double* s = a.sums + 4 * node;
                const double cube = 1.0 / (square * distance);
                const double along = s[0] + 3.0 * (s[1] * u + s[2] * v + s[3] * w) / square;
                fx += (along * u - s[1]) * cube;
                fy += (along * v - s[2]) * cube;
                fz += (along * w - s[3]) * cube;
                return false;
            }
            if (tree.children[2 * node] >= 0) return true;
            for (i64 j = tree.spans[2 * node]; j < tree.spans[2 * node + 1]; ++j) {
                const double* point = a.points + 3 * j;
                const double du = x - point[0], dv = y - point[1], dw = z - point[2];
                const double bounded = most(du * du + dv * dv + dw * dw, a.widths[j] * a.widths[j]);
                const double strength = a.sources[j] / (bounded * std::sqrt(bounded));
                fx += strength * du;
                fy += strength * dv;
                fz += strength * dw;
            }
            return false;
        });
        a.result[3 * i] = fx;
        a.result[3 * i + 1] = fy;
        a.result[3 * i + 2] = fz;
    }
}
}  // namespace seminorm
