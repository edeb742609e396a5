// Weighted least squares for heights over a plane, h(u, v) = c0 + c1 u + c2 v (+ c3 u u + c4 u v + c5 v v).
//
// flat (k, 3, kSide) holds u, v and the height of each neighbour, weight (k, kSide). Normal equations, Cholesky; a
// ridge on the curvatures keeps them where the points do not show any.
#pragma once

#include "clouds/side_by_side.hpp"

namespace seminorm {
namespace {
// Size: 3 for planes, 6 for quadrics
template <int Size> struct Heights {
    Side coef[Size];
    Side slope_variance;  // variance of c1 plus that of c2, for heights of unit variance

    SEMINORM_INLINE Side at(Side u, Side v) const {
        Side height = coef[0] + coef[1] * u + coef[2] * v;
        if constexpr (Size == 6) height = height + (coef[3] * u * u + coef[4] * u * v + coef[5] * v * v);
        return height;
    }

    SEMINORM_INLINE void fit(const double* flat, const double* weight, i64 k, double ridge) {
        Side system[Size][Size];  // the lower triangle
        sum_up(flat, weight, k, system);
        const Side scale = larger(system[0][0], all(1e-300));
        for (int a = 0; a < Size; ++a) {
            const double factor = a < 3 ? 1e-14 : a == 4 ? 0.5 * ridge : ridge;
            system[a][a] = system[a][a] + scale * all(factor);
        }
        factorize(system, scale);
        slope_variance = (variance(system, 1) + variance(system, 2)) * scale / all(double(k));
        solve(system);
    }

  private:
    SEMINORM_INLINE void sum_up(const double* flat, const double* weight, i64 k, Side (&system)[Size][Size]) {
        const Side zero = all(0.0);
        Side total = zero, sum_u = zero, sum_v = zero, sum_uu = zero, sum_uv = zero, sum_vv = zero;
        Side h0 = zero, h1 = zero, h2 = zero, h3 = zero, h4 = zero, h5 = zero;
        Side uuu = zero, uuv = zero, uvv = zero, vvv = zero;
        Side uuuu = zero, uuuv = zero, uuvv = zero, uvvv = zero, vvvv = zero;
        for (i64 j = 0; j < k; ++j) {
            const double* place = flat + 3 * j * kSide;
            const Side w = Side::load(weight + j * kSide), u = Side::load(place), v = Side::load(place + kSide);
            const Side h = Side::load(place + 2 * kSide), wu = w * u, wv = w * v;
            const Side wuu = wu * u, wuv = wu * v, wvv = wv * v;
            total = total + w;
            sum_u = sum_u + wu;
            sum_v = sum_v + wv;
            sum_uu = sum_uu + wuu;
            sum_uv = sum_uv + wuv;
            sum_vv = sum_vv + wvv;
            h0 = h0 + w * h;
            h1 = h1 + wu * h;
            h2 = h2 + wv * h;
            if constexpr (Size == 6) {
                const Side uu = u * u, uv = u * v, vv = v * v;
                uuu = uuu + wuu * u;
                uuv = uuv + wuu * v;
                uvv = uvv + wuv * v;
                vvv = vvv + wvv * v;
                uuuu = uuuu + wuu * uu;
                uuuv = uuuv + wuu * uv;
                uuvv = uuvv + wuu * vv;
                uvvv = uvvv + wuv * vv;
                vvvv = vvvv + wvv * vv;
                h3 = h3 + wuu * h;
                h4 = h4 + wuv * h;
                h5 = h5 + wvv * h;
            }
        }
        set_row(system[0], total);
        set_row(system[1], sum_u, sum_uu);
        set_row(system[2], sum_v, sum_uv, sum_vv);
        set_row(coef, h0, h1, h2);
        if constexpr (Size == 6) {
            set_row(system[3], sum_uu, uuu, uuv, uuuu);
            set_row(system[4], sum_uv, uuv, uvv, uuuv, uuvv);
            set_row(system[5], sum_vv, uvv, vvv, uuvv, uvvv, vvvv);
            set_row(coef, h0, h1, h2, h3, h4, h5);
        }
    }

    template <class... Sides> static SEMINORM_INLINE void set_row(Side (&row)[Size], Sides... entries) {
        int column = 0;
        ((row[column++] = entries), ...);
    }

    static SEMINORM_INLINE void factorize(Side (&system)[Size][Size], Side scale) {
        const Side least = all(1e-16) * scale;
        for (int a = 0; a < Size; ++a)
            for (int b = 0; b <= a; ++b) {
                Side value = system[a][b];
                for (int c = 0; c < b; ++c) value = value - system[a][c] * system[b][c];
                system[a][b] = a == b ? root(larger(value, least)) : value / system[b][b];
            }
    }

    // Squared length of the unit vector of an axis divided by the factor: an entry on the diagonal of the inverse.
    static SEMINORM_INLINE Side variance(const Side (&system)[Size][Size], int axis) {
        Side squares = all(0.0), solved[Size];
        for (int a = axis; a < Size; ++a) {
            Side value = all(a == axis ? 1.0 : 0.0);
            for (int b = axis; b < a; ++b) value = value - system[a][b] * solved[b];
            solved[a] = value / system[a][a];
            squares = squares + solved[a] * solved[a];
        }
        return squares;
    }

    SEMINORM_INLINE void solve(const Side (&system)[Size][Size]) {
        for (int a = 0; a < Size; ++a) {
            Side value = coef[a];
            for (int b = 0; b < a; ++b) value = value - system[a][b] * coef[b];
            coef[a] = value / system[a][a];
        }
        for (int a = Size - 1; a >= 0; --a) {
            Side value = coef[a];
            for (int b = a + 1; b < Size; ++b) value = value - system[b][a] * coef[b];
            coef[a] = value / system[a][a];
        }
    }
};
}  // namespace
}  // namespace seminorm
