"""Loops over point clouds: against NumPy, for any number of threads, on every instruction set, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial import cKDTree

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.clouds.normals.orientation import _nodes

LIMITS = {"outlying": 4.685, "least_deviation": 1e-7, "ridge": 1e-6, "same_side": 0.3, "least_agreeing": 6}


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def instruction_sets():
    """The names of those this machine has, each in use while it is named."""
    before = _native.instruction_set()
    try:
        for name in ("base", "avx2", "avx512"):
            try:
                _native.select_instruction_set(name)
            except ValueError:
                continue
            yield name
    finally:
        _native.select_instruction_set(before)


def assert_same_bits_everywhere(function):
    """Whatever the number of threads and the instruction set; returns the result."""
    with limited_threads(1):
        expected = function()
    for threads in (2, 4):
        with limited_threads(threads):
            np.testing.assert_array_equal(function(), expected)
    for _ in instruction_sets():
        np.testing.assert_array_equal(function(), expected)
    return expected


# -- surfaces through neighbours -------------------------------------------------------------------------------------


def bent_cloud(n=400, seed=0, noise=0.02):
    """Points around a bent sheet, some of them far off it, their masses, and rough sides."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1, 1, (2, n))
    points = np.column_stack([u, v, 0.3 * u * u - 0.2 * u * v + 0.1 * v + noise * rng.standard_normal(n)])
    points[:: n // 8, 2] += 0.3
    sides = unit(np.array([0.0, 0.0, 1.0]) + 0.4 * rng.standard_normal((n, 3)))
    sides[rng.random(n) < 0.3] *= -1
    return points, rng.uniform(0.5, 2.0, n), sides


def fit(points, mass, sides, queries, query_sides, neighbors, k, quadric, rounds=3, **changed):
    m = len(queries)
    found = np.empty((m, 3)), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    limits = LIMITS | changed
    place = points, mass, sides, queries, query_sides, neighbors
    _native.fit_neighborhoods(*place, k, quadric, rounds, *limits.values(), *found)
    return np.column_stack(found)


def case(k=14, m=45, with_sides=False, **cloud):
    points, mass, sides = bent_cloud(**cloud)
    none = np.zeros((0, 3))
    queries = points[:m] + 0.001
    near = cKDTree(points).query(queries, k=k + 2)[1]
    return points, mass, sides if with_sides else none, queries, sides[:m] if with_sides else none, near, k


def basis_of(normal):
    return np.linalg.svd(normal[None])[2][1:]


def plain_fit(points, mass, sides, query, side, rows, quadric, rounds):
    """Normal, height, deviation, slope and width of one neighbourhood, without compiled loops."""
    local = points[rows] - query
    squares = (local**2).sum(axis=1)
    radius = np.sqrt(squares.max())
    local, near = local / radius, mass[rows] * (1 - 0.75 * squares / radius**2)
    if len(sides):
        dots = sides[rows] @ side
        if (dots > LIMITS["same_side"]).sum() >= LIMITS["least_agreeing"]:
            near = near * np.maximum(dots, 0)
    centred = local - np.average(local, axis=0, weights=near)
    extents, axes = np.linalg.eigh((centred * near[:, None]).T @ centred / near.sum())
    normal, weight, k = axes[:, 0], near, len(rows)
    for _ in range(rounds):
        u, v, h = *(local @ basis_of(normal).T).T, local @ normal
        columns = [np.ones(k), u, v] + ([u * u, u * v, v * v] if quadric else [])
        A = np.column_stack(columns)
        system = (A * weight[:, None]).T @ A + weight.sum() * np.diag([1e-14] * 3 + [1e-6, 5e-7, 1e-6])[
            : len(columns), : len(columns)
        ]
        coef, inverse = np.linalg.solve(system, A.T @ (weight * h)), np.linalg.inv(system)
        slope = (inverse[1, 1] + inverse[2, 2]) * weight.sum() / k
        residual = np.abs(h - A @ coef)
        freedom = max(1 - len(columns) / k, 0.5 / k)
        deviation = np.sqrt(weight @ residual**2 / (weight.sum() * freedom))
        median = np.sort(residual)[k // 2]
        limit = LIMITS["outlying"] * max(1.4826 * median / np.sqrt(freedom), LIMITS["least_deviation"])
        weight = near * np.where(residual < limit, (1 - (residual / limit) ** 2) ** 2, 0)
        normal = unit(normal - coef[1:3] @ basis_of(normal))
    width = 2 * extents[1] / (extents[1] + extents[2])
    return np.array([*normal, coef[0] * radius, deviation * radius, slope / radius**2, width])


@pytest.mark.parametrize("with_sides", [False, True])
@pytest.mark.parametrize(("quadric", "k"), [(True, 8), (True, 14), (True, 37), (False, 4), (False, 9), (False, 32)])
def test_neighborhoods(quadric, k, with_sides):
    arguments = case(k, with_sides=with_sides)
    points, mass, sides, queries, query_sides, near, _ = arguments
    found = fit(*arguments, quadric)
    for i, row in enumerate(found):
        side = query_sides[i] if with_sides else None
        expected = plain_fit(points, mass, sides, queries[i], side, near[i, :k], quadric, 3)
        expected[:4] *= np.sign(expected[:3] @ row[:3])
        np.testing.assert_allclose(row, expected, rtol=2e-6, atol=1e-8)


def test_neighborhoods_have_the_same_bits_everywhere():
    arguments = case(k=16, m=1000, with_sides=True, n=1100)
    whole = assert_same_bits_everywhere(lambda: fit(*arguments, True))
    points, mass, sides, queries, query_sides, near, k = arguments
    for m in (1, 3, 8, 13):  # and whatever shares a vector with it
        part = fit(points, mass, sides, queries[7 : 7 + m], query_sides[7 : 7 + m], near[7 : 7 + m], k, True)
        np.testing.assert_array_equal(part, whole[7 : 7 + m])


def test_neighbors_in_one_place_have_no_plane():
    points = np.ones((20, 3))
    points[10:] = bent_cloud(10)[0]
    near = np.array([np.arange(10), np.arange(10, 20)])
    found = fit(points, np.ones(20), np.zeros((0, 3)), np.ones((2, 3)), np.zeros((0, 3)), near, 10, True)
    np.testing.assert_array_equal(found[0], [0, 0, 1, 0, 0, 1, 0])
    assert np.isfinite(found[1]).all() and found[1, 5] != 1.0


@pytest.mark.parametrize("k", [4, 5, 11])
def test_exact_planes_of_any_direction(k):
    rng = np.random.default_rng(1)
    for normal in unit(np.vstack([np.eye(3), -np.eye(3), rng.standard_normal((20, 3))])):
        points = rng.standard_normal((40, 2)) @ basis_of(normal)
        near = cKDTree(points).query(points, k=k)[1]
        none = np.zeros((0, 3))
        found = fit(points, np.ones(40), none, points, none, near, k, False)
        np.testing.assert_allclose(np.abs(found[:, :3] @ normal), 1, atol=1e-9)
        np.testing.assert_allclose(found[:, 3:5], 0, atol=1e-7)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (1, np.ones(3), "mass must have 400 entries"),
        (2, np.ones((3, 3)), r"sides must be \(400, 3\)"),
        (3, np.ones((45, 2)), r"queries must be \(45, 3\)"),
        (5, np.full((45, 16), 400), "neighbors must lie between 0 and 399"),
        (5, np.full((45, 16), -1), "neighbors must lie between 0 and 399"),
        (5, np.zeros((45, 13), dtype=np.int64), "k or more"),
        (6, 0, "k > 0"),
    ],
)
def test_neighborhoods_refuse(position, value, message):
    arguments = list(case())
    arguments[position] = value
    with pytest.raises(ValueError, match=message):
        fit(*arguments, True)


