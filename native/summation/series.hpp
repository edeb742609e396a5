// Chebyshev series of total degree <= p over boxes: moments of the sources in a box, and a series read at its targets.
//
// Term (i, j, k), i + j + k <= p, is T_i(x) T_j(y) T_k(z) with coordinates from -1 to 1 in the box, i slowest; axes
// beyond the dimension have degree 0 only. Gradients are taken in the coordinates of the points: factors 1 / half.
#pragma once

#include "summation/kernels.hpp"
#include "summation/vector_math.hpp"

namespace seminorm {
namespace {
constexpr int kPoints = 8;  // side by side with every instruction set: sums over them have the same bits
using Points = Lanes<double, kPoints>;

// values and slopes (p + 1) of T_0 .. T_p at t
SEMINORM_INLINE void chebyshev(Points t, i64 p, double factor, Points* values, Points* slopes) {
    const Points twice = t + t, scale = Points::all(factor), double_scale = scale + scale;
    values[0] = Points::all(1.0);
    slopes[0] = Points::all(0.0);
    if (p == 0) return;
    values[1] = t;
    slopes[1] = scale;
    for (i64 k = 2; k <= p; ++k) {
        values[k] = twice * values[k - 1] - values[k - 2];
        slopes[k] = twice * slopes[k - 1] - slopes[k - 2] + double_scale * values[k - 1];
    }
}

// The Chebyshev polynomials of each axis at the points first .. first + 7; beyond `last` the last one is repeated.
class Tables {
  public:
    explicit Tables(i64 degree) : p(degree), room_(6 * (degree + 1)) {}
    const i64 p;
    Points* value(int axis) { return room_.data() + 2 * axis * (p + 1); }
    Points* slope(int axis) { return value(axis) + p + 1; }

    void fill(const SeriesSums& a, const double* center, double half, i64 first, i64 last) {
        for (int axis = 0; axis < 3; ++axis) {
            double t[kPoints];
            for (int lane = 0; lane < kPoints; ++lane)
                t[lane] = (a.points[3 * least<i64>(first + lane, last - 1) + axis] - center[axis]) / half;
            chebyshev(Points::load(t), axis < a.dimension ? p : 0, 1.0 / half, value(axis), slope(axis));
        }
    }

    // Calls run(i, j, terms, place) for each (i, j): terms of the last axis there are, and the number of the first.
    template <class Run> SEMINORM_INLINE void runs(i64 dimension, const Run& run) const {
        i64 place = 0;
        for (i64 i = 0; i <= p; ++i)
            for (i64 j = 0; j <= (dimension > 1 ? p - i : 0); ++j) {
                const i64 terms = dimension > 2 ? p - i - j + 1 : 1;
                run(i, j, terms, place);
                place += terms;
            }
    }

  private:
    Scratch<Points> room_;
};

// The coefficients of the points first .. of one column, (3) components for gradients, 0 beyond `last`.
SEMINORM_INLINE void load_coefficients(const SeriesSums& a, i64 first, i64 last, i64 column, Points* to) {
    for (i64 part = 0; part < a.parts; ++part) {
        double numbers[kPoints] = {};
        for (i64 lane = 0; lane < least<i64>(kPoints, last - first); ++lane)
            numbers[lane] = a.coefficients[((first + lane) * a.columns + column) * a.parts + part];
        to[part] = Points::load(numbers);
    }
}

SEMINORM_INLINE double sum(Points points) {
    double lanes[kPoints];
    points.store(lanes);
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// series (boxes, columns, width): sum_i a_i T(y_i), or sum_i b_i . grad T(y_i), over the points of each box
void add_moments(const SeriesSums& a, i64 begin, i64 end) {
    Tables tables(a.degree);
    Scratch<Points> totals(a.terms);
    const Points *x = tables.value(0), *y = tables.value(1), *z = tables.value(2);
    const Points *dx = tables.slope(0), *dy = tables.slope(1), *dz = tables.slope(2);
    for (i64 box = begin; box < end; ++box) {
        const i64 first = a.spans[2 * box], last = a.spans[2 * box + 1];
        for (i64 column = 0; column < a.columns; ++column) {
            for (i64 k = 0; k < a.terms; ++k) totals[k] = Points::all(0.0);
            for (i64 i = first; i < last; i += kPoints) {
                Points own[3];
                tables.fill(a, a.centers + 3 * box, a.halves[box], i, last);
                load_coefficients(a, i, last, column, own);
                if (a.parts == 1)
                    tables.runs(a.dimension, [&](i64 m, i64 n, i64 terms, i64 place) {
                        const Points product = own[0] * x[m] * y[n];
                        for (i64 k = 0; k < terms; ++k) totals[place + k] = totals[place + k] + product * z[k];
                    });
                else
                    tables.runs(a.dimension, [&](i64 m, i64 n, i64 terms, i64 place) {
                        const Points level = own[0] * dx[m] * y[n] + own[1] * x[m] * dy[n];
                        const Points steep = own[2] * x[m] * y[n];
                        for (i64 k = 0; k < terms; ++k)
                            totals[place + k] = totals[place + k] + (level * z[k] + steep * dz[k]);
                    });
            }
            double* to = a.series + (a.rows[box] * a.columns + column) * a.width;
            for (i64 k = 0; k < a.terms; ++k) to[k] += sum(totals[k]);
        }
    }
}

// Adds to `out` (points, columns, parts) the series of the points' boxes, or their gradients.
void read_series(const SeriesSums& a, i64 begin, i64 end) {
    Tables tables(a.degree);
    const Points *x = tables.value(0), *y = tables.value(1), *z = tables.value(2);
    const Points *dx = tables.slope(0), *dy = tables.slope(1), *dz = tables.slope(2);
    for (i64 box = begin; box < end; ++box)
        for (i64 first = a.spans[2 * box], last = a.spans[2 * box + 1]; first < last; first += kPoints) {
            tables.fill(a, a.centers + 3 * box, a.halves[box], first, last);
            for (i64 column = 0; column < a.columns; ++column) {
                const double* series = a.series + (a.rows[box] * a.columns + column) * a.width;
                Points totals[3] = {Points::all(0.0), Points::all(0.0), Points::all(0.0)};
                tables.runs(a.dimension, [&](i64 m, i64 n, i64 terms, i64 place) {
                    Points value = Points::all(0.0), slope = Points::all(0.0);
                    for (i64 k = 0; k < terms; ++k) value = value + Points::all(series[place + k]) * z[k];
                    if (a.parts == 1) {
                        totals[0] = totals[0] + x[m] * y[n] * value;
                        return;
                    }
                    for (i64 k = 0; k < terms; ++k) slope = slope + Points::all(series[place + k]) * dz[k];
                    totals[0] = totals[0] + dx[m] * y[n] * value;
                    totals[1] = totals[1] + x[m] * dy[n] * value;
                    totals[2] = totals[2] + x[m] * y[n] * slope;
                });
                for (i64 part = 0; part < a.parts; ++part) {
                    double lanes[kPoints];
                    totals[part].store(lanes);
                    for (i64 lane = 0; lane < least<i64>(kPoints, last - first); ++lane)
                        a.out[((first + lane) * a.columns + column) * a.parts + part] += lanes[lane];
                }
            }
        }
}
}  // namespace
}  // namespace seminorm
