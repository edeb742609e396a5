// Fewer vertices where a mesh is flat: vertices are moved onto neighbours, one edge at a time.
//
// Every vertex carries the quadric of Garland and Heckbert: the sum, weighted by area, of the squared distances to the
// planes of the triangles it stands for. It may move onto a neighbour that lies, in the mean over these planes, within
// the deviation that is allowed; of several the one that leaves the best-shaped triangles. A move that would change the
// topology, fold the mesh or leave slivers is not made, so a 2-manifold stays one. Vertices that stay do not move.
//
// Meshes are worked on in parts, ranges of vertices, of which each is a task of its own: a vertex with a triangle that
// reaches into another part stays, so the parts do not depend on each other. Their borders are thinned when the parts
// are cut elsewhere. A border of the mesh stays as it is.
#pragma once

#include <cmath>
#include <vector>

#include "basics.hpp"
#include "shapes/quadrics.hpp"

namespace seminorm {
struct ThinningLimits {
    double deviation;  // root of the mean squared distance of a vertex to the planes it stands for
    double longest;    // edge
    double quality;    // least 4 sqrt(3) area / (sum of the squared sides) of new triangles; 1 is equilateral
    double turn;       // least cosine of the angle by which a triangle may turn
    double creased;    // length of the sum of area vectors over the sum of their lengths, below which a fan is creased
    i64 largest_fan;   // triangles around a vertex
    int rounds;
};

constexpr double kEquilateral = 3.4641016151377544;  // (sum of the squared sides) / (2 area) of an equilateral one

// A part of a mesh: vertices 0 .. n - 1, and triangles of them, as corners 3 f, 3 f + 1, 3 f + 2.
class ThinnedPart {
  public:
    // points: relative to somewhere near them; fans: the number of triangles around each vertex in the whole mesh
    ThinnedPart(std::vector<Vector> points, std::vector<i32> corners, const i32* fans, const ThinningLimits& limits)
        : points_(std::move(points)),
          corners_(std::move(corners)),
          limits_(limits),
          free_(points_.size()),
          gone_(points_.size(), 0),
          head_(points_.size(), -1),
          next_(corners_.size(), -1),
          quadrics_(points_.size()),
          seen_(points_.size(), 0),
          rested_(points_.size(), 0) {
        for (i64 c = static_cast<i64>(corners_.size()) - 1; c >= 0; --c) link(static_cast<i32>(c));
        for (i64 v = 0; v < static_cast<i64>(points_.size()); ++v) {
            free_[at(v)] = fan(static_cast<i32>(v)) == fans[v] && is_ring(static_cast<i32>(v));
        }
        for (size_t f = 0; f < corners_.size() / 3; ++f) {
            const Vector p = points_[at(corners_[3 * f])];
            const Vector normal = (points_[at(corners_[3 * f + 1])] - p).cross(points_[at(corners_[3 * f + 2])] - p);
            const double twice = std::sqrt(normal.dot(normal));
            if (!(twice > 0)) continue;
            const Vector unit{normal.x / twice, normal.y / twice, normal.z / twice};
            for (int k = 0; k < 3; ++k) quadrics_[at(corners_[3 * f + size_t(k)])].add_plane(unit, p, twice);
        }
    }

    void thin() {
        const double most = limits_.deviation * limits_.deviation;
        const i64 n = static_cast<i64>(points_.size());
        i64 left = 0;
        for (i64 v = 0; v < n; ++v) left += free_[at(v)];
        for (int round = 1; round <= limits_.rounds; ++round) {
            // the flattest places first
            const double bound = round < 4 ? most / double(1 << (2 * (4 - round))) : most;
            i64 removed = 0;
            for (i32 v = 0; v < n; ++v) {
                if (!free_[at(v)] || gone_[at(v)] || rested_[at(v)] == round || rested_[at(v)] == kSettled) continue;
                const i32 target = best_neighbor(v, bound);
                if (target < 0) {
                    if (round >= 4) rested_[at(v)] = kSettled;
                    continue;
                }
                collapse(v, target, round);
                ++removed;
            }
            left -= removed;
            if (round >= 4 && removed * 50 < left) break;
        }
    }

    // Vertices of the corners; -1 at all three of a triangle that is gone.
    const std::vector<i32>& corners() const { return corners_; }
    bool is_gone(i64 v) const { return gone_[at(v)]; }

  private:
    std::vector<Vector> points_;
    std::vector<i32> corners_;
    ThinningLimits limits_;
    std::vector<char> free_, gone_;  // free: all its triangles are here, and form one ring around it
    std::vector<i32> head_, next_;   // lists of the corners at each vertex
    std::vector<Quadric> quadrics_;
    static constexpr i32 kSettled = -1;
    std::vector<i32> seen_, rested_;  // rested: the round in which it waits, or settled, until something changes nearby
    i32 stamp_ = 0;

    static size_t at(i64 k) { return static_cast<size_t>(k); }

    void link(i32 corner) {
        i32& first = head_[at(corners_[at(corner)])];
        next_[at(corner)] = first;
        first = corner;
    }

    void unlink(i32 corner) {
        i32* place = &head_[at(corners_[at(corner)])];
        while (*place != corner) place = &next_[at(*place)];
        *place = next_[at(corner)];
    }

    i32 following(i32 corner) const { return corners_[at(corner % 3 == 2 ? corner - 2 : corner + 1)]; }
    i32 preceding(i32 corner) const { return corners_[at(corner % 3 == 0 ? corner + 2 : corner - 1)]; }

    i64 fan(i32 v) const {
        i64 count = 0;
        for (i32 c = head_[at(v)]; c >= 0; c = next_[at(c)]) ++count;
        return count;
    }