def test_other_types_are_refused():
    arguments = list(case())
    arguments[0] = arguments[0].astype(np.float32)
    with pytest.raises(TypeError):
        fit(*arguments, True)


# -- signs -----------------------------------------------------------------------------------------------------------


def edges(dtype=np.int32, n=300):
    rng = np.random.default_rng(2)
    points, normals, trust = rng.standard_normal((n, 3)), unit(rng.standard_normal((n, 3))), rng.random(n)
    points[1] = points[0]
    near = rng.integers(0, n, (n, 5)).astype(dtype)
    near[0, 0], near[5, 1] = 1, 5  # an edge without length, and one to the point itself
    return points, normals, trust, near


def agreement_of(points, normals, trust, near):
    agreement = np.empty(near.shape)
    _native.edge_agreement(points, normals, trust, near, 0.05, agreement)
    return agreement


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_edge_agreement(dtype):
    points, normals, trust, near = edges(dtype)
    expected = np.zeros(near.shape)
    for (i, column), j in np.ndenumerate(near):
        step, product = points[j] - points[i], trust[i] * trust[j]
        if i == j:
            continue
        if not step.any():
            expected[i, column] = normals[i] @ normals[j] * product
            continue
        step = unit(step)
        mirrored = (normals[i] - 2 * (normals[i] @ step) * step) @ normals[j]
        flat = 1 - max((normals[i] @ step) ** 2, (normals[j] @ step) ** 2)
        expected[i, column] = mirrored * abs(mirrored) * max(flat, 0.05) * product
    np.testing.assert_allclose(agreement_of(points, normals, trust, near), expected, rtol=1e-12, atol=1e-13)


