"""Loops over the blocks of a tree against plain NumPy and SciPy, for every dimension, degree, type, instruction set."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from field_bases import small_tree
from scipy.interpolate import BSpline

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.bases.bsplines import cell_energy, derivative_pieces
from seminorm.fields.field import Field, sample_blocks
from seminorm.fields.pointwise import LocalEnergy, PointEquations
from seminorm.fields.system import Energy, collapse, gather

SHAPES = [(d, q) for d in (1, 2, 3, 4) for q in (1, 2, 3)]
TYPES = [np.float32, np.float64]
shapes = pytest.mark.parametrize(("d", "q"), SHAPES)
types = pytest.mark.parametrize("dtype", TYPES)
ROUNDING = {np.float32: 2e-5, np.float64: 1e-12}


def instruction_sets():
    before = _native.instruction_set()
    for name in ("base", "avx2", "avx512"):
        try:
            _native.select_instruction_set(name)
        except ValueError:
            continue
        yield name
    _native.select_instruction_set(before)


def random_coefficients(tree, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(tree.active.shape) * tree.active).astype(dtype)


def by_definition(tree, x, points):
    """The sum over all levels of coefficients times tensor products of SciPy's B-splines, at points in cells."""
    element, total = BSpline.basis_element(np.arange(tree.degree + 2.0), extrapolate=False), np.zeros(len(points))
    for block, node in np.argwhere(x):
        place = tree.coords[block] * tree.layout.side + tree.layout.node_coords[node]
        t = points * 2.0 ** tree.level_of[block] - (place - tree.degree)
        total += x[block, node] * np.nan_to_num(element(t)).prod(axis=1)
    return total


@shapes
@types
def test_fields_are_sums_of_splines_of_all_levels(d, q, dtype):
    tree = small_tree(d, q, levels=1)
    chosen = np.random.default_rng(1).permutation(np.argwhere(tree.active))[:40]
    x = np.zeros(tree.active.shape, dtype=dtype)
    x[tuple(chosen.T)] = np.random.default_rng(2).standard_normal(len(chosen))
    points = np.random.default_rng(3).uniform(0, tree.box.cells, (60, d))
    expected = by_definition(tree, x, points)
    collapsed = collapse(tree, x)
    np.testing.assert_allclose(
        Field(tree, collapsed, 1).derivatives(points, [()])[:, 0], expected, atol=10 * ROUNDING[dtype]
    )
    block, cell = tree.locate(points)
    spacings, out = np.array([tree.spacing(level) for level in range(2)]), np.empty((60, 1 + d))
    _native.read_jets(tree.links, collapsed, points, block, cell, spacings, out)
    np.testing.assert_allclose(out[:, 0], expected, atol=10 * ROUNDING[dtype])


@shapes
def test_derivatives_against_differences(d, q):
    tree = small_tree(d, q)
    field = Field(tree, collapse(tree, random_coefficients(tree, np.float64)), 1)
    points, step = np.random.default_rng(3).uniform(0.1, 0.9, (50, d)) * tree.box.cells, 1e-6
    for axis in range(d):
        shift = step * np.eye(d)[axis]
        inside = (np.floor((points + shift) * 4) == np.floor((points - shift) * 4)).all(axis=1)
        ends = [field.derivatives(points + sign * shift, [()])[:, 0] for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step * tree.box.spacing * tree.box.scale[axis])
        exact = field.derivatives(points, [(axis,)])[:, 0]
        np.testing.assert_allclose(exact[inside], slope[inside], rtol=1e-4, atol=1e-4 * np.abs(exact).max())


@shapes
@types
def test_gather_is_the_transpose_of_collapse(d, q, dtype):
    tree = small_tree(d, q)
    x, y = random_coefficients(tree, dtype), random_coefficients(tree, dtype, 1)
    left = (collapse(tree, x).astype(float) * y).sum()
    right = (x.astype(float) * gather(tree, y.copy())).sum()
    assert left == pytest.approx(right, rel=1e3 * ROUNDING[dtype], abs=1e3 * ROUNDING[dtype])


