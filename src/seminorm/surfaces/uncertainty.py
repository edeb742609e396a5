"""How uncertain the place of a surface is: random draws from the posterior of its function."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq

from ..fields.field import Field
from ..fields.pointwise import LocalEnergy, PointEquations
from ..fields.posterior import energy_noise
from ..fields.system import collapse, gather
from ..fields.threads import dot
from ..fields.tree import Tree
from .attributes import Neighbourhood, gradient_length

_DRAWS = 10
_MOST_FUNCTIONS = 60_000
_MOST_POINTS = 50_000
_TOL = 3e-2
_MAX_ITER = 100


def place_deviation(surface, data: Neighbourhood, X: np.ndarray) -> np.ndarray:
    """Standard deviation of the surface along its normal at places X on it.

    The function f of a surface is the mean of a Gaussian process: its prior belongs to the semi-norm, and points and
    normals have noise of the variances that their weights stand for, up to a common factor that is estimated from the
    residuals and the semi-norm together (restricted maximum likelihood). The deviation of the place is that of f
    divided by |grad f|. It is estimated from ten random draws, so it varies by some 20 % of itself.

    The draws live on the levels of the basis that have together at most 60 000 functions, and see at most 50 000
    points with the weight of all. Where the cells of these levels are wider than the details of the fit, by a factor c,
    the values get weights smaller by c**2: a wide function is then as uncertain as a narrow one is with the fewer
    points that it has. There the deviation comes out too large rather than too small, by up to a half; holes
    narrower than the cells are not seen. What no draw knows are outliers and features that were not sampled.

    Parameters
    ----------
    surface : Surface
        Its ``details`` hold the order, smoothness and normal_weight of the fit.
    data : Neighbourhood
        Of the points of the surface.
    X : array (n, 3)
    """
    if not surface.on_grid:
        raise ValueError("the uncertainty of an exact surface is not known: reconstruct it with exact=False.")
    details = surface.details
    missing = [name for name in ("order", "smoothness", "normal_weight") if name not in details]
    if missing:
        raise ValueError(
            f"the uncertainty needs {', '.join(missing)} in the details of the surface; reconstruct puts them there."
        )
    field, d = surface.field, surface.dimension
    size = float(field.tree.box.scale[0])
    alpha = (details["smoothness"] / size) ** (2 * details["order"] - d)
    tolerance = details["normal_weight"] / size
    rows = np.random.default_rng(0).permutation(len(surface.points))[:_MOST_POINTS]
    area = (data.spacing(rows) / size) ** 2
    area *= details["area"] / size**2 / area.sum() if "area" in details else len(surface.points) / len(rows)
    scale = _noise_scale(surface, rows, area, alpha, tolerance, size)
    tree = _coarse_tree(field.tree)
    detail = max(2.0**-field.depth, _detail(alpha, tolerance, details["order"]))
    wider = max(2.0**-tree.depth / detail, 1.0)
    weights = np.stack([area / (tolerance * wider) ** 2, area], axis=1)
    squares = np.zeros(len(X))
    for draw in _draws(tree, details["order"], alpha, tree.box.coordinates(surface.points[rows]), weights):
        squares += draw(X) ** 2
    slopes = np.maximum(gradient_length(surface, X), np.finfo(float).tiny)
    return size * np.sqrt(scale * squares / _DRAWS) / slopes


def _coarse_tree(tree: Tree) -> Tree:
    """The tree, or as many of its levels as are not too large."""
    depth = tree.depth
    while depth > 0 and tree.size > _MOST_FUNCTIONS:
        depth -= 1
        tree = Tree(tree.box, tree.degree, tree.levels[: depth + 1])
    return tree


def _detail(alpha: float, tolerance: float, order: int) -> float:
    """Half a wave of what the semi-norm begins to suppress on a plane: alpha k**(2 m - 1) = k**2 + 1 / tol**2."""

    def excess(log_k: float) -> float:
        k = np.exp(log_k)
        return np.log(alpha * k ** (2 * order - 1)) - np.log(k**2 + tolerance**-2)

    return float(np.pi / np.exp(brentq(excess, -50.0, 50.0)))


def _noise_scale(surface, rows, area, alpha: float, tolerance: float, size: float) -> float:
    """Variance of an observation of weight one: what is minimised, divided by the number of observations.

    Without normals they are taken to fit as well as the points, a component.
    """
    values, gradients = surface.field.jet(surface.points[rows])
    of_points = float((area * (values / size / tolerance) ** 2).sum())
    d = surface.dimension
    if surface.normals is None:
        of_normals = d * of_points
    else:
        of_normals = float((area[:, None] * (gradients - surface.normals[rows]) ** 2).sum())
    coef = surface.field.coef
    image = np.zeros_like(coef)
    LocalEnergy(surface.field.tree, surface.field.order).add(coef, 1.0, image)
    energy = max(dot(coef, image), 0.0) / size**2  # in single precision: that of a quadratic may come out below 0
    return (of_points + of_normals + alpha * energy) / ((1 + d) * len(surface.points))


def _draws(tree: Tree, order: int, alpha: float, points: np.ndarray, weights: np.ndarray) -> Iterator[Field]:
    """Fields from the posterior, minus its mean, with unit variance of an observation of weight one.

    They solve the equations for noise whose covariance is their matrix: that of the data is made point by point, that
    of the energy cell by cell.
    """
    rng = np.random.default_rng(1)
    shape = len(points), 1 + points.shape[1]
    precision = np.float64 if order > 2 else np.float32
    equations = PointEquations(tree, order, points, weights, np.zeros(shape, dtype=np.float32), precision)
    roots = 1 / np.sqrt(weights[:, [0] + [1] * points.shape[1]])
    for _ in range(_DRAWS):
        right = equations.right_for(rng.standard_normal(shape) * roots)
        right += gather(tree, energy_noise(tree, equations.energy, alpha, rng)).astype(right.dtype)
        x = np.zeros_like(right)
        equations.solve_for(alpha, right, x, tol=_TOL, max_iter=_MAX_ITER)
        yield Field(tree, collapse(tree, x), order)
