"""The multilevel engine against oracles: quadrature, dense solutions in the same basis, and exact smoothers."""

from functools import partial

import numpy as np
import pytest
from field_bases import basis_columns, dense_matrix, random_field, small_tree

from seminorm import Field, FieldSmoother, Smoother
from seminorm._base.threads import limited_threads
from seminorm.bases.bsplines import cell_energy, pieces, refinement_mask
from seminorm.fields import Settings, Source, fit_field
from seminorm.fields.posterior import Posterior
from seminorm.fields.system import Energy, System, collapse
from seminorm.kernels import Polyharmonic

DIMENSIONS = (1, 2, 3, 4)


def wave(X):
    return np.sin(6 * X[:, 0]) * np.cos(5 * X[:, -1]) + X.sum(axis=1)


def leaf_cells(tree):
    """Lower corner and side of every leaf cell, in the user's coordinates."""
    block, cell = np.nonzero(tree.leaf)
    side = tree.box.spacing / 2.0 ** tree.level_of[block]
    corner = (tree.coords[block] * tree.layout.side + tree.layout.node_coords[cell]) * side[:, None]
    return tree.box.low + corner * tree.box.scale, side


# -- the basis ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", (2, 3))
def test_pieces_are_the_b_splines_of_scipy(degree):
    from scipy.interpolate import BSpline

    t = np.linspace(0, 1, 7)
    for a in range(degree + 1):
        element = BSpline.basis_element(np.arange(degree + 2.0))
        np.testing.assert_allclose(np.polyval(pieces(degree)[a][::-1], t), element(degree - a + t), atol=1e-14)
    np.testing.assert_allclose(refinement_mask(degree).sum(), 2.0)


@pytest.mark.parametrize("degree", (2, 3))
@pytest.mark.parametrize("d", DIMENSIONS)
def test_leaves_cover_the_box_once(d, degree):
    tree = small_tree(d, degree)
    _, side = leaf_cells(tree)
    np.testing.assert_allclose((side**d).sum(), np.prod(tree.box.cells * tree.box.spacing))


@pytest.mark.parametrize("degree", (2, 3))
@pytest.mark.parametrize("d", DIMENSIONS)
def test_collapsing_keeps_the_function(d, degree):
    """A sum over levels equals the sum of the levels' own tensor-product splines, evaluated one by one with SciPy."""
    from scipy.interpolate import BSpline

    tree = small_tree(d, degree, levels=1)
    field, x = random_field(tree, 2)
    X = np.random.default_rng(1).uniform(-0.8, 1.8, (20, d))
    points = tree.box.coordinates(X)
    expected = np.zeros(len(X))
    element = BSpline.basis_element(np.arange(degree + 2.0), extrapolate=False)
    for block, node in np.argwhere(tree.active):
        place = tree.coords[block] * tree.layout.side + tree.layout.node_coords[node]
        t = points * 2.0 ** tree.level_of[block] - (place - degree)
        expected += x[block, node] * np.nan_to_num(element(t)).prod(axis=1)
    np.testing.assert_allclose(field(X), expected, atol=1e-12)


@pytest.mark.parametrize("degree", (2, 3))
@pytest.mark.parametrize("d", DIMENSIONS)
def test_derivatives_are_those_of_finite_differences(d, degree):
    field, _ = random_field(small_tree(d, degree), 2)
    X, step = np.random.default_rng(2).uniform(-0.8, 1.8, (10, d)), 1e-5
    for a in range(d):
        move = step * np.eye(d)[a]
        np.testing.assert_allclose(field.gradient(X)[:, a], (field(X + move) - field(X - move)) / 2e-5, atol=1e-5)
        if degree == 3:  # second derivatives of degree 2 jump between cells
            slopes = (field.gradient(X + move) - field.gradient(X - move)) / 2e-5
            np.testing.assert_allclose(field.hessian(X)[:, a], slopes, atol=2e-3)


