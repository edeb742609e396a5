// Subsequence search.
#include "binding.hpp"
#include "search/kernels.hpp"

namespace seminorm {
namespace {
constexpr i64 kAtOnce = 8;

Pieces pieces_of(const In<double, 1>& series, i64 size, bool standardized, double least, const Out<double, 1>& means,
                 const Out<double, 1>& inverses) {
    const i64 pieces = length(series) - size + 1;
    need(size >= 1 && pieces >= kAtOnce, "the series must have at least 8 pieces of the length of the query");
    need(length(means) == pieces && length(inverses) == pieces,
         "there must be one mean and one inverse for each piece");
    return {series.data(), pieces, size, standardized, least, means.data(), inverses.data()};
}

void piece_units(In<double, 1> series, i64 size, bool standardized, double least, Out<double, 1> means,
                 Out<double, 1> inverses) {
    const Pieces a = pieces_of(series, size, standardized, least, means, inverses);
    const auto loop = search_kernels_here().units;
    run((a.pieces + kAtOnce - 1) / kAtOnce, 1 + 100000 / size, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void piece_bounds(In<double, 1> series, Out<double, 1> means, Out<double, 1> inverses, In<double, 1> query,
                  In<double, 1> lowest, In<double, 1> highest, In<double, 1> series_low, In<double, 1> series_high,
                  Out<double, 1> out) {
    const i64 size = length(query);
    const Pieces pieces = pieces_of(series, size, true, 0, means, inverses);
    need(length(lowest) == size && length(highest) == size, "the envelope must be as long as the query");
    need(length(series_low) == length(series) && length(series_high) == length(series),
         "the envelope of the series must be as long as the series");
    need(length(out) == pieces.pieces, "out must have one number for each piece");
    const Bounds a{pieces,    query.data(), lowest.data(), highest.data(), series_low.data(), series_high.data(),
                   out.data()};
    const auto loop = search_kernels_here().bounds;
    run((pieces.pieces + kAtOnce - 1) / kAtOnce, 1 + 50000 / size, [&](i64 begin, i64 end) { loop(a, begin, end); });
}
}  // namespace

void bind_search(nb::module_& m) {
    m.def("piece_units", &piece_units, array("series"), nb::arg("size"), nb::arg("standardized"), nb::arg("least"),
          array("means"), array("inverses"), "Means and inverse deviations of all pieces of a series.");
    m.def("piece_bounds", &piece_bounds, array("series"), array("means"), array("inverses"), array("query"),
          array("lowest"), array("highest"), array("series_low"), array("series_high"), array("out"),
          "Lower bounds of the squared DTW distances of a query and all pieces of a series.");
}
}  // namespace seminorm
