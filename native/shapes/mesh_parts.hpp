// A mesh in parts that are thinned each by itself.
#pragma once

#include "shapes/thinning.hpp"

namespace seminorm {
// Thins the parts starts[k] .. starts[k + 1] - 1 of the vertices; own (f,) are the triangles with all corners in one
// part, those of part k from first[k] on.
template <class Index> struct Thinning {
    const double* vertices;
    Index* faces;  // of a triangle that is gone all three become -1
    bool* gone;    // vertices that are on no triangle any more
    const i64* starts;
    const i32* fans;
    const i64 *own, *first;
    ThinningLimits limits;

    void operator()(i64 part) const {
        const i64 begin = starts[part], count = starts[part + 1] - begin;
        std::vector<Vector> points;
        points.reserve(static_cast<size_t>(count));
        const double* origin = vertices + 3 * begin;
        for (i64 v = 0; v < count; ++v) {
            const double* p = origin + 3 * v;
            points.push_back({p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]});
        }
        std::vector<i32> corners;
        corners.reserve(static_cast<size_t>(3 * (first[part + 1] - first[part])));
        for (i64 k = first[part]; k < first[part + 1]; ++k) {
            for (int c = 0; c < 3; ++c) corners.push_back(static_cast<i32>(faces[3 * own[k] + c] - begin));
        }
        ThinnedPart thinned(std::move(points), std::move(corners), fans + begin, limits);
        thinned.thin();
        const i32* left = thinned.corners().data();
        for (i64 k = first[part]; k < first[part + 1]; ++k) {
            for (int c = 0; c < 3; ++c, ++left) {
                faces[3 * own[k] + c] = *left < 0 ? Index(-1) : static_cast<Index>(*left + begin);
            }
        }
        for (i64 v = 0; v < count; ++v) gone[begin + v] = thinned.is_gone(v);
    }
};

// fans (v,), own (f,) and first (parts + 1,) of a mesh for parts of the given starts (parts + 1,).
template <class Index>
void sort_triangles(const Index* faces, i64 n_faces, const i64* starts, i64 parts, i32* fans, i64* own, i64* first) {
    const i64 n = starts[parts];
    std::vector<i32> part_of(static_cast<size_t>(n));
    for (i64 p = 0; p < parts; ++p) {
        for (i64 v = starts[p]; v < starts[p + 1]; ++v) part_of[static_cast<size_t>(v)] = static_cast<i32>(p);
    }
    const auto part_of_face = [&](i64 f) {
        const i32 p = part_of[static_cast<size_t>(faces[3 * f])];
        const bool whole =
            p == part_of[static_cast<size_t>(faces[3 * f + 1])] && p == part_of[static_cast<size_t>(faces[3 * f + 2])];
        return whole ? p : -1;
    };
    for (i64 v = 0; v < n; ++v) fans[v] = 0;
    for (i64 k = 0; k < 3 * n_faces; ++k) ++fans[faces[k]];
    std::vector<i64> place(static_cast<size_t>(parts + 1), 0);
    for (i64 f = 0; f < n_faces; ++f) {
        if (const i32 p = part_of_face(f); p >= 0) ++place[static_cast<size_t>(p + 1)];
    }
    for (i64 p = 0; p < parts; ++p) place[static_cast<size_t>(p + 1)] += place[static_cast<size_t>(p)];
    for (i64 p = 0; p <= parts; ++p) first[p] = place[static_cast<size_t>(p)];
    for (i64 f = 0; f < n_faces; ++f) {
        if (const i32 p = part_of_face(f); p >= 0) own[place[static_cast<size_t>(p)]++] = f;
    }
}
}  // namespace seminorm
