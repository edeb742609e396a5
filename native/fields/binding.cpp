// Loops over the blocks of a tree, its points and its levels.
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "binding.hpp"
#include "fields/kernels.hpp"
#include "fields/sums.hpp"
#include "fields/tree.hpp"

namespace seminorm {
namespace {
// Numbers of items per chunk: some ten microseconds of work or more.
constexpr i64 kPointGrain = 1024, kBlockGrain = 4, kManyBlocks = 16, kWeightGrain = 64, kStretchGrain = 16;

// The links of a tree, checked once. It keeps the arrays alive.
class TreeLinks {
  public:
    TreeLinks(int degree, In<i64, 2> coords, In<bool, 1> is_cell, In<i64, 1> level_of, In<i64, 2> limits,
              In<double, 1> factors, In<i32, 2> neighbors, In<i32, 2> finer, In<i32, 2> children)
        : coords_(coords), is_cell_(is_cell), level_of_(level_of), limits_(limits), factors_(factors),
          neighbors_(neighbors), finer_(finer), children_(children) {
        const i64 d = length(coords, 1), blocks = length(coords);
        need(d >= 1 && d <= kDimensions, "coords must have 1 to 4 columns");
        need(degree >= 1 && degree <= kDegrees, "degree must be 1, 2 or 3");
        need(length(is_cell) == blocks && length(level_of) == blocks, "is_cell and level_of need one entry per block");
        need(length(limits) == length(factors) && length(limits, 1) == d, "limits must be (levels, dimensions)");
        need(length(neighbors) == blocks && length(neighbors, 1) == power(3, int(d)), "neighbors must be (blocks, 3**d)");
        for (const auto& inside : {finer, children})
            need(length(inside) == blocks && length(inside, 1) == i64(1) << d, "finer, children must be (blocks, 2**d)");
        need_range(level_of, 0, length(factors), "level_of");
        need_range(neighbors, -1, blocks, "neighbors");
        need_range(finer, -1, blocks, "finer");
        need_range(children, -1, blocks, "children");
        view_ = {int(d), degree, blocks, length(factors), coords.data(), is_cell.data(), level_of.data(),
                 limits.data(), factors.data(), neighbors.data(), finer.data(), children.data()};
        need_next_blocks();
    }
    const Links& view() const { return view_; }
    i64 nodes() const { return power(kSides[view_.dimension], view_.dimension); }
    i64 lines() const { return nodes() / kSides[view_.dimension]; }
    i64 alive() const { return power(view_.degree + 1, view_.dimension); }
    i64 stencil() const { return power(2 * view_.degree + 1, view_.dimension); }
    i64 side() const { return kSides[view_.dimension]; }

    template <class Array> void need_coefficients(const Array& x, const char* name) const {
        need(length(x) == view_.blocks && length(x, 1) == nodes(), std::string(name) + " must be (blocks, side**d)");
    }

