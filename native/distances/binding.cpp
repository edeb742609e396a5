// Distances of all pairs of patterns.
#include "binding.hpp"
#include "distances/kernels.hpp"

namespace seminorm {
namespace {
using Indices = In<i64, 1>;

void need_series(const In<double, 2>& values, const Indices& starts, const Indices& order, const char* name) {
    const i64 series = length(starts) - 1;
    need(series >= 0 && length(order) == series, std::string(name) + ": starts must have one entry more than order");
    need_range(order, 0, series, name);
    need_range(starts, 0, length(values) + 1, name);
    for (i64 i = 0; i < series; ++i) need(starts(i) < starts(i + 1), std::string(name) + ": starts must increase");
}

void warp(In<double, 2> values, Indices starts, Indices order, In<double, 2> other_values, Indices other_starts,
          Indices other_order, bool symmetric, Indices blocks, i64 window, double share, bool largest,
          Out<double, 2> out) {
    need(values.shape(1) == other_values.shape(1), "both lists of series must have the same number of channels");
    need_series(values, starts, order, "series");
    need_series(other_values, other_starts, other_order, "other series");
    need(length(out) == length(order) && length(out, 1) == length(other_order), "out must be (series, other series)");
    need(!symmetric || length(order) == length(other_order), "a symmetric list is compared with itself");
    need(window >= 0, "window must not be negative");
    need_range(blocks, 0, (length(other_order) + kSeriesSideBySide - 1) / kSeriesSideBySide, "blocks");
    const Warping a{values.data(), starts.data(), order.data(), length(order), other_values.data(), other_starts.data(),
                    other_order.data(), length(other_order), blocks.data(), length(values, 1), window, share,
                    symmetric, largest, out.data()};
    run(length(blocks), 1, [&](i64 begin, i64 end) { distance_kernels_here().warp(a, begin, end); });
}
}  // namespace

void bind_distances(nb::module_& m) {
    m.def("warp", &warp, array("values"), array("starts"), array("order"), array("other_values"),
          array("other_starts"), array("other_order"), nb::arg("symmetric"), array("blocks"), nb::arg("window"),
          nb::arg("share"), nb::arg("largest"), array("out"),
          "Squared DTW (or Frechet, `largest`) distances to the series of the given blocks of eight of other_order.");
}
}  // namespace seminorm
