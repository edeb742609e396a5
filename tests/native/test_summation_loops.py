"""The loops of fast summation against NumPy: profiles, direct sums, series, translations, pairs of boxes."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from seminorm import _native
from seminorm.functions.summation import chebyshev as series
from seminorm.functions.summation.boxes import SortedPoints, subdivide
from seminorm.functions.summation.space import in_rows
from seminorm.kernels import Gaussian, Polyharmonic
from seminorm.kernels.forms import table
from seminorm.kernels.radial_parts import radial_part
from seminorm.kernels.registry import all_kernels


@pytest.fixture(params=["base", "avx2", "avx512"])
def instruction_set(request):
    before = _native.instruction_set()
    try:
        _native.select_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    _native.select_instruction_set(before)


def parts_of_registry(dimension):
    for kernel in all_kernels():
        try:
            part = radial_part(kernel, dimension)
        except ValueError:
            continue
        if part is not None:
            yield kernel, part


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_profiles_of_the_registry(rng, dimension):
    squares = np.concatenate([[0.0], 10.0 ** rng.uniform(-14, 1.2, 3000)])
    for kernel, part in parts_of_registry(dimension):
        for order in range(3):
            if not part.has(order):
                continue
            form, exact = part.form(order, 16.0), part.profile(squares, order)
            scale = np.maximum(np.abs(exact), 1e-3 * np.abs(part.profile(np.array([1.0]), order)))
            assert np.abs(form(squares) - exact).max(where=np.isfinite(exact), initial=0) < np.inf, kernel
            assert (np.abs(form(squares) - exact) <= 1e-11 * scale + 1e-300).all(), (kernel, order)


def test_logarithm_and_exponential_to_rounding(rng):
    squares = 2.0 ** rng.uniform(-900, 900, 20_000)
    thin = radial_part(Polyharmonic(2), 2).form(1, 1.0)  # c (log s + 1)
    factor = thin.numbers[4]
    np.testing.assert_allclose((thin(squares) - thin.numbers[5]) / factor, np.log(squares), rtol=1e-15, atol=4e-16)
    small = rng.uniform(0.0, 1300.0, 20_000)
    np.testing.assert_allclose(radial_part(Gaussian(), 1).form(0, 1.0)(small), np.exp(-0.5 * small), rtol=5e-16)


def test_a_table_ends_its_cells_at_a_knot_and_gives_up_on_jumps():
    def kink(s):
        return np.maximum(1.0 - s / 3.0, 0.0)

    squares = np.linspace(0.0, 9.0, 5001)
    np.testing.assert_allclose(table(kink, 9.0, np.array([np.sqrt(3.0)]))(squares), kink(squares), atol=1e-15)
    assert table(lambda s: np.sign(s - np.pi), 9.0, np.empty(0)) is None
    assert table(lambda s: np.full_like(s, np.inf), 9.0, np.empty(0)) is None


@pytest.mark.parametrize("source_parts, target_parts", [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_direct_sums_and_equal_bits(rng, source_parts, target_parts):
    sources, targets = rng.random((150, 3)), rng.random((37, 3))
    coefficients = rng.standard_normal((150, 2, source_parts))
    forms = [tuple(radial_part(Gaussian(0.4), 3).form(k, 3.0)) for k in range(3)]
    spans, range_from = np.array([[0, 20], [20, 21], [21, 37]]), np.array([0, 2, 2, 3])
    ranges = np.array([[0, 70], [80, 150], [5, 5 + 66]])
    results, before = [], _native.instruction_set()
    for name in ("base", "avx2", "avx512"):
        try:
            _native.select_instruction_set(name)
        except ValueError:
            continue
        out = np.zeros((37, 2, target_parts))
        _native.sum_near(in_rows(targets), spans, range_from, ranges, sources, coefficients, forms, out)
        results.append(out)
    _native.select_instruction_set(before)
    tensor = Gaussian(0.4).derivative(targets, sources, x=target_parts // 3, y=source_parts // 3)
    tensor = tensor.reshape(37, 150, target_parts, source_parts)
    met = np.zeros((37, 150))
    met[:20], met[:20, 70:80], met[21:, 5:71] = 1.0, 0.0, 1.0
    np.testing.assert_allclose(results[0], np.einsum("nm,nmab,mkb->nka", met, tensor, coefficients), atol=1e-12)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_moments_and_series(rng, instruction_set, dimension, parts):
    degree, n = 4, 29
    points = np.zeros((n, 3))
    points[:, :dimension] = rng.uniform(-1, 1, (n, dimension))
    spans, centers, halves = np.array([[0, 11], [11, 29]]), np.zeros((2, 3)), np.array([1.5, 2.0])
    rows, count = np.array([1, 0]), series.terms(dimension, degree)
    numbers, width = rng.standard_normal((n, 2, parts)), series.padded(count)
    if parts == 3:
        numbers[:, :, dimension:] = 0.0
    moments, read = np.zeros((2, 2, width)), np.zeros((n, 2, parts))
    arguments = points, spans, centers, halves, rows, dimension, degree
    _native.add_moments(*arguments, numbers, moments)
    _native.read_series(*arguments, moments, read)
    powers = series.exponents(dimension, degree)
    for box, (begin, end) in enumerate(spans):
        inside = points[begin:end, :dimension] / halves[box]
        tensors = [series.rows(inside, degree)] if parts == 1 else [
            series.rows(inside, degree, axis) / halves[box] for axis in range(dimension)
        ]  # fmt: skip
        expected = sum(tensor.T @ numbers[begin:end, :, part] for part, tensor in enumerate(tensors))
        np.testing.assert_allclose(moments[rows[box], :, :count], expected.T, atol=1e-12)
        for part, tensor in enumerate(tensors):
            np.testing.assert_allclose(read[begin:end, :, part], tensor @ expected, atol=1e-10)
    assert len(powers) == count and not moments[:, :, count:].any()


def test_terms_are_products_of_chebyshev_polynomials(rng):
    points = rng.uniform(-1, 1, (7, 3))
    for term, values in zip(series.exponents(3, 3), series.rows(points, 3).T, strict=True):
        product = np.prod([chebyshev.chebval(points[:, k], np.eye(4)[term[k]]) for k in range(3)], axis=0)
        np.testing.assert_allclose(values, product, atol=1e-14)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_moments_pass_up_exactly_and_polynomials_are_reproduced(rng, dimension):
    degree = 4
    nodes, to_series = series.interpolation(dimension, degree)
    np.testing.assert_allclose(to_series @ series.rows(nodes, degree), np.eye(len(to_series)), atol=1e-13)
    inside = rng.uniform(-1, 1, (5, dimension))
    for child, matrix in enumerate(series.to_parents(dimension, degree, degree)):
        sides = 2.0 * (child >> np.arange(dimension - 1, -1, -1) & 1) - 1.0
        count = series.terms(dimension, degree)
        own, parents = series.rows(inside, degree), series.rows((inside + sides) / 2, degree)
        np.testing.assert_allclose(own @ matrix[:count, :count], parents, atol=1e-13)


def test_translations(rng, instruction_set):
    rows, matrices, out = (
        rng.standard_normal((6, 2, 5)),
        rng.standard_normal((3, 5, 40)),
        rng.standard_normal((4, 2, 40)),
    )
    matrix = np.array([0, 0, 0, 2, 2, 1, 2], np.int32)
    origin = np.array([5, 1, 0, 2, 2, 3, 4], np.int32)
    to = np.array([0, 1, 2, 0, 2, 3, 3], np.int32)
    expected = out.copy()
    for number, i, j in zip(matrix, origin, to, strict=True):
        expected[j] += rows[i] @ matrices[number]
    _native.translate(rows, matrices, np.array([0, 5, 7]), matrix, origin, to, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_every_pair_is_met_once(rng, dimension):
    """Near ranges, and far pairs of the boxes that hold a target, cover all sources without overlap."""
    points = SortedPoints(rng.random((400, dimension)) ** 2, rng.random((300, dimension)))
    boxes = subdivide(points, lambda level, children: 60.0)
    sizes = np.array([1, *[4] * (boxes.levels - 1)])
    status = []
    for size in sizes:
        apart = np.indices((size,) * 3).max(axis=0)
        status.append(np.where(apart >= 2, 1, 2).astype(np.int8).reshape(-1))
    status_from = np.concatenate([[0], np.cumsum([len(part) for part in status])])
    codes, origin, to, chunk_from, level_chunks, leaves, range_from, ranges = _native.find_pairs(
        boxes.level_from, boxes.coords, boxes.parents, boxes.children, boxes.source_spans, boxes.target_spans,
        boxes.centers, boxes.halves, np.concatenate(status), status_from, sizes, np.inf, 8,
    )  # fmt: skip
    met = np.zeros((300, 400), int)
    for i, j in zip(origin, to, strict=True):
        met[slice(*boxes.target_spans[j]), slice(*boxes.source_spans[i])] += 1
    for k, leaf in enumerate(leaves):
        for begin, end in ranges.reshape(-1, 2)[range_from[k] : range_from[k + 1]]:
            met[slice(*boxes.target_spans[leaf]), begin:end] += 1
    assert (met == 1).all()
    assert len(codes) == chunk_from[-1] and level_chunks[-1] == len(chunk_from) - 1


def test_wrong_arguments_are_refused(rng):
    form = tuple(radial_part(Gaussian(), 3).form(0, 1.0))
    with pytest.raises(ValueError, match="a profile has 12 numbers"):
        _native.read_profile(np.zeros(3), form[1], 0, np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="unknown form"):
        _native.read_profile(np.full(12, 99.0), form[1], 0, np.zeros(2), np.zeros(2))
    whole = np.array([[0, 2]]), np.array([0, 1]), np.array([[0, 5]]), np.zeros((5, 3))
    with pytest.raises(ValueError, match="8 or more"):
        _native.sum_near(np.zeros((3, 4)), *whole, np.zeros((5, 1, 1)), [form], np.zeros((2, 1, 1)))
    with pytest.raises(ValueError, match="a profile for each derivative"):
        _native.sum_near(np.zeros((3, 10)), *whole, np.zeros((5, 1, 1)), [form], np.zeros((2, 1, 3)))
    with pytest.raises(ValueError, match="ranges must lie between"):
        beyond = whole[0], whole[1], np.array([[0, 6]]), whole[3]
        _native.sum_near(np.zeros((3, 10)), *beyond, np.zeros((5, 1, 1)), [form], np.zeros((2, 1, 1)))
    one = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="multiple of 8"):
        _native.translate(
            np.zeros((1, 1, 3)), np.zeros((1, 3, 5)), np.array([0, 1]), one, one, one, np.zeros((1, 1, 5))
        )
