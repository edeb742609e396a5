"""Marching cubes over blocks, and components: against plain Python, on any number of threads, and what is refused."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.shapes.extraction.tables import marching_table
from seminorm.shapes.extraction.walking import BlockGrid

MARGIN = 0.01
AXES = np.eye(3, dtype=int).tolist()


class Scene(NamedTuple):
    """Samples on blocks, and what the loops make of them."""

    grid: BlockGrid
    blocks: np.ndarray
    neighbors: np.ndarray
    values: np.ndarray

    @property
    def limits(self):
        return self.blocks, self.grid.cells, self.grid.side

    def extent(self, b):
        """Lower corner, cells and owned corners of a block along each axis."""
        low = self.grid.side * self.blocks[b]
        left = self.grid.cells - low
        return low, np.minimum(left, self.grid.side), np.where(left > self.grid.side, self.grid.side, left + 1)

    def inside(self, rows):
        """Signs as booleans (n, width, width, width)."""
        width = self.grid.side + 1
        bits = rows[:, :, None] >> np.arange(width, dtype=np.uint32) & 1
        return bits.astype(bool).reshape(-1, width, width, width)

    def edges(self, rows):
        """Block, axis and lower corner of every edge with a vertex, in the order of the vertices."""
        inside = self.inside(rows)
        for b in range(len(self.blocks)):
            _, cells, owned = self.extent(b)
            for i, j in product(range(owned[0]), range(owned[1])):
                for axis in range(3):
                    for k in range(owned[2]):
                        corner = (i, j, k)
                        if corner[axis] < cells[axis] and inside[b][corner] != inside[b][other_end(corner, axis)]:
                            yield b, axis, corner


def other_end(corner, axis):
    return tuple(int(c + step) for c, step in zip(corner, AXES[axis], strict=True))


def scene(side, cells, closed=True, dtype=np.float64, keep=1.0, disagree=0.0, seed=0):
    """Random smooth values; ``disagree`` is the share of corners to which blocks give values of their own."""
    rng = np.random.default_rng(seed)
    grid = BlockGrid.of(np.array(cells), side, closed)
    keys = np.flatnonzero(rng.random(np.prod(grid.blocks)) < keep)
    blocks = grid.coords(keys)
    width = side + 1
    dense = rng.standard_normal(grid.blocks * side + 1)
    corners = (side * blocks).tolist()
    values = np.array([dense[i : i + width, j : j + width, k : k + width] for i, j, k in corners])
    own = rng.random(values.shape) < disagree
    values[own] = rng.standard_normal(own.sum())
    values[rng.random(values.shape) < 0.02] = np.nan
    values[rng.random(values.shape) < 0.02] = 0.0
    return Scene(grid, blocks, grid.neighbors(keys), values.astype(dtype))


def results(given):
    """Everything the loops compute."""
    n, width = len(given.blocks), given.grid.side + 1
    table = marching_table()
    rows, agreed = np.empty((2, n, width**2), dtype=np.uint32)
    _native.sign_rows(given.values, *given.limits, given.grid.closed, rows)
    changes = np.empty((n, 6), dtype=bool)
    _native.face_changes(rows, *given.limits, changes)
    _native.agree_on_signs(rows, *given.limits, given.neighbors, agreed)
    ranks, counts = np.empty((n, width**2), dtype=np.uint16), np.empty(n, dtype=np.int64)
    _native.count_vertices(rows, *given.limits, ranks, counts)
    first_crossing = np.cumsum(counts) - counts
    crossings = np.empty(counts.sum(), dtype=np.float32)
    _native.place_crossings(given.values, rows, *given.limits, MARGIN, first_crossing, crossings)
    _native.count_vertices(agreed, *given.limits, ranks, counts)
    first = np.cumsum(counts) - counts
    vertices = np.empty((counts.sum(), 3))
    _native.write_vertices(agreed, rows, *given.limits, MARGIN, first_crossing, crossings, first, vertices)
    face_counts = np.empty(n, dtype=np.int64)
    _native.count_faces(agreed, *given.limits, *table, face_counts)
    first_face = np.cumsum(face_counts) - face_counts
    faces = np.empty((face_counts.sum(), 3), dtype=np.int32)
    _native.write_faces(agreed, ranks, first, *given.limits, given.neighbors, *table, first_face, faces)
    return {
        "rows": rows,
        "changes": changes,
        "agreed": agreed,
        "ranks": ranks,
        "counts": counts,
        "first_crossing": first_crossing,
        "crossings": crossings,
        "first": first,
        "vertices": vertices,
        "face_counts": face_counts,
        "first_face": first_face,
        "faces": faces,
    }


SCENES = {
    "closed": {"side": 4, "cells": (9, 8, 6)},
    "open": {"side": 4, "cells": (9, 8, 6), "closed": False},
    "smallest blocks": {"side": 2, "cells": (5, 4, 3), "dtype": np.float32},
    "odd": {"side": 3, "cells": (7, 3, 1), "closed": False, "dtype": np.float32},
    "largest blocks": {"side": 16, "cells": (17, 3, 33), "dtype": np.float32},
    "largest blocks, double": {"side": 16, "cells": (3, 18, 16)},
    "blocks are missing": {"side": 3, "cells": (12, 11, 10), "keep": 0.6, "closed": False},
    "blocks disagree": {"side": 5, "cells": (11, 12, 13), "disagree": 0.3},
}


@pytest.fixture(scope="module", params=SCENES)
def computed(request):
    given = scene(**SCENES[request.param])
    return given, results(given)


def test_signs(computed):
    given, found = computed
    expected = np.zeros_like(given.values, dtype=bool)
    for b in range(len(given.blocks)):
        low, cells, _ = given.extent(b)
        for corner in product(*(range(n + 1) for n in cells)):
            place = low + corner
            border = (place == 0).any() or (place == given.grid.cells).any()
            expected[b][corner] = given.values[b][corner] < 0 and not (given.grid.closed and border)
    np.testing.assert_array_equal(given.inside(found["rows"]), expected)


def test_changes_on_faces(computed):
    given, found = computed
    inside = given.inside(found["rows"])
    for b in range(len(given.blocks)):
        _, (x, y, z), _ = given.extent(b)
        block = inside[b, : x + 1, : y + 1, : z + 1]
        sides = (block[0], block[-1], block[:, 0], block[:, -1], block[:, :, 0], block[:, :, -1])
        assert found["changes"][b].tolist() == [side.any() and not side.all() for side in sides]


def test_the_first_block_decides(computed):
    given, found = computed
    before, after = given.inside(found["rows"]), given.inside(found["agreed"])
    decided = {}
    for b in range(len(given.blocks)):
        low, cells, _ = given.extent(b)
        for corner in product(*(range(n + 1) for n in cells)):
            assert after[b][corner] == decided.setdefault(tuple(low + corner), before[b][corner])


def test_counts_of_vertices(computed):
    given, found = computed
    width = given.grid.side + 1
    edges = list(given.edges(found["agreed"]))
    np.testing.assert_array_equal(found["counts"], np.bincount([e[0] for e in edges], minlength=len(given.blocks)))
    in_row = np.zeros((len(given.blocks), width**2), dtype=int)
    for b, _, (i, j, _) in edges:
        in_row[b, i * width + j] += 1
    np.testing.assert_array_equal(found["ranks"], np.cumsum(in_row, axis=1) - in_row)


def test_crossings(computed):
    given, found = computed
    inside, expected = given.inside(found["rows"]), []
    for b, axis, corner in given.edges(found["rows"]):
        start, end = float(given.values[b][corner]), float(given.values[b][other_end(corner, axis)])
        if start < 0 and end < 0:  # the border of a closed grid
            expected.append(1.0 if inside[b][corner] else 0.0)
        elif np.isfinite(start - end):
            expected.append(np.clip(start / (start - end), MARGIN, 1 - MARGIN))
        else:
            expected.append(0.5)
    np.testing.assert_array_equal(found["crossings"], np.array(expected, dtype=np.float32))


def test_vertices(computed):
    given, found = computed
    own, agreed = given.inside(found["rows"]), given.inside(found["agreed"])
    crossings = dict(zip(given.edges(found["rows"]), found["crossings"].tolist(), strict=True))
    expected = []
    for edge in given.edges(found["agreed"]):
        b, axis, corner = edge
        next_to_overruled = MARGIN if own[b][corner] != agreed[b][corner] else 1 - MARGIN
        place = (given.grid.side * given.blocks[b] + corner).astype(float)
        place[axis] += crossings.get(edge, next_to_overruled)
        expected.append(place)
    np.testing.assert_array_equal(found["vertices"], np.reshape(expected, (-1, 3)))


def test_faces(computed):
    given, found = computed
    table = marching_table()
    inside = given.inside(found["agreed"])
    number = {}
    for v, (b, axis, corner) in enumerate(given.edges(found["agreed"])):
        number[tuple((given.grid.side * given.blocks[b] + corner).tolist()), axis] = v
    expected, counts = [], np.zeros(len(given.blocks), dtype=int)
    for b in range(len(given.blocks)):
        low, cells, _ = given.extent(b)
        for i, j, k in product(*map(range, cells)):
            cube = inside[b, i : i + 2, j : j + 2, k : k + 2].ravel()
            case = int((cube * 2 ** np.arange(8)).sum())
            counts[b] += table.counts[case]
            for triangle in table.triangles[case, : table.counts[case]]:
                starts = [tuple((low + (i, j, k) + table.edge_corner[e]).tolist()) for e in triangle]
                edges = zip(starts, table.edge_axis[triangle].tolist(), strict=True)
                expected.append([number.get(edge, -1) for edge in edges])
    np.testing.assert_array_equal(found["face_counts"], counts)
    np.testing.assert_array_equal(found["faces"], np.reshape(expected, (-1, 3)))
    assert (found["faces"] >= 0).all() or len(given.blocks) < np.prod(given.grid.blocks)


def test_faces_of_64_bits():
    given = scene(4, (9, 8, 6))
    found = results(given)
    faces = np.empty(found["faces"].shape, dtype=np.int64)
    starts = found["ranks"], found["first"] + 2**40
    table = marching_table()
    _native.write_faces(found["agreed"], *starts, *given.limits, given.neighbors, *table, found["first_face"], faces)
    np.testing.assert_array_equal(faces, found["faces"].astype(np.int64) + 2**40)


def test_same_bits_for_any_number_of_threads():
    given = scene(4, (45, 46, 47), disagree=0.1)
    with limited_threads(1):
        alone = results(given)
    for threads in (2, 4):
        with limited_threads(threads):
            together = results(given)
        for name, array in alone.items():
            assert array.tobytes() == together[name].tobytes(), name


def test_no_blocks():
    nothing = Scene(
        *scene(4, (8, 8, 8))[:1], np.empty((0, 3), np.int64), np.empty((0, 27), np.int32), np.empty([0, 5, 5, 5])
    )
    assert results(nothing)["faces"].shape == (0, 3)


# what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"side": 1}, "side must be from 2 to 16"),
        ({"side": 17}, "side must be from 2 to 16"),
        ({"cells": np.array([8, 8])}, "blocks must be"),
        ({"cells": np.array([8, 4, 8])}, "blocks must lie in the grid"),
        ({"cells": np.array([8, 0, 8])}, "blocks must lie in the grid"),
        ({"blocks": np.full((8, 3), -1)}, "blocks must lie in the grid"),
        ({"blocks": np.zeros((7, 3), dtype=np.int64)}, "one entry for each block"),
        ({"values": np.zeros((8, 5, 5, 4))}, "values must be"),
        ({"rows": np.zeros((8, 24), dtype=np.uint32)}, "rows must be"),
    ],
)
def test_wrong_shapes(change, message):
    given = scene(4, (8, 8, 8))
    arguments = dict(values=given.values, blocks=given.blocks, cells=given.grid.cells, side=4)
    arguments |= dict(closed=True, rows=np.zeros((8, 25), dtype=np.uint32))
    _native.sign_rows(**arguments)
    with pytest.raises(ValueError, match=message):
        _native.sign_rows(**(arguments | change))


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.zeros((8, 5, 5, 5), dtype=np.int64)},
        {"values": np.zeros((8, 5, 5, 10))[..., ::2]},
        {"blocks": np.zeros((8, 3), dtype=np.int32)},
        {"rows": np.zeros((8, 25), dtype=np.int64)},
    ],
    ids=["integers", "strided", "blocks of 32 bits", "rows of 64 bits"],
)
def test_wrong_types(change):
    given = scene(4, (8, 8, 8))
    arguments = dict(values=given.values, blocks=given.blocks, cells=given.grid.cells, side=4)
    arguments |= dict(closed=True, rows=np.zeros((8, 25), dtype=np.uint32))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.sign_rows(**(arguments | change))


def test_wrong_numbers_of_blocks_and_places():
    given = scene(4, (8, 8, 8))
    found = results(given)
    table = marching_table()
    agreed, ranks, first, first_face = (found[name] for name in ("agreed", "ranks", "first", "first_face"))
    faces, vertices = found["faces"].copy(), found["vertices"].copy()

    def write_faces(first_face=first_face, neighbors=given.neighbors, table=table, faces=faces):
        _native.write_faces(agreed, ranks, first, *given.limits, neighbors, *table, first_face, faces)

    def write_vertices(first=first, crossings=found["crossings"], vertices=vertices):
        starts = found["first_crossing"], crossings, first
        _native.write_vertices(agreed, found["rows"], *given.limits, MARGIN, *starts, vertices)

    write_faces()
    write_vertices()
    for wrong in (-2, len(given.blocks)):
        with pytest.raises(ValueError, match="neighbors must lie between -1 and 7"):
            write_faces(neighbors=np.full_like(given.neighbors, wrong))
        with pytest.raises(ValueError, match="neighbors must lie between -1 and 7"):
            neighbors = np.full_like(given.neighbors, wrong)
            _native.agree_on_signs(found["rows"], *given.limits, neighbors, np.empty_like(agreed))
    with pytest.raises(ValueError, match="agreed must not be rows"):
        _native.agree_on_signs(agreed, *given.limits, given.neighbors, agreed)
    with pytest.raises(ValueError, match="faces is too short"):
        write_faces(first_face=first_face + 1)
    with pytest.raises(ValueError, match="first_face must lie between"):
        write_faces(first_face=first_face - 1)
    with pytest.raises(ValueError, match="vertices is too short"):
        write_vertices(first=first + 1)
    with pytest.raises(ValueError, match="first must lie between"):
        write_vertices(first=first - 1)
    with pytest.raises(ValueError, match="crossings or vertices is too short"):
        write_vertices(crossings=found["crossings"][:-1].copy())
    with pytest.raises(ValueError, match="crossings is too short"):
        starts = found["first_crossing"], found["crossings"][:-1].copy()
        _native.place_crossings(given.values, found["rows"], *given.limits, MARGIN, *starts)
    with pytest.raises(ValueError, match="edge_axis of the table"):
        write_faces(table=table._replace(edge_axis=table.edge_axis + 1))
    with pytest.raises(ValueError, match="triangles of the table"):
        write_faces(table=table._replace(triangles=table.triangles + 12))
    with pytest.raises(ValueError, match="must have three edges"):
        write_faces(table=table._replace(triangles=np.full_like(table.triangles, -1)))


# components


def labels_by_spreading(faces, n):
    labels = np.arange(n)
    while True:
        least = labels.copy()
        for corner in range(3):
            np.minimum.at(least, faces[:, corner], labels[faces].min(axis=1))
        if (least == labels).all():
            return np.unique(labels, return_inverse=True)[1]
        labels = least


@pytest.mark.parametrize("label", [np.int32, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("n", "n_faces"), [(400, 0), (400, 60), (400, 130), (400, 2000), (1, 3)])
def test_components(n, n_faces, index, label, rng):
    faces = rng.integers(0, n, size=(n_faces, 3)).astype(index)
    labels = np.empty(n, dtype=label)
    count = _native.connected_labels(faces, labels)
    np.testing.assert_array_equal(labels, labels_by_spreading(faces, n))
    assert count == labels.max() + 1


def test_components_of_wrong_faces():
    labels = np.empty(4, dtype=np.int32)
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match="faces must lie between 0 and 3"):
            _native.connected_labels(np.array([[0, 1, wrong]]), labels)
    with pytest.raises(ValueError, match=r"faces must be \(f, 3\)"):
        _native.connected_labels(np.zeros((3, 4), dtype=np.int64), labels)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.connected_labels(np.zeros((3, 3)), labels)