@pytest.mark.parametrize(
    ("d", "degree", "order"), [(1, 2, 1), (1, 3, 3), (2, 2, 2), (2, 3, 2), (3, 2, 1), (3, 2, 2), (4, 2, 1)]
)
def test_energy_is_the_integral_of_squared_derivatives(d, degree, order):
    """Gauss-Legendre on every leaf cell is exact here; third derivatives by differences of Hessians."""
    field, _ = random_field(small_tree(d, degree, levels=1), order)
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d) / 2 + 0.5
    volume = np.prod(np.stack(np.meshgrid(*[weights / 2] * d, indexing="ij"), axis=-1).reshape(-1, d), axis=1)
    corners, sides = leaf_cells(field.tree)
    X = (corners[:, None] + grid * sides[:, None, None]).reshape(-1, d)
    if order == 3:
        squares = (np.diff(field.hessian(np.concatenate([X - 1e-4, X + 1e-4])).reshape(2, -1), axis=0)[0] / 2e-4) ** 2
    else:
        derivative = field.gradient(X) if order == 1 else field.hessian(X)
        squares = (derivative**2).reshape(len(X), -1).sum(axis=1)
    integral = (squares.reshape(len(corners), -1) * volume * sides[:, None] ** d).sum()
    np.testing.assert_allclose(field.seminorm() ** 2, integral, rtol=1e-5 if order == 3 else 1e-10)


def test_l2_product_of_cells():
    """Order 0 is the L2 product: the functions alive on a cell sum to one, so its entries sum to the volume."""
    for d in DIMENSIONS:
        np.testing.assert_allclose(cell_energy(d, 2, 0).sum(), 1.0)


# -- the system --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("d", "degree"), [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2)])
def test_multilevel_solution_equals_the_dense_one(d, degree):
    rng = np.random.default_rng(3)
    tree = small_tree(d, degree, levels=1, margin=0.5)
    X, weight = rng.random((60, d)), rng.uniform(0.5, 2.0, 60)
    y, gradients, slope_weight = rng.standard_normal(60), rng.standard_normal((60, d)), rng.uniform(0.1, 1.0, 60)
    alpha = 0.01
    source = Source.of(X, y, weight, gradients, slope_weight)
    system = source.accumulate(partial(System, tree, 2)).close()
    functions = list(basis_columns(tree))
    values = np.stack([f(X) for f in functions], axis=1)
    slopes = np.stack([f.gradient(X).reshape(-1) for f in functions], axis=1)
    energy = Energy(tree, 2)
    norms = np.array([energy(f.coef) for f in functions])
    repeated = np.repeat(slope_weight, d)
    data = values.T @ (weight[:, None] * values) + slopes.T @ (repeated[:, None] * slopes)
    matrix = dense_matrix(system, alpha)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9 * np.abs(matrix).max())
    np.testing.assert_allclose(np.diag(matrix), alpha * norms + np.diag(data), rtol=1e-9)
    np.testing.assert_allclose(dense_matrix(system, 0.0), data, atol=1e-9 * np.abs(data).max())
    right = values.T @ (weight * y) + slopes.T @ (repeated * gradients.reshape(-1))
    np.testing.assert_allclose(system.right[0][tree.active], right, atol=1e-10 * np.abs(right).max())
    expected = values @ np.linalg.lstsq(matrix, right, rcond=1e-13)[0]
    x = np.zeros(tree.active.shape)
    outcome = system.solve(alpha, x, tol=1e-11, max_iter=5000)
    assert outcome.converged
    np.testing.assert_allclose(Field(tree, collapse(tree, x), 2)(X), expected, atol=1e-7)
    squares = (weight * (y - expected) ** 2).sum()
    residual = gradients.reshape(-1) - slopes @ np.linalg.lstsq(matrix, right, rcond=1e-13)[0]
    np.testing.assert_allclose(system.residual_square_sum(x), squares + (repeated * residual**2).sum(), rtol=1e-6)


