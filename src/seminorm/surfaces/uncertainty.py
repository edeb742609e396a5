"""The uncertainty of the place of a surface: random draws from the posterior of its function."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from ..clouds.pairs import hole_factor, local_factors
from ..fields.draws import energy_noise
from ..fields.field import Field
from ..fields.pointwise import LocalEnergy, PointEquations
from ..fields.system import collapse, dot, gather
from ..fields.tree import Tree
from ..shapes.attributes import Neighborhood, farness
from .calibration import LEAST_SLOPE, Refits

_DRAWS = 10
_DRAWS_OF_HOLES = 6
_WIDTH = 0.9  # quantile of the distances from the data in holes, for the radius of those that are made
_MOST_FUNCTIONS = 60_000
_MOST_POINTS = 50_000
_TOL = 3e-2
_MAX_ITER = 100


@dataclass(frozen=True)
class FitModel:
    """What a surface was fitted with, in the units of the data: all that its posterior needs besides the data.

    Attributes
    ----------
    order, smoothness : int, float
        Of the semi-norm, and the length below which details are smoothed away.
    tolerance : float
        Distance from a point that weighs as much as a normal that is wrong by one radian.
    area : float, optional
        Of all points together; left out, that of their neighbourhoods.

    See Also
    --------
    reconstruct

    Examples
    --------
    >>> from seminorm.surfaces import FitModel
    >>> FitModel(order=3, smoothness=0.1, tolerance=0.02)
    FitModel(order=3, smoothness=0.1, tolerance=0.02, area=None)
    """

    order: int
    smoothness: float
    tolerance: float
    area: float | None = None


def place_deviation(
    field: Field,
    points: np.ndarray,
    normals: np.ndarray | None,
    model: FitModel,
    X: np.ndarray,
    data: Neighborhood | None = None,
    *,
    estimated: bool = False,
) -> np.ndarray:
    """Standard deviation (m,) of a surface along its normal at places X (m, 3) on it, in the units of the data.

    The function f of a surface is the mean of a Gaussian process: its prior belongs to the semi-norm, and points and
    normals have noise of the variances that their weights stand for [Walder 2008, 3.1.3]. The deviation of the place is
    that of f divided by |grad f|, from ten random draws of the posterior. It shows where data are sparse or missing.
    Its size is calibrated by points that are held out (:mod:`seminorm.surfaces.calibration`), so that it includes what
    smoothing hides, and errors that neighbouring normals share. ``estimated`` says that the normals were estimated from
    the points; they are then estimated again without the points that are held out.

    The draws live on the levels of the basis that have together at most 60 000 functions, and see at most 50 000 points
    with the weight of all. Where the cells of these levels are wider than the details of the fit, by a factor c, the
    values get weights smaller by c**2: a wide function is then as uncertain as a narrow one is with the fewer points
    that it has. Holes narrower than the cells are not seen. No draw knows of outliers, or of features that were not
    sampled.
    """
    data = Neighborhood(points) if data is None else data
    if normals is None:
        normals = field.jet(points)[1]
        normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    posterior = _Posterior.of(field, points, normals, model, data)
    refits = Refits(field, points, normals, model.order, model.smoothness, model.tolerance)
    variance = posterior.variance(np.arange(len(points)), field, _DRAWS)
    squares, far = variance(X), farness(data, X)
    pairs = refits.pairs(estimated)
    near = local_factors(pairs, variance(pairs.places), X, posterior.scale)
    if not (far >= 1).any():
        return np.sqrt(near * squares)
    width = float(np.quantile(data.nearest(X[far >= 1])[0], _WIDTH))
    cut = refits.holes(width)
    if cut is None:
        return np.sqrt(near * squares)
    kept, holes, filling = cut
    there = posterior.variance(np.flatnonzero(kept), filling, _DRAWS_OF_HOLES)(holes.places)
    inside = hole_factor(holes, there, farness(Neighborhood(points[kept]), holes.places), float(np.median(near)))
    return np.sqrt(near ** (1 - far) * inside**far * squares)


@dataclass(frozen=True)
class _Posterior:
    """What random draws of a function need: the weights of some points, in cells of level 0."""

    tree: Tree
    order: int
    alpha: float
    points: np.ndarray  # (n, 3), in cells of level 0
    weights: np.ndarray  # (n, 2), of values and gradients
    rows: np.ndarray  # of the points among all
    size: float  # of a cell of level 0
    scale: float  # variance of an observation of weight one: restricted maximum likelihood

    @classmethod
    def of(cls, field: Field, points, normals, model: FitModel, data: Neighborhood) -> "_Posterior":
        size = float(field.tree.box.scale[0])
        alpha = (model.smoothness / size) ** (2 * model.order - field.dimension)
        tolerance = model.tolerance / size
        rows = np.random.default_rng(0).permutation(len(points))[:_MOST_POINTS]
        area = (data.spacing(rows) / size) ** 2
        area *= len(points) / len(rows) if model.area is None else model.area / size**2 / area.sum()
        scale = _smallest(field, points[rows], normals[rows], area, alpha, tolerance)
        tree = _coarse_tree(field.tree)
        detail = max(2.0**-field.depth, _detail(alpha, tolerance, model.order))
        wider = max(2.0**-tree.depth / detail, 1.0)
        weights = np.stack([area / (tolerance * wider) ** 2, area], axis=1)
        scale /= (1 + field.dimension) * len(points)
        return cls(tree, model.order, alpha, tree.box.coordinates(points[rows]), weights, rows, size, scale)

    def variance(self, kept: np.ndarray, field: Field, number: int) -> Callable[[np.ndarray], np.ndarray]:
        """The variance of the place at any X (m, 3) on a field, given the points of the rows ``kept`` alone, for an
        observation of weight one that has variance one."""
        known = np.isin(self.rows, kept)
        options = self.tree, self.order, self.alpha, self.points[known], self.weights[known]
        draws = list(_draws(*options, number))

        def at(X: np.ndarray) -> np.ndarray:
            slopes = np.maximum(np.linalg.norm(field.jet(X)[1], axis=1), LEAST_SLOPE)
            return self.size**2 * sum(draw(X) ** 2 for draw in draws) / number / slopes**2

        return at


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

    return float(np.pi / np.exp(scipy.optimize.brentq(excess, -50.0, 50.0)))


def _smallest(field: Field, points, normals, area, alpha: float, tolerance: float) -> float:
    """What the field minimises, in cells of level 0."""
    size = float(field.tree.box.scale[0])
    values, gradients = field.jet(points)
    of_points = float((area * (values / size / tolerance) ** 2).sum())
    of_normals = float((area[:, None] * (gradients - normals) ** 2).sum())
    image = np.zeros_like(field.coef)
    LocalEnergy(field.tree, field.order).add(field.coef, 1.0, image)
    energy = max(dot(field.coef, image), 0.0) / size**2  # in single precision: that of a quadratic may be below 0
    return of_points + of_normals + alpha * energy


def _draws(
    tree: Tree, order: int, alpha: float, points: np.ndarray, weights: np.ndarray, number: int
) -> Iterator[Field]:
    """Fields from the posterior, minus its mean, for unit noise of an observation of weight one."""
    rng = np.random.default_rng(1)
    shape = len(points), 1 + points.shape[1]
    precision = np.float64 if order > 2 else np.float32
    equations = PointEquations(tree, order, points, weights, np.zeros(shape, dtype=np.float32), precision)
    roots = 1 / np.sqrt(weights[:, [0] + [1] * points.shape[1]])
    for _ in range(number):
        right = equations.right_for(rng.standard_normal(shape) * roots)
        right += gather(tree, energy_noise(tree, equations.energy, alpha, rng)).astype(right.dtype)
        x = np.zeros_like(right)
        equations.solve_for(alpha, right, x, tol=_TOL, max_iter=_MAX_ITER)
        yield Field(tree, collapse(tree, x), order)
