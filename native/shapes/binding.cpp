// Marching cubes over blocks of cells, and the components of meshes.
#include "binding.hpp"
#include "shapes/components.hpp"
#include "shapes/faces.hpp"
#include "shapes/mesh_parts.hpp"
#include "shapes/shaping.hpp"
#include "shapes/sides.hpp"
#include "shapes/signs.hpp"
#include "shapes/vertices.hpp"

namespace seminorm {
namespace {
using Integers = In<i64, 1>;
using Coordinates = In<i64, 2>;
using Rows = In<u32, 2>;
using Neighbors = In<i32, 2>;

constexpr i64 kLargestSide = 16;  // the ranks of rows are 16-bit numbers
constexpr i64 kRowsOfChunk = 1 << 13;

BlockGrid grid_of(const Coordinates& blocks, const Integers& cells, i64 side) {
    need(blocks.shape(1) == 3 && cells.shape(0) == 3, "blocks must be (n, 3) and cells (3,)");
    need(side >= 2 && side <= kLargestSide, "side must be from 2 to " + std::to_string(kLargestSide));
    const BlockGrid grid{blocks.data(), {cells(0), cells(1), cells(2)}, side, side + 1};
    for (i64 k = 0; k < 3 * length(blocks); ++k) {
        const i64 last = grid.cells[k % 3] - 1;
        need(last >= 0 && grid.blocks[k] >= 0 && grid.blocks[k] <= last / side, "blocks must lie in the grid");
    }
    return grid;
}

// Runs work(begin, end) over chunks of blocks; one of blocks of 16 cells along each axis takes 50 microseconds or so.
template <class Work> void run_blocks(const Coordinates& blocks, const BlockGrid& grid, const Work& work) {
    run(length(blocks), most<i64>(kRowsOfChunk / grid.rows(), 1), work);
}

template <class Array>
void need_rows(const Array& rows, const Coordinates& blocks, const BlockGrid& grid, const char* name) {
    need(length(rows) == length(blocks) && length(rows, 1) == grid.rows(),
         std::string(name) + " must be (blocks, (side + 1)^2)");
}

template <class Array> void need_one_each(const Array& array, const Coordinates& blocks, const char* name) {
    need(length(array) == length(blocks), std::string(name) + " must have one entry for each block");
}

void need_starts(const Integers& first, const Coordinates& blocks, i64 room, const char* name) {
    need_one_each(first, blocks, name);
    need_range(first, 0, room + 1, name);
}

void need_neighbors(const Neighbors& neighbors, const Coordinates& blocks) {
    need(length(neighbors) == length(blocks) && neighbors.shape(1) == kNeighbors, "neighbors must be (blocks, 27)");
    need_range(neighbors, -1, length(blocks), "neighbors");
}

template <class T>
BlockGrid sampled_grid(const In<T, 4>& values, const Coordinates& blocks, const Integers& cells, i64 side) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    need(length(values) == length(blocks), "values must have one entry for each block");
    for (int axis = 1; axis < 4; ++axis) need(length(values, axis) == grid.width, "values must be (n, side + 1, ...)");
    return grid;
}

template <class T>
void checked_sign_rows(In<T, 4> values, Coordinates blocks, Integers cells, i64 side, bool closed, Out<u32, 2> rows) {
    const BlockGrid grid = sampled_grid(values, blocks, cells, side);
    need_rows(rows, blocks, grid, "rows");
    run_blocks(blocks, grid,
               [&](i64 begin, i64 end) { sign_rows(grid, values.data(), closed, rows.data(), begin, end); });
}

void checked_face_changes(Rows rows, Coordinates blocks, Integers cells, i64 side, Out<bool, 2> changes) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    need_rows(rows, blocks, grid, "rows");
    need(length(changes) == length(blocks) && changes.shape(1) == 6, "changes must be (blocks, 6)");
    run_blocks(blocks, grid, [&](i64 begin, i64 end) { face_changes(grid, rows.data(), changes.data(), begin, end); });
}

void checked_agree_on_signs(Rows rows, Coordinates blocks, Integers cells, i64 side, Neighbors neighbors,
                            Out<u32, 2> agreed) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    need_rows(rows, blocks, grid, "rows");
    need_rows(agreed, blocks, grid, "agreed");
    need(agreed.data() != rows.data() || length(rows) == 0, "agreed must not be rows");
    need_neighbors(neighbors, blocks);
    run_blocks(blocks, grid, [&](i64 begin, i64 end) {
        agree_on_signs(grid, rows.data(), neighbors.data(), agreed.data(), begin, end);
    });
}