@pytest.mark.parametrize("order", (1, 2, 3))
@pytest.mark.parametrize("d", (1, 2, 3))
def test_polynomials_are_reproduced(d, order):
    """However large alpha is, polynomials of degree order - 1 come back exactly, beyond the box too (degree 1)."""
    rng = np.random.default_rng(4)
    X = rng.random((300, d))

    def polynomial(Z):
        value = np.full(len(Z), 3.0)
        if order > 1:
            value += Z @ np.arange(1.0, d + 1)
        if order > 2:
            value += (Z**2).sum(axis=1) - 2 * Z[:, 0] * Z[:, -1]
        return value

    smoother = FieldSmoother(alpha=10.0, order=order, depth=3, tol=1e-12, max_iter=3000).fit(X, polynomial(X))
    Z = rng.uniform(-1.5, 2.5, (100, d))
    np.testing.assert_allclose(smoother.predict(Z), polynomial(Z), rtol=1e-5, atol=1e-5)
    if order == 2:
        far = rng.uniform(-20, 20, (50, d))
        np.testing.assert_allclose(smoother.predict(far), polynomial(far), rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", (1e-2, 1e-4))
@pytest.mark.parametrize("d", (1, 2))
def test_converges_to_the_exact_smoother(d, alpha):
    rng = np.random.default_rng(5)
    X = rng.random((600, d))
    y = wave(X) + 0.05 * rng.standard_normal(600)
    exact = Smoother(Polyharmonic(2), alpha=alpha).fit(X, y)
    Z = rng.random((300, d))
    reference = exact.predict(Z)
    errors = [
        np.sqrt(
            np.mean((FieldSmoother(alpha=alpha, depth=depth, degree=3, tol=1e-8).fit(X, y).predict(Z) - reference) ** 2)
        )
        for depth in (3, 5, 7)
    ]
    assert errors[2] < 1e-3 * reference.std()
    assert errors[2] < errors[1] < errors[0] or errors[1] < 1e-3 * reference.std()


@pytest.mark.slow
def test_margin_and_depth_lead_to_the_exact_smoother_in_space():
    rng = np.random.default_rng(6)
    X = rng.random((500, 3))
    y = wave(X)
    reference = Smoother(Polyharmonic(2), alpha=1e-3).fit(X, y).predict(X)

    def error(depth, margin):
        values = FieldSmoother(alpha=1e-3, depth=depth, margin=margin, tol=1e-6).fit(X, y).predict(X)
        return np.sqrt(np.mean((values - reference) ** 2)) / reference.std()

    assert error(5, 2.0) < 0.4 * error(3, 2.0)
    assert error(4, 2.0) < error(4, 0.0)
    assert error(5, 2.0) < 0.01


@pytest.mark.parametrize("order", (1, 3))
def test_other_orders_agree_with_the_exact_smoother_on_the_line(order):
    rng = np.random.default_rng(7)
    X = rng.random((200, 1))
    y = wave(X)
    exact = Smoother(Polyharmonic(order), alpha=1e-4).fit(X, y)
    field = FieldSmoother(alpha=1e-4, order=order, depth=10 if order == 1 else 6, tol=1e-9).fit(X, y)
    tolerance = 2e-3 if order == 1 else 3e-4
    np.testing.assert_allclose(field.predict(X), exact.predict(X), atol=tolerance)
    np.testing.assert_allclose(field.function_.seminorm(), exact.function_.seminorm(), rtol=0.02)


def test_gradients_agree_with_the_exact_smoother():
    """Gradients in the plane need order 3 (2 m > d + 2)."""
    rng = np.random.default_rng(8)
    X = rng.random((150, 2))
    gradients = np.stack([6 * np.cos(6 * X[:, 0]), 1 + 0 * X[:, 1]], axis=1)
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    exact = Smoother(Polyharmonic(3), alpha=1e-6).fit(X, y, gradients=gradients)
    field = FieldSmoother(alpha=1e-6, order=3, depth=6, tol=1e-8, max_iter=5000).fit(X, y, gradients=gradients)
    Z = rng.random((100, 2))
    np.testing.assert_allclose(field.predict(Z), exact.predict(Z), atol=2e-3)
    np.testing.assert_allclose(field.predict_gradient(Z), exact.function_.gradient(Z), atol=0.1)


def test_gradients_alone_and_missing_components():
    rng = np.random.default_rng(9)
    X = rng.random((2000, 2))
    slopes = np.stack([2 * X[:, 0], np.full(2000, 3.0)], axis=1)
    slopes[::2, 1] = np.nan
    field = FieldSmoother(alpha=1e-6).fit(X, gradients=slopes).function_
    Z = rng.uniform(0.1, 0.9, (50, 2))
    np.testing.assert_allclose(field.gradient(Z), np.stack([2 * Z[:, 0], np.full(50, 3.0)], axis=1), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "margins", "bound"), [(1, (1.0, 10.0), 1.5e-3), (2, (1.0, 3.0), 4e-3)])
