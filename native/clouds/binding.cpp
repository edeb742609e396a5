// Normals of point clouds: surfaces through neighbours, signs, and sums over all points by a tree.
#include <algorithm>
#include <atomic>

#include "binding.hpp"
#include "clouds/checks.hpp"
#include "clouds/kernels.hpp"
#include "clouds/signs.hpp"
#include "clouds/source_fields.hpp"
#include "clouds/tree.hpp"

namespace seminorm {
namespace {
// items of a chunk: 20 microseconds or more
constexpr i64 kQueries = 128, kPointsWithEdges = 1024, kPointsInOrder = 1 << 20, kLeaves = 64, kNodes = 256;
constexpr i64 kTargets = 64;

void fit_neighborhoods(Vectors points, Numbers mass, Vectors sides, Vectors queries, Vectors query_sides,
                       Pairs neighbors, i64 k, bool quadric, i64 rounds, double outlying, double least_deviation,
                       double ridge, double same_side, i64 least_agreeing, Out<double, 2> normals,
                       Out<double, 1> height, Out<double, 1> deviation, Out<double, 1> slope, Out<double, 1> width) {
    const i64 n = length(points), m = length(queries);
    const bool with_sides = length(sides) > 0;
    need_rows(points, n, 3, "points");
    need_length(mass, n, "mass");
    need_rows(queries, m, 3, "queries");
    if (with_sides) {
        need_rows(sides, n, 3, "sides");
        need_rows(query_sides, m, 3, "query_sides");
    }
    need(k > 0 && length(neighbors) == m && length(neighbors, 1) >= k, "neighbors must be (queries, k or more), k > 0");
    need_range(neighbors, 0, n, "neighbors");
    need(rounds > 0, "rounds must be positive");
    need_rows(normals, m, 3, "normals");
    need_length(height, m, "height");
    need_length(deviation, m, "deviation");
    need_length(slope, m, "slope");
    need_length(width, m, "width");
    const NeighborhoodFits a{points.data(),
                             mass.data(),
                             with_sides ? sides.data() : nullptr,
                             queries.data(),
                             query_sides.data(),
                             m,
                             neighbors.data(),
                             length(neighbors, 1),
                             k,
                             quadric,
                             rounds,
                             outlying,
                             least_deviation,
                             ridge,
                             same_side,
                             double(least_agreeing),
                             normals.data(),
                             height.data(),
                             deviation.data(),
                             slope.data(),
                             width.data()};
    run(m, kQueries, [&](i64 begin, i64 end) { cloud_kernels_here().fit_neighborhoods(a, begin, end); });
}

template <class Index, Loop<EdgeAgreement<Index>> CloudKernels::* kernel>
void edge_agreement(Vectors points, Vectors normals, Numbers trust, In<Index, 2> neighbors, double least_flat,
                    Out<double, 2> agreement) {
    const i64 n = length(points);
    need_rows(points, n, 3, "points");
    need_rows(normals, n, 3, "normals");
    need_length(trust, n, "trust");
    need_length(neighbors, n, "neighbors");
    need_range(neighbors, 0, n, "neighbors");
    need_rows(agreement, n, length(neighbors, 1), "agreement");
    const EdgeAgreement<Index> a{points.data(),        normals.data(), trust.data(),    neighbors.data(),
                                 length(neighbors, 1), least_flat,     agreement.data()};
    run(n, kPointsWithEdges, [&](i64 begin, i64 end) { (cloud_kernels_here().*kernel)(a, begin, end); });
}

template <class Index> i64 improve_signs(In<Index, 1> indptr, In<Index, 1> indices, Numbers coupling, Numbers pull,
                                         Out<double, 1> signs, i64 sweeps) {
    const i64 n = length(signs);
    need_starts(indptr, n, length(indices), "indptr");
    need_range(indices, 0, n, "indices");
    need_length(coupling, length(indices), "coupling");
    need_length(pull, n, "pull");
    const Couplings<Index> a{indptr.data(), indices.data(), coupling.data(), pull.data(), signs.data()};
    i64 total = 0;
    for (i64 sweep = 0; sweep < sweeps; ++sweep) {
        i64 flips = 0;  // one sign after the other: what counts is that Ctrl-C is heard in between
        for (i64 first = 0; first < n; first += kPointsInOrder)
            run(1, 1, [&](i64, i64) { flips += flip_signs(a, first, std::min(n, first + kPointsInOrder)); });
        total += flips;
        if (flips == 0) break;
    }
    return total;
}

void count_walks(Vectors centers, Numbers radii, Pairs children, Indices leaves, double opening, Out<i64, 2> counts) {
    const Tree tree = tree_to_walk(centers, radii, children, opening);
    need_range(leaves, 0, tree.nodes, "leaves");
    need(length(counts) == length(leaves) && length(counts, 1) == 2, "counts must be (leaves, 2)");
    run(length(leaves), kLeaves, [&](i64 begin, i64 end) {
        Scratch<i64> waiting(tree.depth + 1);
        for (i64 a = begin; a < end; ++a) {
            i64 *far = counts.data() + 2 * a, *near = far + 1;
            *far = *near = 0;
            walk_from_leaf(tree, leaves.data()[a], waiting.data(), [&](i64) { ++*far; }, [&](i64) { ++*near; });
        }
    });
}

void fill_walks(Vectors centers, Numbers radii, Pairs children, Indices leaves, double opening, Indices far_from,
                Out<i32, 1> far, Indices near_from, Out<i32, 1> near) {
    const Tree tree = tree_to_walk(centers, radii, children, opening);
    need_range(leaves, 0, tree.nodes, "leaves");
    need_starts(far_from, length(leaves), length(far), "far_from");
    need_starts(near_from, length(leaves), length(near), "near_from");
    std::atomic<bool> fits{true};
    run(length(leaves), kLeaves, [&](i64 begin, i64 end) {
        Scratch<i64> waiting(tree.depth + 1);
        for (i64 a = begin; a < end; ++a) {
            i64 at_far = far_from.data()[a], at_near = near_from.data()[a];
            const i64 far_end = far_from.data()[a + 1], near_end = near_from.data()[a + 1];
            const auto put = [](i32* list, i64& at, i64 last, i64 node) {
                if (at < last) list[at] = static_cast<i32>(node);
                ++at;
            };
            walk_from_leaf(
                tree, leaves.data()[a], waiting.data(), [&](i64 node) { put(far.data(), at_far, far_end, node); },
                [&](i64 node) { put(near.data(), at_near, near_end, node); });
            if (at_far != far_end || at_near != near_end) fits = false;
        }
    });
    need(fits, "far_from and near_from must be sums of what count_walks found");
}

using TreeKernel = Loop<TreeSums> CloudKernels::*;

void sum_over_leaves(TreeSums& a, const Vectors& points, const Numbers& widths, const Pairs& spans,
                     const Vectors& centers, const Indices& leaves, const Indices& far_from, const In<i32, 1>& far,
                     const Indices& near_from, const In<i32, 1>& near, const Out<double, 1>& result,
                     TreeKernel kernel) {
    const i64 n = length(points), nodes = length(spans);
    need_rows(points, n, 3, "points");
    need_length(widths, n, "widths");
    need_spans(spans, n);
    need_rows(centers, nodes, 3, "centers");
    need_range(leaves, 0, nodes, "leaves");
    need_starts(far_from, length(leaves), length(far), "far_from");
    need_starts(near_from, length(leaves), length(near), "near_from");
    need_range(far, 0, nodes, "far");
    need_range(near, 0, nodes, "near");
    need_length(result, n, "result");
    a.points = points.data();
    a.widths = widths.data();
    a.spans = spans.data();
    a.centers = centers.data();
    a.leaves = leaves.data();
    a.far_from = far_from.data();
    a.far = far.data();
    a.near_from = near_from.data();
    a.near = near.data();
    a.result = result.data();
    run(length(leaves), kLeaves, [&](i64 begin, i64 end) { (cloud_kernels_here().*kernel)(a, begin, end); });
}

void squared_rows(Vectors points, Numbers widths, Pairs spans, Vectors centers, Indices leaves, Indices far_from,
                  In<i32, 1> far, Indices near_from, In<i32, 1> near, Out<double, 1> result) {
    TreeSums a{};
    sum_over_leaves(a, points, widths, spans, centers, leaves, far_from, far, near_from, near, result,
                    &CloudKernels::squared_rows);
}

void winding_values(Vectors points, Vectors moments, Numbers widths, Pairs spans, Vectors centers, Vectors sums,
                    Indices leaves, Indices far_from, In<i32, 1> far, Indices near_from, In<i32, 1> near,
                    Out<double, 1> result) {
    need_rows(moments, length(points), 3, "moments");
    need_rows(sums, length(spans), 12, "sums");
    TreeSums a{};
    a.moments = moments.data();
    a.sums = sums.data();
    sum_over_leaves(a, points, widths, spans, centers, leaves, far_from, far, near_from, near, result,
                    &CloudKernels::winding_values);
}

void winding_moments(Vectors points, Vectors moments, Pairs spans, Vectors centers, Out<double, 2> sums) {
    const i64 n = length(points);
    need_rows(points, n, 3, "points");
    need_rows(moments, n, 3, "moments");
    const Tree tree = tree_of_spans(spans, centers, n);
    need_rows(sums, tree.nodes, 12, "sums");
    run(tree.nodes, kNodes,
        [&](i64 begin, i64 end) { moment_sums(tree, points.data(), moments.data(), sums.data(), begin, end); });
}

void source_moments(Vectors points, Numbers sources, Pairs spans, Vectors centers, Out<double, 2> sums) {
    const i64 n = length(points);
    need_rows(points, n, 3, "points");
    need_length(sources, n, "sources");
    const Tree tree = tree_of_spans(spans, centers, n);
    need_rows(sums, tree.nodes, 4, "sums");
    run(tree.nodes, kNodes,
        [&](i64 begin, i64 end) { source_sums(tree, points.data(), sources.data(), sums.data(), begin, end); });
}

void source_field(Vectors targets, Vectors points, Numbers sources, Numbers widths, Pairs spans, Vectors centers,
                  Numbers radii, Pairs children, double opening, Vectors sums, Out<double, 2> result) {
    const i64 n = length(points), m = length(targets);
    need_rows(targets, m, 3, "targets");
    need_rows(points, n, 3, "points");
    need_length(sources, n, "sources");
    need_length(widths, n, "widths");
    Tree tree = tree_to_walk(centers, radii, children, opening);
    tree.spans = tree_of_spans(spans, centers, n).spans;
    need_rows(sums, tree.nodes, 4, "sums");
    need_rows(result, m, 3, "result");
    const SourceFields a{tree,        points.data(),  sources.data(), widths.data(),
                         sums.data(), targets.data(), result.data()};
    run(m, kTargets, [&](i64 begin, i64 end) { source_fields(a, begin, end); });
}
}  // namespace

void bind_clouds(nb::module_& m) {
    m.def("fit_neighborhoods", &fit_neighborhoods, array("points"), array("mass"), array("sides"), array("queries"),
          array("query_sides"), array("neighbors"), nb::arg("k"), nb::arg("quadric"), nb::arg("rounds"),
          nb::arg("outlying"), nb::arg("least_deviation"), nb::arg("ridge"), nb::arg("same_side"),
          nb::arg("least_agreeing"), array("normals"), array("height"), array("deviation"), array("slope"),
          array("width"), "Surfaces through the k nearest points of queries; see neighborhoods.hpp.");
    m.def("edge_agreement", &edge_agreement<i32, &CloudKernels::edge_agreement>, array("points"), array("normals"),
          array("trust"), array("neighbors"), nb::arg("least_flat"), array("agreement"),
          "How far the normals at both ends of edges agree.");
    m.def("edge_agreement", &edge_agreement<i64, &CloudKernels::long_edge_agreement>, array("points"), array("normals"),
          array("trust"), array("neighbors"), nb::arg("least_flat"), array("agreement"));
    m.def("improve_signs", &improve_signs<i32>, array("indptr"), array("indices"), array("coupling"), array("pull"),
          array("signs"), nb::arg("sweeps"), "Flip signs that disagree with their neighbours; the number of flips.");
    m.def("improve_signs", &improve_signs<i64>, array("indptr"), array("indices"), array("coupling"), array("pull"),
          array("signs"), nb::arg("sweeps"));
    m.def("count_walks", &count_walks, array("centers"), array("radii"), array("children"), array("leaves"),
          nb::arg("opening"), array("counts"), "Numbers of nodes a leaf sees from afar, and of leaves beside it.");
    m.def("fill_walks", &fill_walks, array("centers"), array("radii"), array("children"), array("leaves"),
          nb::arg("opening"), array("far_from"), array("far"), array("near_from"), array("near"),
          "Which nodes each leaf sees from afar, and the leaves beside it.");
    m.def("squared_rows", &squared_rows, array("points"), array("widths"), array("spans"), array("centers"),
          array("leaves"), array("far_from"), array("far"), array("near_from"), array("near"), array("result"),
          "Squared lengths of the rows of the matrix of winding numbers; see winding.hpp.");
    m.def("winding_moments", &winding_moments, array("points"), array("moments"), array("spans"), array("centers"),
          array("sums"), "Sums of moments over nodes, and of their products with the distances from the centre.");
    m.def("winding_values", &winding_values, array("points"), array("moments"), array("widths"), array("spans"),
          array("centers"), array("sums"), array("leaves"), array("far_from"), array("far"), array("near_from"),
          array("near"), array("result"), "Winding numbers times 4 pi; see winding.hpp.");
    m.def("source_moments", &source_moments, array("points"), array("sources"), array("spans"), array("centers"),
          array("sums"), "Sums of sources over nodes, and of their products with the distances from the centre.");
    m.def("source_fields", &source_field, array("targets"), array("points"), array("sources"), array("widths"),
          array("spans"), array("centers"), array("radii"), array("children"), nb::arg("opening"), array("sums"),
          array("result"), "The field of sources at targets; see source_fields.hpp.");
}
}  // namespace seminorm
