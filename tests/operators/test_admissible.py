"""Which functions are kernels: a list of known answers."""

import math

import numpy as np
import pytest
from scipy.special import j0

from seminorm.kernels import (
    Dirichlet,
    Gaussian,
    InverseMultiquadric,
    Linear,
    LogPolar,
    Polyharmonic,
    Polynomial,
    PowerSeries,
    ThinPlate,
    Wendland,
)
from seminorm.operators import admissible
from seminorm.operators.power_series import monotone_order

NO = None


def r2_log_r(r):
    return r**2 * np.log(r)


def centered_spline(degree):
    def spline(r):
        knots = [(-1) ** j * math.comb(degree + 1, j) for j in range(degree // 2 + 1)]
        values = (c * np.maximum((degree + 1) / 2 - j - np.abs(r), 0.0) ** degree for j, c in enumerate(knots))
        return sum(values) / math.factorial(degree)

    return spline


# (name, function, dimension, kind, minimal order or NO)
KNOWN = [
    ("Gaussian", lambda r: np.exp(-r * r / 2), 3, "radial", 0),
    ("Laplacian", lambda r: np.exp(-r), 2, "radial", 0),
    ("inverse multiquadric", lambda r: 1 / np.sqrt(1 + r * r), 3, "radial", 0),
    ("multiquadric, its sign", lambda r: -np.sqrt(1 + r * r), 3, "radial", 1),
    ("multiquadric, wrong sign", lambda r: np.sqrt(1 + r * r), 2, "radial", NO),
    ("r^1.5", lambda r: r**1.5, 2, "radial", NO),
    ("-r^1.5", lambda r: -(r**1.5), 2, "radial", 1),
    ("r^3", lambda r: r**3, 3, "radial", 2),
    ("-r^3", lambda r: -(r**3), 1, "radial", NO),
    ("r^2 log r in the plane", r2_log_r, 2, "radial", 2),
    ("r^2 log r in R^5", r2_log_r, 5, "radial", 2),
    ("-r^2 log r", lambda r: -r2_log_r(r), 2, "radial", NO),
    ("-r^4 log r", lambda r: -(r**2) * r2_log_r(r), 2, "radial", 3),
    ("r^4 log r", lambda r: r**2 * r2_log_r(r), 2, "radial", NO),
    ("-log(1 + r^2)", lambda r: -np.log1p(r * r), 2, "radial", 1),
    ("-r^2", lambda r: -(r**2), 2, "radial", 1),
    ("Gaussian less a constant", lambda r: np.exp(-r * r / 2) - 2, 2, "radial", 1),
    ("B-spline of degree 0", lambda r: np.where(r <= 0.5, 1.0, 0.0), 1, "radial", NO),
    ("B-spline of degree 1", centered_spline(1), 1, "radial", 0),
    ("B-spline of degree 2", centered_spline(2), 1, "radial", NO),
    ("B-spline of degree 3", centered_spline(3), 1, "radial", 0),
    ("B-spline of degree 4", centered_spline(4), 1, "radial", NO),
    ("hat function in the plane", centered_spline(1), 2, "radial", NO),
    ("sinh of a Gaussian", PowerSeries("sinh", kernel=Gaussian(0.7)), 2, "radial", 0),
    ("cosh of a Laplacian", lambda r: np.cosh(np.exp(-r)), 3, "radial", 0),
    ("Wendland within its dimension", Wendland(2, 1.0, 3), 3, "radial", 0),
    ("Wendland beyond its dimension", Wendland(2, 1.0, 3), 5, "radial", NO),
    ("Wendland of the line in space", Wendland(2, 1.0, 1), 3, "radial", NO),
    ("J0 on the line", j0, 1, "radial", 0),
    ("J0 in the plane", j0, 2, "radial", 0),
    ("J0 in space", j0, 3, "radial", NO),
    ("cosine on the line", np.cos, 1, "radial", 0),
    ("cosine in the plane", np.cos, 2, "radial", NO),
    ("sin(r) / r in space", lambda r: np.sinc(r / np.pi), 3, "radial", 0),
    ("exp(-r^3)", lambda r: np.exp(-(r**3)), 1, "radial", NO),
    ("exp(-r^1.9)", lambda r: np.exp(-(r**1.9)), 2, "radial", 0),
    ("wide less narrow Gaussian", lambda r: 2 * np.exp(-r * r / 2) - np.exp(-r * r), 1, "radial", NO),
    ("narrow less wide Gaussian", lambda r: 2 * np.exp(-r * r) - np.exp(-r * r / 2), 1, "radial", 0),
    ("cosh(r)", np.cosh, 1, "radial", NO),
    ("ThinPlate", ThinPlate(), 3, "radial", 2),
    ("Polyharmonic(2) in space", Polyharmonic(2), 3, "radial", 1),
    ("tanh of the inner product", np.tanh, 2, "dot", NO),
    ("exp of the inner product", np.exp, 3, "dot", 0),
    ("sine of the inner product", np.sin, 2, "dot", NO),
    ("1 / (1 - t)", lambda t: 1 / (1 - t), 1, "dot", 0),
    ("t^2 - t", lambda t: t**2 - t, 2, "dot", 2),
    ("real function of the inner product", lambda t: np.asarray(t, dtype=float) ** 3, 2, "dot", 0),
    ("Polynomial", Polynomial(3, 1.0), 2, "dot", 0),
    ("Dirichlet", Dirichlet(4), 1, "radial", 0),
    ("triangle wave", lambda t: np.abs(np.pi - t % (2 * np.pi)) - 1, 1, "circle", 0),
    ("triangle wave, lowered", lambda t: np.abs(np.pi - t % (2 * np.pi)) - 2, 1, "circle", 1),
    ("square wave", lambda t: np.where(np.cos(t) > 0, 1.0, -1.0), 1, "circle", NO),
    ("product of a Gaussian and the inner product", Gaussian() * Linear(), 2, "radial", 0),
    ("log-polar", LogPolar(), 2, "radial", 0),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("function, dimension, kind, order", [c[1:] for c in KNOWN], ids=[c[0] for c in KNOWN])
def test_known_answers(function, dimension, kind, order):
    answer = admissible(function, dimension, kind=kind)
    assert answer.cpd_order == order, str(answer)
    assert answer.verdict == (
        "not admissible" if order is NO else "conditionally positive definite" if order else "positive definite"
    )
    assert answer.admissible is (order is not NO)
    assert answer.evidence and answer.verdict in str(answer)


def test_counterexamples_can_be_checked():
    answer = admissible(lambda r: np.sqrt(1 + r * r), 2)
    found = answer.counterexample
    distances = np.linalg.norm(found.points[:, None] - found.points, axis=2)
    value = found.coefficients @ np.sqrt(1 + distances**2) @ found.coefficients
    assert value < 0 and np.isclose(value, found.value, rtol=1e-3)
    assert np.allclose(found.coefficients @ np.column_stack([np.ones(len(found.points)), found.points]), 0, atol=1e-9)


@pytest.mark.slow
def test_answers_do_not_depend_on_the_unit_of_length():
    for unit in (1e-3, 1e3):
        assert admissible(lambda r, unit=unit: np.exp(-r / unit), 3).cpd_order == 0
        assert admissible(lambda r, unit=unit: centered_spline(2)(r / unit), 1).admissible is False


def test_monotone_profiles():
    assert monotone_order(lambda r: np.exp(-r * r)) == 0
    assert monotone_order(lambda r: -np.sqrt(1 + r * r)) == 1
    assert monotone_order(lambda r: r**3) == 2
    assert monotone_order(np.cos) is None
    text = str(admissible(InverseMultiquadric(), 2))
    assert "completely monotone" in text
    assert "completely monotone" not in str(admissible(np.cos, 1))


def test_higher_orders_are_left_open():
    answer = admissible(lambda r: r**7, 1, max_order=2)
    assert answer.verdict == "undecided" and answer.admissible is None
    assert admissible(lambda r: r**7, 1, max_order=4).cpd_order == 4


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: admissible(3.0), TypeError, "callable"),
        (lambda: admissible(np.cos, 0), ValueError, "dimension must be"),
        (lambda: admissible(np.cos, kind="polar"), ValueError, "kind must be one of"),
        (lambda: admissible(np.cos, max_order=-1), ValueError, "max_order"),
        (lambda: admissible(lambda r: r / 0.0), ValueError, "finite"),
        (lambda: admissible(np.cos, 2, kind="circle"), ValueError, "dimension 1"),
    ],
)
def test_bad_input(call, error, message):
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call()
