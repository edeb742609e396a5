// What arrays that describe points, lists and trees must fulfil before a loop trusts them; see tree.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "binding.hpp"
#include "clouds/tree.hpp"

namespace seminorm {
using Numbers = In<double, 1>;
using Vectors = In<double, 2>;  // (n, 3), but for tables of sums
using Indices = In<i64, 1>;
using Pairs = In<i64, 2>;

template <class Array> void need_rows(const Array& array, i64 rows, i64 columns, const char* name) {
    need(length(array) == rows && length(array, 1) == columns,
         std::string(name) + " must be (" + std::to_string(rows) + ", " + std::to_string(columns) + ")");
}

template <class Array> void need_length(const Array& array, i64 rows, const char* name) {
    need(length(array) == rows, std::string(name) + " must have " + std::to_string(rows) + " entries");
}

// starts of consecutive parts of something that has `total` entries
template <class Array> void need_starts(const Array& starts, i64 parts, i64 total, const char* name) {
    need_length(starts, parts + 1, name);
    bool fine = starts.data()[0] == 0 && starts.data()[parts] == total;
    for (i64 k = 0; k < parts; ++k) fine = fine && starts.data()[k] <= starts.data()[k + 1];
    need(fine, std::string(name) + " must increase from 0 to " + std::to_string(total));
}

inline void need_spans(const Pairs& spans, i64 points) {
    need(length(spans, 1) == 2, "spans must have two columns");
    bool fine = true;
    for (i64 v = 0; v < length(spans); ++v)
        fine = fine && 0 <= spans(v, 0) && spans(v, 0) <= spans(v, 1) && spans(v, 1) <= points;
    need(fine, "spans must be ranges of the " + std::to_string(points) + " points");
}

// Children have larger numbers than their parents, so that every walk ends; returns the nodes on the longest way down.
inline i64 need_children(const Pairs& children, i64 nodes) {
    need_rows(children, nodes, 2, "children");
    need(nodes > 0, "a tree must have a root");
    std::vector<i64> level(static_cast<size_t>(nodes), 1);
    i64 depth = 1;
    for (i64 v = 0; v < nodes; ++v) {
        const i64 one = children(v, 0), other = children(v, 1);
        if (one == -1 && other == -1) continue;
        const bool follow = v < one && one < nodes && v < other && other < nodes;
        need(follow, "children must follow their parents, or be -1 and -1");
        for (const i64 child : {one, other}) {
            level[size_t(child)] = std::max(level[size_t(child)], level[size_t(v)] + 1);
            depth = std::max(depth, level[size_t(child)]);
        }
    }
    return depth;
}

inline Tree tree_of_spans(const Pairs& spans, const Vectors& centers, i64 points) {
    need_spans(spans, points);
    need_rows(centers, length(spans), 3, "centers");
    return {spans.data(), centers.data(), nullptr, nullptr, length(spans), 0, 0.0};
}

inline Tree tree_to_walk(const Vectors& centers, const Numbers& radii, const Pairs& children, double opening) {
    const i64 nodes = length(centers), depth = need_children(children, nodes);
    need_rows(centers, nodes, 3, "centers");
    need_length(radii, nodes, "radii");
    return {nullptr, centers.data(), radii.data(), children.data(), nodes, depth, opening};
}
}  // namespace seminorm