def test_edge_agreement_has_the_same_bits_everywhere():
    arguments = edges(n=5000)
    assert_same_bits_everywhere(lambda: agreement_of(*arguments))


@pytest.mark.parametrize("bad", [-1, 300])
def test_edges_to_nowhere_are_refused(bad):
    points, normals, trust, near = edges()
    near[7, 2] = bad
    with pytest.raises(ValueError, match="neighbors must lie between 0 and 299"):
        agreement_of(points, normals, trust, near)


def couplings(dtype=np.int32, n=80):
    rng = np.random.default_rng(3)
    matrix = sparse.random_array((n, n), density=0.1, rng=rng, data_sampler=rng.standard_normal).tocsr()
    matrix = (matrix + matrix.T).tocsr()
    links = matrix.indptr.astype(dtype), matrix.indices.astype(dtype), matrix.data
    return links, 0.3 * rng.standard_normal(n), rng.choice([-1.0, 1.0], n), matrix.toarray()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("sweeps", [0, 1, 20])
def test_improved_signs(dtype, sweeps):
    links, pull, signs, matrix = couplings(dtype)
    expected, flips = signs.copy(), 0
    for _ in range(sweeps):
        before = flips
        for i in range(len(expected)):
            if (pull[i] + matrix[i] @ expected) * expected[i] < 0:
                expected[i] *= -1
                flips += 1
        if flips == before:
            break
    assert _native.improve_signs(*links, pull, signs, sweeps) == flips
    np.testing.assert_array_equal(signs, expected)


def test_links_that_do_not_fit_are_refused():
    (indptr, indices, coupling), pull, signs, _ = couplings()
    with pytest.raises(ValueError, match="indices must lie between 0 and 79"):
        _native.improve_signs(indptr, indices + np.int32(40), coupling, pull, signs, 1)
    with pytest.raises(ValueError, match="indptr must increase from 0"):
        _native.improve_signs(indptr[::-1].copy(), indices, coupling, pull, signs, 1)
    with pytest.raises(ValueError, match="indptr must have 81 entries"):
        _native.improve_signs(indptr[:-1], indices, coupling, pull, signs, 1)
    with pytest.raises(ValueError, match="coupling must have"):
        _native.improve_signs(indptr, indices, coupling[:-1], pull, signs, 1)
    with pytest.raises(ValueError, match="pull must have 80"):
        _native.improve_signs(indptr, indices, coupling, pull[:-1], signs, 1)


# -- sums over a tree ------------------------------------------------------------------------------------------------


