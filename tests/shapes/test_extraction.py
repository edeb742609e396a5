"""Meshes of zero sets: closed manifolds whatever the signs, against analytic surfaces and scikit-image."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import central_difference
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from seminorm._base.threads import limited_threads
from seminorm.shapes.extraction.marching import component_labels, extract
from seminorm.shapes.extraction.tables import CORNERS, marching_table
from seminorm.shapes.extraction.walking import BlockGrid, Walk, mesh_blocks


class Implicit:
    """A function of points with derivatives by differences."""

    def __init__(self, value):
        self.value = value

    def __call__(self, X):
        return self.value(X)

    def gradient(self, X):
        return central_difference(self.value, X)


class Ball:
    def __init__(self, center=(0.0, 0.0, 0.0), radius=1.0):
        self.center, self.radius = np.array(center), radius

    def __call__(self, X):
        return np.sqrt(((X - self.center) ** 2).sum(axis=1)) - self.radius

    def gradient(self, X):
        return (X - self.center) / np.linalg.norm(X - self.center, axis=1, keepdims=True)


def torus(X):
    return np.hypot(np.hypot(X[:, 0], X[:, 1]) - 1.0, X[:, 2]) - 0.4


def gyroid(X):
    x, y, z = 2 * np.pi * X.T
    return np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x)


def touching_balls(X):
    return np.minimum(Ball((-1, 0, 0))(X), Ball((1, 0, 0))(X))


def thin_plate(X):
    """A tenth of a cell of 0.1 thick, around corners of the grid."""
    return (np.abs(X) - (0.7, 0.7, 0.005)).max(axis=1)


def random_waves(seed, waves=30):
    rng = np.random.default_rng(seed)
    frequencies, phases = rng.normal(scale=25.0, size=(3, waves)), rng.uniform(0, 2 * np.pi, waves)

    def value(X):
        # sums point by point: the value at a point does not depend on the others
        angles = X[:, :1] * frequencies[0] + X[:, 1:2] * frequencies[1] + X[:, 2:] * frequencies[2] + phases
        return np.sin(angles).sum(axis=1)

    return value


def dense_sampler(values, side):
    """Blocks of a dense array; NaN beyond it."""
    shape = -(-(np.array(values.shape) - 1) // side)
    padded = np.full(shape * side + 1, np.nan)
    padded[tuple(slice(n) for n in values.shape)] = values

    def sample(blocks):
        corners = (side * blocks).tolist()
        return np.array([padded[i : i + side + 1, j : j + side + 1, k : k + side + 1] for i, j, k in corners])

    return sample, shape, np.array(values.shape) - 1


def all_blocks(shape):
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, 3)


def mesh_of_blocks(sample, seeds, shape, *, side, cells=None, closed=True, batch=512):
    """The mesh of samples on a grid of blocks, from some of them on."""
    grid = BlockGrid.of(np.array(shape) * side if cells is None else cells, side, closed)
    return mesh_blocks(Walk(sample, grid, batch, False), np.unique(grid.keys(np.reshape(seeds, (-1, 3)).astype(int))))


def mesh_of_array(values, side=4, **options):
    sample, shape, cells = dense_sampler(values, side)
    return mesh_of_blocks(sample, all_blocks(shape), shape, side=side, cells=cells, **options)


def half_edges(faces):
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64)


def boundary(vertices, faces):
    """Half-edges without a twin of opposite direction; none may occur twice."""
    edges = half_edges(faces)
    keys, twins = edges @ [len(vertices), 1], edges @ [1, len(vertices)]
    assert len(np.unique(keys)) == len(keys), "an edge has two faces on the same side"
    return edges[~np.isin(keys, twins)]


def assert_one_fan_a_vertex(vertices, faces):
    """The corners of the faces at a vertex hang together across edges, so its faces are one fan."""
    edges = half_edges(faces)
    n = len(faces)
    start_corner = np.arange(3 * n)  # of half-edge e, a corner being numbered by the half-edge that starts in it
    end_corner = (start_corner + n) % (3 * n)
    order = np.argsort(edges @ [len(vertices), 1])
    twins = edges @ [1, len(vertices)]
    place = np.searchsorted((edges @ [len(vertices), 1])[order], twins).clip(max=3 * n - 1)
    twin = order[place]
    has_twin = (edges[twin] == edges[:, ::-1]).all(axis=1)
    rows, columns = start_corner[has_twin], end_corner[twin[has_twin]]
    graph = coo_array((np.ones(rows.size), (rows, columns)), shape=(3 * n, 3 * n))
    assert connected_components(graph, directed=False)[0] == len(vertices) == len(np.unique(faces))


def assert_closed_manifold(vertices, faces):
    assert len(faces)
    assert np.isfinite(vertices).all()
    assert boundary(vertices, faces).size == 0
    assert_one_fan_a_vertex(vertices, faces)


def volume(vertices, faces):
    p, q, r = (vertices[faces[:, corner]] for corner in range(3))
    return np.einsum("ij,ij->", p, np.cross(q, r)) / 6


def area(vertices, faces):
    p, q, r = (vertices[faces[:, corner]] for corner in range(3))
    return np.linalg.norm(np.cross(q - p, r - p), axis=1).sum() / 2


def euler_characteristic(vertices, faces):
    return len(vertices) - len(half_edges(faces)) // 2 + len(faces)


def box(size):
    return [-size] * 3, [size] * 3


# the table


def test_neighbors_agree_on_every_face():
    """What a case draws on a face depends on the face's signs alone, and is reversed on the opposite face."""
    table = marching_table()
    middle = table.edge_corner + 0.5 * np.eye(3)[table.edge_axis]
    drawn = {}
    for case in range(256):
        inside = np.array([case >> c & 1 for c in range(8)])
        triangles = table.triangles[case, : table.counts[case]].tolist()
        sides = [side for t in triangles for side in pairwise((*t, t[0]))]
        assert len(set(sides)) == len(sides)
        on_faces = {(axis, end): set() for axis in range(3) for end in (0, 1)}
        for a, b in sides:
            faces = [key for key in on_faces if middle[a, key[0]] == key[1] == middle[b, key[0]]]
            assert len(faces) == int((b, a) not in sides), "borders lie in one face, diagonals in none"
            for key in faces:
                on_faces[key].add((a, b))
        for (axis, end), links in on_faces.items():
            signs = tuple(inside[CORNERS[:, axis] == end])
            flat = {tuple(tuple(np.delete(middle[e], axis)) for e in link[:: 1 - 2 * end]) for link in links}
            assert drawn.setdefault((axis, signs), flat) == flat
            assert len(flat) * 2 == sum(signs[s] != signs[t] for s, t in ((0, 1), (1, 3), (3, 2), (2, 0)))
    assert len(drawn) == 3 * 16


