// Triangles and discs fill pictures: at each pixel the nearest wins, the first of equals.
//
// pixels (n, 2) are positions x, y in the picture, pixel (row, column) has its centre at (column + 0.5, row + 0.5).
// owner and front (height, width) hold the number of the nearest so far and how near it is (smaller in front). A loop
// fills the rows begin .. end - 1 of the picture in the order given, so bands of rows can be filled at the same time.
#pragma once

#include <algorithm>
#include <cmath>

#include "basics.hpp"

namespace seminorm {
struct Picture {
    i64 height, width;
    i64* owner;
    double* front;

    // Draws `number` at nearness z if nothing before is as near.
    void put(i64 row, i64 column, double z, i64 number) const {
        const i64 pixel = row * width + column;
        if (!(z < front[pixel])) return;
        front[pixel] = z;
        owner[pixel] = number;
    }
};

// Pixels first .. last along an axis; none if first > last.
struct Span {
    i64 first, last;

    // What of it lies among begin .. end - 1.
    Span within(i64 begin, i64 end) const { return {most(first, begin), least(last, end - 1)}; }
};

// floor and ceil of what fits, without the calls that these are in the baseline
inline i64 whole_below(double x) { return i64(x) - (double(i64(x)) > x); }
inline i64 whole_above(double x) { return i64(x) + (double(i64(x)) < x); }

// Pixels of `size` whose centres lie in low .. high.
inline Span centres_between(double low, double high, i64 size) {
    low = std::clamp(low, 0.0, double(size));
    high = std::clamp(high, 0.0, double(size));
    return {whole_above(low - 0.5), whole_below(high - 0.5)};
}

// Pixels of `size` that hold a number of low .. high.
inline Span pixels_between(double low, double high, i64 size) {
    return {i64(std::clamp(low, 0.0, double(size))), whole_below(std::clamp(high, -1.0, double(size - 1)))};
}

struct Triangles {
    const double* pixels;
    const double* nearness;  // (n,) of the vertices, linear on the picture
    const i64* faces;        // (m, 3)

    void fill(const Picture& picture, i64 face, i64 begin, i64 end) const {
        const i64 *corners = faces + 3 * face, a = corners[0], b = corners[1], c = corners[2];
        const double ax = pixels[2 * a], ay = pixels[2 * a + 1], bx = pixels[2 * b], by = pixels[2 * b + 1];
        const double cx = pixels[2 * c], cy = pixels[2 * c + 1];
        const double signed_area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
        const double area = std::abs(signed_area), side = signed_area < 0.0 ? -1.0 : 1.0;
        if (!(area > 0.0)) return;  // edge-on, or a vertex that cannot be seen (NaN)
        const Span rows = centres_between(std::min({ay, by, cy}), std::max({ay, by, cy}), picture.height);
        const Span columns = centres_between(std::min({ax, bx, cx}), std::max({ax, bx, cx}), picture.width);
        // the doubled areas u, v, w of the triangles of the pixel's centre and an edge, not negative inside
        const double ux = side * (cx - bx), uy = side * (cy - by), vx = side * (ax - cx), vy = side * (ay - cy);
        const double wx = side * (bx - ax), wy = side * (by - ay);
        const double za = nearness[a], zb = nearness[b], zc = nearness[c];
        const auto [first, last] = rows.within(begin, end);
        for (i64 row = first; row <= last; ++row) {
            const double y = double(row) + 0.5;
            const double u_row = ux * (y - by), v_row = vx * (y - cy), w_row = wx * (y - ay);
            for (i64 column = columns.first; column <= columns.last; ++column) {
                const double x = double(column) + 0.5;
                const double u = u_row - uy * (x - bx), v = v_row - vy * (x - cx), w = w_row - wy * (x - ax);
                if (u < 0.0 || v < 0.0 || w < 0.0) continue;
                picture.put(row, column, u / area * za + v / area * zb + w / area * zc, face);
            }
        }
    }
};

// Points drawn as balls. Every point in the picture covers at least the pixel it lies in.
struct Discs {
    const double* pixels;
    const double* depth;         // (n,)
    const double* pixel_radius;  // (n,)
    double radius;

    void fill(const Picture& picture, i64 point, i64 begin, i64 end) const {
        const double x = pixels[2 * point], y = pixels[2 * point + 1], reach = pixel_radius[point];
        const bool in_x = x + reach >= 0.0 && x - reach < double(picture.width);
        const bool in_y = y + reach >= 0.0 && y - reach < double(picture.height);
        if (!(in_x && in_y)) return;
        const Span columns = pixels_between(x - reach, x + reach, picture.width);
        const auto [first, last] = pixels_between(y - reach, y + reach, picture.height).within(begin, end);
        // where the point itself is not in the picture, its pixel is none of those in the loop
        const i64 own_row = whole_below(std::clamp(y, -1.0, double(picture.height)));
        const i64 own_column = whole_below(std::clamp(x, -1.0, double(picture.width)));
        const double middle = depth[point];
        for (i64 row = first; row <= last; ++row) {
            const double dy = double(row) + 0.5 - y;
            for (i64 column = columns.first; column <= columns.last; ++column) {
                const double dx = double(column) + 0.5 - x;
                const double rest = 1.0 - (dx * dx + dy * dy) / (reach * reach);
                if (rest < 0.0 && !(row == own_row && column == own_column)) continue;
                picture.put(row, column, middle - radius * std::sqrt(std::max(rest, 0.0)), point);
            }
        }
    }
};
}  // namespace seminorm
