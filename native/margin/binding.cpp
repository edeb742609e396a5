// Steps of margin machines that NumPy cannot take all at once.
#include <algorithm>
#include <tuple>
#include <vector>

#include <nanobind/stl/tuple.h>

#include "binding.hpp"
#include "margin/pairs.hpp"

namespace seminorm {
namespace {
constexpr i64 kVariablesAtATime = 1 << 24;  // looks for Ctrl-C in between

std::tuple<i64, double, bool> pair_steps(In<double, 2> K, In<double, 1> ridge, In<i64, 1> points, In<double, 1> c,
                                         In<double, 1> lower, In<double, 1> upper, Out<double, 1> x,
                                         Out<double, 1> values, double tolerance, i64 max_steps) {
    const i64 n = length(K), m = length(x);
    need(length(K, 1) == n && length(ridge) == n && length(values) == n, "K must be (n, n), ridge and values (n,)");
    need(length(points) == m && length(c) == m && length(lower) == m && length(upper) == m,
         "points, c, lower, upper and x must have the same length");
    need_range(points, -1, n, "points");
    std::vector<double> diagonal(static_cast<size_t>(n));
    for (i64 p = 0; p < n; ++p) diagonal[size_t(p)] = K.data()[p * n + p] + ridge.data()[p];
    const PairProblem problem{K.data(), diagonal.data(), ridge.data(), points.data(),
                              c.data(), lower.data(),    upper.data(), m,
                              n,        tolerance,       x.data(),     values.data()};
    const i64 at_a_time = std::max<i64>(1, kVariablesAtATime / std::max<i64>(1, m + n));
    Pairs pairs(problem);
    PairSteps now;
    i64 steps = 0;
    do {
        run(1, 1, [&](i64, i64) { now = pairs.descend(std::min(at_a_time, max_steps - steps)); });
        steps += now.steps;
    } while (now.end == PairsEnd::open && steps < max_steps);
    return {steps, std::max(now.violation, 0.0), now.end == PairsEnd::unbounded};
}
}  // namespace

void bind_margin(nb::module_& m) {
    m.def("pair_steps", &pair_steps, array("K"), array("ridge"), array("points"), array("c"), array("lower"),
          array("upper"), array("x"), array("values"), nb::arg("tolerance"), nb::arg("max_steps"),
          "Pair steps that change x and values; the number of steps, the violation left, whether nothing bounds them.");
}
}  // namespace seminorm
