"""Walder and Chapelle 2007, section 7: test errors on the ten digits of USPS, 7291 to train and 2007 to test.

In the source every class has its own machine against the rest, tuned by five-fold cross-validation. The classes are
linearly separable, so that the thin plate is used with nothing free (beta = 0), expanded on all training points (85
errors) or on 1500 of them at random (88); the Gaussian makes 88.

Ours:
- thin plate: seminorm.SVC(), which leaves the constant free where the source leaves nothing, and its other forms. Each
  class gets its alpha from leave-one-out errors.
- thin plate, prepared images: the same after a preparation of the images that has the smallest leave-one-out loss on
  2000 training digits: smoothed by 0 to 1.25 pixels, with grey values or their square roots, as they are or scaled to
  unit length. It is chosen on training digits alone.
- Gaussian, one against the rest: seminorm.SVC(Gaussian(scale)), the same machine with another kernel. One scale for all
  classes, by five-fold cross-validation on 2000 training digits chosen at random; alpha as above, on all digits.
- Gaussian, one against one: scikit-learn's SVC (hinge), gamma and C by five-fold cross-validation on the same 2000.

Seconds contain every choice that is made: the ten alphas, and the search on 2000 digits. The source's are those of one
class at the chosen parameters.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import _data
import numpy as np
from _report import ABSENT, Results, Table, options
from scipy.ndimage import gaussian_filter
from scipy.stats import binomtest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as PeerSVC
from walder_chapelle_table1 import median_squared_distance

from seminorm import SVC
from seminorm.kernels import Gaussian

SEED = 0
BASIS = 1500
SUBSET = 2000
QUICK_POINTS, QUICK_BASIS, QUICK_SUBSET = 600, 400, 200


@dataclass(frozen=True)
class Machine:
    """A row of the table; ``train(X, y)`` returns the machine and what was chosen by search."""

    name: str
    train: Callable
    source_errors: int | None = None
    source_seconds: str = ABSENT


def plate(**parameters):
    return lambda X, y: (SVC(random_state=SEED, **parameters).fit(X, y), "")


@dataclass(frozen=True)
class Preparation:
    """What is done to images before they are compared."""

    blur: float = 0.0  #: deviation of a Gaussian filter, in pixels
    root: bool = False  #: square roots of grey values
    unit: bool = False  #: images scaled to length 1

    def __call__(self, X: np.ndarray) -> np.ndarray:
        if self.blur:
            X = gaussian_filter(X.reshape(-1, 16, 16), (0.0, self.blur, self.blur), mode="constant").reshape(len(X), -1)
        X = np.sqrt(np.maximum(X, 0.0)) if self.root else X
        return X / np.linalg.norm(X, axis=1, keepdims=True) if self.unit else X

    def __str__(self) -> str:
        parts = [f"smoothed by {self.blur:g} pixels"] if self.blur else []
        parts += ["square roots"] * self.root + ["unit length"] * self.unit
        return ", ".join(parts) or "as they are"


PREPARATIONS = [Preparation(*choice) for choice in product((0.0, 0.5, 0.75, 1.0, 1.25), (False, True), (False, True))]


class PreparedSVC:
    """Our machine on images with the preparation of smallest leave-one-out loss on a subset."""

    def __init__(self, points: int):
        self.points = points

    def fit(self, X, y) -> PreparedSVC:
        rows = subset(y, self.points)
        self.losses_ = {str(p): _left_out_loss(SVC().fit(p(X[rows]), y[rows])) for p in PREPARATIONS}
        self.preparation_ = min(PREPARATIONS, key=lambda p: self.losses_[str(p)])
        self.machine_ = SVC().fit(self.preparation_(X), y)
        return self

    def predict(self, X):
        return self.machine_.predict(self.preparation_(X))


def _left_out_loss(machine: SVC) -> float:
    """The mean of the smallest losses along the paths of the classes."""
    return float(np.mean([path["score"].min() for path in machine.alpha_path_]))


def prepared(points: int):
    def train(X, y):
        machine = PreparedSVC(points).fit(X, y)
        return machine, str(machine.preparation_)

    return train


def gaussian_against_rest(points: int):
    """One scale by cross-validation on a subset, alpha of each class by leave-one-out errors on all."""

    def train(X, y):
        rows = subset(y, points)
        scales = np.sqrt(median_squared_distance(X)) * np.logspace(-1.0, 0.25, 6)
        grid = {"kernel": [Gaussian(float(scale)) for scale in scales]}
        search = GridSearchCV(SVC(), grid, cv=folds(), refit=False).fit(X[rows], y[rows])
        kernel = search.best_params_["kernel"]
        edge = " (edge of its grid)" if kernel.scale in scales[[0, -1]] else ""
        return SVC(kernel).fit(X, y), f"scale {kernel.scale:.3g}{edge}"

    return train


def gaussian_against_one(points: int, jobs: int):
    """scikit-learn's, gamma and C by cross-validation on a subset."""

    def train(X, y):
        rows = subset(y, points)
        grid = {"gamma": np.logspace(-1.0, 1.5, 6) / median_squared_distance(X), "C": np.logspace(-1.0, 3.0, 5)}
        search = GridSearchCV(PeerSVC(), grid, cv=folds(), refit=False, n_jobs=jobs).fit(X[rows], y[rows])
        gamma, C = search.best_params_["gamma"], search.best_params_["C"]
        edge = " (edge of its grid)" if gamma in grid["gamma"][[0, -1]] or C in grid["C"][[0, -1]] else ""
        return PeerSVC(gamma=gamma, C=C).fit(X, y), f"scale {np.sqrt(0.5 / gamma):.3g}, C {C:.3g}{edge}"

    return train


