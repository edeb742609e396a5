// Better triangles on the same vertices: edges of badly shaped triangles are flipped, and vertices slide along the
// mesh.
//
// The quality of a triangle is 4 sqrt(3) area / (sum of the squared sides): 1 if it is equilateral, 0 if it is flat.
// An edge is flipped if the worse of its two triangles becomes better, the two diagonals pass each other within the
// deviation, and the new triangles do not turn away from the old ones. A vertex of a triangle that is below `wanted`
// goes half-way to the mean of its neighbours, without leaving its tangent plane, if the worst of its triangles becomes
// better. Topology does not change; borders stay, and vertices that are fixed.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "basics.hpp"
#include "shapes/quadrics.hpp"

namespace seminorm {
struct ShapingLimits {
    double wanted;     // quality from which on triangles are left alone
    double deviation;  // distance of the two diagonals of a flip
    double turn;       // least cosine of the angle by which triangles may turn
    i64 largest_fan;   // triangles around a vertex
    int rounds;
};

template <class Index> class ShapedMesh {
  public:
    ShapedMesh(double* vertices, i64 n, Index* faces, i64 n_faces, const bool* fixed, const ShapingLimits& limits)
        : points_(vertices),
          n_(n),
          corners_(faces),
          n_corners_(3 * n_faces),
          fixed_(fixed, fixed + n),
          odd_(at(n), 0),
          limits_(limits),
          twin_(at(3 * n_faces), -1),
          corner_of_(at(n), -1),
          fan_(at(n), 0) {
        pair_edges();
    }

    // Returns how many edges were flipped and vertices moved.
    i64 improve() {
        i64 total = 0;
        for (int round = 0; round < limits_.rounds; ++round) {
            i64 changed = 0;
            for (i64 c = 0; c < n_corners_; ++c) changed += flip_if_better(c);
            for (i64 v = 0; v < n_; ++v) changed += move_if_better(v);
            total += changed;
            if (changed == 0) break;
        }
        return total;
    }

  private:
    double* points_;
    i64 n_;
    Index* corners_;  // of triangle f: 3 f, 3 f + 1, 3 f + 2; a corner stands for the edge from it to the next one too
    i64 n_corners_;
    std::vector<char> fixed_, odd_;  // odd: its triangles do not form one ring
    ShapingLimits limits_;
    std::vector<i64> twin_;       // the edge that runs the other way; -1 on a border
    std::vector<i64> corner_of_;  // one corner at each vertex
    std::vector<i32> fan_;        // triangles around each vertex

    static size_t at(i64 k) { return static_cast<size_t>(k); }
    static i64 next(i64 c) { return c % 3 == 2 ? c - 2 : c + 1; }
    static i64 before(i64 c) { return c % 3 == 0 ? c + 2 : c - 1; }
    i64 vertex(i64 c) const { return static_cast<i64>(corners_[c]); }
    Vector point(i64 v) const { return {points_[3 * v], points_[3 * v + 1], points_[3 * v + 2]}; }

    void pair_edges() {
        std::vector<i64> first(at(n_ + 1), 0), order(at(n_corners_));
        for (i64 c = 0; c < n_corners_; ++c) ++fan_[at(vertex(c))];
        for (i64 v = 0; v < n_; ++v) first[at(v + 1)] = first[at(v)] + fan_[at(v)];
        std::vector<i64> place(first.begin(), first.end() - 1);
        for (i64 c = 0; c < n_corners_; ++c) order[at(place[at(vertex(c))]++)] = c;
        for (i64 c = 0; c < n_corners_; ++c) {
            const i64 a = vertex(c), b = vertex(next(c));
            i64 found = -1, same = 0;
            for (i64 k = first[at(b)]; k < first[at(b + 1)]; ++k) {
                if (vertex(next(order[at(k)])) == a) found = found == -1 ? order[at(k)] : -2;
            }
            for (i64 k = first[at(a)]; k < first[at(a + 1)]; ++k) same += vertex(next(order[at(k)])) == b;
            if (found < 0 || same != 1 || a == b) {
                odd_[at(a)] = odd_[at(b)] = 1;
            } else {
                twin_[at(c)] = found;
            }
            corner_of_[at(a)] = c;
        }
        for (i64 v = 0; v < n_; ++v) {
            if (odd_[at(v)] || corner_of_[at(v)] < 0) continue;
            i64 steps = 0, c = corner_of_[at(v)];
            do {
                c = twin_[at(before(c))];
                ++steps;
            } while (c >= 0 && c != corner_of_[at(v)] && steps <= fan_[at(v)]);
            if (c != corner_of_[at(v)] || steps != fan_[at(v)]) odd_[at(v)] = 1;
        }
    }

    static Vector plus(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
    static double norm(const Vector& a) { return std::sqrt(a.dot(a)); }

    static double quality(const Vector& a, const Vector& b, const Vector& c) {
        const Vector u = b - a, t = c - a, s = c - b;
        const double sides = u.dot(u) + t.dot(t) + s.dot(s);
        return sides > 0 ? 3.4641016151377544 * norm(u.cross(t)) / sides : 0;
    }

    i64 flip_if_better(i64 c) {
        const i64 d = twin_[at(c)];
        if (d < c) return 0;  // a border, or seen from the other side
        const i64 a = vertex(c), b = vertex(d), left = vertex(before(c)), right = vertex(before(d));
        if (left == right || fan_[at(a)] <= 3 || fan_[at(b)] <= 3) return 0;
        if (fan_[at(left)] >= limits_.largest_fan || fan_[at(right)] >= limits_.largest_fan) return 0;
        const Vector pa = point(a), pb = point(b), pl = point(left), pr = point(right);
        const double old = least(quality(pa, pb, pl), quality(pb, pa, pr));
        if (old >= limits_.wanted) return 0;
        if (least(quality(pa, pr, pl), quality(pr, pb, pl)) <= old * 1.01) return 0;
        const Vector along = pb - pa, across = pr - pl, both = along.cross(across);
        const double size = norm(both);
        if (!(size > 0) || std::abs(both.dot(pl - pa)) > limits_.deviation * size) return 0;
        const Vector one = (pb - pa).cross(pl - pa), two = (pr - pa).cross(pb - pa);
        const Vector sum = plus(one, two), first = (pr - pa).cross(pl - pa), second = (pb - pr).cross(pl - pr);
        const double length = norm(sum) * limits_.turn;
        if (!(first.dot(sum) > length * norm(first) && second.dot(sum) > length * norm(second))) return 0;
        if (are_neighbors(left, right)) return 0;
        flip(c, d);
        return 1;
    }

    bool are_neighbors(i64 v, i64 w) const {
        i64 c = corner_of_[at(v)];
        const i64 start = c;
        if (odd_[at(v)]) return true;
        do {
            if (vertex(next(c)) == w) return true;
            c = twin_[at(before(c))];
        } while (c != start);
        return false;
    }

    // Triangles (a, b, left) and (b, a, right) become (a, right, left) and (b, left, right).
    void flip(i64 c, i64 d) {
        const i64 c1 = next(c), c2 = before(c), d1 = next(d), d2 = before(d);
        const i64 a = vertex(c), b = vertex(d), left = vertex(c2), right = vertex(d2);
        const i64 of_bl = twin_[at(c1)], of_ar = twin_[at(d1)];
        corners_[c1] = static_cast<Index>(right);  // c: a -> right, c1: right -> left, c2: left -> a
        corners_[d1] = static_cast<Index>(left);   // d: b -> left, d1: left -> right, d2: right -> b
        tie(c, of_ar);
        tie(d, of_bl);
        tie(c1, d1);
        corner_of_[at(a)] = c;
        corner_of_[at(b)] = d;
        corner_of_[at(left)] = c2;
        corner_of_[at(right)] = d2;
        --fan_[at(a)], --fan_[at(b)], ++fan_[at(left)], ++fan_[at(right)];
    }

    void tie(i64 c, i64 d) {
        twin_[at(c)] = d;
        if (d >= 0) twin_[at(d)] = c;
    }

    i64 move_if_better(i64 v) {
        if (fixed_[at(v)] || odd_[at(v)] || corner_of_[at(v)] < 0) return 0;
        const Vector p = point(v);
        const i64 start = corner_of_[at(v)];
        Vector normal{0, 0, 0}, mean{0, 0, 0};
        double worst = 1;
        i64 c = start;
        do {
            const Vector a = point(vertex(next(c))), b = point(vertex(before(c)));
            worst = least(worst, quality(p, a, b));
            normal = plus(normal, (a - p).cross(b - p));
            mean = plus(mean, a - p);
            c = twin_[at(before(c))];
        } while (c != start);
        if (worst >= limits_.wanted) return 0;
        const double length = norm(normal);
        if (!(length > 0)) return 0;
        const Vector n{normal.x / length, normal.y / length, normal.z / length};
        const double share = 0.5 / double(fan_[at(v)]), up = mean.dot(n);
        Vector step{share * (mean.x - up * n.x), share * (mean.y - up * n.y), share * (mean.z - up * n.z)};
        for (int halving = 0; halving < 3; ++halving) {
            const Vector now = plus(p, step);
            bool allowed = true;
            double better = 1;
            c = start;
            do {
                const Vector a = point(vertex(next(c))), b = point(vertex(before(c)));
                const Vector area = (a - now).cross(b - now);
                better = least(better, quality(now, a, b));
                allowed = allowed && area.dot(n) > limits_.turn * norm(area);
                c = twin_[at(before(c))];
            } while (allowed && c != start);
            if (allowed && better > worst * 1.01) {
                points_[3 * v] = now.x, points_[3 * v + 1] = now.y, points_[3 * v + 2] = now.z;
                return 1;
            }
            step = {0.5 * step.x, 0.5 * step.y, 0.5 * step.z};
        }
        return 0;
    }
};
}  // namespace seminorm