def test_radial_and_tensor_basis_agree(d, margins, bound):
    """The radial basis is clamped to zero outside its functions, which matters less the farther they reach."""
    from seminorm.bases import RadialSplineBasis
    from seminorm.fields import fit_basis

    rng = np.random.default_rng(17)
    X = rng.random((300, d))
    y = np.sin(4 * X[:, 0]) + X[:, -1] ** 2
    tensor = FieldSmoother(alpha=1e-3, depth=6, tol=1e-7).fit(X, y).predict(X)
    support = 0.1 if d == 1 else 0.4
    differences = []
    for margin in margins:
        axes = [np.arange(-margin, 1 + margin + 1e-9, support / 2**d)] * d
        centers = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        basis = RadialSplineBasis(centers, np.full(len(centers), support))
        radial = fit_basis(basis, basis.energy(2), X, y, 1e-3)(X)
        differences.append(np.sqrt(np.mean((radial - tensor) ** 2)) / tensor.std())
    assert differences[1] < 0.6 * differences[0]
    assert differences[1] < bound


# -- chunks, threads, files --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scattered():
    rng = np.random.default_rng(10)
    X = rng.random((3000, 2)) ** 1.5
    return X, wave(X) + 0.05 * rng.standard_normal(3000), rng.uniform(0.5, 2.0, 3000)


def test_same_bits_for_any_number_of_threads(scattered):
    X, y, weight = scattered
    results = []
    for threads in (1, 2, 4):
        with limited_threads(threads):
            smoother = FieldSmoother().fit(X, y, weight)
            results.append((smoother.alpha_, smoother.predict(X).tobytes(), smoother.function_.coef.tobytes()))
    assert results[0] == results[1] == results[2]


@pytest.mark.slow
def test_chunks_give_the_same_field(scattered, tmp_path):
    X, y, weight = scattered
    fixed = partial(FieldSmoother, depth=5)
    whole = fixed().fit(X, y, weight)
    pieces_ = [(X[k : k + 700], y[k : k + 700], weight[k : k + 700]) for k in range(0, 3000, 700)]
    files = []
    for number, (points, values, weights) in enumerate(pieces_):
        np.savez(tmp_path / f"{number}.npz", X=points, y=values, sample_weight=weights)
        files.append(tmp_path / f"{number}.npz")
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    sources = [pieces_, [dict(X=p, y=v, sample_weight=w) for p, v, w in pieces_], files, lambda: iter(pieces_)]
    fitted = [fixed().fit(source) for source in sources]
    fitted.append(fixed().fit(mapped, y, weight))
    fitted.append(fixed(memory_limit=2e8).fit(X, y, weight))
    for other in fitted:
        np.testing.assert_allclose(other.alpha_, whole.alpha_, rtol=1e-6)
        np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=1e-6)
    # with automatic depth, neighbours are sought within a chunk: the basis may differ, the field hardly
    automatic = FieldSmoother().fit(pieces_).predict(X) - FieldSmoother().fit(X, y, weight).predict(X)
    assert np.sqrt(np.mean(automatic**2)) < 0.02


def test_values_in_one_chunk_and_gradients_in_another(scattered, monkeypatch):
    """The same as one chunk in which NaN and weight 0 mark what is missing; also when only a sample is kept in
    memory.
    """
    from seminorm.fields import fit

    X, y, _ = scattered
    slopes = (
        np.stack(
            [6 * np.cos(6 * X[:, 0]) * np.cos(5 * X[:, 1]), -5 * np.sin(6 * X[:, 0]) * np.sin(5 * X[:, 1])], axis=1
        )
        + 1
    )
    half = 1500
    chunks = [dict(X=X[:half], y=y[:half]), dict(X=X[half:], gradients=slopes[half:], gradient_weight=0.1)]
    gaps = np.concatenate([np.full((half, 2), np.nan), slopes[half:]])
    weight = np.repeat([1.0, 0.0], half)
    whole = FieldSmoother(alpha=1e-4).fit(
        X, y, sample_weight=weight, gradients=gaps, gradient_weight=np.full(3000, 0.1)
    )
    np.testing.assert_allclose(FieldSmoother(alpha=1e-4).fit(chunks).predict(X), whole.predict(X), atol=1e-6)
    monkeypatch.setattr(fit, "_SAMPLE", 1000)
    monkeypatch.setattr(fit, "_SAMPLE_LEAST", 100)
    sampled = FieldSmoother(alpha=1e-4, depth=5).fit(chunks)
    full = FieldSmoother(alpha=1e-4, depth=5).fit(
        X, y, sample_weight=weight, gradients=gaps, gradient_weight=np.full(3000, 0.1)
    )
    np.testing.assert_allclose(sampled.predict(X), full.predict(X), atol=0.01)
    assert np.sqrt(np.mean((whole.predict(X) - wave(X)) ** 2)) < 0.05