def test_one_inside_corner_is_seen_from_outside():
    table = marching_table()
    middle = table.edge_corner + 0.5 * np.eye(3)[table.edge_axis]
    for corner in range(8):
        p, q, r = middle[table.triangles[1 << corner, 0]]
        assert np.cross(q - p, r - p) @ (p - CORNERS[corner]) > 0


# any signs give a manifold


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.1, 0.5, 0.85])
def test_random_signs(seed, share):
    values = np.where(np.random.default_rng(seed).random((12, 12, 12)) < share, -1.0, 1.0)
    vertices, faces = mesh_of_array(values)
    assert_closed_manifold(vertices, faces)
    inside = values[1:-1, 1:-1, 1:-1] < 0
    assert volume(vertices, faces) > 0
    crossings = sum(np.count_nonzero(np.diff(np.pad(inside, 1), axis=axis)) for axis in range(3))
    assert len(vertices) == crossings


def test_zeros_infinities_and_nan(rng):
    values = rng.choice([-np.inf, -1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, np.inf, np.nan], size=(12, 12, 12))
    vertices, faces = mesh_of_array(values)
    assert_closed_manifold(vertices, faces)
    p, q, r = (vertices[faces[:, corner]] for corner in range(3))
    assert min(np.linalg.norm(a - b, axis=1).min() for a, b in ((p, q), (q, r), (r, p))) > 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_open_border(seed):
    values = np.random.default_rng(seed).standard_normal((10, 12, 9))
    vertices, faces = mesh_of_array(values, closed=False)
    edges = boundary(vertices, faces)
    assert len(edges)
    on_border = (vertices[edges] == 0) | (vertices[edges] == np.array(values.shape) - 1)
    assert on_border.all(axis=1).any(axis=1).all()  # both ends on the same side of the box
    assert_one_fan_a_vertex(vertices, faces)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_disagree_on_common_corners(seed):
    """Noise that differs from block to block at the same corner changes signs, but opens no gap."""
    values = np.random.default_rng(seed).standard_normal((21, 21, 21))
    sample, shape, _ = dense_sampler(values, 5)

    def noisy(blocks):
        noise = [np.random.default_rng([seed, *block]).standard_normal((6, 6, 6)) for block in blocks]
        return sample(blocks) + 0.3 * np.array(noise)

    whole = mesh_of_blocks(noisy, all_blocks(shape), shape, side=5)
    assert_closed_manifold(*whole)
    followed = mesh_of_blocks(noisy, [[1, 1, 1]], shape, side=5, batch=3)
    assert_closed_manifold(*followed)