    // Whether the triangles at a vertex follow each other once around it.
    bool is_ring(i32 v) const {
        const i32 first = head_[at(v)];
        i64 steps = 0;
        i32 c = first;
        while (c >= 0) {
            const i32 wanted = preceding(c);
            if (wanted == v) return false;
            i32 found = -1;
            for (i32 other = head_[at(v)]; other >= 0; other = next_[at(other)]) {
                if (following(other) != wanted) continue;
                if (found >= 0) return false;
                found = other;
            }
            ++steps;
            if (found == first) return steps >= 3 && steps == fan(v);
            if (steps > fan(v)) return false;
            c = found;
        }
        return false;
    }

    // Around a free vertex every neighbour follows it in exactly one triangle.
    i32 best_neighbor(i32 v, double bound) {
        i32 chosen = -1;
        double best = 0;
        const Quadric& quadric = quadrics_[at(v)];
        const double allowed = bound * quadric.weight;
        bool near = false;
        for (i32 c = head_[at(v)]; c >= 0 && !near; c = next_[at(c)]) {
            const i32 w = following(c);
            near = free_[at(w)] && quadric.at(points_[at(w)]) <= allowed;
        }
        if (!near) return -1;
        const Fan fan = fan_of(v);
        for (i32 c = head_[at(v)]; c >= 0; c = next_[at(c)]) {
            const i32 w = following(c);
            if (!free_[at(w)]) continue;
            const double error = quadric.at(points_[at(w)]);
            if (!(error <= allowed)) continue;
            const double worst = worst_triangle(v, w, fan, least(limits_.quality, fan.quality));
            if (worst > best && keeps_topology(v, w)) {
                chosen = w;
                best = worst;
            }
        }
        return chosen;
    }

    // Triangles around a vertex: the sum of their area vectors, which a creased fan does without, and least quality.
    struct Fan {
        Vector normal;
        double length, quality;
        bool creased;
    };

    Fan fan_of(i32 v) const {
        Fan fan{{0, 0, 0}, 0, 1, false};
        double total = 0;
        const Vector p = points_[at(v)];
        for (i32 c = head_[at(v)]; c >= 0; c = next_[at(c)]) {
            const Vector pa = points_[at(following(c))], pb = points_[at(preceding(c))];
            const Vector u = pa - p, t = pb - p, s = pb - pa, normal = u.cross(t);
            fan.normal = {fan.normal.x + normal.x, fan.normal.y + normal.y, fan.normal.z + normal.z};
            const double sides = u.dot(u) + t.dot(t) + s.dot(s), area = std::sqrt(normal.dot(normal));
            fan.quality = least(fan.quality, sides > 0 ? kEquilateral * area / sides : 0);
            total += area;
        }
        fan.length = std::sqrt(fan.normal.dot(fan.normal));
        fan.creased = fan.length < limits_.creased * total;
        return fan;
    }

    // The least quality of the triangles that a move leaves, 0 if it may not be made.
    double worst_triangle(i32 v, i32 w, const Fan& fan, double least_quality) const {
        double worst = 1;
        const Vector now = points_[at(w)];
        const double longest = limits_.longest * limits_.longest;
        for (i32 c = head_[at(v)]; c >= 0; c = next_[at(c)]) {
            const i32 a = following(c), b = preceding(c);
            if (a == w || b == w) continue;
            const Vector pa = points_[at(a)], pb = points_[at(b)];
            const Vector u = pa - now, t = pb - now, s = pb - pa;
            const double uu = u.dot(u), tt = t.dot(t), ss = s.dot(s);
            if (uu > longest || tt > longest) return 0;
            const Vector normal = u.cross(t);
            const double area = std::sqrt(normal.dot(normal)), quality = kEquilateral * area / (uu + tt + ss);
            const Vector before = fan.creased ? (pa - points_[at(v)]).cross(pb - points_[at(v)]) : fan.normal;
            const double length = fan.creased ? std::sqrt(before.dot(before)) : fan.length;
            if (!(quality > least_quality && normal.dot(before) > limits_.turn * area * length)) return 0;
            worst = least(worst, quality);
        }
        return worst;
    }

    // Exactly two neighbours in common, and no tetrahedron.
    bool keeps_topology(i32 v, i32 w) {
        ++stamp_;
        i64 around_v = 0, around_w = 0, common = 0;
        for (i32 c = head_[at(v)]; c >= 0; c = next_[at(c)], ++around_v) seen_[at(following(c))] = stamp_;
        for (i32 c = head_[at(w)]; c >= 0; c = next_[at(c)], ++around_w) common += seen_[at(following(c))] == stamp_;
        return common == 2 && !(around_v == 3 && around_w == 3) && around_v + around_w - 4 <= limits_.largest_fan;
    }

    void collapse(i32 v, i32 w, int round) {
        quadrics_[at(w)].add(quadrics_[at(v)]);
        gone_[at(v)] = 1;
        for (i32 c = head_[at(v)]; c >= 0;) {
            const i32 after = next_[at(c)];
            const i32 a = following(c), b = preceding(c);
            rested_[at(a)] = round;
            if (a == w || b == w) {
                const i32 face = c / 3 * 3;
                for (i32 k = face; k < face + 3; ++k) {
                    if (k != c) unlink(k);
                }
                for (i32 k = face; k < face + 3; ++k) corners_[at(k)] = -1;
            } else {
                corners_[at(c)] = w;
                link(c);
            }
            c = after;
        }
        head_[at(v)] = -1;
    }
};
}  // namespace seminorm