void checked_count_vertices(Rows rows, Coordinates blocks, Integers cells, i64 side, Out<std::uint16_t, 2> ranks,
                            Out<i64, 1> counts) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    need_rows(rows, blocks, grid, "rows");
    need_rows(ranks, blocks, grid, "ranks");
    need_one_each(counts, blocks, "counts");
    run_blocks(blocks, grid,
               [&](i64 begin, i64 end) { count_vertices(grid, rows.data(), ranks.data(), counts.data(), begin, end); });
}

template <class T> void checked_place_crossings(In<T, 4> values, Rows rows, Coordinates blocks, Integers cells,
                                                i64 side, double margin, Integers first, Out<float, 1> crossings) {
    const BlockGrid grid = sampled_grid(values, blocks, cells, side);
    need_rows(rows, blocks, grid, "rows");
    need_starts(first, blocks, length(crossings), "first");
    const CrossingsOut out{first.data(), crossings.data(), length(crossings)};
    run_blocks(blocks, grid, [&](i64 begin, i64 end) {
        need(place_crossings(grid, values.data(), rows.data(), margin, out, begin, end), "crossings is too short");
    });
}

void checked_write_vertices(Rows signs, Rows rows, Coordinates blocks, Integers cells, i64 side, double margin,
                            Integers first_crossing, In<float, 1> crossings, Integers first, Out<double, 2> vertices) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    need_rows(signs, blocks, grid, "signs");
    need_rows(rows, blocks, grid, "rows");
    need(vertices.shape(1) == 3, "vertices must be (v, 3)");
    need_starts(first_crossing, blocks, length(crossings), "first_crossing");
    need_starts(first, blocks, length(vertices), "first");
    const Placed placed{first_crossing.data(), crossings.data(), length(crossings)};
    const VerticesOut out{first.data(), vertices.data(), length(vertices)};
    run_blocks(blocks, grid, [&](i64 begin, i64 end) {
        need(write_vertices(grid, signs.data(), rows.data(), margin, placed, out, begin, end),
             "crossings or vertices is too short");
    });
}

MarchingTable table_of(const Integers& counts, const In<i64, 3>& triangles, const Integers& axis,
                       const Coordinates& corner) {
    const i64 largest = length(triangles, 1);
    need(length(counts) == kCases && length(triangles) == kCases && largest <= kMostTriangles &&
             triangles.shape(2) == 3 && length(axis) == kEdges && length(corner) == kEdges && corner.shape(1) == 3,
         "a table has counts (256,), triangles (256, 5 or fewer, 3), edge_axis (12,) and edge_corner (12, 3)");
    need_range(counts, 0, largest + 1, "counts of the table");
    need_range(triangles, -1, kEdges, "triangles of the table");
    need_range(axis, 0, 3, "edge_axis of the table");
    need_range(corner, 0, 2, "edge_corner of the table");
    MarchingTable table = {};
    for (i64 c = 0; c < kCases; ++c) {
        table.counts[c] = static_cast<std::int8_t>(counts(c));
        for (i64 k = 0; k < 3 * counts(c); ++k) {
            const i64 edge = triangles(c, k / 3, k % 3);
            need(edge >= 0, "triangles of the table must have three edges");
            table.triangles[c][k / 3][k % 3] = static_cast<std::int8_t>(edge);
            table.edges[c] |= u32(1) << edge;
        }
    }
    for (i64 e = 0; e < kEdges; ++e) {
        table.axis[e] = static_cast<std::int8_t>(axis(e));
        for (i64 k = 0; k < 3; ++k) table.corner[e][k] = static_cast<std::int8_t>(corner(e, k));
    }
    return table;
}

void checked_count_faces(Rows signs, Coordinates blocks, Integers cells, i64 side, Integers table_counts,
                         In<i64, 3> triangles, Integers edge_axis, Coordinates edge_corner, Out<i64, 1> counts) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    const MarchingTable table = table_of(table_counts, triangles, edge_axis, edge_corner);
    need_rows(signs, blocks, grid, "signs");
    need_one_each(counts, blocks, "counts");
    run_blocks(blocks, grid,
               [&](i64 begin, i64 end) { count_faces(grid, signs.data(), table, counts.data(), begin, end); });
}

