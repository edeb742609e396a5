"""Membership in the space of a kernel, against spaces that are known."""

import math

import numpy as np
import pytest
from helpers import case_id

from seminorm.kernels import (
    Dirichlet,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    Polyharmonic,
    Polynomial,
    Sum,
    ThinPlate,
    Wendland,
)
from seminorm.nullspace import Polynomials
from seminorm.operators import membership
from seminorm.operators.trends import GROWING, LEVELED


def on_line(function):
    return lambda X: function(X[:, 0])


def hat(x):
    return np.maximum(1.0 - np.abs(x) / 0.7, 0.0)


def gaussian(width):
    return lambda X: np.exp(-0.5 * (X**2).sum(axis=1) / width**2)


def gaussian_norm(width, scale, dimension):
    """Walder 2008, theorem 3.1.3 applied to lemma 3.1.2."""
    return math.sqrt((width**2 / scale) ** dimension * (2 * width**2 - scale**2) ** (-dimension / 2))


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("ratio", [0.8, 0.9, 1.0, 1.5])
def test_wide_gaussians_belong(scale, ratio):
    answer = membership(gaussian(ratio * scale), Gaussian(scale), (-3 * scale, 3 * scale), max_points=257)
    assert answer.belongs is True
    assert answer.norm == pytest.approx(gaussian_norm(ratio * scale, scale, 1), rel=1e-4)


@pytest.mark.parametrize("ratio", [0.4, 0.5, 0.6, 0.65])
def test_narrow_gaussians_do_not_belong(ratio):
    answer = membership(gaussian(ratio), Gaussian(), (-4, 4), max_points=257)
    assert answer.belongs is False
    assert answer.norm == math.inf


@pytest.mark.parametrize("ratio", [0.7, 0.715])
def test_gaussians_of_about_the_critical_width_are_undecided(ratio):
    answer = membership(gaussian(ratio), Gaussian(), (-4, 4), max_points=257)
    assert answer.belongs is None
    assert math.isnan(answer.norm)


@pytest.mark.parametrize("half_width", [0.5, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("function", [np.ones_like, lambda x: x, lambda x: np.sin(2 * x)], ids=["1", "x", "sin"])
def test_strangers_to_a_gaussian_that_a_box_hides_are_not_accepted(function, half_width):
    answer = membership(on_line(function), Gaussian(), (-half_width, half_width), max_points=257)
    assert answer.belongs is not True


@pytest.mark.slow
def test_gaussians_in_the_plane():
    box = [-2, -2], [2, 2]
    answer = membership(gaussian(1.3), Gaussian(), box)
    assert answer.belongs is True
    assert answer.norm == pytest.approx(gaussian_norm(1.3, 1.0, 2), rel=1e-4)
    assert membership(gaussian(0.6), Gaussian(), box).belongs is False


def test_hat_function_in_the_space_of_the_laplacian():
    # exp(-|x - y|) on [-1, 1]: |f|^2 = (f(-1)^2 + f(1)^2 + integral of f^2 + f'^2) / 2
    answer = membership(on_line(hat), Laplacian(), (-1, 1))
    assert answer.belongs is True
    assert answer.norm == pytest.approx(math.sqrt(0.5 * (2 * 0.7 / 3 + 2 / 0.7)), rel=1e-3)


def test_smooth_function_in_the_space_of_the_laplacian():
    # integral of cos^2 3x + 9 sin^2 3x over [-1, 1] is 10 - (8 / 6) sin 6
    answer = membership(on_line(lambda x: np.cos(3 * x)), Laplacian(), (-1, 1))
    assert answer.belongs is True
    assert answer.norm**2 == pytest.approx(0.5 * (2 * math.cos(3) ** 2 + 10 - 8 / 6 * math.sin(6)), rel=1e-5)


@pytest.mark.parametrize(
    "function",
    [lambda x: np.sign(x - 0.1), lambda x: np.abs(x) ** 0.4, lambda x: np.abs(x) ** 0.3],
    ids=["step", "|x|^0.4", "|x|^0.3"],
)
def test_rough_functions_are_not_in_the_space_of_the_laplacian(function):
    assert membership(on_line(function), Laplacian(), (-1, 1)).belongs is False


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.4])
def test_milder_cusps_are(exponent):
    answer = membership(on_line(lambda x: np.abs(x) ** exponent), Laplacian(), (-1, 1))
    integral = 2 / (2 * exponent + 1) + 2 * exponent**2 / (2 * exponent - 1)
    assert answer.norm**2 == pytest.approx(0.5 * (2 + integral), rel=1e-2 if exponent < 1 else 1e-4)


