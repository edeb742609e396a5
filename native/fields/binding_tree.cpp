// Binding: trees, and sums over their cells.
#include "fields/sums.hpp"
#include "fields/tree.hpp"
#include "fields/tree_links.hpp"

namespace seminorm {
namespace {
void locate_points(const TreeLinks& links, In<double, 2> points, In<i32, 1> roots, In<i64, 1> root_cells,
                   Out<i32, 1> block, Out<i32, 1> cell) {
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
        run(links.view().blocks, kManyBlocks,
            [&](i64 begin, i64 end) { mark_cells<d()>(links.view(), region.data(), leaf.data(), begin, end); });
    });
    with_shape(links.view(), [&](auto d, auto q) {
        run(links.view().blocks, kManyBlocks, [&](i64 begin, i64 end) {
            mark_functions<d(), q()>(links.view(), region.data(), leaf.data(), active.data(), covered.data(), begin,
                                     end);
        });
    });
}

void flag(const TreeLinks& links, In<bool, 2> marked, In<i64, 2> coords, In<i64, 1> limits, Out<bool, 2> flags) {
    const int d = links.view().dimension;
    need(length(marked, 1) == links.nodes() && length(coords, 1) == d && length(limits) == d,
         "marked must be (n, side**d)");
    need(length(coords) == length(marked) && length(flags) == length(marked), "one row of coords and flags per block");
    need(length(flags, 1) == power(4, d), "flags must be (n, 4**d)");
    with_shape(links.view(), [&](auto d_, auto q) {
        run(length(marked), kManyBlocks, [&](i64 begin, i64 end) {
            flag_children<d_(), q()>(marked.data(), coords.data(), limits.data(), flags.data(), begin, end);
        });
    });
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

template <class T> void to_parents(const TreeLinks& links, Out<T, 2> sums, i64 first, i64 last) {
    links.need_coefficients(sums, "sums");
    need(0 <= first && first <= last && last <= links.view().blocks, "first and last must be numbers of blocks");
    with_dimension(links.view(), [&](auto d) {
        run(last - first, kManyBlocks,
            [&](i64 begin, i64 end) { add_to_parents<T, d()>(links.view(), sums.data(), first + begin, first + end); });
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
    need(length(jumps) == blocks && length(pairs) == blocks && length(number) == blocks &&
             length(number, 1) == links.nodes(),
         "one row of sums per block");
    const ResidualSums a{numbers.data(), length(numbers, 1), points.data(),  order.data(), start.data(), first,
                         cell.data(),    number.data(),      squares.data(), jumps.data(), pairs.data()};
    with_dimension(links.view(), [&](auto d) {
        run(blocks, kBlockGrain, [&](i64 begin, i64 end) { add_residuals<d()>(links.view(), a, begin, end); });
    });
}

template <class T> void bind_typed(nb::module_& m) {
    m.def("add_to_parents", &to_parents<T>, nb::arg("links"), array("sums"), nb::arg("first"), nb::arg("last"),
          "Add to the cells of blocks the sums of the finer cells they hold.");
}
}  // namespace

void bind_field_tree(nb::module_& m) {
    nb::class_<TreeLinks>(m, "TreeLinks", "How the blocks of a tree hang together; checked when made.")
        .def(nb::init<int, In<i64, 2>, In<bool, 1>, In<i64, 1>, In<i64, 2>, In<bool, 1>, In<double, 1>, In<i32, 2>,
                      In<i32, 2>, In<i32, 2>>(),
             nb::arg("degree"), array("coords"), array("is_cell"), array("level_of"), array("limits"), array("wraps"),
             array("factors"), array("neighbors"), array("finer"), array("children"));
    m.def("locate", &locate_points, nb::arg("links"), array("points"), array("roots"), array("root_cells"),
          array("block"), array("cell"), "The leaf cell of each point.");
    m.def("mark", &mark, nb::arg("links"), array("region"), array("leaf"), array("active"), array("covered"),
          "Cells of the region, leaves, active functions, and how many leaf cells each function covers.");
    m.def("flag_children", &flag, nb::arg("links"), array("marked"), array("coords"), array("limits"), array("flags"),
          "Child blocks that hold the functions alive on marked cells, refined.");
    m.def("sort_by_block", &sort_by_block, array("block"), array("order"), array("start"), "Counting sort, stable.");
    m.def("add_residuals", &residuals, nb::arg("links"), array("residuals"), array("points"), array("order"),
          array("start"), nb::arg("first"), array("cell"), array("number"), array("squares"), array("jumps"),
          array("pairs"), "Sums of residuals and of differences of neighbours in blocks.");
    bind_typed<float>(m);
    bind_typed<double>(m);
}
}  // namespace seminorm
