"""Machines on patterns as they come: series of any length, channels, images, point sets, strings, objects."""

import pickle
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from seminorm import (
    SVC,
    SVR,
    EnclosingHypersphere,
    ImplicitSVM,
    KernelNeighbors,
    KernelPCA,
    KernelPerceptron,
    SlabMachine,
    Smoother,
    VirtualSVC,
)
from seminorm._base.patterns import PatternTable
from seminorm.estimators import all_estimators
from seminorm.invariance import (
    DistanceKernel,
    GlobalAlignmentKernel,
    HaarFeatures,
    ImageShift,
    IntegrationKernel,
    MinimumDistance,
    TangentDistance,
)
from seminorm.invariance.distances import DTW, ERP, Euclidean, Levenshtein, PointSetDistance, UserDistance
from seminorm.kernels import Gaussian, NegativeDistance


def jaccard(x, y):
    return 1.0 - len(x & y) / max(len(x | y), 1)


class Kind(NamedTuple):
    """A kind of patterns: what measures them, and patterns of two classes."""

    kernel: Any
    patterns: Any
    is_file_safe: bool = True


_rng = np.random.default_rng(0)
_y = np.arange(24) % 2
_lengths = 8 + _rng.permutation(24) % 5


def _wave(label, length):
    return np.sin((2.0 + 2.0 * label) * np.linspace(0.0, 3.0, length)) + 0.3 * _rng.standard_normal(length)


_ragged = [_wave(label, length) for label, length in zip(_y, _lengths, strict=True)]
_two = [np.column_stack([_wave(label, n), _wave(label, n)]) for label, n in zip(_y, _lengths, strict=True)]
_whole = np.stack([[_wave(label, 9), _wave(label, 9)] for label in _y])  # (n, channels, length)
_images = 0.5 * _rng.random((24, 4, 5)) + np.where(_y[:, None, None], np.eye(4, 5), np.eye(4, 5)[::-1])
_corners = (np.array([[0.0, 0], [3, 0], [0, 4]]), np.array([[0.0, 0], [1, 1], [5, 0]]))
_sets = [_corners[label] + 0.2 * _rng.standard_normal((3, 2)) for label in _y]
_words = ["".join(_rng.choice(list("ab" if label else "bc"), 6 + i % 4)) for i, label in enumerate(_y)]
assert len(set(_words)) == 24
_bags = [set(_rng.choice(9, 5) + 6 * label) for label in _y]

KINDS = {
    "ragged series": Kind(DistanceKernel(Gaussian(2.0), DTW()), _ragged),
    "ragged series in an object array": Kind(
        DistanceKernel(Gaussian(2.0), ERP()), np.array([*_ragged, None], dtype=object)[:-1]
    ),
    "series of two channels": Kind(DistanceKernel(Gaussian(3.0), DTW()), _two),
    "channels last": Kind(DistanceKernel(Gaussian(3.0), DTW()), _whole.transpose(0, 2, 1)),
    "channels first": Kind(DistanceKernel(Gaussian(3.0), DTW(channels="first")), _whole),
    "one channel first": Kind(DistanceKernel(Gaussian(2.0), DTW(channels="first")), _whole[:, :1]),
    "rows as series": Kind(DistanceKernel(Gaussian(2.0), DTW()), _whole[:, 0]),
    "a sum over series": Kind(DistanceKernel(Gaussian(2.0), DTW()) + 0.5 * DistanceKernel(Gaussian(2.0), ERP()), _two),
    "definite series": Kind(GlobalAlignmentKernel(3.0), _two),
    "images": Kind(DistanceKernel(Gaussian(1.0), TangentDistance((4, 5))), _images),
    "shifted images": Kind(IntegrationKernel(Gaussian(2.0), ImageShift((4, 5), padding=1)), _images),
    "closest images": Kind(
        DistanceKernel(Gaussian(1.0), MinimumDistance(ImageShift((4, 5)), n_grid=3, refine=False)), _images
    ),
    "point sets": Kind(DistanceKernel(NegativeDistance(), PointSetDistance(n_points=3)), _sets),
    "strings": Kind(DistanceKernel(Gaussian(3.0), Levenshtein()), _words),
    "Python sets": Kind(DistanceKernel(Gaussian(1.0), UserDistance(jaccard, compiled=False)), _bags, False),
}

