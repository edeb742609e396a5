"""Better triangles by flips and slides: closed forms, topology, borders, what is fixed, and what is refused."""

import numpy as np
import pytest

from seminorm import _native
from seminorm.shapes import Mesh, Sphere, Torus
from seminorm.shapes.extraction.shaping import Shaping


def smallest_angles(mesh):
    p = mesh.vertices[mesh.faces]
    along = np.roll(p, -1, axis=1) - p
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    return np.degrees(np.arccos(np.clip(-(along * np.roll(along, 1, axis=1)).sum(axis=2), -1, 1))).min(axis=1)


def border_edges(mesh):
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, count = np.unique(edges, axis=0, return_counts=True)
    return edges[count == 1]


def shaped(mesh, fixed=None, **options):
    fixed = np.zeros(len(mesh.vertices), dtype=bool) if fixed is None else fixed
    return Mesh(*Shaping(**options)(mesh.vertices, mesh.faces, fixed))


def test_the_better_diagonal_of_a_flat_rhombus_is_taken():
    corners = [[-3, 0, 0], [0, -1, 0], [3, 0, 0], [0, 1, 0]]
    around = [[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]]  # so that the corners of the rhombus are inside
    ring = [[4, 5, 1], [4, 1, 0], [5, 2, 1], [5, 6, 2], [6, 3, 2], [6, 7, 3], [7, 0, 3], [7, 4, 0]]
    bad = Mesh(corners + around, [[0, 1, 2], [0, 2, 3], *ring])
    fixed = np.arange(8) >= 4
    vertices, faces = bad.vertices.copy(), bad.faces.copy()
    assert _native.shape_triangles(vertices, faces, fixed, 0.7, 0.1, 0.7, 10, 1) >= 1
    edges = {tuple(sorted(edge)) for face in faces.tolist() for edge in zip(face, face[1:] + face[:1], strict=True)}
    assert (1, 3) in edges and (0, 2) not in edges
    assert Mesh(vertices, faces).area == pytest.approx(bad.area)
    assert np.array_equal(vertices[fixed], bad.vertices[fixed])


@pytest.mark.parametrize(("shape", "genus"), [(Sphere([0, 0, 0], 1), 0), (Torus([0, 0, 0], [0, 0, 1], 1, 0.4), 1)])
def test_slivers_go_and_topology_stays(shape, genus):
    raw = shape.mesh(0.06)
    assert np.mean(smallest_angles(raw) < 10) > 0.02
    mesh = shaped(raw, deviation=0.01)
    assert mesh.is_watertight and mesh.genus == genus and len(mesh.faces) == len(raw.faces)
    assert np.mean(smallest_angles(mesh) < 10) < 1e-3
    assert mesh.volume == pytest.approx(raw.volume, rel=5e-3)
    better = shaped(raw, deviation=0.01, wanted=0.95, rounds=10)
    assert smallest_angles(better).mean() > smallest_angles(mesh).mean() + 2


def test_borders_and_fixed_vertices_stay():
    raw = Sphere([0, 0, 0], 1).mesh(0.1)
    half = raw.keep((raw.vertices[raw.faces] @ [0.3, 0.2, 1.0] > 0).all(axis=1))
    border = np.unique(border_edges(half))
    fixed = half.vertices[:, 0] > 0.5
    mesh = shaped(half, fixed, deviation=0.01)
    assert np.array_equal(mesh.vertices[border], half.vertices[border])
    assert np.array_equal(mesh.vertices[fixed], half.vertices[fixed])
    assert not np.array_equal(mesh.vertices, half.vertices)
    assert mesh.euler_characteristic == half.euler_characteristic
    assert np.array_equal(border_edges(mesh), border_edges(half))


def test_edges_beyond_the_deviation_and_sharp_ones_stay():
    roof = Mesh(
        [[-3, 0, 0], [0, -1, -1], [3, 0, 0], [0, 1, -1], [0, 0, -3]],
        [[0, 1, 2], [0, 2, 3], [0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]],
    )
    assert roof.is_watertight
    assert np.array_equal(shaped(roof, np.ones(5, dtype=bool), deviation=10.0).vertices, roof.vertices)
    free = np.zeros(5, dtype=bool)
    vertices, faces = roof.vertices.copy(), roof.faces.copy()
    _native.shape_triangles(vertices, faces, free, 0.9, 0.1, 0.7, 10, 1)
    assert any(set(face) >= {0, 2} for face in faces.tolist())


def test_odd_meshes_are_left_alone():
    crowded = Mesh(np.eye(5, 3), [[0, 1, 2], [0, 1, 3], [1, 0, 4]])  # an edge of three triangles
    assert np.array_equal(shaped(crowded, deviation=1.0).faces, crowded.faces)
    flat = Mesh(np.zeros((4, 3)), [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert np.array_equal(shaped(flat, deviation=1.0).vertices, flat.vertices)
    assert len(shaped(Mesh(np.zeros((0, 3)), []), deviation=1.0).faces) == 0


def test_wrong_arguments_are_refused():
    vertices, faces, fixed = np.zeros((3, 3)), np.array([[0, 1, 2]], dtype=np.int32), np.zeros(3, dtype=bool)
    limits = 0.7, 0.1, 0.7, 10, 1
    with pytest.raises(ValueError, match="faces"):
        _native.shape_triangles(vertices, faces + 1, fixed, *limits)
    with pytest.raises(ValueError, match="fixed"):
        _native.shape_triangles(vertices, faces, fixed[:2], *limits)