def machines(basis: int, points: int, jobs: int) -> dict[str, Machine]:
    """The rows: expansions on some of the points, the Gaussian tuned on some of the digits."""
    return {
        "plate": Machine("thin plate", plate(), 85, "1020"),
        "prepared": Machine("thin plate, prepared images", prepared(points), 85, "1020"),
        "zero": Machine("thin plate, nothing free", plate(null_space="zero"), 85, "1020"),
        "basis": Machine(f"thin plate on {basis} points", plate(null_space="constant", n_basis=basis), 88, "240"),
        "zero-basis": Machine(
            f"thin plate, nothing free, on {basis} points", plate(null_space="zero", n_basis=basis), 88, "240"
        ),
        "gaussian": Machine("Gaussian, one against the rest", gaussian_against_rest(points), 88, "40"),
        "gaussian-ovo": Machine("Gaussian, one against one (scikit-learn)", gaussian_against_one(points, jobs)),
    }


ROWS = tuple(machines(BASIS, SUBSET, 1))


def subset(y: np.ndarray, points: int) -> np.ndarray:
    """The digits on which the Gaussian's parameters are chosen."""
    return np.random.default_rng(SEED).permutation(len(y))[:points]


def folds() -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=SEED)


def measure(machine: Machine, data) -> dict:
    X, y, X_test, y_test = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        trained, chosen = machine.train(X, y)
        seconds = time.perf_counter() - start
    if isinstance(trained, SVC):
        alphas = np.atleast_1d(trained.alpha_)
        chosen = f"{chosen}, " if chosen else ""
        chosen += f"{trained.null_space_used_} null space, alpha {alphas.min():.2g} to {alphas.max():.2g}"
    return {
        "wrong": np.flatnonzero(trained.predict(X_test) != y_test).tolist(),
        "seconds": seconds,
        "chosen": chosen,
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--machines", nargs="+", choices=ROWS, metavar="ROW", help=f"some of {', '.join(ROWS)}")
    arguments = parser.parse_args()
    _data.require("usps/usps.npz")
    X, y, X_test, y_test = _data.usps()
    if arguments.quick:
        rows = np.random.default_rng(SEED).permutation(len(y))[:QUICK_POINTS]
        X, y = X[rows], y[rows]
    sizes = (QUICK_BASIS, QUICK_SUBSET) if arguments.quick else (BASIS, SUBSET)
    rows_of_table = machines(*sizes, arguments.jobs)
    results = Results(arguments.cache)
    table = Table(
        f"Walder and Chapelle 2007, section 7: USPS, ten classes, {len(y)} training digits"
        f"{' (quick run: not to be compared with the source)' if arguments.quick else ''}, errors on {len(y_test)}",
        ["machine", "source", "ours", "% ours", "s per class, source", "s in all, ours", "chosen"],
        [40, 6, 4, 6, 8, 8, 52],
    )
    found = {}
    for key in arguments.machines or ROWS:
        machine = rows_of_table[key]
        found[key] = results.get(
            f"usps, n = {len(y)}, {machine.name}",
            lambda machine=machine: measure(machine, (X, y, X_test, y_test)),
        )
        errors = len(found[key]["wrong"])
        table.add(
            machine.name,
            machine.source_errors or ABSENT,
            errors,
            f"{100 * errors / len(y_test):.2f}",
            machine.source_seconds,
            f"{found[key]['seconds']:.1f}",
            found[key]["chosen"],
        )
        table.write(arguments.markdown)
    if {"plate", "gaussian"} <= found.keys():
        ours, theirs = (set(found[key]["wrong"]) for key in ("plate", "gaussian"))
        only = len(ours - theirs), len(theirs - ours)
        p = binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0
        table.note(
            f"Thin plate and Gaussian (against the rest) err together on {len(ours & theirs)} digits, alone on "
            f"{only[0]} and {only[1]}: sign test p = {p:.3f}."
        )
    for key, result in found.items():
        for message in result["warnings"]:
            table.note(f"Warning met, {rows_of_table[key].name}: {message}")
    table.write(arguments.markdown)


if __name__ == "__main__":
    main()