class Cloud:
    """Points in a tree, with what the loops need, and the sums of a naive program."""

    def __init__(self, n=500, leaf=8, opening=0.6, seed=4):
        rng = np.random.default_rng(seed)
        points = unit(rng.standard_normal((n, 3))) * [1.0, 2.0, 3.0]
        tree = cKDTree(points, leafsize=leaf)
        self.points, self.opening = np.ascontiguousarray(points[tree.indices]), opening
        self.spans, self.children = _nodes(tree)
        parts = [self.points[first:last] for first, last in self.spans]
        self.centers = np.array([part.mean(axis=0) for part in parts])
        pairs = zip(parts, self.centers, strict=True)
        self.radii = np.array([np.linalg.norm(part - center, axis=1).max() for part, center in pairs])
        self.leaves = np.flatnonzero(self.children[:, 0] < 0)
        self.widths, self.moments = rng.uniform(0.05, 0.3, n), rng.standard_normal((n, 3))
        self.sources, self.targets = rng.standard_normal(n), rng.uniform(-3, 3, (n // 2, 3))

    def nodes(self):
        return self.centers, self.radii, self.children, self.leaves, self.opening

    def lists(self):
        counts = np.empty((len(self.leaves), 2), dtype=np.int64)
        _native.count_walks(*self.nodes(), counts)
        starts = np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(counts, axis=0)])
        far, near = (np.empty(total, dtype=np.int32) for total in starts[-1])
        lists = starts[:, 0].copy(), far, starts[:, 1].copy(), near
        _native.fill_walks(*self.nodes(), *lists)
        return self.leaves, *lists

    def named_lists(self):
        return dict(zip(("leaves", "far_from", "far", "near_from", "near"), self.lists(), strict=True))

    def naive_walk(self, place, radius, node=0):
        """Nodes seen from afar and leaves beside, from the left to the right."""
        if (np.linalg.norm(self.centers[node] - place) - radius) * self.opening > self.radii[node]:
            return [node], []
        if self.children[node, 0] < 0:
            return [], [node]
        walks = [self.naive_walk(place, radius, child) for child in self.children[node]]
        return walks[0][0] + walks[1][0], walks[0][1] + walks[1][1]

    def part(self, node):
        return np.arange(*self.spans[node])

    def squared(self):
        result = np.empty(len(self.points))
        _native.squared_rows(self.points, self.widths, self.spans, self.centers, *self.lists(), result)
        return result

    def winding_sums(self):
        sums = np.empty((len(self.spans), 12))
        _native.winding_moments(self.points, self.moments, self.spans, self.centers, sums)
        return sums

    def winding(self, **changed):
        arguments = {
            **{name: getattr(self, name) for name in ("points", "moments", "widths", "spans", "centers")},
            "sums": self.winding_sums(),
            **self.named_lists(),
            "result": np.empty(len(self.points)),
        } | changed
        _native.winding_values(**arguments)
        return arguments["result"]

    def source_sums(self):
        sums = np.empty((len(self.spans), 4))
        _native.source_moments(self.points, self.sources, self.spans, self.centers, sums)
        return sums

    def field(self, **changed):
        names = ("targets", "points", "sources", "widths", "spans", "centers", "radii", "children", "opening")
        arguments = {
            **{name: getattr(self, name) for name in names},
            "sums": self.source_sums(),
            "result": np.empty((len(self.targets), 3)),
        } | changed
        _native.source_fields(**arguments)
        return arguments["result"]


@pytest.mark.parametrize("opening", [0.0, 0.3, 0.6, 0.9])
def test_walks(opening):
    cloud = Cloud(opening=opening)
    leaves, far_from, far, near_from, near = cloud.lists()
    for a, leaf in enumerate(leaves):
        expected = cloud.naive_walk(cloud.centers[leaf], cloud.radii[leaf])
        assert far[far_from[a] : far_from[a + 1]].tolist() == expected[0]
        assert near[near_from[a] : near_from[a + 1]].tolist() == expected[1]


@pytest.mark.parametrize(("n", "leaf"), [(500, 8), (500, 3), (60, 20), (5, 8)])
@pytest.mark.parametrize("opening", [0.0, 0.6])
def test_winding_values_and_squared_rows(opening, n, leaf):
    cloud = Cloud(n, leaf, opening)
    winding, squared = np.zeros(n), np.zeros(n)
    for leaf in cloud.leaves:
        far, near = cloud.naive_walk(cloud.centers[leaf], cloud.radii[leaf])
        for i in cloud.part(leaf):
            for node in far:
                d, part = cloud.centers[node] - cloud.points[i], cloud.part(node)
                m, length = cloud.moments[part], np.linalg.norm(d)
                T = m.T @ (cloud.points[part] - cloud.centers[node])
                winding[i] += (m.sum(axis=0) @ d + np.trace(T) - 3 * d @ T @ d / length**2) / length**3
                squared[i] += len(part) / length**4
            part = np.concatenate([cloud.part(node) for node in near])
            d = cloud.points[part] - cloud.points[i]
            length = np.linalg.norm(d, axis=1)
            winding[i] += ((cloud.moments[part] * d).sum(axis=1) / np.maximum(length, cloud.widths[i]) ** 3).sum()
            squared[i] += (length**2 / np.maximum(length, cloud.widths[i]) ** 6).sum()
    np.testing.assert_allclose(cloud.winding(), winding, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(cloud.squared(), squared, rtol=1e-10)


@pytest.mark.parametrize(("n", "leaf"), [(500, 8), (5, 8)])
@pytest.mark.parametrize("opening", [0.0, 0.6])
def test_source_fields(opening, n, leaf):
    cloud = Cloud(n, leaf, opening)
    expected = np.zeros((len(cloud.targets), 3))
    for i, x in enumerate(cloud.targets):
        far, near = cloud.naive_walk(x, 0.0)
        for node in far:
            d, part = x - cloud.centers[node], cloud.part(node)
            S, T = cloud.sources[part].sum(), cloud.sources[part] @ (cloud.points[part] - cloud.centers[node])
            expected[i] += ((S + 3 * T @ d / (d @ d)) * d - T) / np.linalg.norm(d) ** 3
        for j in (j for node in near for j in cloud.part(node)):
            d = x - cloud.points[j]
            expected[i] += cloud.sources[j] * d / max(np.linalg.norm(d), cloud.widths[j]) ** 3
    np.testing.assert_allclose(cloud.field(), expected, rtol=1e-10, atol=1e-10)


def test_sums_over_nodes():
    cloud = Cloud()
    winding, sources = cloud.winding_sums(), cloud.source_sums()
    for node, center in enumerate(cloud.centers):
        part = cloud.part(node)
        away, m, s = cloud.points[part] - center, cloud.moments[part], cloud.sources[part]
        np.testing.assert_allclose(winding[node], np.concatenate([m.sum(axis=0), (m.T @ away).ravel()]), atol=1e-11)
        np.testing.assert_allclose(sources[node], np.concatenate([[s.sum()], s @ away]), atol=1e-11)


def test_sums_over_trees_have_the_same_bits_everywhere():
    cloud = Cloud(3000)
    for loop in (cloud.winding, cloud.squared, cloud.field, cloud.winding_sums, cloud.source_sums):
        assert_same_bits_everywhere(loop)
    assert_same_bits_everywhere(lambda: np.concatenate(cloud.lists()))


def with_entry(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("spans", (3, 1), 501, "spans must be ranges of the 500 points"),
        ("spans", (3, 0), -1, "spans must be ranges"),
        ("leaves", 2, 10_000, "leaves must lie between"),
        ("far", 5, -1, "far must lie between 0"),
        ("near", 5, 10_000, "near must lie between 0"),
        ("far_from", 4, 10**9, "far_from must increase"),
        ("near_from", 0, 1, "near_from must increase from 0"),
    ],
)
def test_winding_values_refuse(name, place, value, message):
    cloud = Cloud()
    good = cloud.named_lists().get(name, getattr(cloud, name, None))
    with pytest.raises(ValueError, match=message):
        cloud.winding(**{name: with_entry(good, place, value)})