@pytest.mark.slow
def test_dask_partial_sums_on_workers(scattered):
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    X, y, weight = scattered
    whole = FieldSmoother(order=2, depth=5).fit(X, y, weight)
    arrays = [da.from_array(part, chunks=(700,) + part.shape[1:]) for part in (X, y, weight)]
    without_client = FieldSmoother(order=2, depth=5).fit(*arrays)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        distributed.get_task_stream(client) as stream,
    ):
        on_workers = FieldSmoother(order=2, depth=5).fit(*arrays)
    assert any("_partial" in str(task["key"]) for task in stream.data)
    for other in (without_client, on_workers):
        np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=1e-6)


def test_save_load_and_pickle(scattered, tmp_path):
    import pickle

    X, y, weight = scattered
    smoother = FieldSmoother(scale=[1.0, 2.0]).fit(X, y, weight)
    path = smoother.function_.save(tmp_path / "field.npz")
    loaded = Field.load(path)
    copied = pickle.loads(pickle.dumps(smoother))
    Z = np.random.default_rng(11).uniform(-3, 4, (200, 2))
    for other in (loaded, copied.function_):
        assert np.array_equal(other(Z), smoother.function_(Z))
        assert np.array_equal(other.gradient(Z), smoother.function_.gradient(Z))
        assert other.seminorm() == smoother.function_.seminorm()
    with pytest.raises(ValueError, match="does not hold a Field"):
        exact = Smoother().fit(X[:50], y[:50]).function_
        Field.load(exact.save(tmp_path / "expansion.npz"))


# -- statistics --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_posterior_is_the_formula_of_the_source():
    """Walder 2008, 3.1.3: the variance is noise * f_t' (alpha F + F_x' W F_x)^-1 f_t, here with dense matrices."""
    rng = np.random.default_rng(12)
    X, alpha = rng.random((80, 2)), 1e-3
    y = wave(X)
    fit = fit_field(Source.of(X, y), Settings(alpha=alpha, depth=2, margin=0.5))
    tree = fit.field.tree
    matrix = dense_matrix(fit.system, alpha)
    Z = rng.random((5, 2))
    rows = np.stack([f(Z) for f in basis_columns(tree)], axis=1)
    expected = np.einsum("ij,ij->i", rows, np.linalg.lstsq(matrix, rows.T, rcond=1e-13)[0].T)
    posterior = fit.posterior()
    np.testing.assert_allclose(posterior.variance(Z), posterior.noise_variance * expected, rtol=1e-4)
    values = np.stack([f(X) for f in basis_columns(tree)], axis=1)
    trace = np.trace(np.linalg.lstsq(matrix, values.T @ values, rcond=1e-13)[0])
    assert abs(posterior.trace - trace) < 0.25 * trace
    drawn = Posterior(fit.system, alpha, fit.source, fit.system.residual_square_sum(fit.x), trace).samples(400)
    spread = np.mean([field(Z) ** 2 for field in drawn], axis=0)
    np.testing.assert_allclose(spread, posterior.variance(Z) / posterior.noise_variance
                               * fit.system.residual_square_sum(fit.x) / (80 - trace), rtol=0.3)  # fmt: skip


def test_standard_deviation_covers_the_error():
    rng = np.random.default_rng(13)
    X = rng.random((3000, 2))
    y = wave(X) + 0.1 * rng.standard_normal(3000)
    smoother = FieldSmoother(std_samples=32).fit(X, y)
    Z = rng.uniform(0.05, 0.95, (400, 2))
    mean, std = smoother.predict(Z, return_std=True)
    assert 0.5 < np.sqrt(np.mean(((mean - wave(Z)) / std) ** 2)) < 1.5
    _, few = smoother.predict(Z[:20], return_std=True)
    np.testing.assert_allclose(few, std[:20], rtol=0.6)
    np.testing.assert_allclose(smoother.noise_variance_, 0.01, rtol=0.1)
    far = smoother.predict([[2.0, 2.0]], return_std=True)[1]
    assert far > 10 * few.max()


