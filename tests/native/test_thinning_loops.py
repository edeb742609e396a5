"""Meshes with fewer vertices where they are flat: closed forms, topology, borders, and what is refused."""

import numpy as np
import pytest

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.shapes import Box, Mesh, Sphere, Torus


def grid_mesh(n, height=None):
    """A square of n by n vertices, two triangles for each cell."""
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    z = np.zeros(n * n) if height is None else height(x.ravel() / n, y.ravel() / n)
    a = (n * x + y)[:-1, :-1].ravel()
    faces = np.concatenate([np.stack([a, a + n, a + n + 1], 1), np.stack([a, a + n + 1, a + 1], 1)])
    return Mesh(np.stack([x.ravel(), y.ravel(), z], axis=1), faces)


def border_length(mesh):
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, count = np.unique(edges, axis=0, return_counts=True)
    a, b = mesh.vertices[edges[count == 1]].transpose(1, 0, 2)
    return np.linalg.norm(a - b, axis=1).sum()


def smallest_angles(mesh):
    p = mesh.vertices[mesh.faces]
    along = np.roll(p, -1, axis=1) - p
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    return np.degrees(np.arccos(np.clip(-(along * np.roll(along, 1, axis=1)).sum(axis=2), -1, 1))).min(axis=1)


@pytest.mark.parametrize("deviation", [0.0003, 0.003])
def test_sphere_is_within_the_deviation_of_itself(deviation):
    mesh = Sphere([0, 0, 0], 1).mesh(0.04)
    thin = mesh.thinned(deviation)
    assert thin.is_watertight and thin.genus == 0
    inside = 1 - np.linalg.norm(thin.vertices[thin.faces].mean(axis=1), axis=1)
    assert inside.mean() < 1.5 * deviation and inside.max() < 5 * deviation
    # triangles of edge e lie e^2 / 12 below the sphere on average, and cover 0.43 e^2 each
    needed = 4 * np.pi / (0.43 * 12 * deviation) / 2
    assert len(thin.vertices) < min(3.5 * needed, 0.7 * len(mesh.vertices))
    assert np.percentile(smallest_angles(thin), 1) > 10


def test_vertices_that_stay_keep_places_normals_and_attributes():
    mesh = Sphere([0, 0, 0], 1).mesh(0.1)
    number = np.arange(len(mesh.vertices))
    thin = Mesh(mesh.vertices, mesh.faces, mesh.normals, {"number": number}).thinned(0.01)
    rows = thin.attributes["number"]
    assert len(rows) < len(number) / 2
    assert np.array_equal(thin.vertices, mesh.vertices[rows])
    assert np.array_equal(thin.normals, mesh.normals[rows])


def test_flat_part_of_a_box_needs_few_vertices_and_edges_stay():
    mesh = Box([0, 0, 0], [1, 1, 1]).mesh(1 / 24)
    thin = mesh.thinned(1e-3)
    assert len(thin.vertices) < len(mesh.vertices) / 5
    assert thin.is_watertight and thin.genus == 0
    assert thin.volume == pytest.approx(mesh.volume, rel=3e-3)


@pytest.mark.parametrize("part", [2**15, 300])
def test_genus_and_orientation_stay(part, monkeypatch):
    monkeypatch.setattr("seminorm.shapes.extraction.thinning._PART", part)
    mesh = Torus([0, 0, 0], [0, 0, 1], 1.0, 0.3).mesh(0.05)
    thin = mesh.thinned(0.005)
    assert thin.is_watertight and thin.genus == 1
    assert thin.volume == pytest.approx(mesh.volume, rel=0.02)
    assert len(thin.vertices) < len(mesh.vertices) / (3 if part > 300 else 2)


def test_border_stays():
    mesh = grid_mesh(40)
    thin = mesh.thinned(1e-6)
    assert len(thin.vertices) < len(mesh.vertices) / 4
    assert thin.area == pytest.approx(mesh.area)
    assert border_length(thin) == border_length(mesh)


def test_longest_edge():
    thin = grid_mesh(40).thinned(1e-6, longest=3.0)
    p = thin.vertices[thin.faces]
    assert np.linalg.norm(p - np.roll(p, 1, axis=1), axis=2).max() <= 3.0
    assert len(thin.vertices) < 1600 / 2


def test_deviation_zero_keeps_what_is_not_flat():
    mesh = grid_mesh(20, lambda x, y: 5 * np.sin(5 * x) * np.cos(4 * y))
    assert np.array_equal(mesh.thinned(0.0).vertices, mesh.vertices)


def test_smallest_meshes_stay():
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    tetrahedron = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert len(tetrahedron.thinned(10.0).faces) == 4
    empty = Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=int))
    assert len(empty.thinned(1.0).vertices) == 0


def test_meshes_that_are_no_manifolds_do_no_harm():
    rng = np.random.default_rng(0)
    for n in (3, 5, 30):
        faces = rng.integers(0, n, (4 * n, 3))  # with repeated corners, edges of many faces, lonely vertices
        thin = Mesh(rng.standard_normal((n, 3)), faces).thinned(1.0)
        assert len(thin.faces) and thin.faces.max() < len(thin.vertices)
    mesh = Sphere([0, 0, 0], 1).mesh(0.2)
    twice = Mesh(
        np.concatenate([mesh.vertices, mesh.vertices[1:] + 5]),
        np.concatenate([mesh.faces, np.where(mesh.faces == 0, 0, mesh.faces + len(mesh.vertices) - 1)]),
    )  # two balls that share a vertex
    assert (twice.thinned(0.02).vertices == twice.vertices[0]).all(axis=1).any()


def test_vertices_that_are_not_numbers_stay():
    mesh = Sphere([0, 0, 0], 1).mesh(0.2)
    mesh.vertices[7] = np.nan
    assert np.isnan(mesh.thinned(0.01).vertices).any()


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_threads_give_the_same_bits(index, monkeypatch):
    monkeypatch.setattr("seminorm.shapes.extraction.thinning._PART", 500)
    mesh = Torus([0, 0, 0], [0, 0, 1], 1.0, 0.3).mesh(0.05)
    mesh = Mesh(mesh.vertices, mesh.faces.astype(index))
    results = []
    for threads in (1, 2, 4):
        with limited_threads(threads):
            results.append(mesh.thinned(0.003))
    for result in results[1:]:
        assert np.array_equal(result.faces, results[0].faces)
        assert np.array_equal(result.vertices, results[0].vertices)


def test_refused():
    mesh = Sphere([0, 0, 0], 1).mesh(0.3)
    with pytest.raises(ValueError, match="deviation must be a length"):
        mesh.thinned(-1.0)
    with pytest.raises(ValueError, match="longest must be a positive length"):
        mesh.thinned(0.1, longest=0.0)
    limits = 0.1, 1.0, 0.4, 0.6, 0.85, 10, 5
    gone = np.empty(len(mesh.vertices), dtype=bool)
    for starts, message in (([0, 5], "from 0 to the number"), ([0, 9, 3, len(gone)], "must ascend")):
        with pytest.raises(ValueError, match=message):
            _native.thin_mesh(mesh.vertices, mesh.faces.copy(), np.array(starts), *limits, gone)
    with pytest.raises(ValueError, match="faces must lie between"):
        _native.thin_mesh(mesh.vertices, mesh.faces + 7, np.array([0, len(gone)]), *limits, gone)