@pytest.mark.parametrize(
    ("kernel", "critical"), [(Laplacian(), 0.5), (Matern(1.5), 1.5), (Matern(2.5), 2.5), (Wendland(2), 1.5)], ids=repr
)
@pytest.mark.parametrize("center", [0.0, 0.123456])
def test_critical_exponents_are_undecided(kernel, critical, center):
    assert membership(on_line(lambda x: np.abs(x - center) ** critical), kernel, (-1, 1)).belongs is None


@pytest.mark.parametrize(("center", "exponent"), [(0.5, 2.3), (0.33, 2.2), (0.5, 2.5)])
def test_weak_singularities_under_a_smooth_function_are_not_accepted(center, exponent):
    function = on_line(lambda x: 0.3 * np.abs(x - center) ** exponent + np.sin(3 * x))
    assert membership(function, Matern(2.5, 0.6), (0, 1)).belongs is None
    assert membership(on_line(lambda x: np.sin(3 * x)), Matern(2.5, 0.6), (0, 1)).belongs is True


@pytest.mark.parametrize(
    ("kernel", "exponent", "expected"),
    [
        (Matern(1.5), 1.0, False),
        (Matern(1.5), 1.2, False),
        (Matern(1.5), 2.2, True),
        (Matern(2.5), 1.4, False),
        (Wendland(2), 1.0, False),
        (Wendland(2), 2.5, True),
    ],
)
def test_powers_in_sobolev_spaces(kernel, exponent, expected):
    """|x|^a has s derivatives in L2 on an interval exactly if a > s - 1/2; the spaces have s = 2, 3 and 2."""
    assert membership(on_line(lambda x: np.abs(x) ** exponent), kernel, (-1, 1)).belongs is expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.8), Laplacian(), Matern(1.5), Matern(2.5), InverseMultiquadric(), Wendland(2, 2.0)], ids=repr
)
@pytest.mark.parametrize("place", [-0.83, 0.16, 0.3])
def test_sections_of_the_kernel_belong(kernel, place):
    answer = membership(lambda X: kernel(X, [[place]])[:, 0], 4.0 * kernel, (-1, 1))
    assert answer.belongs is True
    assert answer.norm == pytest.approx(0.5, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.8), Matern(1.5), Matern(2.5), InverseMultiquadric(), Wendland(2, 2.0)], ids=repr
)
def test_combinations_of_sections_belong(kernel):
    places, weights = np.array([[0.3], [-0.4]]), np.array([1.0, -0.5])
    answer = membership(lambda X: kernel(X, places) @ weights, kernel, (-1, 1))
    assert answer.belongs is True
    assert answer.norm == pytest.approx(math.sqrt(weights @ kernel(places) @ weights), rel=1e-4)
    assert answer.lower_bound <= answer.norm


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Matern(1.5), Matern(2.5), Gaussian()], ids=case_id)
def test_sections_in_the_plane(kernel):
    answer = membership(lambda X: kernel(X, [[0.3, 0.2]])[:, 0], kernel, ([-1, -1], [1, 1]))
    assert answer.belongs is True
    assert answer.norm == pytest.approx(1.0, rel=2e-3)


@pytest.mark.slow
def test_finite_rank():
    assert membership(on_line(lambda x: 1 + x**3), Polynomial(3), (-1, 1)).norm == pytest.approx(math.sqrt(2))
    in_plane = membership(lambda X: 1 + X[:, 0] * X[:, 1] ** 2, Polynomial(3), ([-1, -1], [1, 1]))
    assert in_plane.norm == pytest.approx(math.sqrt(1 + 1 / 3))
    assert membership(on_line(lambda x: x**4), Polynomial(3), (-1, 1)).belongs is False
    assert membership(on_line(np.ones_like), Polynomial(2, offset=0.0), (-1, 1)).belongs is False
    assert membership(on_line(lambda x: np.cos(2 * x)), Dirichlet(3), (-3, 3)).norm == pytest.approx(math.sqrt(0.5))
    assert membership(on_line(lambda x: np.cos(4 * x)), Dirichlet(3), (-3, 3)).belongs is False


@pytest.mark.parametrize(
    ("function", "energy"),
    [(np.exp, (math.e**2 - 1) / 2), (lambda x: x**4, 144 / 5), (lambda x: np.sin(3 * x) + 5 * x, None)],
    ids=["exp", "x^4", "sin"],
)
def test_semi_norm_of_the_cubic_spline_kernel(function, energy):
    """The least integral of f''^2 over the line among functions that agree with f on [0, 1]."""
    energy = 81 * (0.5 - math.sin(6) / 12) if energy is None else energy
    answer = membership(on_line(function), Polyharmonic(2), (0, 1))
    assert answer.belongs is True
    assert answer.null_dimension == 2
    assert answer.norm**2 == pytest.approx(energy, rel=1e-4)
    assert "semi-norm (modulo 2 free functions)" in str(answer)


