// A binary tree over points (n, 3) in its order: sums over its nodes, and walks down from the root.
//
// Node v holds the points spans[v][0] .. spans[v][1] - 1, within radii[v] of centers[v]; children[v] are two nodes of
// larger numbers, or -1 and -1 for a leaf. Node 0 is the root. A node is seen from afar, and counts as one, from
// distances beyond its radius over `opening`.
#pragma once

#include <cmath>

#include "basics.hpp"

namespace seminorm {
struct Tree {
    const i64* spans;
    const double* centers;
    const double* radii;
    const i64* children;
    i64 nodes;
    i64 depth;  // nodes on the longest way down
    double opening;
};

// Calls visit(node) from the root downwards; the children follow where it returns true. Waiting: room for depth + 1.
template <class Visit> void walk(const Tree& tree, i64* waiting, const Visit& visit) {
    i64 top = 0;
    waiting[top++] = 0;
    while (top > 0) {
        const i64 node = waiting[--top];
        if (!visit(node)) continue;
        waiting[top++] = tree.children[2 * node + 1];
        waiting[top++] = tree.children[2 * node];
    }
}

// For one leaf: calls see_far(node) for the nodes it sees from afar, see_near(leaf) for the leaves beside it.
template <class Far, class Near>
void walk_from_leaf(const Tree& tree, i64 leaf, i64* waiting, const Far& see_far, const Near& see_near) {
    const double* here = tree.centers + 3 * leaf;
    walk(tree, waiting, [&](i64 node) {
        const double* there = tree.centers + 3 * node;
        const double u = there[0] - here[0], v = there[1] - here[1], w = there[2] - here[2];
        const double distance = std::sqrt(u * u + v * v + w * w);
        const bool is_far = (distance - tree.radii[leaf]) * tree.opening > tree.radii[node];
        if (is_far)
            see_far(node);
        else if (tree.children[2 * node] < 0)
            see_near(node);
        else
            return true;
        return false;
    });
}

// sums (nodes, 12): the sum of the moments (n, 3), and of their products with the distances from the centre (3, 3).
inline void moment_sums(const Tree& tree, const double* points, const double* moments, double* sums, i64 begin,
                        i64 end) {
    for (i64 node = begin; node < end; ++node) {
        double total[12] = {};
        const double* center = tree.centers + 3 * node;
        for (i64 j = tree.spans[2 * node]; j < tree.spans[2 * node + 1]; ++j)
            for (int a = 0; a < 3; ++a) {
                total[a] += moments[3 * j + a];
                for (int b = 0; b < 3; ++b)
                    total[3 + 3 * a + b] += moments[3 * j + a] * (points[3 * j + b] - center[b]);
            }
        for (int a = 0; a < 12; ++a) sums[12 * node + a] = total[a];
    }
}

// sums (nodes, 4): the sum of the sources (n,), and of their products with the distances from the centre (3).
inline void source_sums(const Tree& tree, const double* points, const double* sources, double* sums, i64 begin,
                        i64 end) {
    for (i64 node = begin; node < end; ++node) {
        double total[4] = {};
        const double* center = tree.centers + 3 * node;
        for (i64 j = tree.spans[2 * node]; j < tree.spans[2 * node + 1]; ++j) {
            total[0] += sources[j];
            for (int b = 0; b < 3; ++b) total[1 + b] += sources[j] * (points[3 * j + b] - center[b]);
        }
        for (int a = 0; a < 4; ++a) sums[4 * node + a] = total[a];
    }
}
}  // namespace seminorm