def test_walk_reaches_blocks_that_only_the_agreed_signs_ask_for():
    """Two blocks without a change of sign of their own, which disagree on their common edge."""

    def sample(blocks):
        inside = (blocks == 1).all(axis=1)
        return np.where(inside, -1.0, 1.0)[:, None, None, None] * np.ones((len(blocks), 5, 5, 5))

    vertices, faces = mesh_of_blocks(sample, [[1, 1, 1], [2, 2, 1]], (3, 3, 3), side=4)
    assert_closed_manifold(vertices, faces)
    # the lower faces of the block go to its neighbours; vertices lie next to the corners that were overruled
    np.testing.assert_allclose(np.unique(vertices), [4.001, 4.999, 5, 6, 7, 8, 8.001], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_random_waves(seed):
    mesh = extract(Implicit(random_waves(seed)), box(1.0), 0.09, side=8, refine=0)
    assert_closed_manifold(mesh.vertices, mesh.faces)
    assert volume(mesh.vertices, mesh.faces) > 0


# surfaces that are known


def test_sphere():
    mesh = extract(Ball((0.1, -0.2, 0.05)), box(1.5), 0.1, side=8)
    offset = mesh.vertices - (0.1, -0.2, 0.05)
    assert_closed_manifold(mesh.vertices, mesh.faces)
    np.testing.assert_allclose(np.linalg.norm(offset, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(mesh.normals, offset, atol=1e-12)
    assert euler_characteristic(mesh.vertices, mesh.faces) == 2
    np.testing.assert_allclose(volume(mesh.vertices, mesh.faces), 4 * np.pi / 3, rtol=0.01)
    assert mesh.faces.dtype == np.int32


def test_refinement_of_a_function_that_is_no_distance():
    ellipsoid = Implicit(lambda X: np.exp((X * (1, 1.5, 2)) ** 2 @ np.ones(3)) - np.e)
    rough, fine = (extract(ellipsoid, box(1.2), 0.05, refine=steps) for steps in (0, 3))
    assert np.abs(ellipsoid(rough.vertices)).max() > 1e-2
    assert np.abs(ellipsoid(fine.vertices)).max() < 1e-6
    assert np.linalg.norm(fine.vertices - rough.vertices, axis=1).max() <= 0.025 + 1e-12


def test_bad_gradients_move_no_vertex_far():
    class Steep(Ball):
        def gradient(self, X):
            return np.where(X[:, :1] < 0.3, 1e-3 * super().gradient(X), np.nan)

    plain, moved = (extract(Steep(), box(0.95), 0.1, refine=steps) for steps in (0, 3))
    distance = np.linalg.norm(moved.vertices - plain.vertices, axis=1)
    assert 0.04 < distance.max() <= 0.05 + 1e-12
    assert distance[plain.vertices[:, 0] > 0.3].max() == 0
    assert np.abs(moved.vertices).max() <= 0.95 + 1e-12
    assert np.isfinite(moved.normals).all()


def test_normals_of_triangles_where_the_gradient_vanishes():
    class Flat(Ball):
        def gradient(self, X):
            return np.zeros_like(X)

    mesh = extract(Flat(), box(1.2), 0.05)
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1)
    assert (mesh.normals * mesh.vertices).sum(axis=1).min() > 0.95


def test_torus_has_one_hole():
    mesh = extract(Implicit(torus), box(1.6), 0.08, side=8)
    assert_closed_manifold(mesh.vertices, mesh.faces)
    assert euler_characteristic(mesh.vertices, mesh.faces) == 0
    np.testing.assert_allclose(volume(mesh.vertices, mesh.faces), 2 * np.pi**2 * 0.16, rtol=0.02)
    np.testing.assert_allclose(area(mesh.vertices, mesh.faces), 4 * np.pi**2 * 0.4, rtol=0.02)


def test_gyroid_is_capped_at_the_box():
    mesh = extract(Implicit(gyroid), ([0.0] * 3, [1.5, 1.0, 1.3]), 0.03)
    assert_closed_manifold(mesh.vertices, mesh.faces)
    assert (mesh.vertices >= 0).all()
    assert (mesh.vertices <= 0.03 * np.ceil(np.array([1.5, 1.0, 1.3]) / 0.03 - 1e-9) + 1e-12).all()
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1)
    open_mesh = extract(Implicit(gyroid), ([0.0] * 3, [1.5, 1.0, 1.3]), 0.03, closed=False)
    on_border = boundary(open_mesh.vertices, open_mesh.faces)
    assert on_border.size
    assert area(open_mesh.vertices, open_mesh.faces) < area(mesh.vertices, mesh.faces)
    assert np.abs(gyroid(open_mesh.vertices)).max() < 1e-4


def test_cap_lies_on_the_border():
    mesh = extract(Implicit(lambda X: X[:, 2] - 0.31), ([0.0] * 3, [1.0] * 3), 1 / 32)
    assert_closed_manifold(mesh.vertices, mesh.faces)
    np.testing.assert_allclose(volume(mesh.vertices, mesh.faces), 0.31, atol=0.005)
    for axis, end in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0)):
        cap = mesh.vertices[:, axis] == end
        assert cap.sum() > 100
        np.testing.assert_array_equal(mesh.normals[cap], np.tile((2 * end - 1) * np.eye(3)[axis], (cap.sum(), 1)))