def test_shapes_of_sums_are_checked():
    cloud = Cloud()
    with pytest.raises(ValueError, match=r"sums must be \(\d+, 12\)"):
        cloud.winding(sums=cloud.source_sums())
    with pytest.raises(ValueError, match=r"sums must be \(\d+, 4\)"):
        cloud.field(sums=cloud.winding_sums())
    with pytest.raises(ValueError, match="widths must have 500 entries"):
        cloud.field(widths=cloud.widths[:-1])
    with pytest.raises(ValueError, match=r"result must be \(250, 3\)"):
        cloud.field(result=np.empty((249, 3)))


@pytest.mark.parametrize("children", [(0, 1), (1, 0), (-1, 1), (1, 10_000), (-2, -2)])
def test_walks_that_would_not_end_are_refused(children):
    cloud = Cloud()
    cloud.children = with_entry(cloud.children, 0, children)
    with pytest.raises(ValueError, match="children must follow their parents"):
        cloud.field()
    with pytest.raises(ValueError, match="children must follow their parents"):
        cloud.lists()


def test_lists_that_are_too_short_are_refused():
    cloud = Cloud()
    _, far_from, far, near_from, near = cloud.lists()
    shorter = np.minimum(far_from, len(far) - 1)
    with pytest.raises(ValueError, match="sums of what count_walks found"):
        _native.fill_walks(*cloud.nodes(), shorter, far[:-1].copy(), near_from, near)


def test_deep_trees_are_walked():
    """A chain, in which every node has a leaf and the rest."""
    n = 400
    points = np.column_stack([2.0 ** -np.arange(n, dtype=float), np.zeros(n), np.zeros(n)])
    spans, children = [(0, n)], [(1, 2)]
    for k in range(1, n):
        rest = 2 * k
        spans += [(k - 1, k), (k, n)]
        children += [(-1, -1), (rest + 1, rest + 2) if k < n - 1 else (-1, -1)]
    spans, children = np.array(spans), np.array(children)
    nodes = spans, np.zeros((len(spans), 3)), np.full(len(spans), np.inf), children, 0.6
    field, strength, sums = np.empty((1, 3)), np.ones(n), np.zeros((len(spans), 4))
    target = np.array([[-1.0, 0.0, 0.0]])
    _native.source_fields(target, points, strength, np.full(n, 0.1), *nodes, sums, field)
    np.testing.assert_allclose(field, [[-np.sum((1 + points[:, 0]) ** -2.0), 0, 0]])
