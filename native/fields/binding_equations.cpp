// Binding: normal equations in stencils and their levels, vectors.
#include "fields/sums.hpp"
#include "fields/tree_links.hpp"

namespace seminorm {
namespace {
void need_cell_energies(const TreeLinks& links, const In<double, 3>& energy) {
    need(length(energy) == links.view().levels && length(energy, 1) == links.alive() &&
             length(energy, 2) == links.alive(),
         "energy must be (levels, alive, alive)");
}

void edges(const TreeLinks& links, In<i64, 1> blocks, In<i64, 1> lines, In<bool, 2> leaf, In<double, 3> energy,
           Out<double, 3> stencils) {
    links.need_coefficients(leaf, "leaf");
    need(length(lines) == length(blocks) && length(stencils) == length(blocks), "one line and stencil per block");
    need_cell_energies(links, energy);
    need(length(stencils, 1) == links.stencil() && length(stencils, 2) == links.side(),
         "stencils must be (n, stencil, side)");
    need_range(blocks, 0, links.view().blocks, "blocks");
    need_range(lines, 0, links.lines(), "lines");
    const EdgeStencils a{links.view(), blocks.data(), lines.data(), leaf.data(), energy.data(), stencils.data()};
    const auto loop = field_kernels_here().edge_stencils.at(links.view());
    run(length(blocks), kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void apply(const TreeLinks& links, In<double, 2> x, In<double, 1> factors, In<i32, 2> kind, In<double, 3> edge,
           In<double, 2> inner, std::optional<In<i32, 2>> data_line, std::optional<In<double, 3>> data,
           Out<double, 2> y) {
    const i64 blocks = links.view().blocks, sides = blocks ? length(x) / blocks : 0;
    need(length(x) == sides * blocks && length(x, 1) == links.nodes(), "x must be (sides * blocks, side**d)");
    need(length(y) == length(x) && length(y, 1) == links.nodes(), "y must have the shape of x");
    need(length(factors) == links.view().levels, "factors needs one entry per level");
    need(length(kind) == links.view().blocks && length(kind, 1) == links.lines(), "kind must be (blocks, lines)");
    need(length(inner) == links.view().levels && length(inner, 1) == links.stencil(),
         "inner must be (levels, stencil)");
    const auto check = [&](const In<double, 3>& stencils) {
        need(length(stencils, 1) == links.stencil() && length(stencils, 2) == links.side(),
             "stencils must be (n, stencil, side)");
    };
    check(edge);
    need_range(kind, 0, length(edge) + 2, "kind");
    need(data_line.has_value() == data.has_value(), "data_line and data go together");
    if (data) {
        check(*data);
        need(length(*data_line) == links.view().blocks && length(*data_line, 1) == links.lines(),
             "data_line must be (blocks, lines)");
        need_range(*data_line, -1, length(*data), "data_line");
    }
    const StencilApplication a{links.view(),
                               sides,
                               x.data(),
                               factors.data(),
                               kind.data(),
                               edge.data(),
                               inner.data(),
                               data ? data_line->data() : nullptr,
                               data ? data->data() : nullptr,
                               y.data()};
    const auto loop = field_kernels_here().apply_stencils.at(links.view());
    run(links.view().blocks, kBlockGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void prolong(const TreeLinks& links, Out<T, 2> x, In<i64, 1> parents) {
    links.need_coefficients(x, "x");
    need_range(parents, 0, links.view().blocks, "parents");
    const Transfer<T> a{links.view(), x.data(), parents.data()};
    const auto loop = field_kernels_here().in<T>().prolong_add.at(links.view());
    run(length(parents), kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void restrict_(const TreeLinks& links, Out<T, 2> x, In<i64, 1> parents, In<i64, 1> starts) {
    links.need_coefficients(x, "x");
    const Transfer<T> a{links.view(), x.data(), parents.data()};
    const auto loop = field_kernels_here().in<T>().restrict_add.at(links.view());
    run_blocks(links, parents, starts, kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void energy(const TreeLinks& links, In<T, 2> x, In<i64, 1> chosen, In<i64, 1> starts,
                               In<T, 1> factors, In<T, 4> forms, Out<T, 2> y) {
    links.need_coefficients(x, "x");
    links.need_coefficients(y, "y");
    const i64 whole = links.side() + links.view().degree;
    need(length(factors) == links.view().levels, "factors needs one entry per level");
    need(length(forms) == whole + 1 && length(forms, 1) > 0 && length(forms, 2) == whole && length(forms, 3) % 8 == 0 &&
             length(forms, 3) >= whole,
         "forms must be (whole + 1, order + 1, whole, whole filled up to a multiple of 8)");
    const EnergyForms<T> table{forms.data(), int(length(forms, 1)) - 1, int(whole), int(length(forms, 3))};
    const EnergyApplication<T> a{links.view(), x.data(), chosen.data(), factors.data(), table, y.data()};
    const auto loop = field_kernels_here().in<T>().add_energy.at(links.view());
    run_blocks(links, chosen, starts, kBlockGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void level_energy(const TreeLinks& links, In<T, 2> x, i64 first, i64 last, In<T, 1> stencil,
                                     T factor, In<bool, 2> wanted, Out<T, 2> y) {
    links.need_coefficients(x, "x");
    links.need_coefficients(y, "y");
    need(links.view().dimension == 2 || links.view().dimension == 3, "only in two and three dimensions");
    need(0 <= first && first <= last && last <= links.view().blocks, "first and last must be numbers of blocks");
    need(length(stencil) == links.stencil(), "stencil must have (2 degree + 1)**d entries");
    need(length(wanted) == links.view().blocks && length(wanted, 1) == links.lines(), "wanted must be (blocks, lines)");
    const LevelEnergy<T> a{links.view(), x.data(), first, stencil.data(), factor, wanted.data(), y.data()};
    const auto loop = field_kernels_here().in<T>().apply_level.at(links.view());
    run(last - first, kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void assemble(const TreeLinks& links, In<double, 2> points, In<double, 3> observations, In<double, 2> weights,
              In<i64, 1> order, In<i64, 1> start, In<i64, 1> chosen, In<i64, 1> starts, In<i32, 1> cell,
              In<double, 1> spacings, i64 values_first, i64 gradients_first, In<i32, 2> data_line, Out<double, 3> data,
              Out<double, 3> right) {
    const i64 n = length(points), d = links.view().dimension, columns = length(weights, 1);
    need(length(points, 1) == d && length(observations) == n && length(weights) == n,
         "one row of everything per point");
    need(length(observations, 1) == columns, "observations and weights must have the same columns");
    need(values_first < columns && gradients_first + (gradients_first >= 0 ? d : 0) <= columns, "columns are missing");
    need(length(order) == n && length(cell) == n, "order and cell need one entry per point");
    need_sorted(links, start, n);
    need_range(order, 0, n, "order");
    need_range(cell, 0, links.nodes(), "cell");
    need(length(spacings) == links.view().levels, "spacings needs one entry per level");
    need(length(data_line) == links.view().blocks && length(data_line, 1) == links.lines(),
         "data_line must be (blocks, lines)");
    need_range(data_line, -1, length(data), "data_line");
    need(length(data, 1) == links.stencil() && length(data, 2) == links.side(), "data must be (places, stencil, side)");
    need(length(right) == length(observations, 2) && length(right, 1) == links.view().blocks &&
             length(right, 2) == links.nodes(),
         "right must be (sides, blocks, side**d)");
    const Assembly a{
        links.view(),    points.data(),    observations.data(), weights.data(), columns,       length(observations, 2),
        values_first,    gradients_first,  order.data(),        start.data(),   chosen.data(), cell.data(),
        spacings.data(), data_line.data(), data.data(),         right.data()};
    const auto loop = field_kernels_here().assemble.at(links.view());
    run_blocks(links, chosen, starts, 1, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

i64 lines(const TreeLinks& links, In<i32, 1> block, In<i32, 1> cell, Out<i32, 2> data_line, i64 used) {
    need(length(cell) == length(block), "block and cell need one entry per point");
    need_range(block, 0, links.view().blocks, "block");
    need_range(cell, 0, links.nodes(), "cell");
    need(length(data_line) == links.view().blocks && length(data_line, 1) == links.lines(),
         "data_line must be (blocks, lines)");
    with_shape(links.view(), [&](auto d, auto q) {
        used = new_lines<d(), q()>(links.view(), block.data(), cell.data(), length(block), data_line.data(), used);
    });
    return used;
}

void cell_weights(const TreeLinks& links, In<double, 2> weights, In<i64, 1> order, In<i64, 1> start, In<i32, 1> cell,
                  i64 values_first, i64 gradients_first, Out<double, 2> value_weight, Out<double, 2> gradient_weight) {
    need_sorted(links, start, length(order));
    need_range(order, 0, length(weights), "order");
    need(length(cell) == length(weights) && values_first < length(weights, 1), "cell needs one entry per point");
    need_range(cell, 0, links.nodes(), "cell");
    links.need_coefficients(value_weight, "value_weight");
    links.need_coefficients(gradient_weight, "gradient_weight");
    run(links.view().blocks, kWeightGrain, [&](i64 begin, i64 end) {
        for (i64 b = begin; b < end; ++b)
            for (i64 n = start(b); n < start(b + 1); ++n) {
                const i64 i = order(n);
                if (values_first >= 0) value_weight(b, cell(i)) += weights(i, values_first);
                double total = 0.0;
                for (i64 k = gradients_first; gradients_first >= 0 && k < length(weights, 1); ++k)
                    total += weights(i, k);
                gradient_weight(b, cell(i)) += total;
            }
    });
}

template <class T> void diagonal(const TreeLinks& links, In<bool, 2> leaf, In<double, 3> energy,
                                 In<double, 1> energy_factors, In<double, 1> spacings, In<double, 2> means,
                                 In<T, 2> value_weight, In<T, 2> gradient_weight, Out<T, 2> out) {
    links.need_coefficients(leaf, "leaf");
    links.need_coefficients(value_weight, "value_weight");
    links.need_coefficients(gradient_weight, "gradient_weight");
    links.need_coefficients(out, "out");
    need_cell_energies(links, energy);
    need(length(means) == 2 && length(means, 1) == links.alive(), "means must be (2, alive)");
    need(length(spacings) == links.view().levels && length(energy_factors) == length(spacings),
         "one spacing and factor per level");
    const Diagonal<T> a{leaf.data(),  energy.data(),       energy_factors.data(),  spacings.data(),
                        means.data(), value_weight.data(), gradient_weight.data(), out.data()};
    with_shape(links.view(), [&](auto d, auto q) {
        run(links.view().blocks, kBlockGrain,
            [&](i64 begin, i64 end) { add_diagonal<T, d(), q()>(links.view(), a, begin, end); });
    });
}

template <class T> double dot(In<T, 1> x, In<T, 1> y) {
    need(length(x) == length(y), "x and y must have the same length");
    const i64 stretches = (length(x) + kStretch - 1) / kStretch;
    std::vector<double> partial(static_cast<size_t>(stretches));
    const DotProduct<T> a{x.data(), y.data(), length(x), partial.data()};
    run(stretches, kStretchGrain,
        [&](i64 begin, i64 end) { field_kernels_here().in<T>().partial_dots(a, begin, end); });
    double total = 0.0;
    for (const double part : partial) total += part;
    return total;
}

template <class T> void combination(T factor, In<T, 1> x, T share, Out<T, 1> y) {
    need(length(x) == length(y), "x and y must have the same length");
    const Combination<T> a{x.data(), y.data(), length(x), factor, share};
    const auto loop = field_kernels_here().in<T>().combine;
    run((length(x) + kStretch - 1) / kStretch, 2 * kStretchGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T> void bind_typed(nb::module_& m) {
    m.def("prolong_add", &prolong<T>, nb::arg("links"), array("x"), array("parents"),
          "Add to the coefficients of the blocks inside the parents those of the parents, refined.");
    m.def("restrict_add", &restrict_<T>, nb::arg("links"), array("x"), array("parents"), array("starts"),
          "The transpose of prolong_add, for groups of parents that share no function.");
    m.def("add_energy", &energy<T>, nb::arg("links"), array("x"), array("chosen"), array("starts"), array("factors"),
          array("forms"), array("y"), "Add the energy on the leaf cells of the chosen blocks, in groups.");
    m.def("apply_level", &level_energy<T>, nb::arg("links"), array("x"), nb::arg("first"), nb::arg("last"),
          array("stencil"), nb::arg("factor"), array("wanted"), array("y"),
          "The energy of functions that lie wholly on the leaves of their level, on the blocks first .. last - 1.");
    m.def("add_diagonal", &diagonal<T>, nb::arg("links"), array("leaf"), array("energy"), array("energy_factors"),
          array("spacings"), array("means"), array("value_weight"), array("gradient_weight"), array("out"),
          "Complete the diagonal of the normal equations of all levels.");
    m.def("combine", &combination<T>, nb::arg("factor"), array("x"), nb::arg("share"), array("y"),
          "y = factor x + share y, in place.");
    m.def("dot", &dot<T>, array("x"), array("y"), "Dot product, the same for any number of threads.");
}
}  // namespace

void bind_field_equations(nb::module_& m) {
    m.def("edge_stencils", &edges, nb::arg("links"), array("blocks"), array("lines"), array("leaf"), array("energy"),
          array("stencils"), "Energy stencils of lines that lie on leaves in part.");
    m.def("apply_stencils", &apply, nb::arg("links"), array("x"), array("factors"), array("kind"), array("edge"),
          array("inner"), array("data_line").none(), array("data").none(), array("y"),
          "Energy and data on the leaves, for the x of several sides one after the other.");
    m.def("assemble", &assemble, nb::arg("links"), array("points"), array("observations"), array("weights"),
          array("order"), array("start"), array("chosen"), array("starts"), array("cell"), array("spacings"),
          nb::arg("values_first"), nb::arg("gradients_first"), array("data_line"), array("data"), array("right"),
          "Add the normal equations of points to stencils and right-hand sides.");
    m.def("new_lines", &lines, nb::arg("links"), array("block"), array("cell"), array("data_line"), nb::arg("used"),
          "Give places to the lines with functions alive on cells that hold points.");
    m.def("add_cell_weights", &cell_weights, nb::arg("links"), array("weights"), array("order"), array("start"),
          array("cell"), nb::arg("values_first"), nb::arg("gradients_first"), array("value_weight"),
          array("gradient_weight"), "Sums of the weights of values and of gradients in each cell.");
    bind_typed<float>(m);
    bind_typed<double>(m);
}
}  // namespace seminorm