@pytest.mark.parametrize("criterion", ("robust_gcv", "holdout"))
def test_automatic_alpha_is_about_as_good_as_the_best(criterion):
    rng = np.random.default_rng(14)
    X, Z = rng.random((4000, 2)), rng.random((1000, 2))
    y = wave(X) + 0.3 * rng.standard_normal(4000)

    def error(smoother):
        return np.sqrt(np.mean((smoother.fit(X, y).predict(Z) - wave(Z)) ** 2))

    chosen = FieldSmoother(criterion=criterion)
    automatic = error(chosen)
    assert automatic < 1.15 * min(error(FieldSmoother(chosen.alpha_ * factor)) for factor in (0.1, 0.3, 3.0, 10.0))
    path = chosen.alpha_path_
    assert chosen.alpha_ in path["alpha"] and len(path["alpha"]) >= 3
    assert path["score"].min() == path["score"][path["alpha"] == chosen.alpha_][0]
    assert ("edf" in path) == (criterion != "holdout")
    if criterion != "holdout":
        assert (np.diff(path["alpha"]) > 0).all() and (np.diff(path["edf"]) < 0).all()
        assert path["edf"].min() >= 3 and path["edf"].max() <= 4000


def test_depth_follows_the_data():
    """Noise does not make the basis finer, details do, and only where they are."""
    rng = np.random.default_rng(15)
    X = rng.random((40_000, 2))
    smooth = wave(X)
    detailed = smooth + np.where(X[:, 0] < 0.25, np.sin(150 * X[:, 0]) * np.sin(150 * X[:, 1]), 0.0)
    noise = 0.2 * rng.standard_normal(len(X))
    coarse = FieldSmoother(order=2).fit(X, smooth + noise).function_
    fine = FieldSmoother(order=2).fit(X, detailed + noise).function_
    assert coarse.depth <= 4 < fine.depth
    corners, _ = leaf_cells(fine.tree)
    block, _ = np.nonzero(fine.tree.leaf)
    finest = corners[fine.tree.level_of[block] == fine.depth]
    assert finest[:, 0].min() < 0.1 and finest[:, 0].max() < 0.7


def test_weights_are_repetitions(scattered):
    X, y, _ = scattered
    X, y = X[:500], y[:500]
    counts = np.random.default_rng(16).integers(0, 3, 500)
    counts[[X[:, 0].argmin(), X[:, 0].argmax(), X[:, 1].argmin(), X[:, 1].argmax()]] = 1  # the same box
    weighted = FieldSmoother(alpha=1e-3, depth=4, tol=1e-10).fit(X, y, sample_weight=counts)
    repeated = FieldSmoother(alpha=1e-3, depth=4, tol=1e-10).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_scale_divides_the_coordinates(scattered):
    X, y, _ = scattered
    scaled = FieldSmoother(alpha=1e-3, depth=5, scale=[1.0, 0.5]).fit(X, y)
    by_hand = FieldSmoother(alpha=1e-3, depth=5).fit(X / [1.0, 0.5], y)
    np.testing.assert_allclose(scaled.predict(X), by_hand.predict(X / [1.0, 0.5]), atol=1e-9)
    expected = by_hand.predict_gradient(X / [1.0, 0.5]) / [1.0, 0.5]
    np.testing.assert_allclose(scaled.predict_gradient(X), expected, atol=1e-7)


@pytest.mark.slow
def test_dilation_law(scattered):
    """Walder and Chapelle 2007: data stretched by s and alpha by s**(2 m - d) give the stretched function."""
    X, y, _ = scattered
    one = FieldSmoother(alpha=1e-3, depth=5).fit(X, y)
    stretched = FieldSmoother(alpha=1e-3 * 8.0**2, depth=5).fit(8.0 * X, y)
    np.testing.assert_allclose(stretched.predict(8.0 * X), one.predict(X), atol=1e-6)
    automatic, moved = FieldSmoother().fit(X, y), FieldSmoother().fit(8.0 * X - 3.0, 5.0 * y + 100.0)
    np.testing.assert_allclose(moved.predict(8.0 * X - 3.0), 5.0 * automatic.predict(X) + 100.0, atol=1e-4)