@pytest.mark.slow
def test_free_functions_and_kinks_of_conditionally_positive_definite_kernels():
    line = membership(on_line(lambda x: 3 * x - 1), Polyharmonic(2), (0, 1))
    assert (line.belongs, line.norm) == (True, 0.0)
    plane = membership(lambda X: X[:, 0] - 2 * X[:, 1], ThinPlate(), ([0, 0], [1, 1]))
    assert (plane.belongs, plane.norm, plane.null_dimension) == (True, 0.0, 3)
    assert membership(on_line(lambda x: np.abs(x - 0.4)), Polyharmonic(2), (0, 1)).belongs is False
    assert membership(on_line(lambda x: np.abs(x - 0.5)), Polyharmonic(1), (0, 1)).norm == pytest.approx(1, rel=1e-3)
    assert membership(on_line(lambda x: np.sign(x - 0.4)), Polyharmonic(1), (0, 1)).belongs is False


def test_a_larger_null_space_can_be_asked_for():
    quadratic = on_line(lambda x: 7 * x**2 + np.exp(-np.abs(x)))
    free = membership(quadratic, Laplacian(), (-1, 1), null_space=Polynomials(2))
    assert free.null_dimension == 3
    assert free.norm < 1.0 < membership(quadratic, Laplacian(), (-1, 1)).lower_bound


@pytest.mark.slow
def test_scaling_the_function_or_the_kernel():
    plain = membership(on_line(np.cos), Matern(1.5), (-1, 1))
    larger = membership(on_line(lambda x: 3e6 * np.cos(x)), Matern(1.5), (-1, 1))
    heavier = membership(on_line(np.cos), 1e-8 * Matern(1.5), (-1, 1))
    assert plain.belongs is larger.belongs is heavier.belongs is True
    assert larger.norm == pytest.approx(3e6 * plain.norm)
    assert heavier.norm == pytest.approx(1e4 * plain.norm)


def test_the_zero_function_belongs():
    assert membership(on_line(np.zeros_like), Gaussian(), (0, 1)).norm == 0.0


def test_evidence_holds_lower_bounds_and_reads_well():
    answer = membership(gaussian(1.5), Gaussian(), (-3, 3), max_points=257)
    evidence = answer.evidence
    assert evidence.sizes.tolist() == [9, 17, 33, 65, 129, 257]
    assert evidence.squared_norms.shape == (6, len(evidence.ridges))
    assert (np.diff(evidence.squared_norms, axis=1) >= -1e-9).all()
    assert (evidence.squared_norms <= gaussian_norm(1.5, 1, 1) ** 2 + evidence.rounding + 1e-12).all()
    assert evidence.refinement == evidence.regularization == LEVELED
    assert str(answer).startswith("belongs to the space, norm about 1.09667")
    stranger = membership(on_line(np.sign), Gaussian(), (-3, 3), max_points=257)
    assert stranger.evidence.regularization == GROWING
    assert str(stranger).startswith("does not belong to the space: its norm exceeds")


def test_three_dimensions():
    box = [-1, -1, -1], [1, 1, 1]
    answer = membership(gaussian(0.9), Gaussian(), box, max_points=512)
    assert answer.norm == pytest.approx(gaussian_norm(0.9, 1, 3), rel=1e-2)
    assert membership(lambda X: np.sign(X[:, 0] - 0.4), Matern(1.5), ([0, 0, 0], [1, 1, 1])).belongs is False


def test_errors_advise():
    with pytest.raises(ValueError, match="low < high"):
        membership(gaussian(1), Gaussian(), (1, 0))
    with pytest.raises(ValueError, match="two corners"):
        membership(gaussian(1), Gaussian(), 3.0)
    with pytest.raises(ValueError, match="at least 129"):
        membership(gaussian(1), Gaussian(), (0, 1), max_points=20)
    with pytest.raises(ValueError, match="got shape"):
        membership(lambda X: X, Gaussian(), (0, 1))
    with pytest.raises(ValueError, match="not finite at"):
        membership(on_line(lambda x: np.where(x > 0.5, np.inf, x)), Gaussian(), (0, 1))
    with pytest.raises(ValueError, match="null_space must contain"):
        membership(gaussian(1), Polyharmonic(2), (0, 1), null_space=None)
    with pytest.raises(ValueError, match="must be positive definite"):
        membership(gaussian(1), Sum(Gaussian(), Negated()), (0, 1))


class Negated(Laplacian):
    def _h(self, s, k):
        return -2.0 * super()._h(s, k)
