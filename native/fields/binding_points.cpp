// Binding: fields at points, and the equations of points.
#include "fields/sums.hpp"
#include "fields/tree_links.hpp"

namespace seminorm {
namespace {
void need_places(const TreeLinks& links, const In<i64, 1>& start, const In<i32, 1>& corner, const In<float, 2>& t) {
    need_sorted(links, start, length(corner));
    need(length(t) == length(corner) && length(t, 1) == links.view().dimension, "t must be (n, d)");
}

template <class T> void point_data(const TreeLinks& links, In<T, 2> x, In<i64, 1> chosen, In<i64, 1> starts,
                                   In<i64, 1> start, In<i32, 1> corner, In<float, 2> t, In<float, 2> weights,
                                   In<double, 1> axis_weights, In<float, 2> observed, In<double, 1> spacings,
                                   PointSum what, Out<T, 2> y) {
    const int d = links.view().dimension;
    if (what == PointSum::applied) links.need_coefficients(x, "x");
    links.need_coefficients(y, "y");
    need_places(links, start, corner, t);
    need(length(weights) == length(corner) && length(weights, 1) == 2, "weights must be (n, 2)");
    need(length(observed) == length(corner) && length(observed, 1) == 1 + d, "observed must be (n, 1 + d)");
    need(length(axis_weights) == d && length(spacings) == links.view().levels,
         "axis_weights must be (d,), spacings (levels,)");
    const PointData<T> a{links.view(),        x.data(),        chosen.data(),  start.data(),
                         corner.data(),       t.data(),        weights.data(), observed.data(),
                         axis_weights.data(), spacings.data(), what,           y.data()};
    const auto loop = field_kernels_here().in<T>().add_point_data.at(links.view());
    run_blocks(links, chosen, starts, kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void point_jets(const TreeLinks& links, In<T, 2> x, In<i64, 1> start, In<i32, 1> corner,
                                   In<float, 2> t, In<double, 1> spacings, Out<float, 2> out) {
    links.need_coefficients(x, "x");
    need_places(links, start, corner, t);
    need(length(out) == length(corner) && length(out, 1) == 1 + links.view().dimension, "out must be (n, 1 + d)");
    need(length(spacings) == links.view().levels, "spacings needs one entry per level");
    const PointReading<T> a{links.view(), x.data(), start.data(), corner.data(), t.data(), spacings.data(), out.data()};
    const auto loop = field_kernels_here().in<T>().read_points.at(links.view());
    run(links.view().blocks, kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void jets(const TreeLinks& links, In<T, 2> x, In<double, 2> points, In<i32, 1> block,
                             In<i32, 1> cell, In<double, 1> spacings, Out<double, 2> out) {
    links.need_coefficients(x, "x");
    need_located(links, points, block, cell);
    need(length(out) == length(points) && length(out, 1) == 1 + length(points, 1), "out must be (n, 1 + d)");
    need(length(spacings) == links.view().levels, "spacings needs one entry per level");
    const Points<T> a{links.view(), x.data(), points.data(), block.data(), cell.data(), spacings.data(), out.data()};
    const auto loop = field_kernels_here().in<T>().read_jets.at(links.view());
    run(length(points), kPointGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void derivatives(const TreeLinks& links, In<T, 2> x, In<double, 2> points, In<i32, 1> block,
                                    In<i32, 1> cell, In<double, 3> pieces, In<i64, 2> orders, Out<double, 2> out) {
    links.need_coefficients(x, "x");
    need_located(links, points, block, cell);
    need(length(pieces, 1) == links.view().degree + 1 && length(pieces, 2) == links.view().degree + 1,
         "pieces must be (orders, q + 1, q + 1)");
    need(length(orders, 1) == length(points, 1), "orders must be (columns, d)");
    need_range(orders, 0, length(pieces), "orders");
    need(length(out) == length(points) && length(out, 1) == length(orders), "out must be (n, columns)");
    const Points<T> there{links.view(), x.data(), points.data(), block.data(), cell.data(), nullptr, out.data()};
    const Derivatives<T> a{there, pieces.data(), orders.data(), length(orders)};
    const auto loop = field_kernels_here().in<T>().read_derivatives.at(links.view());
    run(length(points), kPointGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void sample(const TreeLinks& links, In<T, 2> x, In<i64, 2> blocks, i64 finest, In<i32, 1> roots,
                               In<i64, 1> root_blocks, double offset, Out<T, 2> out) {
    const int d = links.view().dimension;
    links.need_coefficients(x, "x");
    need(length(blocks, 1) == d && length(root_blocks) == d && finest >= 0 && finest < 60, "blocks must be (n, d)");
    need(length(out) == length(blocks) && length(out, 1) == power(links.side() + 1, d),
         "out must be (n, (side + 1)**d)");
    i64 number = 1;
    for (int axis = 0; axis < d; ++axis) number *= root_blocks(axis);
    need(length(roots) == number, "roots needs one entry per block of cells of level 0");
    need_range(roots, 0, links.view().blocks, "roots");
    for (i64 n = 0; n < length(blocks); ++n)
        for (int axis = 0; axis < d; ++axis)
            need(blocks(n, axis) >= 0 && blocks(n, axis) >> finest < root_blocks(axis), "blocks must lie in the box");
    const Sampling<T> a{links.view(), x.data(),           blocks.data(), finest,
                        roots.data(), root_blocks.data(), T(offset),     out.data()};
    const auto loop = field_kernels_here().in<T>().sample_blocks.at(links.view());
    run(length(blocks), kBlockGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void place(const TreeLinks& links, In<double, 2> points, In<i32, 1> block, In<i32, 1> cell, In<i64, 1> order,
           Out<i32, 1> corner, Out<float, 2> t) {
    need_located(links, points, block, cell);
    need_range(order, 0, length(points), "order");
    need(length(corner) == length(order) && length(t) == length(order) && length(t, 1) == length(points, 1),
         "corner and t: one row per entry of order");
    with_shape(links.view(), [&](auto d, auto q) {
        run(length(order), kPointGrain, [&](i64 begin, i64 end) {
            place_points<d(), q()>(links.view(), points.data(), block.data(), cell.data(), order.data(), corner.data(),
                                   t.data(), begin, end);
        });
    });
}

template <class T> void point_weights(const TreeLinks& links, In<i64, 1> start, In<i32, 1> corner, In<float, 2> weights,
                                      double axes, Out<T, 2> value_weight, Out<T, 2> gradient_weight) {
    need_sorted(links, start, length(corner));
    need(length(weights) == length(corner) && length(weights, 1) == 2, "weights must be (n, 2)");
    links.need_coefficients(value_weight, "value_weight");
    links.need_coefficients(gradient_weight, "gradient_weight");
    with_shape(links.view(), [&](auto d, auto q) {
        run(links.view().blocks, kWeightGrain, [&](i64 begin, i64 end) {
            sum_point_weights<T, d(), q()>(start.data(), corner.data(), weights.data(), axes, value_weight.data(),
                                           gradient_weight.data(), begin, end);
        });
    });
}

void spread(const TreeLinks& links, In<double, 2> points, In<i32, 1> block, In<i32, 1> cell, In<double, 1> coefficients,
            Out<double, 2> out) {
    need_located(links, points, block, cell);
    need(length(coefficients) == length(points), "coefficients needs one entry per point");
    links.need_coefficients(out, "out");
    with_shape(links.view(), [&](auto d, auto q) {
        spread_points<d(), q()>(links.view(), points.data(), block.data(), cell.data(), coefficients.data(),
                                length(points), out.data());
    });
}

void spread_over_cells(const TreeLinks& links, In<bool, 2> leaf, In<double, 1> roots, In<double, 3> factor,
                       In<double, 2> numbers, Out<double, 2> out) {
    links.need_coefficients(leaf, "leaf");
    links.need_coefficients(out, "out");
    need(length(roots) == links.view().levels && length(factor) == length(roots) && length(factor, 1) == links.alive(),
         "roots must be (levels,), factor (levels, alive, r)");
    i64 leaves = 0;
    for (size_t k = 0; k < leaf.size(); ++k) leaves += leaf.data()[k];
    need(length(numbers) == leaves && length(numbers, 1) == length(factor, 2), "numbers must be (leaf cells, r)");
    with_shape(links.view(), [&](auto d, auto q) {
        spread_cells<d(), q()>(links.view(), leaf.data(), roots.data(), factor.data(), numbers.data(),
                               length(factor, 2), out.data());
    });
}

template <class T> void bind_typed(nb::module_& m) {
    m.def("add_point_data", &point_data<T>, nb::arg("links"), array("x"), array("chosen"), array("starts"),
          array("start"), array("corner"), array("t"), array("weights"), array("axis_weights"), array("observed"),
          array("spacings"), nb::arg("what"), array("y"),
          "Add over the points: L' w observed, L' w L x, or the diagonal of L' w L.");
    m.def("read_points", &point_jets<T>, nb::arg("links"), array("x"), array("start"), array("corner"), array("t"),
          array("spacings"), array("out"), "Values and gradients at points sorted by block.");
    m.def("read_jets", &jets<T>, nb::arg("links"), array("x"), array("points"), array("block"), array("cell"),
          array("spacings"), array("out"), "Values and gradients at any points of the box.");
    m.def("read_derivatives", &derivatives<T>, nb::arg("links"), array("x"), array("points"), array("block"),
          array("cell"), array("pieces"), array("orders"), array("out"), "Derivatives in units of the cell.");
    m.def("sample_blocks", &sample<T>, nb::arg("links"), array("x"), array("blocks"), nb::arg("finest"), array("roots"),
          array("root_blocks"), nb::arg("offset"), array("out"), "Values on the corners of the cells of blocks.");
    m.def("sum_point_weights", &point_weights<T>, nb::arg("links"), array("start"), array("corner"), array("weights"),
          nb::arg("axes"), array("value_weight"), array("gradient_weight"), "Sums of the weights in each cell.");
}
}  // namespace

void bind_field_points(nb::module_& m) {
    nb::enum_<PointSum>(m, "PointSum")
        .value("observed", PointSum::observed)
        .value("applied", PointSum::applied)
        .value("squared", PointSum::squared);
    m.def("place_points", &place, nb::arg("links"), array("points"), array("block"), array("cell"), array("order"),
          array("corner"), array("t"), "Where points are in the patches of their blocks.");
    m.def("spread_points", &spread, nb::arg("links"), array("points"), array("block"), array("cell"),
          array("coefficients"), array("out"), "The transpose of evaluating values.");
    m.def("spread_cells", &spread_over_cells, nb::arg("links"), array("leaf"), array("roots"), array("factor"),
          array("numbers"), array("out"), "Add vectors of leaf cells to the functions alive on them.");
    bind_typed<float>(m);
    bind_typed<double>(m);
}
}  // namespace seminorm
