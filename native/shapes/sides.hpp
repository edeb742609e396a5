// Sides of a crease: quadrics fitted to the oriented points around a place, one for each cluster of their normals.
//
//     R (c + g y + y H y / 2),  y = (x - center) / R,  R the distance of the farthest of k neighbours,
//
// is fitted to values 0, divided by the tolerance, and to gradients, the normals, with weights (1 - |y|^2)^2, and a
// ridge on H. Coefficients are c, g and H as xx, xy, xz, yy, yz, zz. The clusters begin with normals that are farthest
// from each other; then each point goes to the side that it misfits least. Normals that do not suit their side count
// less, 1 / (1 + (angle / doubt)^2)^2: estimated ones blend the two sides.
#pragma once

#include <cmath>
#include <vector>

#include "basics.hpp"
#include "shapes/quadrics.hpp"

namespace seminorm {
constexpr int kSides = 4, kTerms = 10;

struct SideLimits {
    double tolerance;
    double apart;     // cosine of the angle between clusters of normals, at most
    double backside;  // normals whose cosine with that of the place is less are left out
    double ridge;     // on H, per unit of weight
    double doubt;     // angle
    i64 least;        // points of a side
    int rounds;
};

struct OrientedPointsIn {
    const double *points, *normals;  // (n, 3)
    const double* misfit;            // (n, 2): of the smooth function, squares of value / tolerance and of the angle
};

struct SidesOut {
    double* radius;  // (m,)
    double* coef;    // (m, kSides, kTerms)
    bool* valid;     // (m, kSides)
    double* misfit;  // (m, 4): weighted means of that of the smooth function, and of that of the sides
};

class SideFits {
  public:
    SideFits(const OrientedPointsIn& data, const SideLimits& limits, i64 k)
        : data_(data), limits_(limits), around_(static_cast<size_t>(k)) {}

    // place and direction (3,), rows (k,) of its neighbours; writes entry `at` of all that is out.
    void fit(const double* place, const double* direction, const i64* rows, const SidesOut& out, i64 at) {
        gather(place, direction, rows);
        double* coef = out.coef + at * kSides * kTerms;
        bool* valid = out.valid + at * kSides;
        for (int t = 0; t < kSides * kTerms; ++t) coef[t] = 0;
        for (int s = 0; s < kSides; ++s) valid[s] = false;
        out.radius[at] = radius_;
        if (count_ > 0) {
            choose_clusters(valid);
            for (int round = 0; round < limits_.rounds; ++round) {
                for (int s = 0; s < kSides; ++s) valid[s] = valid[s] && fit_side(s, coef + s * kTerms);
                assign(coef, valid);
            }
        }
        write_misfit(out.misfit + 4 * at);
    }

  private:
    struct Sample {
        Vector y, normal;
        double weight, trust, value, angle;  // value and angle: squares of the misfit to its side
        i64 row;
        int side;
    };
    OrientedPointsIn data_;
    SideLimits limits_;
    std::vector<Sample> around_;  // the first count_ of them have weight
    i64 count_ = 0;
    double radius_ = 0;

