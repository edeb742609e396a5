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

// First and last pixel along an axis, of `size` pixels; empty if first > last.
struct Span {
    i32 first, last;

    bool meets(i64 begin, i64 end) const { return first < end && last >= begin; }
};

constexpr Span kNowhere{1, 0};

// pixels whose centres lie in low .. high
inline Span centres_between(double low, double high, i64 size) {
    low = std::clamp(low, 0.0, double(size));
    high = std::clamp(high, 0.0, double(size));
    return {i32(std::ceil(low - 0.5)), i32(std::floor(high - 0.5))};
}

// pixels that contain a number of low .. high
inline Span pixels_between(double low, double high, i64 size) {
    return {i32(std::floor(std::clamp(low, 0.0, double(size)))),
            i32(std::floor(std::clamp(high, -1.0, double(size - 1))))};
}

struct Triangles {
    const double* pixels;
    const double* nearness;  // (n,) of the vertices, linear on the picture
    const i64* faces;        // (m, 3)

    double doubled_area(i64 face) const {
        const double *a = corner(face, 0), *b = corner(face, 1), *c = corner(face, 2);
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    }

    Span span(i64 face, int axis, i64 size) const {
        const auto [low, high] = std::minmax({corner(face, 0)[axis], corner(face, 1)[axis], corner(face, 2)[axis]});
        return centres_between(low, high, size);
    }

    // Rows of the picture that a face may cover; none if it is seen edge-on or has a vertex that is not seen (NaN).
    Span rows(i64 face, i64 height) const {
        return std::abs(doubled_area(face)) > 0.0 ? span(face, 1, height) : kNowhere;
    }

    void fill(const Picture& picture, i64 face, i64 begin, i64 end) const {
        const double *a = corner(face, 0), *b = corner(face, 1), *c = corner(face, 2);
        const double ax = a[0], ay = a[1], bx = b[0], by = b[1], cx = c[0], cy = c[1];
        const double area = doubled_area(face), side = area > 0.0 ? 1.0 : -1.0;
        const double za = near(face, 0), zb = near(face, 1), zc = near(face, 2);
        const Span columns = span(face, 0, picture.width);
        for (i64 row = begin; row < end; ++row) {
            const double y = double(row) + 0.5;
            const double u_row = (cx - bx) * (y - by), v_row = (ax - cx) * (y - cy), w_row = (bx - ax) * (y - ay);
            for (i64 column = columns.first; column <= columns.last; ++column) {
                const double x = double(column) + 0.5;
                const double u = u_row - (cy - by) * (x - bx), v = v_row - (ay - cy) * (x - cx);
                const double w = w_row - (by - ay) * (x - ax);
                if (u * side < 0.0 || v * side < 0.0 || w * side < 0.0) continue;
                picture.put(row, column, u / area * za + v / area * zb + w / area * zc, face);
            }
        }
    }

  private:
    const double* corner(i64 face, int k) const { return pixels + 2 * faces[3 * face + k]; }
    double near(i64 face, int k) const { return nearness[faces[3 * face + k]]; }
};

// Points drawn as balls. Every point in the picture covers at least the pixel it lies in.
struct Discs {
    const double* pixels;
    const double* depth;         // (n,)
    const double* pixel_radius;  // (n,)
    double radius;
    i64 width;

    Span rows(i64 point, i64 height) const {
        const double x = pixels[2 * point], y = pixels[2 * point + 1], reach = pixel_radius[point];
        const bool in_x = x + reach >= 0.0 && x - reach < double(width);
        const bool in_y = y + reach >= 0.0 && y - reach < double(height);
        return in_x && in_y ? pixels_between(y - reach, y + reach, height) : kNowhere;
    }

    void fill(const Picture& picture, i64 point, i64 begin, i64 end) const {
        const double x = pixels[2 * point], y = pixels[2 * point + 1], reach = pixel_radius[point];
        const double own_x = std::floor(x), own_y = std::floor(y);
        const Span columns = pixels_between(x - reach, x + reach, picture.width);
        for (i64 row = begin; row < end; ++row) {
            const double dy = double(row) + 0.5 - y;
            for (i64 column = columns.first; column <= columns.last; ++column) {
                const double dx = double(column) + 0.5 - x;
                const double rest = 1.0 - (dx * dx + dy * dy) / (reach * reach);
                if (rest < 0.0 && !(double(column) == own_x && double(row) == own_y)) continue;
                picture.put(row, column, depth[point] - radius * std::sqrt(std::max(rest, 0.0)), point);
            }
        }
    }
};

// All shapes 0 .. count - 1 on the rows begin .. end - 1; spans are the rows that each may cover.
template <class Shapes>
void fill_band(const Picture& picture, const Shapes& shapes, const Span* spans, i64 count, i64 begin, i64 end) {
    for (i64 number = 0; number < count; ++number) {
        const Span span = spans[number];
        if (span.meets(begin, end))
            shapes.fill(picture, number, most<i64>(begin, span.first), least<i64>(end, i64(span.last) + 1));
    }
}
}  // namespace seminorm