template <class Index> void checked_write_faces(Rows signs, In<std::uint16_t, 2> ranks, Integers first,
                                                Coordinates blocks, Integers cells, i64 side, Neighbors neighbors,
                                                Integers table_counts, In<i64, 3> triangles, Integers edge_axis,
                                                Coordinates edge_corner, Integers first_face, Out<Index, 2> faces) {
    const BlockGrid grid = grid_of(blocks, cells, side);
    const MarchingTable table = table_of(table_counts, triangles, edge_axis, edge_corner);
    need_rows(signs, blocks, grid, "signs");
    need_rows(ranks, blocks, grid, "ranks");
    need_one_each(first, blocks, "first");
    need_neighbors(neighbors, blocks);
    need(faces.shape(1) == 3, "faces must be (f, 3)");
    need_starts(first_face, blocks, length(faces), "first_face");
    const VertexNumbers numbers{grid, signs.data(), ranks.data(), first.data(), neighbors.data()};
    const FacesOut<Index> out{first_face.data(), faces.data(), length(faces)};
    run_blocks(blocks, grid,
               [&](i64 begin, i64 end) { need(write_faces(numbers, table, out, begin, end), "faces is too short"); });
}

template <class Index, class Label> i64 checked_connected_labels(In<Index, 2> faces, Out<Label, 1> labels) {
    need(faces.shape(1) == 3, "faces must be (f, 3)");
    need_range(faces, 0, length(labels), "faces");
    need(sizeof(Label) == 8 || length(labels) < i64(1) << 31, "labels must have 64 bits for so many vertices");
    nb::gil_scoped_release release;
    return connected_labels(faces.data(), length(faces), labels.data(), length(labels));
}

template <class Index> void checked_thin_mesh(In<double, 2> vertices, Out<Index, 2> faces, Integers starts,
                                              double deviation, double longest, double quality, double turn,
                                              double creased, i64 largest_fan, i64 rounds, Out<bool, 1> gone) {
    const i64 n = length(vertices), parts = length(starts) - 1;
    need(vertices.shape(1) == 3 && faces.shape(1) == 3, "vertices must be (v, 3) and faces (f, 3)");
    need_range(faces, 0, n, "faces");
    need(length(gone) == n, "gone must have one entry for each vertex");
    need(parts >= 1 && starts(0) == 0 && starts(size_t(parts)) == n, "starts must go from 0 to the number of vertices");
    for (i64 p = 0; p < parts; ++p) {
        const i64 count = starts(size_t(p + 1)) - starts(size_t(p));
        need(count >= 0 && count < i64(1) << 28, "starts must ascend by less than 2^28");
    }
    std::vector<i32> fans(static_cast<size_t>(n));
    std::vector<i64> own(static_cast<size_t>(length(faces))), first(static_cast<size_t>(parts + 1));
    {
        nb::gil_scoped_release release;
        sort_triangles(faces.data(), length(faces), starts.data(), parts, fans.data(), own.data(), first.data());
    }
    const ThinningLimits limits{deviation, longest, quality, turn, creased, largest_fan, static_cast<int>(rounds)};
    const Thinning<Index> thinning{vertices.data(), faces.data(), gone.data(),  starts.data(),
                                   fans.data(),     own.data(),   first.data(), limits};
    run(parts, 1, [&](i64 begin, i64 end) {
        for (i64 part = begin; part < end; ++part) thinning(part);
    });
}

template <class Index> i64 checked_shape_triangles(Out<double, 2> vertices, Out<Index, 2> faces, In<bool, 1> fixed,
                                                   double wanted, double deviation, double turn, i64 largest_fan,
                                                   i64 rounds) {
    const i64 n = length(vertices);
    need(vertices.shape(1) == 3 && faces.shape(1) == 3, "vertices must be (v, 3) and faces (f, 3)");
    need_range(faces, 0, n, "faces");
    need(length(fixed) == n, "fixed must have one entry for each vertex");
    const ShapingLimits limits{wanted, deviation, turn, largest_fan, static_cast<int>(rounds)};
    nb::gil_scoped_release release;
    ShapedMesh<Index> mesh(vertices.data(), n, faces.data(), length(faces), fixed.data(), limits);
    return mesh.improve();
}

void checked_fit_sides(In<double, 2> places, In<double, 2> directions, Coordinates rows, In<double, 2> points,
                       In<double, 2> normals, In<double, 2> smooth, double tolerance, double apart, double backside,
                       double ridge, double doubt, i64 least, i64 rounds, Out<double, 1> radius, Out<double, 3> coef,
                       Out<bool, 2> valid, Out<double, 2> misfit) {
    const i64 m = length(places), k = length(rows, 1);
    need(places.shape(1) == 3 && directions.shape(1) == 3 && length(directions) == m, "places, directions: (m, 3)");
    need(points.shape(1) == 3 && normals.shape(1) == 3 && smooth.shape(1) == 2,
         "points, normals: (n, 3), smooth: (n, 2)");
    need(length(normals) == length(points) && length(smooth) == length(points),
         "each point needs a normal and a misfit");
    need(length(rows) == m && length(radius) == m && length(coef) == m && length(valid) == m && length(misfit) == m,
         "rows and results must have one entry for each place");
    need(length(coef, 1) == kSides && length(coef, 2) == kTerms && length(valid, 1) == kSides && misfit.shape(1) == 4,
         "coef must be (m, 4, 10), valid and misfit (m, 4)");
    need_range(rows, 0, length(points), "rows");
    const OrientedPointsIn data{points.data(), normals.data(), smooth.data()};
    const SideLimits limits{tolerance, apart, backside, ridge, doubt, least, static_cast<int>(rounds)};
    const SidesOut out{radius.data(), coef.data(), valid.data(), misfit.data()};
    run(m, 16, [&](i64 begin, i64 end) {
        SideFits fits(data, limits, k);
        for (i64 i = begin; i < end; ++i)
            fits.fit(places.data() + 3 * i, directions.data() + 3 * i, rows.data() + k * i, out, i);
    });
}

