// Sparse approximations of the inverse of a kernel matrix: neighbours and local contrasts.
#include "binding.hpp"
#include "contrasts/earlier.hpp"
#include "contrasts/kernels.hpp"

namespace seminorm {
namespace {
constexpr i64 kMostPoints = i64(1) << 31;

template <int Dimension> void find_earlier(In<double, 2> points, i64 m, Out<i32, 2> neighbors) {
    const EarlierNeighbors<Dimension> tree(points.data(), length(points));
    i32* to = neighbors.data();
    run(length(points), 256, [&](i64 begin, i64 end) { tree.find(m, to, begin, end); });
}

void earlier_neighbors(In<double, 2> points, Out<i32, 2> neighbors) {
    const i64 n = length(points), d = length(points, 1), m = length(neighbors, 1);
    need(n < kMostPoints, "points must be fewer than 2^31");
    need(length(neighbors) == n && m >= 1, "neighbors must have a row for each point, and a column");
    need(d >= 1 && d <= 4, "points must have 1 to 4 columns");
    if (n == 0) return;
    constexpr decltype(&find_earlier<1>) of_dimension[] = {find_earlier<1>, find_earlier<2>, find_earlier<3>,
                                                           find_earlier<4>};
    of_dimension[d - 1](points, m, neighbors);
}

void local_squares(In<double, 2> coordinates, In<i64, 1> points, In<i32, 2> neighbors, Out<double, 2> squares) {
    const i64 n = length(coordinates), d = length(coordinates, 1), m = length(neighbors, 1),
              entries = length(squares, 1);
    need(length(points) == length(neighbors) && length(squares) == length(points), "one row for each point");
    need(entries == (m + 1) * (m + 2) / 2, "squares must have (m + 1) (m + 2) / 2 columns for m neighbors");
    need_range(points, 0, n, "points");
    need_range(neighbors, -1, n, "neighbors");
    const double* from = coordinates.data();
    double* to = squares.data();
    run(length(points), 64, [&](i64 begin, i64 end) {
        for (i64 k = begin; k < end; ++k) {
            const i32* near = neighbors.data() + k * m;
            double* square = to + k * entries;
            for (i64 i = 0; i <= m; ++i) {
                const i64 p = i < m && near[i] >= 0 ? near[i] : points(k);
                for (i64 j = i; j <= m; ++j) {
                    const i64 q = j < m && near[j] >= 0 ? near[j] : points(k);
                    double total = 0.0;
                    for (i64 c = 0; c < d; ++c) {
                        const double difference = from[p * d + c] - from[q * d + c];
                        total += difference * difference;
                    }
                    *square++ = total;
                }
            }
        }
    });
}

void local_contrasts(In<i64, 1> points, In<i32, 2> neighbors, In<double, 2> kernel, In<double, 1> noise,
                     In<double, 2> null, In<double, 1> sizes, double negligible, double remote, Out<double, 2> out,
                     Out<i32, 1> found) {
    const i64 count = length(points), m = length(neighbors, 1), n = length(noise), r = length(null, 1);
    need(length(neighbors) == count && length(kernel) == count && length(out) == count && length(found) == count,
         "points, neighbors, kernel, out and found must have the same length");
    need(length(kernel, 1) == (m + 1) * (m + 2) / 2, "kernel must have (m + 1) (m + 2) / 2 columns for m neighbors");
    need(length(out, 1) == m + 1, "out must have m + 1 columns for m neighbors");
    need(length(null) == n && length(sizes) == r, "null must be (n, r) for n points, and sizes (r,)");
    need_range(points, 0, n, "points");
    need_range(neighbors, -1, n, "neighbors");
    const Contrasts a{
        points.data(), neighbors.data(), kernel.data(), noise.data(), null.data(), sizes.data(), count, m, r,
        negligible,    remote,           out.data(),    found.data()};
    const auto loop = contrast_kernels_here().contrasts;
    run(count, 16, [&](i64 begin, i64 end) { loop(a, begin, end); });
}
}  // namespace

void bind_contrasts(nb::module_& m) {
    m.def("earlier_neighbors", &earlier_neighbors, array("points"), array("neighbors"),
          "The nearest of the points before each point, nearest first; -1 where there are fewer.");
    m.def("local_squares", &local_squares, array("coordinates"), array("points"), array("neighbors"), array("squares"),
          "Squared distances within each group of neighbours and a point, the last: upper triangles, row by row.");
    m.def("local_contrasts", &local_contrasts, array("points"), array("neighbors"), array("kernel"), array("noise"),
          array("null"), array("sizes"), nb::arg("negligible"), nb::arg("remote"), array("out"), array("found"),
          "For each point the combination of the values at its neighbours and its own that vanishes on the null space, "
          "is uncorrelated with those of its neighbours alone, and has unit variance.");
}
}  // namespace seminorm
