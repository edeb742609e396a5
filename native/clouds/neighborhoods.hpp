// Planes and quadrics through the neighbours of points, several points side by side.
//
// Round by round, heights over the plane of a frame are fitted with weights w_j = near_j (1 - (r_j / limit)^2)^2 of the
// residuals r_j before (Tukey's biweight; the limit follows from the median of |r_j|), and the frame turns to the
// tangent plane. near_j is the mass of the neighbour, less with its distance d_j from the query, (1 - 3/4 d_j^2 / d^2)
// with the largest distance d, and less if its side disagrees with that of the query. Lengths are divided by d.
#pragma once

#include "clouds/frames.hpp"
#include "clouds/heights.hpp"
#include "clouds/kernels.hpp"

namespace seminorm {
namespace {
constexpr double kMadToDeviation = 1.4826;

template <int Size> class NeighborhoodFit {
  public:
    explicit NeighborhoodFit(const NeighborhoodFits& a)
        : a_(a),
          local_(3 * a.k * kSide),
          flat_(3 * a.k * kSide),
          weight_(a.k * kSide),
          near_(a.k * kSide),
          residual_(a.k * kSide),
          sorted_(a.k * kSide) {}

    // Queries first .. first + number - 1; lanes beyond them repeat the last one.
    void fit(i64 first, i64 number) {
        const Side radius = gather(first, number);
        if (a_.sides) keep_side(first, number);
        for (i64 j = 0; j < a_.k * kSide; ++j) weight_[j] = near_[j];
        Frame frame;
        const Side width = principal_frame(local_.data(), weight_.data(), a_.k, frame);
        Heights<Size> heights;
        Side spread = all(0.0), variance = all(1.0);
        for (i64 round = 0; round < a_.rounds; ++round) {
            spread = fit_round(frame, heights);
            variance = heights.slope_variance;
            if (round + 1 < a_.rounds) weigh();
            frame.turn(heights.coef[1], heights.coef[2]);
        }
        const Side height = a_.rounds ? heights.coef[0] * radius : all(0.0);
        write(first, number, radius, frame, height, spread * radius, variance / (radius * radius), width);
    }

  private:
    // Where the neighbours are from the query, in radii, and their weights; returns the radii.
    SEMINORM_INLINE Side gather(i64 first, i64 number) {
        for (int lane = 0; lane < kSide; ++lane) {
            const i64 i = first + least<i64>(lane, number - 1);
            const i64* rows = a_.neighbors + i * a_.columns;
            const double* query = a_.queries + 3 * i;
            for (i64 j = 0; j < a_.k; ++j) {
                const double* point = a_.points + 3 * rows[j];
                for (int c = 0; c < 3; ++c) local_[(3 * j + c) * kSide + lane] = point[c] - query[c];
                near_[j * kSide + lane] = a_.mass[rows[j]];
            }
        }
        Side largest = all(0.0);
        for (i64 j = 0; j < a_.k; ++j) {
            double* place = local_.data() + 3 * j * kSide;
            const Side x = Side::load(place), y = Side::load(place + kSide), z = Side::load(place + 2 * kSide);
            const Side square = x * x + y * y + z * z;
            largest = larger(largest, square);
            square.store(residual_.data() + j * kSide);
        }
        const Side radius = root(largest), scale = all(1.0) / if_less(all(kTiny), radius, radius, all(1.0));
        const Side scale_of_squares = scale * scale;
        for (i64 j = 0; j < a_.k; ++j) {
            double* place = local_.data() + 3 * j * kSide;
            for (int c = 0; c < 3; ++c) (Side::load(place + c * kSide) * scale).store(place + c * kSide);
            const Side square = Side::load(residual_.data() + j * kSide) * scale_of_squares;
            const Side mass = Side::load(near_.data() + j * kSide);
            (mass * (all(1.0) - all(0.75) * square)).store(near_.data() + j * kSide);
        }
        return radius;
    }

    // Lower the weights of neighbours that look elsewhere, if enough are left.
    SEMINORM_INLINE void keep_side(i64 first, i64 number) {
        for (int lane = 0; lane < kSide; ++lane) {
            const i64 i = first + least<i64>(lane, number - 1);
            const i64* rows = a_.neighbors + i * a_.columns;
            const double* side = a_.query_sides + 3 * i;
            double agreeing = 0.0;
            for (i64 j = 0; j < a_.k; ++j) {
                const double* other = a_.sides + 3 * rows[j];
                const double dot = side[0] * other[0] + side[1] * other[1] + side[2] * other[2];
                residual_[j] = most(dot, 0.0);
                agreeing += dot > a_.same_side ? 1.0 : 0.0;
            }
            if (agreeing >= a_.least_agreeing)
                for (i64 j = 0; j < a_.k; ++j) near_[j * kSide + lane] *= residual_[j];
        }
    }

    // Heights in the frame; |residuals| are left in residual_. Returns their standard deviation.
    SEMINORM_INLINE Side fit_round(const Frame& frame, Heights<Size>& heights) {
        for (i64 j = 0; j < a_.k; ++j) {
            const double* from = local_.data() + 3 * j * kSide;
            double* to = flat_.data() + 3 * j * kSide;
            const Side x = Side::load(from), y = Side::load(from + kSide), z = Side::load(from + 2 * kSide);
            for (int axis = 0; axis < 3; ++axis) {
                const Side(&direction)[3] = frame.axes[axis];
                (x * direction[0] + y * direction[1] + z * direction[2]).store(to + axis * kSide);
            }
        }
        heights.fit(flat_.data(), weight_.data(), a_.k, a_.ridge);
        Side total = all(0.0), squares = all(0.0);
        for (i64 j = 0; j < a_.k; ++j) {
            const double* place = flat_.data() + 3 * j * kSide;
            const Side height = heights.at(Side::load(place), Side::load(place + kSide));
            const Side residual = Side::load(place + 2 * kSide) - height, w = Side::load(weight_.data() + j * kSide);
            magnitude(residual).store(residual_.data() + j * kSide);
            total = total + w;
            squares = squares + w * (residual * residual);
        }
        return root(squares / larger(total * all(freedom()), all(kTiny)));
    }

    double freedom() const { return most(1.0 - double(Size) / double(a_.k), 0.5 / double(a_.k)); }

    // New weights from the residuals. The median is the upper one if k is even.
    SEMINORM_INLINE void weigh() {
        for (i64 j = 0; j < a_.k * kSide; ++j) sorted_[j] = residual_[j];
        sort_columns(sorted_.data(), a_.k);
        const Side median = Side::load(sorted_.data() + a_.k / 2 * kSide);
        const Side deviation = all(kMadToDeviation) * median / all(__builtin_sqrt(freedom()));
        const Side scale = all(1.0) / (all(a_.outlying) * larger(deviation, all(a_.least_deviation)));
        for (i64 j = 0; j < a_.k; ++j) {
            const Side ratio = Side::load(residual_.data() + j * kSide) * scale, rest = all(1.0) - ratio * ratio;
            const Side w = if_less(ratio, all(1.0), rest * rest, all(0.0));
            (Side::load(near_.data() + j * kSide) * w).store(weight_.data() + j * kSide);
        }
    }

    void write(i64 first, i64 number, Side radius, const Frame& frame, Side height, Side deviation, Side slope,
               Side width) const {
        double columns[8][kSide];
        radius.store(columns[0]);
        for (int c = 0; c < 3; ++c) frame.axes[2][c].store(columns[1 + c]);
        height.store(columns[4]);
        deviation.store(columns[5]);
        slope.store(columns[6]);
        width.store(columns[7]);
        for (i64 lane = 0; lane < number; ++lane) {
            const i64 i = first + lane;
            const bool apart = columns[0][lane] > kTiny;  // otherwise all neighbours are where the query is
            for (int c = 0; c < 3; ++c) a_.normals[3 * i + c] = apart ? columns[1 + c][lane] : c == 2 ? 1.0 : 0.0;
            a_.height[i] = apart ? columns[4][lane] : 0.0;
            a_.deviation[i] = apart ? columns[5][lane] : 0.0;
            a_.slope[i] = apart ? columns[6][lane] : 1.0;
            a_.width[i] = apart ? columns[7][lane] : 0.0;
        }
    }

    const NeighborhoodFits& a_;
    Scratch<double> local_, flat_, weight_, near_, residual_, sorted_;
};

template <int Size> void fit_queries(const NeighborhoodFits& a, i64 begin, i64 end) {
    NeighborhoodFit<Size> neighborhood(a);
    for (i64 first = begin; first < end; first += kSide) neighborhood.fit(first, least<i64>(kSide, end - first));
}

void fit_neighborhoods(const NeighborhoodFits& a, i64 begin, i64 end) {
    a.quadric ? fit_queries<6>(a, begin, end) : fit_queries<3>(a, begin, end);
}
}  // namespace
}  // namespace seminorm
