// Orthonormal frames: two axes in a plane, the third normal to it. Several frames side by side.
//
// The first frame of a neighbourhood comes from the moments M_ab = sum w (x_a - mean_a)(x_b - mean_b): its normal is
// the eigenvector of the smallest eigenvalue, by Jacobi rotations.
#pragma once

#include "clouds/side_by_side.hpp"

namespace seminorm {
namespace {
constexpr double kTiny = 1e-300;
constexpr int kJacobiSweeps = 12;

struct Frame {
    Side axes[3][3];  // axis, coordinate

    // Makes the third axis a unit vector and the others a basis of its plane [Duff et al. 2017].
    SEMINORM_INLINE void complete() {
        Side(&n)[3] = axes[2];
        const Side length = root(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (Side& coordinate : n) coordinate = coordinate / length;
        const Side one = all(1.0), sign = if_less(n[2], all(0.0), all(-1.0), one);
        const Side a = all(-1.0) / (sign + n[2]), b = n[0] * n[1] * a;
        axes[0][0] = one + sign * n[0] * n[0] * a;
        axes[0][1] = sign * b;
        axes[0][2] = all(0.0) - sign * n[0];
        axes[1][0] = b;
        axes[1][1] = sign + n[1] * n[1] * a;
        axes[1][2] = all(0.0) - n[1];
    }

    // Turns the third axis until it is normal to heights of the given slope over the plane.
    SEMINORM_INLINE void turn(Side slope_u, Side slope_v) {
        for (int c = 0; c < 3; ++c) axes[2][c] = axes[2][c] - (slope_u * axes[0][c] + slope_v * axes[1][c]);
        complete();
    }
};

struct Eigen {
    Side values[3];
    Side vectors[3][3];  // coordinate, number of the eigenvalue
};

// matrix: its lower triangle, row by row
SEMINORM_INLINE Eigen diagonalize(const Side (&matrix)[6]) {
    const Side zero = all(0.0), one = all(1.0);
    Eigen found{{matrix[0], matrix[2], matrix[5]}, {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}};
    Side beside[3] = {matrix[1], matrix[3], matrix[4]};  // (1, 0), (2, 0), (2, 1)
    for (int sweep = 0; sweep < kJacobiSweeps; ++sweep) {
        const Side off = magnitude(beside[0]) + magnitude(beside[1]) + magnitude(beside[2]);
        const Side size = magnitude(found.values[0]) + magnitude(found.values[1]) + magnitude(found.values[2]);
        const Side limit = all(1e-15) * size + all(kTiny);
        if (!any_less(limit, off)) break;
        for (int p = 0; p < 2; ++p)
            for (int q = p + 1; q < 3; ++q) {
                Side& entry = beside[p + q - 1];  // (p, q); the other row r has the entries (p, r) and (q, r)
                const int r = 3 - p - q;
                Side &of_p = beside[p + r - 1], &of_q = beside[q + r - 1];
                const Side theta = (found.values[q] - found.values[p]) / (all(2.0) * entry);
                const Side sign = if_less(theta, zero, all(-1.0), one);
                Side t = sign / (magnitude(theta) + root(theta * theta + one));
                t = if_less(zero, magnitude(entry), t, zero);  // no rotation where there is nothing to do ...
                t = if_less(limit, off, t, zero);              // ... or all was done before this sweep
                const Side c = one / root(t * t + one), s = t * c;
                found.values[p] = found.values[p] - t * entry;
                found.values[q] = found.values[q] + t * entry;
                entry = zero;
                const Side left = of_p, right = of_q;
                of_p = c * left - s * right;
                of_q = s * left + c * right;
                for (Side(&row)[3] : found.vectors) {
                    const Side before = row[p], other = row[q];
                    row[p] = c * before - s * other;
                    row[q] = s * before + c * other;
                }
            }
    }
    return found;
}

// The frame of points local (k, 3, kSide) with weights (k, kSide), and how evenly they extend in its plane, in [0, 1].
SEMINORM_INLINE Side principal_frame(const double* local, const double* weight, i64 k, Frame& frame) {
    const Side zero = all(0.0);
    Side total = zero, mean[3] = {zero, zero, zero};
    for (i64 j = 0; j < k; ++j) {
        const Side w = Side::load(weight + j * kSide);
        total = total + w;
        for (int c = 0; c < 3; ++c) mean[c] = mean[c] + w * Side::load(local + (3 * j + c) * kSide);
    }
    for (Side& coordinate : mean) coordinate = coordinate / total;
    Side moment[6] = {zero, zero, zero, zero, zero, zero};
    for (i64 j = 0; j < k; ++j) {
        const Side w = Side::load(weight + j * kSide);
        const double* place = local + 3 * j * kSide;
        const Side x = Side::load(place) - mean[0], y = Side::load(place + kSide) - mean[1];
        const Side z = Side::load(place + 2 * kSide) - mean[2], wx = w * x, wy = w * y;
        moment[0] = moment[0] + wx * x;
        moment[1] = moment[1] + wx * y;
        moment[2] = moment[2] + wy * y;
        moment[3] = moment[3] + wx * z;
        moment[4] = moment[4] + wy * z;
        moment[5] = moment[5] + w * z * z;
    }
    const Eigen eigen = diagonalize(moment);
    Side least = eigen.values[0], most = eigen.values[0];
    for (int c = 0; c < 3; ++c) frame.axes[2][c] = eigen.vectors[c][0];
    for (int number = 1; number < 3; ++number) {
        const Side value = eigen.values[number];
        for (int c = 0; c < 3; ++c)
            frame.axes[2][c] = if_less(value, least, eigen.vectors[c][number], frame.axes[2][c]);
        least = smaller(value, least);
        most = larger(value, most);
    }
    frame.complete();
    const Side low = smaller(eigen.values[0], eigen.values[1]), high = larger(eigen.values[0], eigen.values[1]);
    const Side middle = larger(larger(low, smaller(high, eigen.values[2])), zero) / total;
    most = larger(most, zero) / total;
    return all(2.0) * middle / larger(middle + most, all(kTiny));
}
}  // namespace
}  // namespace seminorm
