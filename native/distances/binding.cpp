// Distances of all pairs of patterns.
#include "binding.hpp"
#include "distances/kernels.hpp"
#include "distances/user.hpp"

namespace seminorm {
namespace {
using Indices = In<i64, 1>;
constexpr i64 kWidestWindow = i64(1) << 40;

void need_series(const In<double, 2>& values, const Indices& starts, const Indices& order, const char* name) {
    const i64 series = length(starts) - 1;
    need(series >= 0 && length(order) == series, std::string(name) + ": starts must have one entry more than order");
    need_range(order, 0, series, name);
    need_range(starts, 0, length(values) + 1, name);
    for (i64 i = 0; i < series; ++i) need(starts(i) < starts(i + 1), std::string(name) + ": starts must increase");
}

void warp(In<double, 2> values, Indices starts, Indices order, In<double, 2> other_values, Indices other_starts,
          Indices other_order, bool symmetric, i64 parts, i64 window, double share, bool largest, Out<double, 2> out) {
    need(values.shape(1) > 0 && values.shape(1) == other_values.shape(1),
         "both lists of series must have the same number of channels, at least one");
    need_series(values, starts, order, "series");
    need_series(other_values, other_starts, other_order, "other series");
    need(length(out) == length(order) && length(out, 1) == length(other_order), "out must be (series, other series)");
    need(!symmetric || length(order) == length(other_order), "a symmetric list is compared with itself");
    need(parts >= 1 && parts <= kWidestWindow, "parts must be positive");
    need(window >= 0 && window <= kWidestWindow, "window must lie between 0 and 2^40");
    need(share <= 1, "share must be at most 1");
    const Warping a{values.data(),
                    starts.data(),
                    order.data(),
                    length(order),
                    other_values.data(),
                    other_starts.data(),
                    other_order.data(),
                    length(other_order),
                    parts,
                    length(values, 1),
                    window,
                    share,
                    symmetric,
                    largest,
                    out.data()};
    const auto loop = distance_kernels_here().warp;
    run(a.blocks() * parts, 1, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void tangent_planes(In<float, 2> squares, In<float, 3> along, In<float, 3> other_along, In<float, 4> mixed,
                    double spring, Out<float, 2> out) {
    const i64 n = length(squares), m = length(squares, 1), p = length(along, 1);
    need(length(out) == n && length(out, 1) == m, "out must be (n, m) like squares");
    need(length(along) == n && length(along, 2) == m, "along must be (n, p, m)");
    need(length(other_along) == n && length(other_along, 1) == p && length(other_along, 2) == m,
         "other_along must be (n, p, m) like along");
    need(length(mixed) == n && length(mixed, 1) == p && length(mixed, 2) == p && length(mixed, 3) == m,
         "mixed must be (n, p, p, m)");
    need(spring > 0, "spring must be positive");
    const TangentPlanes a{squares.data(), along.data(), other_along.data(), mixed.data(), n, p, m, spring, out.data()};
    const auto loop = distance_kernels_here().tangent_planes;
    run(n, 1 + 512 / (m + 1), [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void distort(In<float, 4> images, In<float, 4> others, i64 reach, i64 context, bool upper, Out<double, 2> out) {
    const i64 n = length(images), m = length(others), channels = length(images, 1);
    const i64 height = length(images, 2), width = length(images, 3), smallest = least(height, width);
    need(length(others, 1) == channels && length(others, 2) == height && length(others, 3) == width,
         "all images must have the same channels, height and width");
    need(reach >= 0 && context >= 0 && reach < smallest && context < smallest && 2 * (reach + context) < smallest,
         "reach and context must not be negative, and the border of both must leave something of the images");
    need(length(out) == n && length(out, 1) == m, "out must be (images, others)");
    need(!upper || n == m, "above the diagonal: images are compared with themselves");
    const Distortion a{images.data(), others.data(), n, m, channels, height, width, reach, context, upper, out.data()};
    // about a million vectors of differences in a chunk: a millisecond
    const i64 differences = height * width * (channels + 1) * (2 * reach + 1) * (2 * reach + 1);
    const auto loop = distance_kernels_here().distort;
    run(n * a.blocks(), 1 + (i64(1) << 20) / differences, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void user_pairs(In<double, 2> X, In<double, 2> Y, std::uintptr_t function, std::uintptr_t user_data, bool symmetric,
                Out<double, 2> out) {
    const i64 n = length(X), m = length(Y), d = length(X, 1);
    need(length(Y, 1) == d, "patterns of X and Y must have the same length");
    need(length(out) == n && length(out, 1) == m, "out must be (n, m)");
    need(!symmetric || n == m, "symmetric: X is compared with itself");
    need(function != 0, "function must not be null");
    const UserPairs a{
        X.data(),  Y.data(),  n, m, d, reinterpret_cast<UserFunction>(function), reinterpret_cast<void*>(user_data),
        symmetric, out.data()};
    const i64 grain = 1 + least<i64>(63, n * m / 1024);  // nobody knows what a call takes: few if there are few at all
    run(n * m, grain, [&](i64 begin, i64 end) { call_pairs(a, begin, end); });
}

nb::tuple capsule_parts(nb::object capsule) {
    need(PyCapsule_CheckExact(capsule.ptr()), "not a capsule");
    const char* name = PyCapsule_GetName(capsule.ptr());
    void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
    void* context = PyCapsule_GetContext(capsule.ptr());
    if (PyErr_Occurred()) throw nb::python_error();
    return nb::make_tuple(name ? name : "", reinterpret_cast<std::uintptr_t>(pointer),
                          reinterpret_cast<std::uintptr_t>(context));
}
}  // namespace

void bind_distances(nb::module_& m) {
    m.def("warp", &warp, array("values"), array("starts"), array("order"), array("other_values"), array("other_starts"),
          array("other_order"), nb::arg("symmetric"), nb::arg("parts"), nb::arg("window"), nb::arg("share"),
          nb::arg("largest"), array("out"),
          "Squared DTW (or Frechet, `largest`) distances; eights of other_order meet the series in so many parts.");
    m.def("tangent_planes", &tangent_planes, array("squares"), array("along"), array("other_along"), array("mixed"),
          nb::arg("spring"), array("out"), "Squared distances of planes with springs; see tangent.hpp.");
    m.def("distort", &distort, array("images"), array("others"), nb::arg("reach"), nb::arg("context"), nb::arg("upper"),
          array("out"), "Costs of distorting images into others, mean of both directions.");
    m.def("user_pairs", &user_pairs, array("X"), array("Y"), nb::arg("function"), nb::arg("user_data"),
          nb::arg("symmetric"), array("out"), "Values of the C function at an address for all pairs of rows.");
    m.def("capsule_parts", &capsule_parts, nb::arg("capsule"), "Name, address and context of a PyCapsule.");
}
}  // namespace seminorm
