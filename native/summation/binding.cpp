// Fast summation: pairs of boxes, direct sums, series, translations.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <algorithm>

#include <vector>

#include "binding.hpp"
#include "summation/kernels.hpp"
#include "summation/pairs.hpp"

namespace seminorm {
namespace {
// items of a chunk: 20 microseconds or more
constexpr i64 kLeaves = 4, kNumbersAtOnce = 4096, kBoxes = 16;

using Numbers = In<double, 1>;
using Rows = In<double, 2>;
using Blocks = In<double, 3>;
using Spans = In<i64, 2>;

template <class Array> void need_spans(const Array& spans, i64 end, const char* name) {
    need(length(spans, 1) == 2, std::string(name) + " must have two columns");
    need_range(spans, 0, end + 1, name);
}

void need_starts(In<i64, 1> starts, i64 count, i64 end, const char* name) {
    need(length(starts) == count + 1 && starts.data()[0] == 0 && starts.data()[count] == end &&
             std::is_sorted(starts.data(), starts.data() + count + 1),
         std::string(name) + " must increase from 0 to " + std::to_string(end));
}

Profile profile_of(Numbers numbers, Rows table, i64 first) {
    need(length(numbers) == kNumbers, "a profile has " + std::to_string(kNumbers) + " numbers");
    const double* from = numbers.data();
    need(from[0] >= 0 && from[0] < double(kForms), "unknown form of a profile");
    Profile profile{
        static_cast<Form>(from[0]), i64(from[2]), i64(from[3]), from[1], {}, table.data(), first, length(table, 1)};
    std::copy(from + 4, from + kNumbers, profile.c);
    if (profile.form == kTable) {
        need(length(table) == kTableTerms && length(table, 1) > 0, "table must have 8 rows");
        need(profile.n >= 0 && profile.n < 20, "a table has 2^0 to 2^19 cells for each octave");
    }
    return profile;
}

void read_profile(Numbers numbers, Rows table, i64 first, Numbers squares, Out<double, 1> values) {
    need(length(values) == length(squares), "values must have as many entries as squares");
    const ProfileValues a{profile_of(numbers, table, first), squares.data(), values.data()};
    run(length(squares), kNumbersAtOnce,
        [&](i64 begin, i64 end) { summation_kernels_here().read_profile(a, begin, end); });
}

void sum_near(Rows targets, Spans spans, In<i64, 1> range_from, Spans ranges, Rows sources, Blocks coefficients,
              const std::vector<std::tuple<Numbers, Rows, i64>>& profiles, Out<double, 3> out) {
    const i64 m = length(out), n = length(sources);
    need(length(targets) == 3 && length(targets, 1) >= m + 8, "targets must be (3, number of targets + 8 or more)");
    need(length(sources, 1) == 3, "sources must have three columns");
    need(length(coefficients) == n && length(coefficients, 1) == length(out, 1),
         "coefficients must fit sources and out");
    const i64 source_parts = length(coefficients, 2), target_parts = length(out, 2);
    need((source_parts == 1 || source_parts == 3) && (target_parts == 1 || target_parts == 3),
         "coefficients and out must have one component, or three for gradients");
    need(i64(profiles.size()) > (source_parts == 3) + (target_parts == 3), "a profile for each derivative is needed");
    need_spans(spans, m, "spans");
    need_spans(ranges, n, "ranges");
    need_starts(range_from, length(spans), length(ranges), "range_from");
    NearSums a{targets.data(),
               length(targets, 1),
               spans.data(),
               range_from.data(),
               ranges.data(),
               sources.data(),
               coefficients.data(),
               length(out, 1),
               source_parts,
               target_parts,
               {},
               out.data()};
    for (size_t k = 0; k < std::min<size_t>(3, profiles.size()); ++k)
        a.profiles[k] = profile_of(std::get<0>(profiles[k]), std::get<1>(profiles[k]), std::get<2>(profiles[k]));
    run(length(spans), kLeaves, [&](i64 begin, i64 end) { summation_kernels_here().sum_near(a, begin, end); });
}

SeriesSums series_sums(Rows points, Spans spans, Rows centers, Numbers halves, In<i64, 1> rows, i64 dimension,
                       i64 degree, i64 count, i64 series_rows, i64 width, i64 columns, i64 parts) {
    const i64 boxes = length(spans);
    need(length(points) == count && length(points, 1) == 3, "points must be (points, 3)");
    need(length(centers) == boxes && length(centers, 1) == 3, "centers must be (boxes, 3)");
    need(length(halves) == boxes && length(rows) == boxes, "halves and rows must have one entry for each box");
    need(dimension >= 1 && dimension <= 3 && degree >= 0, "dimension must be 1 to 3, degree not negative");
    need(parts == 1 || parts == 3, "there is one component, or three for gradients");
    need_spans(spans, count, "spans");
    need_range(rows, 0, series_rows, "rows");
    i64 terms = 1;
    for (i64 k = 1; k <= dimension; ++k) terms = terms * (degree + k) / k;
    need(width >= terms, "series must have a column for each term");
    SeriesSums a{};
    a.points = points.data(), a.spans = spans.data(), a.centers = centers.data(), a.halves = halves.data();
    a.rows = rows.data(), a.dimension = dimension, a.degree = degree, a.terms = terms, a.width = width;
    a.columns = columns, a.parts = parts;
    return a;
}

void add_moments(Rows points, Spans spans, Rows centers, Numbers halves, In<i64, 1> rows, i64 dimension, i64 degree,
                 Blocks coefficients, Out<double, 3> series) {
    need(length(series, 1) == length(coefficients, 1), "series and coefficients must have as many columns");
    SeriesSums a = series_sums(points, spans, centers, halves, rows, dimension, degree, length(coefficients),
                               length(series), length(series, 2), length(series, 1), length(coefficients, 2));
    a.coefficients = coefficients.data(), a.series = series.data();
    run(length(spans), kBoxes, [&](i64 begin, i64 end) { summation_kernels_here().add_moments(a, begin, end); });
}

void read_series(Rows points, Spans spans, Rows centers, Numbers halves, In<i64, 1> rows, i64 dimension, i64 degree,
                 Blocks series, Out<double, 3> out) {
    need(length(series, 1) == length(out, 1), "series and out must have as many columns");
    SeriesSums a = series_sums(points, spans, centers, halves, rows, dimension, degree, length(out), length(series),
                               length(series, 2), length(series, 1), length(out, 2));
    a.series = const_cast<double*>(series.data()), a.out = out.data();
    run(length(spans), kBoxes, [&](i64 begin, i64 end) { summation_kernels_here().read_series(a, begin, end); });
}

void translate(Blocks in, Blocks matrices, In<i64, 1> chunk_from, In<i32, 1> matrix, In<i32, 1> from, In<i32, 1> to,
               Out<double, 3> out) {
    const i64 pairs = length(matrix);
    need(length(matrices, 1) == length(in, 2) && length(matrices, 2) == length(out, 2), "matrices must fit in and out");
    need(length(out, 2) % 8 == 0, "rows of out must be padded to a multiple of 8 numbers");
    need(length(in, 1) == length(out, 1), "in and out must have as many columns");
    need(length(from) == pairs && length(to) == pairs, "matrix, from and to must have the same length");
    need_range(matrix, 0, length(matrices), "matrix");
    need_range(from, 0, length(in), "from");
    need_range(to, 0, length(out), "to");
    need_starts(chunk_from, length(chunk_from) - 1, pairs, "chunk_from");
    const Translations a{in.data(),     out.data(),        matrices.data(), length(in, 2), length(out, 2),
                         length(in, 1), chunk_from.data(), matrix.data(),   from.data(),   to.data()};
    run(length(chunk_from) - 1, 1, [&](i64 begin, i64 end) { summation_kernels_here().translate(a, begin, end); });
}

template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> owned(std::vector<T>& numbers) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {kept->data(), {kept->size()}, owner};
}

nb::tuple find_pairs(In<i64, 1> level_from, In<i32, 2> coords, In<i32, 1> parents, In<i32, 2> children,
                     Spans source_spans, Spans target_spans, Rows centers, Numbers halves, In<signed char, 1> status,
                     In<i64, 1> status_from, In<i64, 1> sizes, double reach, i64 rows) {
    const i64 boxes = length(coords), levels = length(sizes);
    need(length(coords, 1) == 3 && length(children, 1) == 8, "coords must have three columns, children eight");
    need(length(children) == boxes && length(parents) == boxes && length(source_spans) == boxes &&
             length(target_spans) == boxes && length(centers) == boxes && length(halves) == boxes,
         "coords, parents, children, spans, centers and halves must have one row for each box");
    need(length(centers, 1) == 3 && rows > 0, "centers must have three columns, and rows be positive");
    need_starts(level_from, levels, boxes, "level_from");
    need_starts(status_from, levels, length(status), "status_from");
    for (i64 k = 0; k < levels; ++k)
        need(status_from.data()[k + 1] - status_from.data()[k] == power(sizes.data()[k], 3), "status must fit sizes");
    need_range(parents, -1, boxes, "parents");
    need_range(children, -1, boxes, "children");
    const BoxTree tree{levels,
                       boxes,
                       level_from.data(),
                       coords.data(),
                       parents.data(),
                       children.data(),
                       source_spans.data(),
                       target_spans.data(),
                       centers.data(),
                       halves.data(),
                       status.data(),
                       status_from.data(),
                       sizes.data(),
                       reach};
    BoxPairs pairs;
    PairFinder finder(tree, rows, pairs);
    for (i64 level = 0; level < levels; ++level) run(1, 1, [&](i64, i64) { finder.level(level); });
    return nb::make_tuple(owned(pairs.codes), owned(pairs.from), owned(pairs.to), owned(pairs.chunk_from),
                          owned(pairs.level_chunks), owned(pairs.leaves), owned(pairs.range_from), owned(pairs.ranges));
}
}  // namespace

