// Pair steps for min 1/2 a'(K + ridge) a - c'x in a box lower <= x <= upper that keep the sum of x.
//
// Variable k (of m) is part of the coefficient of point points[k] (of n); -1 is a variable without a kernel, which
// frees the sum. values (n,) = (K + ridge) a follow every step. The first of a pair violates the optimality conditions
// most, the second promises the largest decrease on the segment that the box leaves, whatever sign the curvature has.
#pragma once

#include <limits>

#include "basics.hpp"

namespace seminorm {
struct PairProblem {
    const double* K;         // (n, n)
    const double* diagonal;  // (n,) of K + ridge, side by side: along K every entry would be another line of memory
    const double* ridge;     // (n,)
    const i64* points;       // (m,)
    const double* c;         // (m,)
    const double* lower;     // (m,)
    const double* upper;     // (m,)
    i64 m, n;
    double tolerance;
    double* x;       // (m,)
    double* values;  // (n,)
};

enum class PairsEnd { open, optimal, stuck, unbounded };

struct PairSteps {
    i64 steps = 0;
    double violation = 0.0;
    PairsEnd end = PairsEnd::open;
};

class Pairs {
  public:
    explicit Pairs(const PairProblem& a) : a_(a) {}

    // At most so many steps.
    PairSteps descend(i64 most_steps) {
        PairSteps done;
        for (;; ++done.steps) {
            find_first();
            done.violation = best_up_ - worst_down_;
            if (!(done.violation > a_.tolerance))
                done.end = PairsEnd::optimal;
            else if (done.steps >= most_steps)
                return done;
            else
                done.end = find_second();
            if (done.end != PairsEnd::open) return done;
            step();
        }
    }

  private:
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    double slope(i64 k) const {
        const i64 p = a_.points[k];
        return a_.c[k] - (p >= 0 ? a_.values[p] : 0.0);
    }

    void find_first() {
        first_ = -1;
        best_up_ = -kInfinity;
        worst_down_ = kInfinity;
        for (i64 k = 0; k < a_.m; ++k) {
            const double s = slope(k);
            if (a_.x[k] < a_.upper[k] && s > best_up_) {
                first_ = k;
                best_up_ = s;
            }
            if (a_.x[k] > a_.lower[k] && s < worst_down_) worst_down_ = s;
        }
    }

    PairsEnd find_second() {
        const i64 i = a_.points[first_];
        const double own = i >= 0 ? a_.diagonal[i] : 0.0, room_up = a_.upper[first_] - a_.x[first_];
        const double* row = i >= 0 ? a_.K + i * a_.n : nullptr;
        second_ = -1;
        double gain = 0.0;
        for (i64 k = 0; k < a_.m; ++k) {
            if (k == first_ || !(a_.x[k] > a_.lower[k])) continue;
            const double fall = best_up_ - slope(k);
            if (fall <= 0.0) continue;
            const i64 p = a_.points[k];
            double curvature = own;
            if (p >= 0) {
                curvature += a_.diagonal[p];
                if (row) curvature -= 2.0 * row[p];
                if (p == i) curvature = 0.0;
            }
            const double room = least(room_up, a_.x[k] - a_.lower[k]);
            const double t = curvature > 0.0 && fall < room * curvature ? fall / curvature : room;
            if (t == kInfinity) return PairsEnd::unbounded;
            const double promised = t * (fall - 0.5 * curvature * t);
            if (promised > gain) {
                second_ = k;
                gain = promised;
                length_ = t;
            }
        }
        return second_ < 0 ? PairsEnd::stuck : PairsEnd::open;
    }

    void step() {
        const i64 i = a_.points[first_], j = a_.points[second_];
        double &up = a_.x[first_], &down = a_.x[second_];
        up = length_ == a_.upper[first_] - up ? a_.upper[first_] : up + length_;
        down = length_ == down - a_.lower[second_] ? a_.lower[second_] : down - length_;
        if (i == j) return;
        const double* gained = i >= 0 ? a_.K + i * a_.n : nullptr;
        const double* lost = j >= 0 ? a_.K + j * a_.n : nullptr;
        if (gained && lost)
            for (i64 p = 0; p < a_.n; ++p) a_.values[p] += length_ * (gained[p] - lost[p]);
        else if (gained)
            for (i64 p = 0; p < a_.n; ++p) a_.values[p] += length_ * gained[p];
        else
            for (i64 p = 0; p < a_.n; ++p) a_.values[p] -= length_ * lost[p];
        if (i >= 0) a_.values[i] += length_ * a_.ridge[i];
        if (j >= 0) a_.values[j] -= length_ * a_.ridge[j];
    }

    const PairProblem& a_;
    i64 first_ = -1, second_ = -1;
    double best_up_ = 0.0, worst_down_ = 0.0, length_ = 0.0;
};
}  // namespace seminorm