def energy_by_cells(tree, x, order):
    """The gradient of the energy, cell by cell, from the quadratic form of one cell."""
    form, y, tables = cell_energy(tree.box.dimension, tree.degree, order), np.zeros(x.shape), tree.layout
    d, around = tree.box.dimension, 3 ** np.arange(tree.box.dimension)[::-1]
    nodes = tables.side ** np.arange(d)[::-1]
    for block, cell in np.argwhere(tree.leaf):
        place = tables.node_coords[cell] + tables.digits
        there = tree.neighbors[block, (place // tables.side + 1) @ around], place % tables.side @ nodes
        factor = tree.spacing(tree.level_of[block]) ** (d - 2 * order)
        np.add.at(y, there, factor * (form @ x[there]))
    return y


@shapes
def test_two_ways_to_apply_the_energy(d, q):
    tree, order = small_tree(d, q, levels=1), min(q, 2)
    x = collapse(tree, random_coefficients(tree, np.float64))
    expected = energy_by_cells(tree, x, order)
    scale = np.abs(expected).max()
    energy = Energy(tree, order)
    image = np.empty_like(x)
    _native.apply_stencils(tree.links, x, energy.factors, energy.kind, energy.edge, energy.inner, None, None, image)
    np.testing.assert_allclose(image, expected, atol=1e-11 * scale)
    for dtype in TYPES:
        image = np.zeros(x.shape, dtype=dtype)
        LocalEnergy(tree, order).add(x.astype(dtype), 1.0, image)
        np.testing.assert_allclose(image, expected, atol=50 * ROUNDING[dtype] * scale)


@pytest.mark.parametrize(("d", "q"), [(d, q) for d, q in SHAPES if d in (2, 3)])
@types
def test_the_energy_of_a_level_is_one_stencil(d, q, dtype):
    tree = small_tree(d, q, margin=2.0)
    own, order = tree.blocks(tree.depth), min(q, 3)
    x = collapse(tree, random_coefficients(tree, np.float64))
    energy = LocalEnergy(tree, order)
    expected = np.zeros(x.shape)
    energy.add(x, 1.0, expected)
    wanted = tree.active.reshape(len(x), -1, tree.layout.side).any(axis=2)
    image = np.zeros(x.shape, dtype=dtype)
    level = own.start, own.stop, energy.inner[tree.depth].astype(dtype), energy.factors[tree.depth], wanted
    _native.apply_level(tree.links, x.astype(dtype), *level, image)
    active = tree.active[own] & (tree.covered[own] == len(tree.layout.digits))
    assert active.any()
    scale = np.abs(expected).max()
    np.testing.assert_allclose(image[own][active], expected[own][active], atol=50 * ROUNDING[dtype] * scale)


def point_equations(d, q, dtype, n=200, levels=2):
    rng = np.random.default_rng(5)
    tree = small_tree(d, q, levels)
    points = np.sort(rng.uniform(0.0, tree.box.cells, (n, d)), axis=0)
    weights, observed = rng.uniform(0.5, 2.0, (n, 2)), rng.standard_normal((n, 1 + d))
    axis_weights = rng.uniform(0.5, 2.0, d)
    return points, weights, observed, axis_weights, PointEquations(
        tree, min(q, 2), points, weights, observed, dtype, axis_weights
    )  # fmt: skip


def jets(tree, collapsed, points):
    field = Field(tree, collapsed.astype(float), 1)
    slopes = field.derivatives(points, [(axis,) for axis in range(tree.box.dimension)]) * tree.box.scale
    return np.column_stack([field.derivatives(points, [()]), slopes])


@shapes
@types
def test_data_at_points(d, q, dtype):
    """u' A v, u' b and the diagonal, from values and gradients of the fields u and v at the points."""
    points, weights, observed, axis_weights, equations = point_equations(d, q, dtype)
    tree = equations.tree
    u, v = (collapse(tree, random_coefficients(tree, np.float64, seed)) for seed in (1, 2))
    of_u, of_v = jets(tree, u, points), jets(tree, v, points)
    factors = np.column_stack([weights[:, :1], weights[:, 1:] * axis_weights])
    zero = np.zeros(u.shape, dtype=dtype)
    applied = equations._add_data(v.astype(dtype), _native.PointSum.applied, zero.copy())
    bound = 1e4 * ROUNDING[np.float32]  # places are kept in single precision
    scale = np.sqrt((factors * of_u**2).sum() * (factors * of_v**2).sum())
    assert (u * applied).sum() == pytest.approx((factors * of_u * of_v).sum(), abs=bound * scale)
    right = equations._add_data(zero, _native.PointSum.observed, zero.copy())
    assert (u * right).sum() == pytest.approx((factors * of_u * observed).sum(), abs=bound * scale)
    at_points = equations.at_points(np.zeros(u.shape, dtype=dtype))
    assert not at_points.any()
    diagonal = equations.data_diagonal()
    for block, node in np.random.default_rng(0).permutation(np.argwhere(diagonal > 1e-3 * diagonal.max()))[:5]:
        unit = np.zeros(u.shape, dtype=dtype)
        unit[block, node] = 1.0
        image = equations._add_data(unit, _native.PointSum.applied, zero.copy())
        assert image[block, node] == pytest.approx(diagonal[block, node], rel=1e-4)


@pytest.mark.parametrize(("d", "q"), [(1, 2), (2, 3), (3, 2), (3, 3), (4, 2)])
def test_samples_are_values_at_the_corners(d, q):
    tree = small_tree(d, q)
    field = Field(tree, collapse(tree, random_coefficients(tree, np.float64)), 1)
    level, side = tree.depth + 1, tree.layout.side
    most = np.maximum(tree.cells(level) // side, 1)
    blocks = np.random.default_rng(0).integers(0, most, (4, d))
    corners = np.array(list(product(range(side + 1), repeat=d)))
    places = (blocks[:, None] * side + corners) / 2.0**level
    inside = (places <= tree.box.cells).all(axis=-1)
    values = field.derivatives(places[inside], [()])[:, 0]
    np.testing.assert_allclose(sample_blocks(field, level, blocks).reshape(4, -1)[inside], values, atol=1e-12)


@shapes
@types
def test_the_same_bits_on_every_instruction_set_and_number_of_threads(d, q, dtype):
    *_, equations = point_equations(d, q, dtype)
    tree = equations.tree
    x, results = random_coefficients(tree, dtype), set()
    field_points = np.random.default_rng(1).uniform(0.0, tree.box.cells, (100, d))
    for _ in instruction_sets():
        for threads in (1, 2, 4):
            with limited_threads(threads):
                image = equations.apply(x, 0.1)
                values = Field(tree, collapse(tree, x), 1).derivatives(field_points, [(), ()])
                total = _native.dot(x.reshape(-1), image.reshape(-1))
                results.add((image.tobytes(), values.tobytes(), equations.at_points(x).tobytes(), total))
    assert len(results) == 1


def test_normal_equations_of_points_in_stencils():
    """Assembled and applied point by point: the same matrix."""
    from seminorm.fields.sources import Observations
    from seminorm.fields.system import System

    for d, q in [(1, 3), (2, 2), (2, 3), (3, 2), (4, 2)]:
        rng = np.random.default_rng(d)
        tree = small_tree(d, q)
        X = tree.box.low + rng.uniform(0, 1, (150, d)) * tree.box.cells * tree.box.spacing * tree.box.scale
        y, slopes = rng.standard_normal(150), rng.standard_normal((150, d))
        weights = np.column_stack([np.full(150, 1.5), np.full(150, 0.5)])
        system = System(tree, 2)
        system.add(Observations(X, y, weights[:, 0], slopes, weights[:, 1]), 0)
        system.close()
        points = tree.box.coordinates(X)
        observed = np.column_stack([y, slopes * tree.box.scale])
        scale = 1.0 / tree.box.scale**2
        local = PointEquations(tree, 2, points, weights, observed, np.float64, scale)
        x = random_coefficients(tree, np.float64)
        one, other = system.apply(x, 0.3), local.apply(x, 0.3)
        np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(one).max())


@pytest.mark.parametrize("q", [1, 2, 3])
def test_energy_forms_of_rows(q):
    """The one-dimensional forms against quadrature of derivatives."""
    from seminorm.fields.pointwise import _row_forms

    forms, nodes = _row_forms(8, q, q), np.polynomial.legendre.leggauss(4)
    t, w = (nodes[0] + 1) / 2, nodes[1] / 2
    for k in range(q + 1):
        pieces = derivative_pieces(q, k)[k]
        values = pieces @ (t[None] ** np.arange(q + 1)[:, None])
        expected = (values * w) @ values.T / factorial(k)
        np.testing.assert_allclose(forms[1 + q, k, : q + 1, : q + 1], expected, atol=1e-13)


def test_bad_links_and_arrays_are_refused():
    tree = small_tree(2, 2)
    x = random_coefficients(tree, np.float64)
    with pytest.raises(ValueError, match=r"x must be \(blocks, side\*\*d\)"):
        _native.prolong_add(tree.links, x[:-1].copy(), tree.parents[0].blocks)
    with pytest.raises(ValueError, match="parents must lie between"):
        _native.prolong_add(tree.links, x, np.array([len(x)]))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.prolong_add(tree.links, x[:, ::2], tree.parents[0].blocks)
    with pytest.raises(ValueError, match="starts must span blocks"):
        _native.restrict_add(tree.links, x, tree.parents[0].blocks, np.array([0, 7]))
    block, cell = (np.zeros(3, dtype=np.int32) for _ in range(2))
    with pytest.raises(ValueError, match="cell must lie between"):
        _native.read_derivatives(
            tree.links, x, np.zeros((3, 2)), block, cell + 256, derivative_pieces(2, 0), np.zeros((1, 2), dtype=int),
            np.empty((3, 1)),
        )  # fmt: skip
    links = dict(
        degree=2, coords=tree.coords, is_cell=np.ones(len(x), dtype=bool), level_of=tree.level_of,
        limits=np.full((3, 2), 100), wraps=np.zeros(2, dtype=bool), factors=np.ones(3), neighbors=tree.neighbors,
        finer=np.full((len(x), 4), -1, dtype=np.int32), children=np.full((len(x), 4), len(x), dtype=np.int32),
    )  # fmt: skip
    with pytest.raises(ValueError, match="children must lie between -1 and"):
        _native.TreeLinks(**links)


@pytest.mark.parametrize(("d", "q"), [(1, 2), (2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("margin", [0.5, 2.0])  # at the border of the box, and away from it
def test_the_finest_level_alone_is_solved_for_given_coarser_ones(d, q, margin):
    """Its rows of the equations of all levels hold, and the other levels are left as they were."""
    rng = np.random.default_rng(7)
    tree = small_tree(d, q, margin=margin)
    points = tree.box.coordinates(rng.uniform(0.25, 0.35, (100, d)))
    weights, observed = rng.uniform(0.5, 2.0, (100, 2)), rng.standard_normal((100, 1 + d))
    equations = PointEquations(tree, min(q, 2), points, weights, observed)
    own, alpha = tree.blocks(tree.depth), 0.01
    x = random_coefficients(tree, np.float64)
    x[own] = 0.0
    before = x.copy()
    outcome = equations.solve_finest(alpha, x, tol=1e-10, max_iter=5000)
    assert outcome.converged
    np.testing.assert_array_equal(x[: own.start], before[: own.start])
    residual = (equations.right - equations.apply(x, alpha))[own][tree.active[own]]
    first = (equations.right - equations.apply(before, alpha))[own][tree.active[own]]
    assert np.abs(residual).max() < 1e-6 * np.abs(first).max()
