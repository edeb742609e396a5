// Distances of all pairs of patterns.
#include "binding.hpp"
#include "distances/kernels.hpp"
#include "distances/user.hpp"

namespace seminorm {
namespace {
using Indices = In<i64, 1>;
constexpr i64 kWidestWindow = i64(1) << 40;

template <class T> SeriesList<T> list_of(const In<T, 2>& values, const In<T, 1>& marks, const Indices& starts,
                                         const Indices& order, const char* name) {
    const i64 series = length(starts) - 1;
    need(series >= 0 && length(order) == series, std::string(name) + ": starts must have one entry more than order");
    need_range(order, 0, series, name);
    need_range(starts, 0, length(values) + 1, name);
    for (i64 i = 0; i < series; ++i) need(starts(i) < starts(i + 1), std::string(name) + ": starts must increase");
    need(length(marks) == length(values), std::string(name) + ": there must be one mark for each sample");
    return {values.data(), marks.data(), starts.data(), order.data(), series};
}

// The terms of a table whose series have at most `longest` samples.
template <class T> ElasticTerms<T> terms_of(const In<T, 2>& values, const In<T, 2>& others, i64 longest, i64 rule,
                                            i64 window, double share, const In<T, 1>& table, i64 stride, i64 middle,
                                            T first, T second) {
    need(values.shape(1) > 0 && values.shape(1) == others.shape(1),
         "both lists of series must have the same number of channels, at least one");
    need(rule >= 0 && rule < i64(ElasticRule::count), "there is no such rule");
    need(window >= 0 && window <= kWidestWindow, "window must lie between 0 and 2^40");
    need(share <= 1, "share must be at most 1");
    const i64 channels = length(values, 1), numbers = length(table);
    need(stride >= 1 && stride <= kWidestWindow, "stride must be positive");
    const auto which = static_cast<ElasticRule>(rule);
    if (which == ElasticRule::weighted || which == ElasticRule::twists || which == ElasticRule::alignments) {
        need(middle < 0 || middle >= longest, "middle must be negative, or at least the longest length");
        need(numbers > (middle < 0 ? 0 : middle - longest) + (longest - 1) * stride,
             "table is too short for the longest series");
    }
    if (which == ElasticRule::symbols) {
        need(channels == 1, "symbols have one channel");
        need(numbers == stride * stride, "table must have stride x stride numbers");
        for (const auto* list : {&values, &others})
            for (size_t k = 0; k < list->shape(0); ++k) {
                const T symbol = list->data()[k];
                need(symbol >= 0 && symbol < T(stride) && symbol == T(i64(symbol)), "symbols must be 0 .. stride - 1");
            }
    }
    need(which != ElasticRule::shapes || (first >= 1 && first <= T(channels)),
         "a descriptor needs 1 .. channels numbers");
    return {channels, window, share, table.data(), stride, middle, first, second};
}

template <class T> i64 longest_of(const SeriesList<T>& list) {
    i64 result = 0;
    for (i64 k = 0; k < list.count; ++k) result = most(result, list.length(k));
    return result;
}

template <class T> void elastic(i64 rule, In<T, 2> values, In<T, 1> marks, Indices starts, Indices order,
                                In<T, 2> other_values, In<T, 1> other_marks, Indices other_starts, Indices other_order,
                                bool symmetric, i64 parts, i64 window, double share, In<T, 1> table, i64 stride,
                                i64 middle, T first, T second, Out<T, 2> out) {
    const auto rows = list_of<T>(values, marks, starts, order, "series");
    const auto others = list_of<T>(other_values, other_marks, other_starts, other_order, "other series");
    need(length(out) == rows.count && length(out, 1) == others.count, "out must be (series, other series)");
    need(!symmetric || rows.count == others.count, "a symmetric list is compared with itself");
    need(parts >= 1 && parts <= kWidestWindow, "parts must be positive");
    const auto terms = terms_of<T>(values, other_values, most(longest_of(rows), longest_of(others)), rule, window,
                                   share, table, stride, middle, first, second);
    const Elastic<T> a{static_cast<ElasticRule>(rule), rows, others, terms, parts, symmetric, out.data()};
    const DistanceKernels& kernels = distance_kernels_here();
    Loop<Elastic<T>> loop;
    if constexpr (sizeof(T) == 8)
        loop = kernels.elastic;
    else
        loop = kernels.elastic_single;
    run(a.blocks() * parts, 1, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void elastic_table(i64 rule, In<double, 2> x, In<double, 1> marks, In<double, 2> y, In<double, 1> other_marks,
                   i64 window, double share, In<double, 1> table, i64 stride, i64 middle, double first, double second,
                   Out<double, 2> out, Out<std::int8_t, 2> steps) {
    const i64 zero = 0, starts[] = {0, length(x)}, other_starts[] = {0, length(y)};
    need(length(x) > 0 && length(y) > 0, "series must not be empty");
    need(length(marks) == length(x) && length(other_marks) == length(y), "there must be one mark for each sample");
    need(length(out) == length(x) && length(out, 1) == length(y), "out must be (samples of x, samples of y)");
    need(length(steps) == length(x) && length(steps, 1) == length(y), "steps must be (samples of x, samples of y)");
    const auto terms =
        terms_of<double>(x, y, most(length(x), length(y)), rule, window, share, table, stride, middle, first, second);
    const ElasticTableOf a{static_cast<ElasticRule>(rule),
                           {x.data(), marks.data(), starts, &zero, 1},
                           {y.data(), other_marks.data(), other_starts, &zero, 1},
                           terms,
                           out.data(),
                           reinterpret_cast<char*>(steps.data())};
    const auto loop = distance_kernels_here().elastic_table;
    run(1, 1, [&](i64 begin, i64 end) { loop(a, begin, end); });
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
    const char* about = "Elastic distances; blocks of other_order meet the series in so many parts. See elastic.hpp.";
    m.def("elastic", &elastic<double>, nb::arg("rule"), array("values"), array("marks"), array("starts"),
          array("order"), array("other_values"), array("other_marks"), array("other_starts"), array("other_order"),
          nb::arg("symmetric"), nb::arg("parts"), nb::arg("window"), nb::arg("share"), array("table"),
          nb::arg("stride"), nb::arg("middle"), nb::arg("first"), nb::arg("second"), array("out"), about);
    m.def("elastic", &elastic<float>, nb::arg("rule"), array("values"), array("marks"), array("starts"), array("order"),
          array("other_values"), array("other_marks"), array("other_starts"), array("other_order"),
          nb::arg("symmetric"), nb::arg("parts"), nb::arg("window"), nb::arg("share"), array("table"),
          nb::arg("stride"), nb::arg("middle"), nb::arg("first"), nb::arg("second"), array("out"), about);
    m.def("elastic_table", &elastic_table, nb::arg("rule"), array("x"), array("marks"), array("y"),
          array("other_marks"), nb::arg("window"), nb::arg("share"), array("table"), nb::arg("stride"),
          nb::arg("middle"), nb::arg("first"), nb::arg("second"), array("out"), array("steps"),
          "The whole table of two series, and the steps that lead to its cells: 0 both, 1 a row down, 2 a column on.");
    m.def("tangent_planes", &tangent_planes, array("squares"), array("along"), array("other_along"), array("mixed"),
          nb::arg("spring"), array("out"), "Squared distances of planes with springs; see tangent.hpp.");
    m.def("distort", &distort, array("images"), array("others"), nb::arg("reach"), nb::arg("context"), nb::arg("upper"),
          array("out"), "Costs of distorting images into others, mean of both directions.");
    m.def("user_pairs", &user_pairs, array("X"), array("Y"), nb::arg("function"), nb::arg("user_data"),
          nb::arg("symmetric"), array("out"), "Values of the C function at an address for all pairs of rows.");
    m.def("capsule_parts", &capsule_parts, nb::arg("capsule"), "Name, address and context of a PyCapsule.");
}
}  // namespace seminorm
