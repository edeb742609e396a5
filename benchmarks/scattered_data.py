"""Held-out error on real scattered data, in blocks: FieldSmoother against thin plates, splines of verde, and kriging.

Bathymetry along ship tracks, airborne magnetics along flight lines, ground points of a LiDAR scan, scattered points of
an elevation model, and surface temperatures from a satellite, with the test points of a published comparison, under
clouds [Heaton 2019]. Elsewhere the area is cut into squares, a fifth of which is held out in turn: points next to the
held-out ones are held out too. The peers: RBFInterpolator with 50 neighbours, and a dense thin plate on as many
random points as it can take in about a minute; both interpolate, and both are also tried with the smoothing that does
best on the held-out points. verde's SplineCV, which is dense, on as many random points as it can take in about a
minute, its damping by cross-validation. Ordinary kriging from 50 neighbours, with an exponential and a Matern variogram
that GSTools fits. The last line of a set is our error over that of the best peer. With --coverage, the deviations of
FieldSmoother are judged instead: the share of held-out values within bands of 95 %, of observations and of f alone, and
scores of the normal prediction. With --pictures FOLDER, the fitted fields are drawn.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _datasets import arrays, exists, has_package, missing, require, without_peer
from _scores import WIDTH, scores
from scipy.interpolate import RBFInterpolator
from scipy.spatial import cKDTree
from sklearn.model_selection import KFold

from seminorm import FieldSmoother

SETS = ("autzen_lidar", "baja_bathymetry", "jacksboro_dem", "rio_magnetic", "heaton_sat")
DENSE = 6000
VERDE, DAMPINGS = 5000, (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # points of its splines, and what damps them
NEIGHBORS, VARIOGRAM, LAGS = 50, 4000, np.linspace(0.0, 0.25, 26)  # of kriging; points and lags of its variogram
SQUARES = 24
BAR = 1.02
FOLDS = 5


def geographic(longitude, latitude, middle=None):
    """Degrees of latitude along both axes, near the middle of the area, by default the mean latitude."""
    middle = np.mean(latitude) if middle is None else middle
    return np.column_stack([longitude * np.cos(np.deg2rad(middle)), latitude]).astype(float)


def load(name):
    file = arrays(f"scattered/{name}.npz")
    if name == "baja_bathymetry":
        return geographic(file["longitude"], file["latitude"]), file["bathymetry_m"].astype(float)
    if name == "rio_magnetic":
        return geographic(file["longitude"], file["latitude"]), file["total_field_anomaly_nt"].astype(float)
    if name == "heaton_sat":
        return geographic(*file["X"].T, middle_of(file)), file["y"]
    if name == "autzen_lidar":
        ground = file["xyz"][file["classification"] == 2].astype(float)
        return ground[:, :2], ground[:, 2]
    elevation = file["elevation"]
    rows, columns = np.nonzero(np.isfinite(elevation))
    keep = np.random.default_rng(0).random(len(rows)) < 0.3
    X = np.column_stack([columns * float(file["dx"]), rows * float(file["dy"])])[keep]
    return X, elevation[rows, columns][keep].astype(float)


def given_test(name):
    """Test points and values that come with a set, if they do."""
    if name != "heaton_sat":
        return None
    file = arrays(f"scattered/{name}.npz")
    return geographic(*file["X_test"].T, middle_of(file)), file["y_test"]


def middle_of(file):
    """The latitude in the middle of the box of the training points."""
    return 0.5 * (file["X"][:, 1].min() + file["X"][:, 1].max())


def folds(X):
    """The number of the fold of each point: squares, dealt out at random."""
    side = np.ptp(X, axis=0).max() / SQUARES
    square = np.floor((X - X.min(axis=0)) / side).astype(int) @ [1, 1000]
    _, number = np.unique(square, return_inverse=True)
    return np.random.default_rng(1).permutation(number.max() + 1)[number] % FOLDS


def distinct(X, y):
    """One value for each point, the mean: interpolation cannot take more."""
    points, number = np.unique(X, axis=0, return_inverse=True)
    number = number.reshape(-1)
    return points, np.bincount(number, y) / np.bincount(number)


def local(X, y, Z, smoothing=0.0):
    return RBFInterpolator(*distinct(X, y), neighbors=50, smoothing=smoothing)(Z)


def dense(X, y, Z, smoothing=0.0):
    chosen = np.random.default_rng(2).permutation(len(X))[:DENSE]
    return RBFInterpolator(*distinct(X[chosen], y[chosen]), smoothing=smoothing)(Z)


def spline_of_verde(X, y, Z):
    import verde

    chosen = np.random.default_rng(2).permutation(len(X))[:VERDE]
    points, values = distinct(X[chosen], y[chosen])
    folds = KFold(3, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a parameter that is not given here, and of small dampings
        spline = verde.SplineCV(dampings=DAMPINGS, cv=folds).fit(tuple(points.T), values)
    return spline.predict(tuple(Z.T))


def kriging(X, y, Z, name):
    """Ordinary kriging from the nearest points, with a variogram of GSTools; the nugget counts as noise."""
    import gstools

    X, y = distinct(X, y)
    lags, gamma = gstools.vario_estimate(tuple(X.T), y, LAGS, sampling_size=VARIOGRAM, sampling_seed=0)
    model = getattr(gstools, name)(dim=2)
    model.fit_variogram(lags, gamma, nugget=True, max_eval=20_000)
    _, near = cKDTree(X).query(Z, k=min(NEIGHBORS, len(X)))
    values = np.empty(len(Z))
    for first in range(0, len(Z), 2000):
        part = slice(first, first + 2000)
        points, targets = X[near[part]], Z[part]
        between = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
        matrix = model.covariance(between) + (model.nugget + 1e-9 * model.var) * np.eye(between.shape[1])
        right = np.ones((*between.shape[:2], 2))  # the covariance with the target, and the unknown mean
        right[:, :, 0] = model.covariance(np.linalg.norm(points - targets[:, None], axis=-1))
        ours, ones = np.moveaxis(np.linalg.solve(matrix, right), -1, 0)
        weights = ours + ones * ((1.0 - ours.sum(axis=1)) / ones.sum(axis=1))[:, None]
        values[part] = (weights * y[near[part]]).sum(axis=1)
    return values


def optional_peers():
    """Those that are installed; the others are named."""
    found = {}
    for package, methods in (
        ("verde", {f"verde SplineCV, {VERDE} points": spline_of_verde}),
        (
            "gstools",
            {
                "kriging, exponential": lambda *a: kriging(*a, "Exponential"),
                "kriging, Matern": lambda *a: kriging(*a, "Matern"),
            },
        ),
    ):
        if has_package(package):
            found |= methods
        else:
            print(without_peer(package))
    return found


def field(X, y, Z, **options):
    return FieldSmoother(**options).fit(X, y).predict(Z)


def splits(X, y, test, number):
    """Training points and values, and those to test with: the given ones, or squares in turn."""
    if test is not None:
        yield X, y, *test
        return
    fold = folds(X)
    for k in range(number):
        yield X[fold != k], y[fold != k], X[fold == k], y[fold == k]


def in_unit_square(name):
    """Points, values, and the points and values to test with, if there are any."""
    X, y = load(name)
    test = given_test(name)
    low, scale = X.min(axis=0), np.ptp(X, axis=0).max()
    return (X - low) / scale, y, test if test is None else ((test[0] - low) / scale, test[1])


def cover(name, number):
    """Coverage and scores, fold by fold, and their means."""
    X, y, test = in_unit_square(name)
    print(f"{name}: {len(X)} points\n{'fold':>6} {'of y':>6} {'of f':>6} {'rms':>9} {'CRPS':>9} {'interval':>9} "
          f"{'factor':>6} {'fit, s':>7} {'std, s':>7}")  # fmt: skip
    rows = []
    for fold, (points, values, Z, truth) in enumerate(splits(X, y, test, number)):
        start = time.perf_counter()
        smoother = FieldSmoother().fit(points, values)
        middle = time.perf_counter()
        mean, std = smoother.predict(Z, return_std="observation")
        end = time.perf_counter()
        rms, _, crps, interval, covered = scores(truth, mean, std)
        alone = np.sqrt(std**2 - smoother.noise_variance_)
        of_f = np.mean(abs(truth - mean) <= WIDTH * alone)
        rows.append((covered, of_f, rms, crps, interval, smoother.deviation_factor_, middle - start, end - middle))
        show(fold, rows[-1])
    show("mean", np.mean(rows, axis=0))


def show(name, row):
    shape = "{:>6} {:6.3f} {:6.3f} {:9.4g} {:9.4g} {:9.4g} {:6.2f} {:7.1f} {:7.1f}"
    print(shape.format(name, *row), flush=True)


def compare(name, number, peers, words):
    X, y, test = in_unit_square(name)
    methods = {
        "FieldSmoother": field,
        "FieldSmoother(order=2)": lambda *a: field(*a, order=2),
        "FieldSmoother(order=1)": lambda *a: field(*a, order=1),
        "50 neighbours": local,
        "50 neighbours, smoothed": lambda *a: local(*a, smoothing=1e-4),
        f"thin plate, {DENSE} points": dense,
        "the same, smoothed": lambda *a: dense(*a, smoothing=1e-3),
    }
    methods |= optional_peers() if peers else {}
    errors = {}
    print(f"{name}: {len(X)} points, standard deviation {y.std():.4g}")
    for label, method in methods.items():
        if not (peers or label.startswith("FieldSmoother")) or (words and not any(word in label for word in words)):
            continue
        squares, absolute, seconds = [], [], 0.0
        for points, values, Z, truth in splits(X, y, test, number):
            start = time.perf_counter()
            try:
                error = method(points, values, Z) - truth
            except RuntimeError as failure:  # a variogram that does not fit
                print(f"{label:>28}: {failure}", flush=True)
                break
            seconds += time.perf_counter() - start
            squares.append(np.mean(error**2))
            absolute.append(np.mean(np.abs(error)))
        else:
            errors[label] = np.sqrt(np.mean(squares))
        if label not in errors:
            continue
        print(f"{label:>28}: rms {errors[label]:9.4g}, mean absolute {np.mean(absolute):9.4g}, "
              f"{seconds / len(squares):6.2f} s", flush=True)  # fmt: skip
    others = {label: error for label, error in errors.items() if not label.startswith("FieldSmoother")}
    if others and "FieldSmoother" in errors:
        best = min(others, key=others.get)
        ratio = errors["FieldSmoother"] / others[best]
        verdict = "met" if ratio <= BAR else "MISSED"
        print(f"{'ours over the best':>28}: {ratio:.3f} of {best} (at most {BAR}: {verdict})", flush=True)
    return X, y


def draw(name, X, y, folder):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    smoother = FieldSmoother().fit(X, y)
    grid = smoother.grid(1 / 400)
    values = np.asarray(grid)
    low, high = X.min(axis=0), X.max(axis=0)
    figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    limits = np.percentile(y, [1, 99])
    axes[0].scatter(*X.T, c=y, s=0.3, vmin=limits[0], vmax=limits[1])
    axes[0].set_title(f"{name}: {len(X)} points")
    extent = (low[0], high[0], low[1], high[1])
    image = axes[1].imshow(values.T, origin="lower", extent=extent, vmin=limits[0], vmax=limits[1])
    axes[1].set_title(f"{smoother.function_.n_coef} coefficients, alpha {smoother.alpha_:.2g}")
    for ax in axes:
        ax.set_aspect("equal")
    figure.colorbar(image, ax=axes)
    figure.savefig(Path(folder) / f"{name}.png", dpi=90)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="files of the folder scattered, without .npz; all by default")
    parser.add_argument("--folds", type=int, default=FOLDS, choices=range(1, FOLDS + 1))
    parser.add_argument("--no-peers", action="store_true", help="FieldSmoother alone")
    parser.add_argument("--methods", nargs="+", metavar="WORD", help="only those whose names contain one of the words")
    parser.add_argument("--coverage", action="store_true", help="judge the deviations")
    parser.add_argument("--pictures", metavar="FOLDER")
    arguments = parser.parse_args()
    sets = arguments.sets or SETS
    require(*(f"scattered/{name}.npz" for name in sets))
    for name in sets:
        if not exists(f"scattered/{name}.npz"):
            print(missing(f"scattered/{name}.npz"))
            continue
        if arguments.coverage:
            cover(name, arguments.folds)
            continue
        points, values = compare(name, arguments.folds, not arguments.no_peers, arguments.methods)
        if arguments.pictures:
            Path(arguments.pictures).mkdir(exist_ok=True)
            draw(name, points, values, arguments.pictures)
