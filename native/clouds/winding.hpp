// Sums over all points j of a kernel at the points i of a tree, the points of a leaf side by side.
//
// winding_values:  sum_j m_j . (x_j - x_i) / max(|x_j - x_i|, width_i)^3, 4 pi times the winding number at x_i
// squared_rows:    sum_j |x_j - x_i|^2 / max(|x_j - x_i|, width_i)^6, its squared coefficients
//
// From afar a node counts as one: with the sum S (3) of its moments and T (3, 3) of their products with x_j - center,
// that of its 12 `sums`, m . d / |d|^3 becomes (S . d + trace T - 3 d . T d / |d|^2) / |d|^3 at d = center - x_i.
#pragma once

#include "clouds/kernels.hpp"
#include "clouds/side_by_side.hpp"

namespace seminorm {
namespace {
struct Place {
    Side x, y, z, least_square;
};

class WindingKernel {
  public:
    explicit WindingKernel(const TreeSums& a) : a_(a) {}

    SEMINORM_INLINE Side from_node(const Place& at, i64 node) const {
        const double *center = a_.centers + 3 * node, *s = a_.sums + 12 * node;
        const Side u = all(center[0]) - at.x, v = all(center[1]) - at.y, w = all(center[2]) - at.z;
        const Side inverse = all(1.0) / (u * u + v * v + w * w);
        const Side product = u * (all(s[3]) * u + all(s[4]) * v + all(s[5]) * w) +
                             v * (all(s[6]) * u + all(s[7]) * v + all(s[8]) * w) +
                             w * (all(s[9]) * u + all(s[10]) * v + all(s[11]) * w);
        const Side once = all(s[0]) * u + all(s[1]) * v + all(s[2]) * w + all(s[3] + s[7] + s[11]);
        return (once - all(3.0) * product * inverse) * (inverse * root(inverse));
    }

    SEMINORM_INLINE Side from_point(const Place& at, i64 j) const {
        const double *point = a_.points + 3 * j, *moment = a_.moments + 3 * j;
        const Side u = all(point[0]) - at.x, v = all(point[1]) - at.y, w = all(point[2]) - at.z;
        const Side inverse = all(1.0) / larger(u * u + v * v + w * w, at.least_square);
        return (all(moment[0]) * u + all(moment[1]) * v + all(moment[2]) * w) * (inverse * root(inverse));
    }

  private:
    const TreeSums& a_;
};

class SquaredKernel {
  public:
    explicit SquaredKernel(const TreeSums& a) : a_(a) {}

    SEMINORM_INLINE Side from_node(const Place& at, i64 node) const {
        const Side square = squared_distance(at, a_.centers + 3 * node);
        return all(double(a_.spans[2 * node + 1] - a_.spans[2 * node])) / (square * square);
    }

    SEMINORM_INLINE Side from_point(const Place& at, i64 j) const {
        const Side square = squared_distance(at, a_.points + 3 * j), bounded = larger(square, at.least_square);
        return square / (bounded * bounded * bounded);
    }

  private:
    static SEMINORM_INLINE Side squared_distance(const Place& at, const double* other) {
        const Side u = all(other[0]) - at.x, v = all(other[1]) - at.y, w = all(other[2]) - at.z;
        return u * u + v * v + w * w;
    }

    const TreeSums& a_;
};

// Points first .. first + number - 1; lanes beyond them repeat the last one.
SEMINORM_INLINE Place load_points(const TreeSums& a, i64 first, i64 number) {
    double x[kSide], y[kSide], z[kSide], width[kSide];
    for (int lane = 0; lane < kSide; ++lane) {
        const i64 i = first + least<i64>(lane, number - 1);
        x[lane] = a.points[3 * i];
        y[lane] = a.points[3 * i + 1];
        z[lane] = a.points[3 * i + 2];
        width[lane] = a.widths[i];
    }
    const Side least = Side::load(width);
    return {Side::load(x), Side::load(y), Side::load(z), least * least};
}

template <class Kernel> void sum_over_tree(const TreeSums& a, i64 begin, i64 end) {
    const Kernel kernel(a);
    for (i64 leaf = begin; leaf < end; ++leaf) {
        const i64* span = a.spans + 2 * a.leaves[leaf];
        for (i64 first = span[0]; first < span[1]; first += kSide) {
            const i64 number = least<i64>(kSide, span[1] - first);
            const Place at = load_points(a, first, number);
            Side total = all(0.0);
            for (i64 b = a.far_from[leaf]; b < a.far_from[leaf + 1]; ++b)
                total = total + kernel.from_node(at, a.far[b]);
            for (i64 b = a.near_from[leaf]; b < a.near_from[leaf + 1]; ++b) {
                const i64* other = a.spans + 2 * i64(a.near[b]);
                for (i64 j = other[0]; j < other[1]; ++j) total = total + kernel.from_point(at, j);
            }
            double totals[kSide];
            total.store(totals);
            for (i64 lane = 0; lane < number; ++lane) a.result[first + lane] = totals[lane];
        }
    }
}

void winding_values(const TreeSums& a, i64 begin, i64 end) { sum_over_tree<WindingKernel>(a, begin, end); }
void squared_rows(const TreeSums& a, i64 begin, i64 end) { sum_over_tree<SquaredKernel>(a, begin, end); }
}  // namespace
}  // namespace seminorm