MACHINES = {
    "SVC": lambda kernel: SVC(kernel, alpha=0.1),
    "SVC automatic": SVC,
    "SVC hinge": lambda kernel: SVC(kernel, alpha=0.1, loss="hinge"),
    "SVR": lambda kernel: SVR(kernel, alpha=0.1, epsilon=0.01),
    "Smoother": lambda kernel: Smoother(kernel, alpha=0.1),
    "ImplicitSVM": lambda kernel: ImplicitSVM(kernel, alpha=0.1),
    "Smoother automatic": Smoother,
    "KernelNeighbors": KernelNeighbors,
    "KernelPCA": lambda kernel: KernelPCA(kernel, 3),
    "KernelPerceptron": KernelPerceptron,
    "EnclosingHypersphere": EnclosingHypersphere,
    "SlabMachine": lambda kernel: SlabMachine(kernel, nu=0.3),
}
#: machines that need k(x, x) of the rows of a given matrix
WITH_DIAG = {"EnclosingHypersphere"}
#: machines that refuse indefinite matrices
STRICT = {"ImplicitSVM", "Smoother", "Smoother automatic"}
#: estimators of points alone, or with patterns of their own
OTHERS = {
    "FieldSmoother",
    "LearnedMetric",
    "SeriesClassifier",
    "SeriesRegressor",
    "TableClassifier",
    "TableRegressor",
    "VirtualSVC",
}


def test_every_estimator_is_covered():
    covered = {type(make(None)).__name__ for make in MACHINES.values()}
    assert covered | OTHERS == set(all_estimators) and not covered & OTHERS


def rows(patterns, chosen):
    """Some of the patterns, as they came."""
    return patterns[chosen] if isinstance(patterns, np.ndarray) else [patterns[i] for i in chosen]


def outputs(machine, patterns):
    for name in ("decision_function", "transform", "predict"):
        if hasattr(machine, name):
            return getattr(machine, name)(patterns)
    raise AssertionError


TRAIN, TEST = np.arange(18), np.arange(18, 24)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MACHINES)
def test_patterns_give_what_their_kernel_matrix_gives(name, kind, tmp_path):
    kernel, patterns, is_file_safe = KINDS[kind]
    train, test = rows(patterns, TRAIN), rows(patterns, TEST)
    matrix, values = kernel(train), kernel(test, train)
    machine = MACHINES[name](kernel)
    if name == "SlabMachine" and kernel.cpd_order > 0:
        pytest.skip("the slab needs a positive definite kernel, and says so")
    y = 2 * _y[TRAIN] - 1
    if name == "ImplicitSVM":
        y[:4] = 0
    try:
        machine.fit(train, y)
    except ValueError as error:
        assert name in STRICT and "negative eigenvalues" in str(error) and kernel.is_indefinite
        return
    found = outputs(machine, test)
    if name == "KernelPerceptron":  # depends on the order of the samples
        used, _, dual, null = machine._terms()
        np.testing.assert_allclose(found, values[:, used] @ dual[:, 0] + null.sum(), atol=1e-5)
    elif not name.startswith("Smoother"):  # which takes no given matrices
        given = MACHINES[name]("precomputed").fit(matrix, y)
        expected = given.decision_function(values, kernel.diag(test)) if name in WITH_DIAG else outputs(given, values)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(outputs(pickle.loads(pickle.dumps(machine)), test), found)
    if is_file_safe:
        loaded = type(machine).load(machine.save(tmp_path / "machine.npz"))
        np.testing.assert_array_equal(outputs(loaded, test), found)
    if hasattr(machine, "support_vectors_"):
        kept = machine.support_vectors_
        assert len(kept) == len(machine.support_)
        if isinstance(kept, PatternTable):
            np.testing.assert_array_equal(kept.items[0], train[machine.support_[0]])
    if hasattr(machine, "function_") and name not in ("EnclosingHypersphere",):
        assert machine.function_(test).shape[0] == len(TEST)


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_cuts_patterns(kind):
    kernel, patterns, _ = KINDS[kind]
    machine = SVC(kernel, alpha=0.1)
    assert cross_val_score(machine, patterns, _y, cv=3).mean() > 0.6
    assert cross_val_predict(make_pipeline(machine), patterns, _y, cv=2).shape == _y.shape
    search = GridSearchCV(machine, {"alpha": [0.01, 1.0]}, cv=2).fit(patterns, _y)
    assert search.predict(patterns).shape == _y.shape
    neighbors = KernelNeighbors(getattr(kernel, "distance", kernel))
    assert cross_val_score(neighbors, patterns, _y, cv=3).mean() > 0.6


