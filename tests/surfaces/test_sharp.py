"""Sharp edges become edges of the mesh, where the data show them, and nowhere else."""

import numpy as np
import pytest

from seminorm._base.threads import limited_threads
from seminorm.shapes.extraction.creases import Edges, split_faces
from seminorm.shapes.mesh import Mesh
from seminorm.surfaces import reconstruct

TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]


def block(boxes, n, rng):
    """Points and normals on the surface of a union of unit boxes, given by their lowest corners, turned."""
    boxes, faces = {tuple(box) for box in boxes}, []
    for box in boxes:
        for axis in range(3):
            for side in (0, 1):
                step = np.eye(3, dtype=int)[axis] * (2 * side - 1)
                if tuple(np.add(box, step)) not in boxes:
                    faces.append((box, axis, side))
    points, normals = rng.random((n, 3)), np.zeros((n, 3))
    for row, face in enumerate(rng.integers(len(faces), size=n)):
        box, axis, side = faces[face]
        points[row, axis] = side
        normals[row, axis] = 2 * side - 1
        points[row] += box
    return points @ TURN.T, normals @ TURN.T


def creases(mesh):
    """Ends (k, 2, 3) of the edges whose faces meet at more than 60 degrees."""
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    edges = Edges.of(mesh.faces, len(mesh.vertices))
    first, last = np.full(len(edges.ends), -1), np.full(len(edges.ends), -1)
    owner = np.repeat(np.arange(len(mesh.faces)), 3)
    last[edges.of_face.ravel()] = owner
    first[edges.of_face.ravel()[::-1]] = owner[::-1]
    return mesh.vertices[edges.ends[(normals[first] * normals[last]).sum(axis=1) < 0.5]]


def missing(mesh, width):
    """How far a unit cube ends from an edge, along the diagonal, on average over places of the edge."""
    X, found = mesh.vertices @ TURN, []
    for along in np.arange(0.1, 0.9, width):
        near = X[(X[:, 2] > along) & (X[:, 2] < along + width)]
        found.append((1.0 - near[:, :2]).sum(axis=1).min() / np.sqrt(2))
    return np.mean(np.abs(found))


@pytest.fixture(scope="module")
def cube():
    points, normals = block([(0, 0, 0)], 4000, np.random.default_rng(0))
    return reconstruct(points, normals)


def test_edges_of_a_cube_are_edges_of_the_mesh(cube):
    mesh = cube.mesh()
    assert mesh.is_watertight and mesh.genus == 0 and mesh.components()[1] == 1
    ends = creases(mesh) @ TURN
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    assert lengths.sum() == pytest.approx(12.0, rel=0.05)
    to_edge = np.sort(np.minimum(abs(ends), abs(ends - 1)), axis=2)[..., 1].max(axis=1)  # two coordinates are 0 or 1
    assert lengths[to_edge < 0.01 * cube.resolution].sum() > 0.8 * 12.0
    found = [missing(cube.mesh(deviation=0, sharp=sharp), cube.resolution) for sharp in (True, False)]
    assert found[0] < 0.2 * found[1]
    assert mesh.normals.shape == mesh.vertices.shape
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-6)


def test_same_bits_for_any_number_of_threads(cube):
    with limited_threads(1):
        one = cube.mesh()
    with limited_threads(2):
        two = cube.mesh()
    np.testing.assert_array_equal(one.vertices, two.vertices)
    np.testing.assert_array_equal(one.faces, two.faces)
    np.testing.assert_array_equal(one.normals, two.normals)


def test_all_vertices_are_kept_if_wanted(cube):
    mesh = cube.mesh(deviation=0)
    assert mesh.is_watertight and len(mesh.vertices) > len(cube.mesh(deviation=0, sharp=False).vertices)


@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_edges_inwards_and_corners_of_both_kinds(known, rng):
    points, normals = block([(0, 0, 0), (1, 0, 0), (0, 1, 0)], 4000, rng)
    surface = reconstruct(points, normals if known else None)
    mesh = surface.mesh()
    assert mesh.is_watertight and mesh.genus == 0
    ends = creases(mesh) @ TURN
    to_faces = np.sort(abs(ends - np.rint(ends)), axis=2)
    assert np.median(to_faces[..., 1]) < (0.005 if known else 0.1) * surface.resolution


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_smooth_shapes_are_left_alone(noise, rng):
    normals = rng.standard_normal((2500, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    axes = np.array([1.0, 0.5, 0.25])  # radii of curvature from 1/16 to 4
    slopes = normals / axes
    surface = reconstruct(normals * axes + noise * rng.standard_normal(normals.shape), slopes)
    auto, rounded = surface.mesh(), surface.mesh(sharp=False)
    np.testing.assert_array_equal(auto.vertices, rounded.vertices)
    np.testing.assert_array_equal(auto.faces, rounded.faces)


def test_split_faces_are_the_same_surface(rng):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    for _ in range(4):
        edges = Edges.of(mesh.faces, len(mesh.vertices))
        chosen = np.flatnonzero(rng.random(len(edges.ends)) < 0.6)
        number = np.full(len(edges.ends), -1)
        number[chosen] = len(mesh.vertices) + np.arange(len(chosen))
        middles = number[edges.of_face]
        centers = mesh.vertices[mesh.faces[(middles >= 0).all(axis=1)]].mean(axis=1)
        points = np.concatenate([mesh.vertices, mesh.vertices[edges.ends[chosen]].mean(axis=1), centers])
        faces, origin = split_faces(mesh.faces, middles, len(mesh.vertices) + len(chosen), points)
        fine = Mesh(points, faces)
        assert fine.is_watertight and fine.euler_characteristic == 2
        np.testing.assert_allclose(np.bincount(origin, fine.face_areas), mesh.face_areas)
        assert fine.volume == pytest.approx(mesh.volume)
        mesh = fine


def test_sharp_is_checked(cube):
    with pytest.raises(ValueError, match="sharp must be True, False or 'auto', got 'yes'"):
        cube.mesh(sharp="yes")