@pytest.mark.parametrize(("shape", "seed"), [(touching_balls, (2, 0, 0)), (thin_plate, (0, 0, 0))])
def test_delicate_shapes(shape, seed):
    mesh = extract(Implicit(shape), box(2.2), 0.1, side=8, seeds=[seed])
    assert_closed_manifold(mesh.vertices, mesh.faces)
    assert volume(mesh.vertices, mesh.faces) > 0


def test_against_scikit_image():
    measure = pytest.importorskip("skimage.measure")
    axes = np.linspace(-1.3, 1.3, 30)
    grid = np.stack(np.meshgrid(axes, axes, axes, indexing="ij"), axis=-1).reshape(-1, 3)
    for function in (Ball((0.02, 0.03, 0.01)), torus, lambda X: gyroid(X / 2)):
        values = function(grid).reshape(30, 30, 30)
        vertices, faces = mesh_of_array(values, side=8, closed=False)
        theirs, their_faces, _, _ = measure.marching_cubes(values, 0.0)
        assert len(vertices) == len(theirs)
        distance, nearest = cKDTree(theirs).query(vertices)
        assert distance.max() < 2e-3  # they do not keep crossings off the corners
        assert len(np.unique(nearest)) == len(theirs)
        np.testing.assert_allclose(area(vertices, faces), measure.mesh_surface_area(theirs, their_faces), rtol=2e-3)
        their_volume = abs(volume(theirs, their_faces))
        if boundary(vertices, faces).size == 0:
            np.testing.assert_allclose(volume(vertices, faces), their_volume, rtol=2e-3)


# the walk


def test_flood_from_one_seed_follows_one_component():
    two = Implicit(lambda X: np.minimum(Ball((-1.3, 0, 0))(X), Ball((1.3, 0, 0), 0.9)(X)))
    both = extract(two, box(2.5), 0.1, side=8)
    one = extract(two, box(2.5), 0.1, side=8, seeds=[[-1.3, 0, 1.05]])
    assert component_labels(both.faces, len(both.vertices)).max() == 1
    assert component_labels(one.faces, len(one.vertices)).max() == 0
    alone = extract(Ball((-1.3, 0, 0)), box(2.5), 0.1, side=8, refine=2)
    np.testing.assert_allclose(one.vertices, alone.vertices, atol=1e-9)
    np.testing.assert_array_equal(one.faces, alone.faces)
    np.testing.assert_array_equal(extract(two, box(2.5), 0.1, side=8, seeds=both.vertices).vertices, both.vertices)


def test_seed_in_the_next_block():
    plane = Implicit(lambda X: X[:, 2] - 0.805)  # in the first cells of blocks that begin at 0.8
    mesh = extract(plane, ([0.0] * 3, [1.6] * 3), 0.1, side=8, seeds=[[0.4, 0.4, 0.79]], closed=False)
    np.testing.assert_allclose(mesh.vertices[:, 2], 0.805)
    np.testing.assert_allclose(area(mesh.vertices, mesh.faces), 1.6**2)