@pytest.mark.parametrize("kind", ["ragged series", "strings", "channels first"])
def test_repetitions_are_weights_and_order_is_nothing(kind):
    kernel, patterns, _ = KINDS[kind]
    order = np.random.default_rng(1).permutation(24)
    twice = np.concatenate([np.arange(24), [3, 3]])
    weights = np.ones(24)
    weights[3] = 3.0
    values = SVC(kernel, alpha=0.1).fit(patterns, _y, sample_weight=weights).decision_function(patterns)
    for chosen in (order, twice):
        weight = None if len(chosen) > 24 else weights[chosen]
        other = SVC(kernel, alpha=0.1).fit(rows(patterns, chosen), _y[chosen], sample_weight=weight)
        np.testing.assert_allclose(other.decision_function(patterns), values, atol=1e-8)


def test_a_scale_left_open_is_in_units_of_the_distance():
    small, large = (
        SVC(DistanceKernel(Gaussian("auto"), DTW())).fit([factor * x for x in _ragged], _y) for factor in (1.0, 1000.0)
    )
    assert np.isclose(1000.0 * small.kernel_.base.scale, large.kernel_.base.scale, rtol=1e-9)
    assert small.score(_ragged, _y) > 0.8


def test_windows_left_open_are_chosen():
    rng = np.random.default_rng(0)

    def bumps(n):  # whose place tells the class, which free warping forgets
        y, t = np.arange(n) % 2, np.linspace(0, 1, 60)
        places = np.where(y, 0.45, 0.55) + 0.03 * rng.standard_normal(n)
        return np.exp(-(((t - places[:, None]) / 0.05) ** 2)) + 0.1 * rng.standard_normal((n, 60)), y

    (X, y), (test, labels) = bumps(60), bumps(300)
    chosen = SVC(DistanceKernel(Gaussian("auto"), DTW("auto"))).fit(X, y)
    free = SVC(DistanceKernel(Gaussian("auto"), DTW())).fit(X, y)
    assert chosen.kernel_.distance.window is not None and chosen.kernel.distance.window == "auto"
    assert chosen.score(test, labels) > free.score(test, labels) + 0.1
    ragged = SVR(DistanceKernel(Gaussian("auto"), DTW("auto"))).fit(_ragged, _y)
    assert ragged.kernel_.distance.window is None  # lengths from 8 to 12: none of the others is wide enough
    assert SVC(2.0 * DistanceKernel(Gaussian("auto"), DTW())).fit(_ragged, _y).score(_ragged, _y) > 0.8
    with pytest.raises(ValueError, match="goes with one distance"):
        SVC(DistanceKernel(Gaussian("auto"), DTW()) + DistanceKernel(Gaussian(), ERP())).fit(_ragged, _y)
    with pytest.raises(ValueError, match="window must be None, a number or 'auto'"):
        SVC(DistanceKernel(Gaussian("auto"), DTW("wide"))).fit(_ragged, _y)


def test_other_lengths_are_predicted():
    machine = SVC(DistanceKernel(Gaussian(2.0), DTW()), alpha=0.1).fit(_whole[:, 0], _y)
    assert machine.predict(_ragged).shape == (24,)
    alone = machine.predict([_ragged[0]])
    assert alone[0] == machine.predict(_ragged)[0]