    Sample& sample(i64 j) { return around_[static_cast<size_t>(j)]; }
    static Vector vector(const double* x) { return {x[0], x[1], x[2]}; }
    static Vector plus(const Vector& a, double s, const Vector& b) {
        return {a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
    }

    void gather(const double* place, const double* direction, const i64* rows) {
        const Vector center = vector(place), front = vector(direction);
        double farthest = 0;
        for (size_t j = 0; j < around_.size(); ++j) {
            const Vector d = vector(data_.points + 3 * rows[j]) - center;
            farthest = most(farthest, d.dot(d));
        }
        radius_ = std::sqrt(farthest);
        count_ = 0;
        for (size_t j = 0; j < around_.size() && radius_ > 0; ++j) {
            const Vector d = vector(data_.points + 3 * rows[j]) - center, n = vector(data_.normals + 3 * rows[j]);
            const Vector y = {d.x / radius_, d.y / radius_, d.z / radius_};
            const double root = 1 - y.dot(y);
            if (!(root > 0) || n.dot(front) < limits_.backside) continue;
            sample(count_++) = {y, n, root * root, 1, 0, 0, rows[j], 0};
        }
    }

    void choose_clusters(bool* valid) {
        Vector centers[kSides], mean{0, 0, 0};
        for (i64 j = 0; j < count_; ++j) mean = plus(mean, sample(j).weight, sample(j).normal);
        mean = unit(mean);
        for (i64 j = 0; j < count_; ++j) sample(j).value = sample(j).normal.dot(mean);
        for (int s = 0; s < kSides; ++s) {
            i64 farthest = 0;
            for (i64 j = 1; j < count_; ++j) farthest = sample(j).value < sample(farthest).value ? j : farthest;
            if (s > 0 && !(sample(farthest).value < limits_.apart)) break;
            valid[s] = true;
            centers[s] = sample(farthest).normal;
            for (i64 j = 0; j < count_; ++j) {
                const double own = sample(j).normal.dot(centers[s]);
                sample(j).value = s == 0 ? own : most(own, sample(j).value);
            }
        }
        for (int round = 0; round < 3; ++round) {
            nearest_centers(centers, valid);
            Vector sums[kSides] = {};
            for (i64 j = 0; j < count_; ++j) {
                sums[sample(j).side] = plus(sums[sample(j).side], sample(j).weight, sample(j).normal);
            }
            for (int s = 0; s < kSides; ++s) {
                centers[s] = unit(sums[s]);
                for (int t = 0; t < s; ++t)
                    valid[s] = valid[s] && !(valid[t] && centers[s].dot(centers[t]) > limits_.apart);
            }
        }
        nearest_centers(centers, valid);
    }

    void nearest_centers(const Vector* centers, const bool* valid) {
        for (i64 j = 0; j < count_; ++j) {
            double best = -2;
            for (int s = 0; s < kSides; ++s) {
                const double cosine = valid[s] ? sample(j).normal.dot(centers[s]) : -2;
                if (cosine > best) {
                    best = cosine;
                    sample(j).side = s;
                }
            }
        }
    }

    static Vector unit(const Vector& a) {
        const double length = std::sqrt(a.dot(a));
        return length > 0 ? Vector{a.x / length, a.y / length, a.z / length} : a;
    }

    // Coefficients of a side; whether it has enough points.
    bool fit_side(int side, double* coef) {
        double matrix[kTerms][kTerms] = {}, right[kTerms] = {}, weight = 0;
        const double stiffness = radius_ / limits_.tolerance;
        i64 points = 0;
        for (i64 j = 0; j < count_; ++j) {
            const Sample& one = sample(j);
            if (one.side != side) continue;
            ++points;
            weight += one.weight;
            add_equations(one, stiffness * stiffness, matrix, right);
        }
        if (points < limits_.least) return false;
        double trace = 0;
        for (int t = 4; t < kTerms; ++t) matrix[t][t] += limits_.ridge * weight;
        for (int t = 0; t < kTerms; ++t) trace += matrix[t][t];
        for (int t = 0; t < kTerms; ++t) matrix[t][t] += 1e-9 * trace;
        return solve(matrix, right, coef);
    }

    static void add_equations(const Sample& one, double stiffness, double (*matrix)[kTerms], double* right) {
        const double x = one.y.x, y = one.y.y, z = one.y.z, w = one.weight * stiffness, v = one.weight * one.trust;
        const double value[kTerms] = {1, x, y, z, 0.5 * x * x, x * y, x * z, 0.5 * y * y, y * z, 0.5 * z * z};
        for (int a = 0; a < kTerms; ++a) {
            for (int b = 0; b <= a; ++b) matrix[a][b] += w * value[a] * value[b];
        }
        // of each component of the gradient: terms and their factors
        const int terms[3][4] = {{1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
        const double factors[4] = {1, x, y, z}, normal[3] = {one.normal.x, one.normal.y, one.normal.z};
        for (int axis = 0; axis < 3; ++axis) {
            for (int a = 0; a < 4; ++a) {
                right[terms[axis][a]] += v * factors[a] * normal[axis];
                for (int b = 0; b <= a; ++b) matrix[terms[axis][a]][terms[axis][b]] += v * factors[a] * factors[b];
            }
        }
    }

    // By Cholesky's factors, in place.
    static bool solve(double (*matrix)[kTerms], double* right, double* coef) {
        for (int a = 0; a < kTerms; ++a) {
            for (int b = 0; b <= a; ++b) {
                double sum = matrix[a][b];
                for (int c = 0; c < b; ++c) sum -= matrix[a][c] * matrix[b][c];
                if (a == b && !(sum > 0)) return false;
                matrix[a][b] = a == b ? std::sqrt(sum) : sum / matrix[b][b];
            }
            for (int c = 0; c < a; ++c) right[a] -= matrix[a][c] * right[c];
            right[a] /= matrix[a][a];
        }
        for (int a = kTerms - 1; a >= 0; --a) {
            double sum = right[a];
            for (int c = a + 1; c < kTerms; ++c) sum -= matrix[c][a] * coef[c];
            coef[a] = sum / matrix[a][a];
        }
        return true;
    }

    // Gives each point to the side that it misfits least.
    void assign(const double* coef, const bool* valid) {
        const double stiffness = radius_ / limits_.tolerance;
        for (i64 j = 0; j < count_; ++j) {
            Sample& one = sample(j);
            double best = -1;
            for (int s = 0; s < kSides; ++s) {
                if (!valid[s]) continue;
                const double* c = coef + s * kTerms;
                const Vector y = one.y,
                             bent = {c[4] * y.x + c[5] * y.y + c[6] * y.z, c[5] * y.x + c[7] * y.y + c[8] * y.z,
                                     c[6] * y.x + c[8] * y.y + c[9] * y.z};
                const Vector slope = {c[1] + bent.x, c[2] + bent.y, c[3] + bent.z}, off = slope - one.normal;
                const double value = stiffness * (c[0] + y.dot(plus(slope, -0.5, bent)));
                const double misfit = value * value + off.dot(off);
                if (best >= 0 && !(misfit < best)) continue;
                best = misfit;
                one.side = s;
                one.value = value * value;
                one.angle = off.dot(off);
            }
            const double excess = 1 + one.angle / (limits_.doubt * limits_.doubt);
            one.trust = 1 / (excess * excess);
        }
    }

    void write_misfit(double* misfit) {
        double sums[4] = {0, 0, 0, 0}, weight = 0;
        for (i64 j = 0; j < count_; ++j) {
            const Sample& one = sample(j);
            const double terms[4] = {data_.misfit[2 * one.row], data_.misfit[2 * one.row + 1], one.value, one.angle};
            for (int t = 0; t < 4; ++t) sums[t] += one.weight * terms[t];
            weight += one.weight;
        }
        for (int t = 0; t < 4; ++t) misfit[t] = weight > 0 ? sums[t] / weight : 0;
    }
};
}  // namespace seminorm