def test_scan_finds_a_solid_that_fills_the_box():
    mesh = extract(Implicit(lambda X: -np.ones(len(X))), ([0.0] * 3, [1.0, 0.7, 0.5]), 0.02)
    assert_closed_manifold(mesh.vertices, mesh.faces)
    np.testing.assert_allclose(volume(mesh.vertices, mesh.faces), 1.0 * 0.7 * 0.5, rtol=0.02)


def test_each_block_is_sampled_once_and_only_at_the_surface():
    seen = []

    class Recorded(Ball):
        def sample_blocks(self, blocks, side, origin, spacing):
            seen.extend(map(tuple, blocks.tolist()))
            nodes = side * blocks[:, None, None, None] + np.stack(
                np.meshgrid(*[np.arange(side + 1)] * 3, indexing="ij"), -1
            )
            return self((origin + spacing * nodes).reshape(-1, 3)).reshape(nodes.shape[:-1])

    mesh = extract(Recorded(), box(1.2), 0.02, side=8, seeds=[[0, 0, 1.0]])
    assert len(set(seen)) == len(seen) < 0.4 * 15**3
    plain = extract(Ball(), box(1.2), 0.02, side=8)
    np.testing.assert_array_equal(mesh.faces, plain.faces)
    np.testing.assert_array_equal(mesh.vertices, plain.vertices)


def test_same_bytes_for_any_batch_seeds_and_threads():
    values = np.random.default_rng(3).standard_normal((34, 30, 38)).astype(np.float32)
    sample, shape, cells = dense_sampler(values, 4)
    reference = mesh_of_array(values)
    for batch in (1, 7, 10_000):
        for got, expected in zip(
            mesh_of_blocks(sample, all_blocks(shape)[::-5], shape, side=4, cells=cells, batch=batch),
            reference,
            strict=True,
        ):
            assert got.tobytes() == expected.tobytes()
    for threads in (1, 2, 4):
        with limited_threads(threads):
            mesh = mesh_of_array(values)
        for got, expected in zip(mesh, reference, strict=True):
            assert got.tobytes() == expected.tobytes()


def test_empty():
    vertices, faces = mesh_of_blocks(lambda blocks: np.ones((len(blocks), 9, 9, 9)), [[0, 0, 0]], (2, 2, 2), side=8)
    assert vertices.shape == faces.shape == (0, 3)
    vertices, faces = mesh_of_blocks(None, np.empty((0, 3)), (2, 2, 2), side=8)
    assert vertices.shape == faces.shape == (0, 3)


def test_errors_say_what_to_do():
    ones = lambda blocks: np.ones((len(blocks), 9, 9, 9))  # noqa: E731
    with pytest.raises(ValueError, match="side must be"):
        mesh_of_blocks(ones, [[0, 0, 0]], (2, 2, 2), side=17)
    with pytest.raises(ValueError, match="sample must return"):
        mesh_of_blocks(ones, [[0, 0, 0]], (2, 2, 2), side=4)
    with pytest.raises(ValueError, match="batch"):
        mesh_of_blocks(ones, [[0, 0, 0]], (2, 2, 2), side=8, batch=0)
    with pytest.raises(ValueError, match="changes its sign nowhere"):
        extract(Ball(radius=5), box(1.0), 0.1, closed=False)
    with pytest.raises(ValueError, match="nearer to the surface"):
        extract(Ball(), box(2.0), 0.1, seeds=[[9.0, 9.0, 9.0]])
    with pytest.raises(ValueError, match="spacing"):
        extract(Ball(), box(1.0), 0.0)
    with pytest.raises(ValueError, match="bounds"):
        extract(Ball(), ([0, 0, 0], [1, 0, 1]), 0.1)
    with pytest.raises(ValueError, match="scan must divide"):
        extract(Ball(), box(1.0), 0.1, scan=3)


# components


def test_component_labels_against_scipy(rng):
    faces = rng.integers(0, 3000, size=(900, 3)).astype(np.int32)
    labels = component_labels(faces, 3000)
    edges = half_edges(faces)
    count, expected = connected_components(
        coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(3000, 3000)), directed=False
    )
    assert labels.max() + 1 == count
    assert len(np.unique(np.stack([labels, expected]), axis=1).T) == count
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()
    with pytest.raises(ValueError, match="faces"):
        component_labels(faces, 100)