def test_distances_are_computed_once():
    calls = []

    def counted(x, y):
        calls.append(1)
        return abs(len(x) - len(y)) + abs(x[0] - y[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such lengths tell nothing
        SVC(DistanceKernel(Gaussian("auto"), UserDistance(counted, compiled=False))).fit(_ragged, _y)
    pairs = 24 * 23 // 2
    assert pairs <= len(calls) <= pairs + 5


def test_virtual_points_and_averages_of_images():
    shift = ImageShift((4, 5))
    flat = _images.reshape(24, -1)
    stacked = VirtualSVC(SVC(alpha=0.1), shift).fit(_images, _y)
    np.testing.assert_array_equal(
        stacked.predict(_images), VirtualSVC(SVC(alpha=0.1), shift).fit(flat, _y).predict(flat)
    )
    np.testing.assert_array_equal(HaarFeatures(shift).fit_transform(_images), HaarFeatures(shift).fit_transform(flat))


MISTAKES = [
    (DTW(), [[1.0, np.nan, 2.0], [1.0, 2.0]], r"X\[0\] has NaN or infinity, first at sample 1"),
    (DTW(), [[1.0, 2.0], []], r"X\[1\] is an empty series"),
    (DTW(), np.zeros((2, 1, 5)), "channels='first'"),
    (DTW(), [np.zeros((1, 5)), np.zeros((1, 6))], "channels='first'"),
    (DTW(), [np.zeros((4, 2)), np.zeros((4, 3))], r"X\[1\] has 3 channels and X\[0\] has 2"),
    (DTW(window=1), [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]], "window is too small"),
    (TangentDistance((4, 5)), np.zeros((2, 4, 4)), "are no images of shape"),
    (TangentDistance((4, 5)), [np.zeros((4, 5)), np.zeros((4, 4))], r"X\[1\] has shape \(4, 4\) and X\[0\] \(4, 5\)"),
    (
        PointSetDistance(n_points=3),
        [np.zeros((3, 2)), np.zeros((4, 2))],
        r"X\[1\] has shape \(4, 2\) and X\[0\] \(3, 2\)",
    ),
    (UserDistance(jaccard, compiled=False), [], "X has no patterns"),
    (Levenshtein(), [], "X has no sequences"),
    (MinimumDistance(ImageShift((4, 5))), [np.zeros((4, 5)), np.zeros((5, 4))], r"X\[1\] has shape"),
    (Euclidean(), [[1.0, 2.0], [1.0, 2.0, 3.0]], r"X\[1\] has shape \(3,\) and X\[0\] \(2,\)"),
]


@pytest.mark.parametrize("machine", [SVC, KernelNeighbors, KernelPCA])
@pytest.mark.parametrize(("distance", "patterns", "message"), MISTAKES)
def test_mistakes_are_named(machine, distance, patterns, message):
    with pytest.raises(ValueError, match=message):
        machine = machine(DistanceKernel(Gaussian(), distance)).fit(patterns, np.arange(len(patterns)))
        machine.predict(patterns)


def test_patterns_and_points_do_not_mix():
    kernel = DistanceKernel(Gaussian(), DTW()) + Gaussian()
    with pytest.raises(ValueError, match=r"takes points \(n, d\)"):
        SVC(kernel).fit(_ragged, _y)
    with pytest.raises(ValueError, match="need points"):
        SVC(DistanceKernel(Gaussian(), DTW()), null_space=1).fit(_ragged, _y)
    with pytest.raises(ValueError, match="dense X of numbers"):
        SVC(DistanceKernel(Gaussian(), DTW()), metric="standardize").fit(_ragged, _y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC(DistanceKernel(Gaussian(), DTW())).fit(_ragged, _y[:-1])
    with pytest.raises(ValueError, match="at least 2 are needed"):
        KernelPCA(DistanceKernel(Gaussian(), DTW())).fit(_ragged[:1])
    trained = SVC(DistanceKernel(Gaussian(), DTW()), alpha=1.0).fit(_ragged, _y)
    with pytest.raises(ValueError, match="channels"):
        trained.predict(_two)
    with pytest.raises(ValueError, match="NaN"):
        trained.predict([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="not for a given matrix, sparse X or patterns"):
        KernelPCA(DistanceKernel(Gaussian(), DTW())).fit(_ragged).inverse_transform(np.zeros((1, 1)))
    assert clone(trained).kernel == trained.kernel


def test_smoothers_tell_deviations_but_no_gradients():
    kernel = GlobalAlignmentKernel(3.0)
    machine = Smoother(kernel).fit(_two, _y)
    mean, deviation = machine.predict(_two[:3], return_std=True)
    assert mean.shape == deviation.shape == (3,) and (deviation > 0).all()
    with pytest.raises(ValueError, match="have no coordinates"):
        machine.predict_gradient(_two[:3])


def test_pandas_holds_patterns():
    pandas = pytest.importorskip("pandas")
    machine = SVC(DistanceKernel(Gaussian(2.0), DTW()), alpha=0.1)
    expected = machine.fit(_ragged, _y).decision_function(_ragged)
    found = machine.fit(pandas.Series(_ragged), _y).decision_function(pandas.Series(_ragged))
    np.testing.assert_array_equal(found, expected)
    frame = pandas.DataFrame(_whole[:, 0])
    np.testing.assert_array_equal(
        machine.fit(frame, _y).decision_function(frame), machine.fit(_whole[:, 0], _y).decision_function(_whole[:, 0])
    )


def test_features_of_patterns_may_be_free():
    def lengths(table):
        return np.array([[1.0, len(x)] for x in table.items])

    machine = SVC(DistanceKernel(Gaussian(2.0), DTW()), alpha=0.1, null_space=lengths).fit(_ragged, _y)
    assert machine.null_coef_.shape == (1, 2)
