"""Tables: TableRegressor() and TableClassifier() against boosting, forests, tuned machines and linear models.

Everybody has defaults, but for the machines that are tuned by GridSearchCV (a 7 x 7 grid, 5 folds) and for what scales
columns. Regression: root mean square error in standard deviations of y, on the official masks of the UCI sets.
Classification: errors in per cent, on the published splits of the IDA sets, and on random ones (70 % of the rows, at
most 1500, for training) of others. Times are CPU seconds of training.

The table at the end has ranks (1 is best), and normalised scores: 1 for the best method on a set, 0 for the worst.
Results are kept in a file (``--cache``), so that runs may be stopped (``--minutes``) and continued; ``--table`` only
prints what is there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from _datasets import arrays, exists
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from seminorm import TableClassifier, TableRegressor

UCI = [
    "airfoil",
    "concrete",
    "elevators",
    "energy",
    "housing",
    "keggdirected",
    "kin40k",
    "parkinsons",
    "protein",
    "skillcraft",
    "wine",
    "yacht",
]
IDA = "banana breast_cancer diabetis flare_solar german heart image ringnorm splice thyroid titanic twonorm waveform"
CLASSES = [*IDA.split(), *["BCI", "COIL2", "Digit1", "g241c", "wdbc", "digits", "iris", "wine_classes"]]
#: every third set was held back while defaults were chosen
HELD_BACK = {*UCI[2::3], *CLASSES[2::3]}
OWN = {"wdbc": "breast_cancer", "digits": "digits", "iris": "iris", "wine_classes": "wine"}
EXACT_GP = {"elevators": 0.394, "kin40k": 0.099, "protein": 0.536, "keggdirected": 0.086}
LARGE = 10_000
MOST_TRAINING = 1500
GP_ROWS = 2000
GRID_ROWS, SVM_ROWS = 2000, 20_000


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def target_scaled(model):
    return TransformedTargetRegressor(scaled(model), transformer=StandardScaler())


def grid_search(machine, prefix, X, y):
    """C and gamma by five folds on a 7 x 7 grid; of many rows, on some of them."""
    grid = {f"{prefix}__C": np.logspace(-1, 3, 7), f"{prefix}__gamma": np.logspace(-2, 2, 7) / X.shape[1]}
    rows = np.random.default_rng(0).permutation(len(y))
    search = GridSearchCV(machine, grid, cv=5).fit(X[rows[:GRID_ROWS]], y[rows[:GRID_ROWS]])
    if len(y) <= GRID_ROWS:
        return search
    return search.best_estimator_.fit(X[rows[:SVM_ROWS]], y[rows[:SVM_ROWS]])


def gaussian_process(X, y):
    kernel = ConstantKernel() * RBF(np.sqrt(X.shape[1])) + WhiteKernel(0.1)
    return scaled(GaussianProcessRegressor(kernel, normalize_y=True)).fit(X, y)


def xgboost(kind):
    return getattr(importlib.import_module("xgboost"), kind)(n_jobs=1)


FEW_CENTRES = "seminorm, 1000 centres"  # of many rows only
REGRESSORS = {
    "seminorm": lambda X, y: TableRegressor().fit(X, y),
    FEW_CENTRES: lambda X, y: TableRegressor(n_basis=1000).fit(X, y),
    "HistGradientBoosting": lambda X, y: HistGradientBoostingRegressor(random_state=0).fit(X, y),
    "RandomForest": lambda X, y: RandomForestRegressor(random_state=0).fit(X, y),
    "ExtraTrees": lambda X, y: ExtraTreesRegressor(random_state=0).fit(X, y),
    "XGBoost": lambda X, y: xgboost("XGBRegressor").fit(X, y),
    "SVM, grid search": lambda X, y: grid_search(target_scaled(SVR()), "regressor__svr", X, y),
    "GaussianProcess": gaussian_process,
    "linear": lambda X, y: scaled(RidgeCV(np.logspace(-3, 3, 13))).fit(X, y),
}
CLASSIFIERS = {
    "seminorm": lambda X, y: TableClassifier().fit(X, y),
    "HistGradientBoosting": lambda X, y: HistGradientBoostingClassifier(random_state=0).fit(X, y),
    "RandomForest": lambda X, y: RandomForestClassifier(random_state=0).fit(X, y),
    "ExtraTrees": lambda X, y: ExtraTreesClassifier(random_state=0).fit(X, y),
    "XGBoost": lambda X, y: xgboost("XGBClassifier").fit(X, y),
    "SVM, grid search": lambda X, y: grid_search(scaled(SVC()), "svc", X, y),
    "linear": lambda X, y: scaled(LogisticRegression(max_iter=1000)).fit(X, y),
}


def regression_fold(name, fold):
    """X, y, new X, new y; None where there are no more folds."""
    file = arrays(f"uci/{name}.npz")
    X, y = file["X"].astype(float), file["y"].astype(float).ravel()
    test = np.unpackbits(file["test_mask"], axis=0)[: len(y)].astype(bool)
    if fold >= (3 if len(y) > LARGE else test.shape[1]):
        return None
    return X[~test[:, fold]], y[~test[:, fold]], X[test[:, fold]], y[test[:, fold]]


def classification_fold(name, fold):
    if name in IDA.split():
        file = arrays(f"ida/{name}.npz")
        train, test = file["train"][fold], file["test"][fold]
        X, y = file["X"], np.unique(file["y"], return_inverse=True)[1]
        return X[train], y[train], X[test], y[test]
    if name in OWN:
        X, y = getattr(datasets, f"load_{OWN[name]}")(return_X_y=True)
    else:
        file = arrays(f"ssl/{name}.npz")
        X, y = file["X"].astype(float), np.unique(file["y"], return_inverse=True)[1]
    order = np.random.default_rng(fold).permutation(len(y))
    n = min(int(0.7 * len(y)), MOST_TRAINING)
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def data_of(name, fold):
    if name in UCI:
        return regression_fold(name, fold) if exists(f"uci/{name}.npz") else None
    if name in OWN or any(exists(f"{folder}/{name}.npz") for folder in ("ida", "ssl")):
        return classification_fold(name, fold)
    return None


def measure(name, method, X, y, new_X, new_y):
    """The score and the CPU seconds of one method on one fold; None where it does not run."""
    if method == "GaussianProcess" and (name in CLASSES or len(y) > GP_ROWS):
        return None
    if method == "XGBoost" and importlib.util.find_spec("xgboost") is None:
        return None
    if method == FEW_CENTRES and (name in CLASSES or len(y) <= LARGE):
        return None
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (REGRESSORS if name in UCI else CLASSIFIERS)[method](X, y)
        seconds = time.process_time() - start
        predicted = model.predict(new_X)
    result = {"seconds": seconds}
    if name in UCI:
        result["score"] = float(np.sqrt(np.mean((predicted - new_y) ** 2)) / y.std())
        if method.startswith("seminorm"):
            low, high = model.predict_interval(new_X, coverage=0.9)
            result["covered"] = float(np.mean((low <= new_y) & (new_y <= high)))
    else:
        result["score"] = float(100.0 * np.mean(predicted != new_y))
    return result


def run(options, known, keep):
    stop = time.monotonic() + 60.0 * options.minutes
    for fold in range(options.folds):
        for name in options.sets:
            missing = [m for m in options.methods if (name, fold, m) not in known]
            content = data_of(name, fold) if missing else None
            for method in missing if content is not None else ():
                if time.monotonic() > stop:
                    return
                result = measure(name, method, *content)
                if result is not None:
                    known[name, fold, method] = result
                    keep(name, fold, method, result)


def ranks(values):
    """Ranks from 1, equal values share theirs."""
    values = np.round(values, 6)
    return np.array([(values < v).sum() + 0.5 * ((values == v).sum() + 1) for v in values])


def table(known, names, methods, unit):
    """Lines of Markdown: a row for each set, then mean ranks, normalised scores and seconds."""
    yield f"| {unit} | folds | " + " | ".join(methods) + " |"
    yield "|---" * (len(methods) + 2) + "|"
    rank, normal, seconds = defaultdict(list), defaultdict(list), defaultdict(list)
    for name in names:
        own = {m: {f for (n, f, method) in known if n == name and method == m} for m in methods}
        ran = [m for m in methods if own[m]]
        if "seminorm" not in ran:
            continue
        folds = sorted(set.intersection(*(own[m] for m in ran)))
        if not folds:
            continue
        scores = np.array([np.mean([known[name, f, m]["score"] for f in folds]) for m in ran])
        for m, r, s in zip(ran, ranks(scores), scores, strict=True):
            rank[m].append(r)
            normal[m].append((scores.max() - s) / max(np.ptp(scores), 1e-12))
            seconds[m].append(np.mean([known[name, f, m]["seconds"] for f in folds]))
        best = scores.min()
        cells = dict(zip(ran, scores, strict=True))
        digits = 4 if name in UCI else 2
        shown = [
            "" if m not in cells else f"**{cells[m]:.{digits}f}**" if cells[m] == best else f"{cells[m]:.{digits}f}"
            for m in methods
        ]
        mark = "*" if name in HELD_BACK else ""
        yield f"| {name}{mark} | {len(folds)} | " + " | ".join(shown) + " |"
    for title, values, digits in (("mean rank", rank, 2), ("mean normalised score", normal, 3)):
        yield (
            f"| {title} | | "
            + " | ".join(f"{np.mean(values[m]):.{digits}f}" if values[m] else "" for m in methods)
            + " |"
        )
    shown = [f"{np.exp(np.mean(np.log(seconds[m]))):.2f}" if seconds[m] else "" for m in methods]
    yield "| seconds, geometric mean | | " + " | ".join(shown) + " |"


def report(known, options):
    """The tables, times against the grid search, coverage, and published errors."""
    for names, methods, unit in (
        (UCI, list(REGRESSORS), "RMSE / sd"),
        (CLASSES, list(CLASSIFIERS), "errors in %"),
    ):
        chosen = [m for m in methods if m in options.methods and any(k[2] == m and k[0] in names for k in known)]
        for title, part in (
            ("all sets", names),
            ("sets held back", [n for n in names if n in HELD_BACK]),
        ):
            part = [n for n in part if n in options.sets]
            lines = list(table(known, part, chosen, unit))
            if len(lines) > 5:
                print(f"\n{title} (* held back while defaults were chosen)\n", *lines, sep="\n")
        ratios = [
            known[n, f, "SVM, grid search"]["seconds"] / known[n, f, "seminorm"]["seconds"]
            for (n, f, m) in known
            if m == "seminorm" and n in names and (n, f, "SVM, grid search") in known
        ]
        if ratios:
            print(
                f"\ngrid search over ours, CPU seconds: geometric mean {np.exp(np.mean(np.log(ratios))):.1f}, ", end=""
            )
            print(f"least {min(ratios):.1f}, most {max(ratios):.1f}")
    each = defaultdict(list)
    for (name, _, method), result in known.items():
        if method == "seminorm" and "covered" in result:
            each[name].append(100 * result["covered"])
    if each:
        print("\ncoverage of 90 % intervals: " + ", ".join(f"{n} {np.mean(v):.1f}" for n, v in each.items()))
    many_rows(known, options)


def many_rows(known, options):
    """A row for each set of many rows, and what is published of exact Gaussian processes."""
    methods = [m for m in options.methods if any(n in EXACT_GP and method == m for n, _, method in known)]
    if not methods:
        return
    print("\n| RMSE / sd (CPU seconds) | " + " | ".join(methods) + " | coverage | exact Gaussian process, published |")
    print("|---" * (len(methods) + 3) + "|")
    for name, published in EXACT_GP.items():
        cells = []
        for method in methods:
            found = [r for (n, _, m), r in known.items() if n == name and m == method]
            mean = {key: np.mean([r[key] for r in found]) for key in ("score", "seconds") if found}
            cells.append(f"{mean['score']:.3f} ({mean['seconds']:.0f})" if found else "")
        covered = [100 * r["covered"] for (n, _, _), r in known.items() if n == name and "covered" in r]
        if any(cells):
            share = f"{np.mean(covered):.1f}" if covered else ""
            print(f"| {name} | " + " | ".join(cells) + f" | {share} | {published:.3f} |")


def main():
    everything = list(dict.fromkeys([*REGRESSORS, *CLASSIFIERS]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=[*UCI, *CLASSES], choices=[*UCI, *CLASSES], metavar="SET")
    parser.add_argument("--methods", nargs="+", default=everything, choices=everything, metavar="METHOD")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing new after that")
    parser.add_argument("--cache", type=Path, help="file of results, one JSON line each")
    parser.add_argument("--table", action="store_true", help="print what is in the file, and measure nothing")
    options = parser.parse_args()
    known = {}
    if options.cache and options.cache.exists():
        for line in options.cache.read_text().splitlines():
            name, fold, method, result = json.loads(line)
            known[name, fold, method] = result

    def keep(name, fold, method, result):
        print(f"{name:>14} {fold:>2} {method:<22} {result['score']:9.4f} {result['seconds']:8.2f} s", file=sys.stderr)
        if options.cache:
            with options.cache.open("a") as file:
                file.write(json.dumps([name, fold, method, result]) + "\n")

    if not options.table:
        run(options, known, keep)
    report(known, options)


if __name__ == "__main__":
    main()
