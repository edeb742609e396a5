"""Smola et al. 1998, example 7 and corollary 8: operators behind polynomial kernels and power series, in numbers.

The operator of <x, y>^p is P = sum_m e_m w_m^(-1/2) D^m, where w_m is the multinomial coefficient of the multi-index m
and D^m f the coefficient of y^m in f. In the source's (34), (40) and (42) the exponent has lost its sign: with +1/2,
as printed, <P k(x, .), P k(y, .)> is not k(x, y), which is the condition (31). Both signs are computed.

The coefficients D^m k(x, .) are not taken from a formula: the kernel's values on a grid of y in [-1, 1]^2 are
interpolated by a polynomial. ``monomial_expansion`` is compared with them.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from _report import Table
from numpy.polynomial import chebyshev

from seminorm.kernels import Gaussian, Kernel, Polynomial, PowerSeries
from seminorm.operators import admissible, monomial_expansion, polynomial_norm
from seminorm.operators.power_series import power_series

POINTS = 200
DEGREES = (2, 3, 5)
SERIES = {"exp": np.exp, "cosh": np.cosh, "sinh": np.sinh}
CUT = 12  # degree at which power series are cut off; 1 / 13! is 2e-10


def points(seed: int) -> np.ndarray:
    """Points drawn evenly from the unit disk."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((POINTS, 2))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(rng.random((POINTS, 1)))


def taylor(kernel: Kernel, X: np.ndarray, degree: int, exponents: np.ndarray) -> np.ndarray:
    """D^m k(x, .) for each row x and each row m of exponents, by interpolation in Chebyshev's nodes."""
    nodes = np.cos(math.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    to_monomials = np.array(
        [np.pad(chebyshev.cheb2poly(row), (0, degree + 1 - len(row))) for row in chebyshev_rows(nodes)]
    )
    values = kernel(X, grid).reshape(len(X), degree + 1, degree + 1)
    coefficients = np.einsum("ki,lj,nkl->nij", to_monomials, to_monomials, values)
    return coefficients[:, exponents[:, 0], exponents[:, 1]]


def chebyshev_rows(nodes: np.ndarray) -> list[np.ndarray]:
    """For each node, the Chebyshev coefficients of the polynomial that is 1 there and 0 at the other nodes."""
    return [chebyshev.chebtrim(row) for row in np.linalg.inv(chebyshev.chebvander(nodes, len(nodes) - 1)).T]


def self_consistency(kernel: Kernel, degree: int, sign: float) -> float:
    """The largest deviation of <P k(x, .), P k(y, .)> from k(x, y), with the exponents sign / 2 in P."""
    X, Y = points(1), points(2)
    expansion = monomial_expansion(kernel, 2, degree)
    inside = expansion.weights > 0
    factors = expansion.weights[inside] ** (0.5 * sign)
    images = [factors * taylor(kernel, Z, degree, expansion.exponents[inside]) for Z in (X, Y)]
    return float(np.abs(images[0] @ images[1].T - kernel(X, Y)).max())


def feature_map() -> None:
    """(36)-(37), and the coefficients that the library states for them."""
    X, Y = points(3), points(4)
    features = [np.column_stack([Z[:, 0] ** 2, math.sqrt(2) * Z[:, 0] * Z[:, 1], Z[:, 1] ** 2]) for Z in (X, Y)]
    kernel = Polynomial(2, offset=0.0)
    deviation = np.abs(features[0] @ features[1].T - kernel(X, Y)).max()
    square = monomial_expansion(kernel, 2)
    of_library = square.features(X)[:, square.weights > 0]
    print("Example 7: <x, y>^2 in the plane")
    print(f"  less the products of (x1^2, sqrt(2) x1 x2, x2^2), source 0: {deviation:.0e}")
    print(f"  features of monomial_expansion less the source's: {np.abs(of_library - features[0]).max():.0e}")
    f = [1.0, 1.0, 1.0], [[2, 0], [1, 1], [0, 2]]
    norm = polynomial_norm(*f, kernel)
    print(f"  |y1^2 + y1 y2 + y2^2|^2: {norm**2:.6f} (1 + 1/2 + 1 = 2.5)")
    direct = smallest_norm(kernel, lambda Z: Z[:, 0] ** 2 + Z[:, 0] * Z[:, 1] + Z[:, 1] ** 2)
    print(f"  the same from kernel matrices, f' K^-1 f at 200 points: {direct:.6f}\n")


def smallest_norm(kernel: Kernel, function) -> float:
    X = points(5)
    values = function(X)
    return float(values @ np.linalg.lstsq(kernel(X), values, rcond=1e-10)[0])


def consistency() -> None:
    table = Table(
        "Condition (31): largest |<P k(x, .), P k(y, .)> - k(x, y)| over 200 x 200 pairs in the unit disk",
        ["kernel", "exponents -1/2 (ours)", "+1/2 (as printed)", "admissible"],
        [24, 20, 20, 20],
    )
    cases = [(f"<x, y>^{p}", Polynomial(p, offset=0.0), p) for p in DEGREES]
    cases += [(f"(<x, y> + 1)^{p}", Polynomial(p, offset=1.0), p) for p in DEGREES]
    cases += [(f"{name}(<x, y>)", PowerSeries(name), CUT) for name in SERIES]
    for name, kernel, degree in cases:
        ours, printed = (self_consistency(kernel, degree, sign) for sign in (-1.0, 1.0))
        table.add(name, f"{ours:.0e}", f"{printed:.1e}", admissible(kernel, dimension=2).verdict)
    table.note(f"Power series are cut off at degree {CUT}; what is left there is the rest of the series, and")
    table.note("rounding errors of the interpolated coefficients, which their small weights enlarge.")


def coefficients() -> None:
    """Corollary 8 for the series that the source names."""
    table = Table("Corollary 8: coefficients a_i of the power series", ["series", *"012345", "smallest"], [8] + 7 * [9])
    for name, function in SERIES.items():
        found = power_series(function, CUT + 1)[0] / 0.5 ** np.arange(CUT + 1)
        weights = monomial_expansion(PowerSeries(name), 1, CUT).weights
        assert np.abs(found - weights).max() < 1e-9  # by samples of the function, and of the library's kernel
        table.add(name, *(f"{a:.5f}" for a in weights[:6]), f"{weights.min():.0e}")
    found = power_series(np.tanh, CUT + 1)[0] / 0.5 ** np.arange(CUT + 1)
    table.add("tanh", *(f"{a:.5f}" for a in found[:6].round(5) + 0.0), f"{found.min():.1e}")
    verdict = admissible(np.tanh, dimension=2, kind="dot")
    table.note("Source: exp, cosh and sinh are Mercer kernels, their coefficients being not negative.")
    table.note(f"tanh(<x, y>), which the corollary does not cover: {verdict.verdict}.")
    X = points(6)
    lowest = np.linalg.eigvalsh(PowerSeries("sinh", Gaussian(0.5))(X))[0]
    table.note(f"(43), sinh of a Gaussian kernel: smallest eigenvalue of a {POINTS} x {POINTS} matrix {lowest:.0e}.")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    feature_map()
    consistency()
    print()
    coefficients()


if __name__ == "__main__":
    main()