void bind_summation(nb::module_& m) {
    m.def("read_profile", &read_profile, array("numbers"), array("table"), nb::arg("first"), array("squares"),
          array("values"), "Values of the profile of a radial kernel at squared distances.");
    m.def("sum_near", &sum_near, array("targets"), array("spans"), array("range_from"), array("ranges"),
          array("sources"), array("coefficients"), nb::arg("profiles"), array("out"),
          "Add direct sums over ranges of sources to the targets of each leaf.");
    m.def("add_moments", &add_moments, array("points"), array("spans"), array("centers"), array("halves"),
          array("rows"), nb::arg("dimension"), nb::arg("degree"), array("coefficients"), array("series"),
          "Add Chebyshev moments of the sources in boxes.");
    m.def("read_series", &read_series, array("points"), array("spans"), array("centers"), array("halves"),
          array("rows"), nb::arg("dimension"), nb::arg("degree"), array("series"), array("out"),
          "Add Chebyshev series, or their gradients, at the targets in boxes.");
    m.def("translate", &translate, array("rows"), array("matrices"), array("chunk_from"), array("matrix"),
          array("from"), array("to"), array("out"), "Add rows times matrices to other rows.");
    m.def("find_pairs", &find_pairs, array("level_from"), array("coords"), array("parents"), array("children"),
          array("source_spans"), array("target_spans"), array("centers"), array("halves"), array("status"),
          array("status_from"), array("sizes"), nb::arg("reach"), nb::arg("rows"),
          "The pairs of boxes that see each other from afar, and the ranges of sources that leaves meet directly.");
}
}  // namespace seminorm