template <class T> void bind_values(nb::module_& m) {
    m.def("sign_rows", &checked_sign_rows<T>, array("values"), array("blocks"), array("cells"), nb::arg("side"),
          nb::arg("closed"), array("rows"), "Signs of corners; with `closed` those on the border are outside.");
    m.def("place_crossings", &checked_place_crossings<T>, array("values"), array("rows"), array("blocks"),
          array("cells"), nb::arg("side"), nb::arg("margin"), array("first"), array("crossings"),
          "Position along its edge of every vertex, by linear interpolation of the samples.");
}

template <class Index> void bind_indices(nb::module_& m) {
    m.def("write_faces", &checked_write_faces<Index>, array("signs"), array("ranks"), array("first"), array("blocks"),
          array("cells"), nb::arg("side"), array("neighbors"), array("table_counts"), array("triangles"),
          array("edge_axis"), array("edge_corner"), array("first_face"), array("faces"),
          "Triangles of all blocks as vertex numbers.");
    m.def("thin_mesh", &checked_thin_mesh<Index>, array("vertices"), array("faces"), array("starts"),
          nb::arg("deviation"), nb::arg("longest"), nb::arg("quality"), nb::arg("turn"), nb::arg("creased"),
          nb::arg("largest_fan"), nb::arg("rounds"), array("gone"),
          "Move vertices onto neighbours where the mesh is flat, part by part.");
    m.def("shape_triangles", &checked_shape_triangles<Index>, array("vertices"), array("faces"), array("fixed"),
          nb::arg("wanted"), nb::arg("deviation"), nb::arg("turn"), nb::arg("largest_fan"), nb::arg("rounds"),
          "Flip edges and slide vertices of badly shaped triangles; returns how many changed.");
    m.def("connected_labels", &checked_connected_labels<Index, i32>, array("faces"), array("labels"));
    m.def("connected_labels", &checked_connected_labels<Index, i64>, array("faces"), array("labels"),
          "Number the components in the order of their first vertices; returns how many there are.");
}
}  // namespace

void bind_shapes(nb::module_& m) {
    bind_values<float>(m);
    bind_values<double>(m);
    bind_indices<i32>(m);
    bind_indices<i64>(m);
    m.def("fit_sides", &checked_fit_sides, array("places"), array("directions"), array("rows"), array("points"),
          array("normals"), array("smooth"), nb::arg("tolerance"), nb::arg("apart"), nb::arg("backside"),
          nb::arg("ridge"), nb::arg("doubt"), nb::arg("least"), nb::arg("rounds"), array("radius"), array("coef"),
          array("valid"), array("misfit"), "Quadrics for the sides of creases near places; see sides.hpp.");
    m.def("face_changes", &checked_face_changes, array("rows"), array("blocks"), array("cells"), nb::arg("side"),
          array("changes"), "Whether the sign changes on the faces -x, +x, -y, +y, -z, +z of each block.");
    m.def("agree_on_signs", &checked_agree_on_signs, array("rows"), array("blocks"), array("cells"), nb::arg("side"),
          array("neighbors"), array("agreed"), "Give a corner of several blocks the sign it has in the first of them.");
    m.def("count_vertices", &checked_count_vertices, array("rows"), array("blocks"), array("cells"), nb::arg("side"),
          array("ranks"), array("counts"), "Vertices of each block, and in each block those before every row.");
    m.def("write_vertices", &checked_write_vertices, array("signs"), array("rows"), array("blocks"), array("cells"),
          nb::arg("side"), nb::arg("margin"), array("first_crossing"), array("crossings"), array("first"),
          array("vertices"), "Vertices in cells from the corner of the grid.");
    m.def("count_faces", &checked_count_faces, array("signs"), array("blocks"), array("cells"), nb::arg("side"),
          array("table_counts"), array("triangles"), array("edge_axis"), array("edge_corner"), array("counts"),
          "Triangles of each block.");
}
}  // namespace seminorm
