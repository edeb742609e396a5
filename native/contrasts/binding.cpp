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

// The observations of each neighbourhood must be as many as its rows have numbers; returns the most.
i64 need_room(const Contrasts& a, In<i64, 1> begins, i64 room) {
    i64 largest = 1;
    need(begins(0) == 0 && begins(a.count) == room, "begins must go from 0 to the length of values");
    for (i64 k = 0; k < a.count; ++k) {
        const auto members = [&](i64 group) { return a.first[group + 1] - a.first[group]; };
        const i64 own = members(a.groups[k]);
        i64 size = own;
        for (i64 j = 0; j < a.m && a.neighbors[k * a.m + j] >= 0; ++j) size += members(a.neighbors[k * a.m + j]);
        need(begins(k + 1) - begins(k) == own * size, "begins must leave room for the rows of each group");
        largest = most(largest, size);
    }
    return largest;
}

void local_contrasts(In<i64, 1> groups, In<i32, 2> neighbors, In<i64, 1> first, In<double, 2> places,
                     In<double, 3> profiles, In<double, 2> jets, In<double, 1> noise, In<double, 2> null,
                     In<double, 1> sizes, double negligible, double remote, In<i64, 1> begins, In<i32, 1> index,
                     Out<double, 1> values, Out<i32, 1> columns, Out<i32, 1> found) {
    const i64 count = length(groups), m = length(neighbors, 1), total = length(noise), r = length(null, 1),
              n = length(places), d = length(places, 1), orders = length(profiles, 1);
    need(length(neighbors) == count && length(profiles) == count && length(found) == count &&
             length(begins) == count + 1,
         "groups, neighbors, profiles and found must have the same length, and begins one more");
    need(length(profiles, 2) == (m + 1) * (m + 2) / 2,
         "profiles must have (m + 1) (m + 2) / 2 columns for m neighbors");
    need(orders == 1 ? length(jets) == 0 : orders == 3 && length(jets) == total && length(jets, 1) == 1 + d,
         "profiles must have one row for values, or three, and then each observation a jet of 1 + d numbers");
    need(length(first) == n + 1 && first(0) == 0 && first(n) == total, "first must go from 0 to all observations");
    for (i64 k = 0; k < n; ++k) need(first(k) < first(k + 1), "first must increase");
    need(length(null) == total && length(sizes) == r && length(index) == total,
         "null must be (N, r) for N observations, sizes (r,) and index (N,)");
    need(length(columns) == length(values), "values and columns must have the same length");
    need_range(groups, 0, n, "groups");
    need_range(neighbors, -1, n, "neighbors");
    Contrasts a{groups.data(),
                neighbors.data(),
                first.data(),
                places.data(),
                profiles.data(),
                orders == 1 ? nullptr : jets.data(),
                noise.data(),
                null.data(),
                sizes.data(),
                begins.data(),
                index.data(),
                count,
                m,
                r,
                d,
                orders,
                0,
                negligible,
                remote,
                values.data(),
                columns.data(),
                found.data()};
    a.most = need_room(a, begins, length(values));
    const auto loop = contrast_kernels_here().contrasts;
    run(count, 16, [&](i64 begin, i64 end) { loop(a, begin, end); });
}
}  // namespace

void bind_contrasts(nb::module_& m) {
    m.def("earlier_neighbors", &earlier_neighbors, array("points"), array("neighbors"),
          "The nearest of the points before each point, nearest first; -1 where there are fewer.");
    m.def("local_squares", &local_squares, array("coordinates"), array("points"), array("neighbors"), array("squares"),
          "Squared distances within each group of neighbours and a point, the last: upper triangles, row by row.");
    m.def(
        "local_contrasts", &local_contrasts, array("groups"), array("neighbors"), array("first"), array("places"),
        array("profiles"), array("jets"), array("noise"), array("null"), array("sizes"), nb::arg("negligible"),
        nb::arg("remote"), array("begins"), array("index"), array("values"), array("columns"), array("found"),
        "For each observation of some groups the combination of those at neighbours, of those before it and of itself "
        "that vanishes on the null space, is uncorrelated with those of the others alone, and has unit variance.");
}
}  // namespace seminorm