  private:
    // Every function alive on a cell of the region must have its block, so that loops over points find it.
    void need_next_blocks() const {
        const int d = view_.dimension, side = kSides[d];
        for (i64 b = 0; b < view_.blocks; ++b)
            for (int step = 0; view_.is_cell[b] && step < 1 << d; ++step) {
                i64 slot = 0;
                bool reached = true;
                for (int axis = 0; axis < d; ++axis) {
                    const int bit = step >> (d - 1 - axis) & 1;
                    const i64 limit = view_.limits[view_.level_of[b] * d + axis] + view_.degree;
                    slot = slot * 3 + 1 + bit;
                    reached = reached && (view_.coords[b * d + axis] + bit) * side < limit;
                }
                need(!reached || view_.neighbors[b * power(3, d) + slot] >= 0, "a block of cells lacks the next block");
            }
    }
    In<i64, 2> coords_;
    In<bool, 1> is_cell_;
    In<i64, 1> level_of_;
    In<i64, 2> limits_;
    In<double, 1> factors_;
    In<i32, 2> neighbors_, finer_, children_;
    Links view_;
};

template <int N> using Number = std::integral_constant<int, N>;

template <class Work> void with_dimension(const Links& links, const Work& work) {
    switch (links.dimension) {
        case 1: return work(Number<1>{});
        case 2: return work(Number<2>{});
        case 3: return work(Number<3>{});
        default: return work(Number<4>{});
    }
}
template <class Work> void with_shape(const Links& links, const Work& work) {
    with_dimension(links, [&](auto d) {
        switch (links.degree) {
            case 1: return work(d, Number<1>{});
            case 2: return work(d, Number<2>{});
            default: return work(d, Number<3>{});
        }
    });
}

// Blocks in groups that share no function, one group after the other: those of group g stand at starts[g] ..
template <class Work>
void run_blocks(const TreeLinks& links, const In<i64, 1>& blocks, const In<i64, 1>& starts, i64 grain, const Work& work) {
    need_range(blocks, 0, links.view().blocks, "blocks");
    need(length(starts) > 0 && starts(0) == 0 && starts(length(starts) - 1) == length(blocks), "starts must span blocks");
    for (i64 g = 0; g + 1 < length(starts); ++g) need(starts(g) <= starts(g + 1), "starts must not decrease");
    run_groups(starts.data(), length(starts) - 1, grain, work);
}

void need_located(const TreeLinks& links, const In<double, 2>& points, const In<i32, 1>& block, const In<i32, 1>& cell) {
    need(length(points, 1) == links.view().dimension, "points must be (n, d)");
    need(length(block) == length(points) && length(cell) == length(points), "block and cell need one entry per point");
    need_range(block, 0, links.view().blocks, "block");
    need_range(cell, 0, links.nodes(), "cell");
    for (i64 i = 0; i < length(block); ++i) need(links.view().is_cell[block(i)], "points must lie in blocks of cells");
}

void need_sorted(const TreeLinks& links, const In<i64, 1>& start, i64 number) {
    need(length(start) == links.view().blocks + 1 && start(0) == 0, "start must have one entry more than blocks");
    for (i64 b = 0; b + 1 < length(start); ++b) need(start(b) <= start(b + 1), "start must not decrease");
    need(start(length(start) - 1) == number, "start must end with the number of points");
}

void locate_points(const TreeLinks& links, In<double, 2> points, In<i32, 1> roots, In<i64, 1> root_cells, Out<i32, 1> block,
            Out<i32, 1> cell) {
    const int d = links.view().dimension;
    need(length(points, 1) == d && length(root_cells) == d, "points must be (n, d), root_cells (d,)");
    need(length(block) == length(points) && length(cell) == length(points), "block and cell need one entry per point");
    i64 root_blocks[kDimensions], number = 1;
    for (int axis = 0; axis < d; ++axis) {
        need(root_cells(axis) > 0, "root_cells must be positive");
        number *= root_blocks[axis] = (root_cells(axis) + kSides[d] - 1) / kSides[d];
    }
    need(length(roots) == number, "roots needs one entry per block of cells of level 0");
    need_range(roots, 0, links.view().blocks, "roots");
    const Locating a{points.data(), roots.data(), root_blocks, root_cells.data(), block.data(), cell.data()};
    with_dimension(links.view(), [&](auto d_) {
        run(length(points), kPointGrain, [&](i64 begin, i64 end) { locate<d_()>(links.view(), a, begin, end); });
    });
}

void mark(const TreeLinks& links, Out<bool, 2> region, Out<bool, 2> leaf, Out<bool, 2> active, Out<short, 2> covered) {
    for (const auto& flags : {region, leaf, active}) links.need_coefficients(flags, "flags");
    links.need_coefficients(covered, "covered");
    with_dimension(links.view(), [&](auto d) {
        run(links.view().blocks, kManyBlocks, [&](i64 begin, i64 end) {
            mark_cells<d()>(links.view(), region.data(), leaf.data(), begin, end);
        });
    });
    with_shape(links.view(), [&](auto d, auto q) {
        run(links.view().blocks, kManyBlocks, [&](i64 begin, i64 end) {
            mark_functions<d(), q()>(links.view(), region.data(), leaf.data(), active.data(), covered.data(), begin, end);
        });
    });
}

void flag(const TreeLinks& links, In<bool, 2> marked, In<i64, 2> coords, In<i64, 1> limits, Out<bool, 2> flags) {
    const int d = links.view().dimension;
    need(length(marked, 1) == links.nodes() && length(coords, 1) == d && length(limits) == d, "marked must be (n, side**d)");
    need(length(coords) == length(marked) && length(flags) == length(marked), "one row of coords and flags per block");
    need(length(flags, 1) == power(4, d), "flags must be (n, 4**d)");
    with_shape(links.view(), [&](auto d_, auto q) {
        run(length(marked), kManyBlocks, [&](i64 begin, i64 end) {
            flag_children<d_(), q()>(marked.data(), coords.data(), limits.data(), flags.data(), begin, end);
        });
    });
}

void edges(const TreeLinks& links, In<i64, 1> blocks, In<i64, 1> lines, In<bool, 2> leaf, In<double, 2> energy,
           Out<double, 3> stencils) {
    links.need_coefficients(leaf, "leaf");
    need(length(lines) == length(blocks) && length(stencils) == length(blocks), "one line and stencil per block");
    need(length(energy) == links.alive() && length(energy, 1) == links.alive(), "energy must be (alive, alive)");
    need(length(stencils, 1) == links.stencil() && length(stencils, 2) == links.side(), "stencils must be (n, stencil, side)");
    need_range(blocks, 0, links.view().blocks, "blocks");
    need_range(lines, 0, links.lines(), "lines");
    const EdgeStencils a{links.view(), blocks.data(), lines.data(), leaf.data(), energy.data(), stencils.data()};
    const auto loop = field_kernels_here().edge_stencils.at(links.view());
    run(length(blocks), kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void apply(const TreeLinks& links, In<double, 2> x, In<double, 1> factors, In<i32, 2> kind, In<double, 3> edge,
           In<double, 1> inner, std::optional<In<i32, 2>> data_line, std::optional<In<double, 3>> data, Out<double, 2> y) {
    links.need_coefficients(x, "x");
    links.need_coefficients(y, "y");
    need(length(factors) == links.view().levels, "factors needs one entry per level");
    need(length(kind) == links.view().blocks && length(kind, 1) == links.lines(), "kind must be (blocks, lines)");
    need(length(inner) == links.stencil(), "inner must have one entry per entry of the stencil");
    const auto check = [&](const In<double, 3>& stencils) {
        need(length(stencils, 1) == links.stencil() && length(stencils, 2) == links.side(), "stencils must be (n, stencil, side)");
    };
    check(edge);
    need_range(kind, 0, length(edge) + 2, "kind");
    need(data_line.has_value() == data.has_value(), "data_line and data go together");
    if (data) {
        check(*data);
        need(length(*data_line) == links.view().blocks && length(*data_line, 1) == links.lines(), "data_line must be (blocks, lines)");
        need_range(*data_line, -1, length(*data), "data_line");
    }
    const StencilApplication a{links.view(), x.data(), factors.data(), kind.data(), edge.data(), inner.data(),
                               data ? data_line->data() : nullptr, data ? data->data() : nullptr, y.data()};
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

template <class T>
void energy(const TreeLinks& links, In<T, 2> x, In<i64, 1> chosen, In<i64, 1> starts, In<T, 1> factors, In<T, 4> forms,
            Out<T, 2> y) {
    links.need_coefficients(x, "x");
    links.need_coefficients(y, "y");
    const i64 whole = links.side() + links.view().degree;
    need(length(factors) == links.view().levels, "factors needs one entry per level");
    need(length(forms) == whole + 1 && length(forms, 1) > 0 && length(forms, 2) == whole && length(forms, 3) % 8 == 0 &&
         length(forms, 3) >= whole, "forms must be (whole + 1, order + 1, whole, whole filled up to a multiple of 8)");
    const EnergyForms<T> table{forms.data(), int(length(forms, 1)) - 1, int(whole), int(length(forms, 3))};
    const EnergyApplication<T> a{links.view(), x.data(), chosen.data(), factors.data(), table, y.data()};
    const auto loop = field_kernels_here().in<T>().add_energy.at(links.view());
    run_blocks(links, chosen, starts, kBlockGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void need_places(const TreeLinks& links, const In<i64, 1>& start, const In<i32, 1>& corner, const In<float, 2>& t) {
    need_sorted(links, start, length(corner));
    need(length(t) == length(corner) && length(t, 1) == links.view().dimension, "t must be (n, d)");
}

template <class T>
void point_data(const TreeLinks& links, In<T, 2> x, In<i64, 1> chosen, In<i64, 1> starts, In<i64, 1> start,
                In<i32, 1> corner, In<float, 2> t, In<float, 2> weights, In<double, 1> axis_weights,
                In<float, 2> observed, In<double, 1> spacings, PointSum what, Out<T, 2> y) {
    const int d = links.view().dimension;
    if (what == PointSum::applied) links.need_coefficients(x, "x");
    links.need_coefficients(y, "y");
    need_places(links, start, corner, t);
    need(length(weights) == length(corner) && length(weights, 1) == 2, "weights must be (n, 2)");
    need(length(observed) == length(corner) && length(observed, 1) == 1 + d, "observed must be (n, 1 + d)");
    need(length(axis_weights) == d && length(spacings) == links.view().levels, "axis_weights must be (d,), spacings (levels,)");
    const PointData<T> a{links.view(), x.data(), chosen.data(), start.data(), corner.data(), t.data(), weights.data(),
                         observed.data(), axis_weights.data(), spacings.data(), what, y.data()};
    const auto loop = field_kernels_here().in<T>().add_point_data.at(links.view());
    run_blocks(links, chosen, starts, kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T>
void point_jets(const TreeLinks& links, In<T, 2> x, In<i64, 1> start, In<i32, 1> corner, In<float, 2> t,
                In<double, 1> spacings, Out<float, 2> out) {
    links.need_coefficients(x, "x");
    need_places(links, start, corner, t);
    need(length(out) == length(corner) && length(out, 1) == 1 + links.view().dimension, "out must be (n, 1 + d)");
    need(length(spacings) == links.view().levels, "spacings needs one entry per level");
    const PointReading<T> a{links.view(), x.data(), start.data(), corner.data(), t.data(), spacings.data(), out.data()};
    const auto loop = field_kernels_here().in<T>().read_points.at(links.view());
    run(links.view().blocks, kManyBlocks, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T>
void jets(const TreeLinks& links, In<T, 2> x, In<double, 2> points, In<i32, 1> block, In<i32, 1> cell,
          In<double, 1> spacings, Out<double, 2> out) {
    links.need_coefficients(x, "x");
    need_located(links, points, block, cell);
    need(length(out) == length(points) && length(out, 1) == 1 + length(points, 1), "out must be (n, 1 + d)");
    need(length(spacings) == links.view().levels, "spacings needs one entry per level");
    const Points<T> a{links.view(), x.data(), points.data(), block.data(), cell.data(), spacings.data(), out.data()};
    const auto loop = field_kernels_here().in<T>().read_jets.at(links.view());
    run(length(points), kPointGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T>
void derivatives(const TreeLinks& links, In<T, 2> x, In<double, 2> points, In<i32, 1> block, In<i32, 1> cell,
                 In<double, 3> pieces, In<i64, 2> orders, Out<double, 2> out) {
    links.need_coefficients(x, "x");
    need_located(links, points, block, cell);
    need(length(pieces, 1) == links.view().degree + 1 && length(pieces, 2) == links.view().degree + 1, "pieces must be (orders, q + 1, q + 1)");
    need(length(orders, 1) == length(points, 1), "orders must be (columns, d)");
    need_range(orders, 0, length(pieces), "orders");
    need(length(out) == length(points) && length(out, 1) == length(orders), "out must be (n, columns)");
    const Points<T> there{links.view(), x.data(), points.data(), block.data(), cell.data(), nullptr, out.data()};
    const Derivatives<T> a{there, pieces.data(), orders.data(), length(orders)};
    const auto loop = field_kernels_here().in<T>().read_derivatives.at(links.view());
    run(length(points), kPointGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

template <class T>
void sample(const TreeLinks& links, In<T, 2> x, In<i64, 2> blocks, i64 finest, In<i32, 1> roots,
            In<i64, 1> root_blocks, double offset, Out<T, 2> out) {
    const int d = links.view().dimension;
    links.need_coefficients(x, "x");
    need(length(blocks, 1) == d && length(root_blocks) == d && finest >= 0 && finest < 60, "blocks must be (n, d)");
    need(length(out) == length(blocks) && length(out, 1) == power(links.side() + 1, d), "out must be (n, (side + 1)**d)");
    i64 number = 1;
    for (int axis = 0; axis < d; ++axis) number *= root_blocks(axis);
    need(length(roots) == number, "roots needs one entry per block of cells of level 0");
    need_range(roots, 0, links.view().blocks, "roots");
    for (i64 n = 0; n < length(blocks); ++n)
        for (int axis = 0; axis < d; ++axis)
            need(blocks(n, axis) >= 0 && blocks(n, axis) >> finest < root_blocks(axis), "blocks must lie in the box");
    const Sampling<T> a{links.view(), x.data(), blocks.data(), finest, roots.data(), root_blocks.data(), T(offset), out.data()};
    const auto loop = field_kernels_here().in<T>().sample_blocks.at(links.view());
    run(length(blocks), kBlockGrain, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void assemble(const TreeLinks& links, In<double, 2> points, In<double, 3> observations, In<double, 2> weights,
              In<i64, 1> order, In<i64, 1> start, In<i64, 1> chosen, In<i64, 1> starts, In<i32, 1> cell,
              In<double, 1> spacings, i64 values_first, i64 gradients_first, In<i32, 2> data_line, Out<double, 3> data,
              Out<double, 3> right) {
    const i64 n = length(points), d = links.view().dimension, columns = length(weights, 1);
    need(length(points, 1) == d && length(observations) == n && length(weights) == n, "one row of everything per point");
    need(length(observations, 1) == columns, "observations and weights must have the same columns");
    need(values_first < columns && gradients_first + (gradients_first >= 0 ? d : 0) <= columns, "columns are missing");
    need(length(order) == n && length(cell) == n, "order and cell need one entry per point");
    need_sorted(links, start, n);
    need_range(order, 0, n, "order");
    need_range(cell, 0, links.nodes(), "cell");
    need(length(spacings) == links.view().levels, "spacings needs one entry per level");
    need(length(data_line) == links.view().blocks && length(data_line, 1) == links.lines(), "data_line must be (blocks, lines)");
    need_range(data_line, -1, length(data), "data_line");
    need(length(data, 1) == links.stencil() && length(data, 2) == links.side(), "data must be (places, stencil, side)");
    need(length(right) == length(observations, 2) && length(right, 1) == links.view().blocks && length(right, 2) == links.nodes(),
         "right must be (sides, blocks, side**d)");
    const Assembly a{links.view(), points.data(), observations.data(), weights.data(), columns, length(observations, 2),
                     values_first, gradients_first, order.data(), start.data(), chosen.data(), cell.data(),
                     spacings.data(), data_line.data(), data.data(), right.data()};
    const auto loop = field_kernels_here().assemble.at(links.view());
    run_blocks(links, chosen, starts, 1, [&](i64 begin, i64 end) { loop(a, begin, end); });
}

void sort_by_block(In<i32, 1> block, Out<i64, 1> order, Out<i64, 1> start) {
    const i64 n = length(block), number = length(start) - 1;
    need(number >= 0 && length(order) == n, "order needs one entry per point, start one more than there are blocks");
    need_range(block, 0, number, "block");
    for (i64 b = 0; b <= number; ++b) start(b) = 0;
    for (i64 i = 0; i < n; ++i) ++start(block(i) + 1);
    for (i64 b = 0; b < number; ++b) start(b + 1) += start(b);
    std::vector<i64> fill(start.data(), start.data() + number);
    for (i64 i = 0; i < n; ++i) order(fill[static_cast<size_t>(block(i))]++) = i;
}

i64 lines(const TreeLinks& links, In<i32, 1> block, In<i32, 1> cell, Out<i32, 2> data_line, i64 used) {
    need(length(cell) == length(block), "block and cell need one entry per point");
    need_range(block, 0, links.view().blocks, "block");
    need_range(cell, 0, links.nodes(), "cell");
    need(length(data_line) == links.view().blocks && length(data_line, 1) == links.lines(), "data_line must be (blocks, lines)");
    with_shape(links.view(), [&](auto d, auto q) {
        used = new_lines<d(), q()>(links.view(), block.data(), cell.data(), length(block), data_line.data(), used);
    });
    return used;
}

void place(const TreeLinks& links, In<double, 2> points, In<i32, 1> block, In<i32, 1> cell, In<i64, 1> order,
           Out<i32, 1> corner, Out<float, 2> t) {
    need_located(links, points, block, cell);
    need_range(order, 0, length(points), "order");
    need(length(corner) == length(order) && length(t) == length(order) && length(t, 1) == length(points, 1), "corner and t: one row per entry of order");
    with_shape(links.view(), [&](auto d, auto q) {
        run(length(order), kPointGrain, [&](i64 begin, i64 end) {
            place_points<d(), q()>(links.view(), points.data(), block.data(), cell.data(), order.data(), corner.data(),
                                   t.data(), begin, end);
        });
    });
}

template <class T>
void point_weights(const TreeLinks& links, In<i64, 1> start, In<i32, 1> corner, In<float, 2> weights, double axes,
                   Out<T, 2> value_weight, Out<T, 2> gradient_weight) {
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
                for (i64 k = gradients_first; gradients_first >= 0 && k < length(weights, 1); ++k) total += weights(i, k);
                gradient_weight(b, cell(i)) += total;
            }
    });
}

template <class T> void to_parents(const TreeLinks& links, Out<T, 2> sums, i64 first, i64 last) {
    links.need_coefficients(sums, "sums");
    need(0 <= first && first <= last && last <= links.view().blocks, "first and last must be numbers of blocks");
    with_dimension(links.view(), [&](auto d) {
        run(last - first, kManyBlocks, [&](i64 begin, i64 end) {
            add_to_parents<T, d()>(links.view(), sums.data(), first + begin, first + end);
        });
    });
}

template <class T>
void diagonal(const TreeLinks& links, In<bool, 2> leaf, In<double, 2> energy, In<double, 1> energy_factors,
              In<double, 1> spacings, In<double, 2> means, In<T, 2> value_weight, In<T, 2> gradient_weight, Out<T, 2> out) {
    links.need_coefficients(leaf, "leaf");
    links.need_coefficients(value_weight, "value_weight");
    links.need_coefficients(gradient_weight, "gradient_weight");
    links.need_coefficients(out, "out");
    need(length(energy) == links.alive() && length(energy, 1) == links.alive(), "energy must be (alive, alive)");
    need(length(means) == 2 && length(means, 1) == links.alive(), "means must be (2, alive)");
    need(length(spacings) == links.view().levels && length(energy_factors) == length(spacings), "one spacing and factor per level");
    const Diagonal<T> a{leaf.data(), energy.data(), energy_factors.data(), spacings.data(), means.data(),
                        value_weight.data(), gradient_weight.data(), out.data()};
    with_shape(links.view(), [&](auto d, auto q) {
        run(links.view().blocks, kBlockGrain, [&](i64 begin, i64 end) {
            add_diagonal<T, d(), q()>(links.view(), a, begin, end);
        });
    });
}

void spread(const TreeLinks& links, In<double, 2> points, In<i32, 1> block, In<i32, 1> cell,
            In<double, 1> coefficients, Out<double, 2> out) {
    need_located(links, points, block, cell);
    need(length(coefficients) == length(points), "coefficients needs one entry per point");
    links.need_coefficients(out, "out");
    with_shape(links.view(), [&](auto d, auto q) {
        spread_points<d(), q()>(links.view(), points.data(), block.data(), cell.data(), coefficients.data(), length(points), out.data());
    });
}

void spread_over_cells(const TreeLinks& links, In<bool, 2> leaf, In<double, 1> roots, In<double, 2> factor,
                       In<double, 2> numbers, Out<double, 2> out) {
    links.need_coefficients(leaf, "leaf");
    links.need_coefficients(out, "out");
    need(length(roots) == links.view().levels && length(factor) == links.alive(), "roots (levels,), factor (alive, r)");
    i64 leaves = 0;
    for (size_t k = 0; k < leaf.size(); ++k) leaves += leaf.data()[k];
    need(length(numbers) == leaves && length(numbers, 1) == length(factor, 1), "numbers must be (leaf cells, r)");
    with_shape(links.view(), [&](auto d, auto q) {
        spread_cells<d(), q()>(links.view(), leaf.data(), roots.data(), factor.data(), numbers.data(), length(factor, 1), out.data());
    });
}

void residuals(const TreeLinks& links, In<double, 2> numbers, In<double, 2> points, In<i64, 1> order, In<i64, 1> start,
               i64 first, In<i32, 1> cell, Out<i64, 2> number, Out<double, 1> squares, Out<double, 1> jumps,
               Out<i64, 1> pairs) {
    const i64 n = length(points), blocks = length(squares);
    need(length(points, 1) == links.view().dimension && length(numbers) == n && length(cell) == n, "one row per point");
    need_sorted(links, start, length(order));
    need_range(order, 0, n, "order");
    need_range(cell, 0, links.nodes(), "cell");
    need(first >= 0 && first + blocks <= links.view().blocks, "blocks are missing");
    need(length(jumps) == blocks && length(pairs) == blocks && length(number) == blocks && length(number, 1) == links.nodes(), "one row of sums per block");
    const ResidualSums a{numbers.data(), length(numbers, 1), points.data(), order.data(), start.data(), first,
                         cell.data(), number.data(), squares.data(), jumps.data(), pairs.data()};
    with_dimension(links.view(), [&](auto d) {
        run(blocks, kBlockGrain, [&](i64 begin, i64 end) { add_residuals<d()>(links.view(), a, begin, end); });
    });
}

template <class T> double dot(In<T, 1> x, In<T, 1> y) {
    need(length(x) == length(y), "x and y must have the same length");
    const i64 stretches = (length(x) + kStretch - 1) / kStretch;
    std::vector<double> partial(static_cast<size_t>(stretches));
    const DotProduct<T> a{x.data(), y.data(), length(x), partial.data()};
    run(stretches, kStretchGrain, [&](i64 begin, i64 end) { field_kernels_here().in<T>().partial_dots(a, begin, end); });
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

template <class T>
void level_energy(const TreeLinks& links, In<T, 2> x, i64 first, i64 last, In<T, 1> stencil, T factor,
                  In<bool, 2> wanted, Out<T, 2> y) {
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

template <class T> void bind_typed(nb::module_& m) {
    m.def("prolong_add", &prolong<T>, nb::arg("links"), array("x"), array("parents"),
          "Add to the coefficients of the blocks inside the parents those of the parents, refined.");
    m.def("restrict_add", &restrict_<T>, nb::arg("links"), array("x"), array("parents"), array("starts"),
          "The transpose of prolong_add, for groups of parents that share no function.");
    m.def("add_energy", &energy<T>, nb::arg("links"), array("x"), array("chosen"), array("starts"), array("factors"),
          array("forms"), array("y"), "Add the energy on the leaf cells of the chosen blocks, in groups.");
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
    m.def("sample_blocks", &sample<T>, nb::arg("links"), array("x"), array("blocks"), nb::arg("finest"),
          array("roots"), array("root_blocks"), nb::arg("offset"), array("out"), "Values on the corners of the cells of blocks.");
    m.def("sum_point_weights", &point_weights<T>, nb::arg("links"), array("start"), array("corner"), array("weights"),
          nb::arg("axes"), array("value_weight"), array("gradient_weight"), "Sums of the weights in each cell.");
    m.def("add_to_parents", &to_parents<T>, nb::arg("links"), array("sums"), nb::arg("first"), nb::arg("last"),
          "Add to the cells of blocks the sums of the finer cells they hold.");
    m.def("add_diagonal", &diagonal<T>, nb::arg("links"), array("leaf"), array("energy"), array("energy_factors"),
          array("spacings"), array("means"), array("value_weight"), array("gradient_weight"), array("out"),
          "Complete the diagonal of the normal equations of all levels.");
    m.def("apply_level", &level_energy<T>, nb::arg("links"), array("x"), nb::arg("first"), nb::arg("last"),
          array("stencil"), nb::arg("factor"), array("wanted"), array("y"),
          "The energy of functions that lie wholly on the leaves of their level, on the blocks first .. last - 1.");
    m.def("combine", &combination<T>, nb::arg("factor"), array("x"), nb::arg("share"), array("y"),
          "y = factor x + share y, in place.");
    m.def("dot", &dot<T>, array("x"), array("y"), "Dot product, the same for any number of threads.");
}
}  // namespace

void bind_fields(nb::module_& m) {
    nb::enum_<PointSum>(m, "PointSum")
        .value("observed", PointSum::observed)
        .value("applied", PointSum::applied)
        .value("squared", PointSum::squared);
    nb::class_<TreeLinks>(m, "TreeLinks", "How the blocks of a tree hang together; checked when made.")
        .def(nb::init<int, In<i64, 2>, In<bool, 1>, In<i64, 1>, In<i64, 2>, In<double, 1>, In<i32, 2>, In<i32, 2>,
                      In<i32, 2>>(),
             nb::arg("degree"), array("coords"), array("is_cell"), array("level_of"), array("limits"),
             array("factors"), array("neighbors"), array("finer"), array("children"));
    m.def("locate", &locate_points, nb::arg("links"), array("points"), array("roots"), array("root_cells"), array("block"),
          array("cell"), "The leaf cell of each point.");
    m.def("mark", &mark, nb::arg("links"), array("region"), array("leaf"), array("active"), array("covered"),
          "Cells of the region, leaves, active functions, and how many leaf cells each function covers.");
    m.def("flag_children", &flag, nb::arg("links"), array("marked"), array("coords"), array("limits"), array("flags"),
          "Child blocks that hold the functions alive on marked cells, refined.");
    m.def("edge_stencils", &edges, nb::arg("links"), array("blocks"), array("lines"), array("leaf"), array("energy"),
          array("stencils"), "Energy stencils of lines that lie on leaves in part.");
    m.def("apply_stencils", &apply, nb::arg("links"), array("x"), array("factors"), array("kind"), array("edge"),
          array("inner"), array("data_line").none(), array("data").none(), array("y"), "Energy and data on the leaves.");
    m.def("assemble", &assemble, nb::arg("links"), array("points"), array("observations"), array("weights"),
          array("order"), array("start"), array("chosen"), array("starts"), array("cell"), array("spacings"),
          nb::arg("values_first"), nb::arg("gradients_first"), array("data_line"), array("data"), array("right"),
          "Add the normal equations of points to stencils and right-hand sides.");
    m.def("sort_by_block", &sort_by_block, array("block"), array("order"), array("start"), "Counting sort, stable.");
    m.def("new_lines", &lines, nb::arg("links"), array("block"), array("cell"), array("data_line"), nb::arg("used"),
          "Give places to the lines with functions alive on cells that hold points.");
    m.def("place_points", &place, nb::arg("links"), array("points"), array("block"), array("cell"), array("order"),
          array("corner"), array("t"), "Where points are in the patches of their blocks.");
    m.def("add_cell_weights", &cell_weights, nb::arg("links"), array("weights"), array("order"), array("start"),
          array("cell"), nb::arg("values_first"), nb::arg("gradients_first"), array("value_weight"),
          array("gradient_weight"), "Sums of the weights of values and of gradients in each cell.");
    m.def("spread_points", &spread, nb::arg("links"), array("points"), array("block"), array("cell"),
          array("coefficients"), array("out"), "The transpose of evaluating values.");
    m.def("spread_cells", &spread_over_cells, nb::arg("links"), array("leaf"), array("roots"), array("factor"),
          array("numbers"), array("out"), "Add vectors of leaf cells to the functions alive on them.");
    m.def("add_residuals", &residuals, nb::arg("links"), array("residuals"), array("points"), array("order"),
          array("start"), nb::arg("first"), array("cell"), array("number"), array("squares"), array("jumps"),
          array("pairs"), "Sums of residuals and of differences of neighbours in blocks.");
    bind_typed<float>(m);
    bind_typed<double>(m);
}
}  // namespace seminorm
