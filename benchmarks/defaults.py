"""Defaults on every table at hand: SVC(), SVR() and Smoother() against scikit-learn's machines, plain and tuned.

Classification counts errors in per cent, regression root mean square errors in standard deviations of y, on points
that were held out. Each table comes as it is, standardised, and standardised and spoilt: rounded to three digits, with
a tenth of its rows copied and moved a little. For every method: the mean, the worst case, and the share of tables on
which it is more than 10 % worse than the best method (by at least one point in a hundred). ``criteria`` compares what
alpha of SVC can be chosen by, ``bands`` counts the points between two quantiles of SVR. The sets of scikit-learn are
always there; others are used where the data are.
"""

import argparse
import time
import warnings

import numpy as np
from _datasets import arrays, exists
from sklearn import datasets
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC
from sklearn.svm import SVR as PeerSVR

from seminorm import SVC, SVR, Smoother
from seminorm.solvers.margin.path import AlphaRule, mean_squared_hinge

IDA = "banana breast_cancer diabetis flare_solar german heart image ringnorm splice thyroid titanic twonorm waveform"
SSL = "BCI COIL2 Digit1 g241c"
UCI = "airfoil concrete energy housing skillcraft wine yacht"
MOST = 1500
WORSE = 0.1


def halves(X, y, seed=0, share=0.7):
    """Training and test rows, at most MOST of the former."""
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(int(share * len(y)), MOST)
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def linear_classes(seed=1):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((2240, 60)), rng.standard_normal(60)
    y = X @ (w / np.linalg.norm(w)) + 0.3 * rng.standard_normal(2240) > 0
    return X[:240], y[:240], X[240:], y[240:]


def classification():
    """Names and (X, y, new X, new y)."""
    for name in ("breast_cancer", "wine", "digits"):
        bunch = getattr(datasets, f"load_{name}")()
        yield name, halves(bunch.data, bunch.target)
    yield "linear, d = 60", linear_classes()
    for name in IDA.split():
        if exists(f"ida/{name}.npz"):
            file = arrays(f"ida/{name}.npz")
            X, y, train, test = file["X"], file["y"], file["train"][0], file["test"][0]
            yield name, (X[train], y[train], X[test], y[test])
    for name in SSL.split():
        if exists(f"ssl/{name}.npz"):
            file = arrays(f"ssl/{name}.npz")
            yield name, halves(file["X"].astype(float), file["y"], share=0.8)


def regression():
    """Names and (X, y, new X, new y)."""
    bunch = datasets.load_diabetes()
    yield "diabetes", halves(bunch.data, bunch.target)
    X, y = datasets.make_friedman1(1000, random_state=0, noise=1.0)
    yield "friedman", halves(X, y, share=0.3)
    for name in UCI.split():
        if exists(f"uci/{name}.npz"):
            file = arrays(f"uci/{name}.npz")
            yield name, halves(file["X"].astype(float), file["y"].astype(float).ravel())


def spoilt(X, y, seed=0):
    """A tenth of the rows again, moved by a millionth of a standard deviation."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: len(y) // 10]
    return np.vstack([X, X[rows] + 1e-6 * rng.standard_normal(X[rows].shape)]), np.r_[y, y[rows]]


def variants(data):
    X, y, Z, t = data
    center, deviation = X.mean(axis=0), X.std(axis=0) + (X.std(axis=0) == 0)
    scaled, new = (X - center) / deviation, (Z - center) / deviation
    yield "raw", (X, y, Z, t)
    yield "standardised", (scaled, y, new, t)
    yield "spoilt", (*spoilt(np.round(scaled, 3), y), np.round(new, 3), t)


def grid(machine, X, **further):
    unit = 1.0 / (X.shape[1] * (X.var() or 1.0))
    return GridSearchCV(machine, {"C": 10.0 ** np.arange(-1, 4), "gamma": unit * 4.0 ** np.arange(-3, 3), **further})


def classifiers(X, quick):
    yield "SVC()", SVC()
    yield "SVC(metric='auto')", SVC(metric="auto")
    yield "scikit-learn, plain", PeerSVC()
    if not quick:
        yield "scikit-learn, grid", grid(PeerSVC(), X)


def regressors(X, quick):
    yield "Smoother()", Smoother()
    yield "SVR()", SVR()
    yield "Smoother(metric='auto')", Smoother(metric="auto")
    yield "ridge", make_pipeline(StandardScaler(), RidgeCV(10.0 ** np.arange(-3, 4)))
    yield "scikit-learn, plain", PeerSVR()
    if not quick:
        yield "scikit-learn, grid", grid(PeerSVR(), X, epsilon=[0.05, 0.2])


def error(machine, X, y, Z, t, numbers):
    """The held-out error, and the seconds of training."""
    unit, middle = (y.std() or 1.0, y.mean()) if numbers else (1.0, 0.0)
    start = time.perf_counter()
    machine.fit(X, (y - middle) / unit if numbers else y)
    seconds = time.perf_counter() - start
    predicted = machine.predict(Z)
    if numbers:
        return float(np.sqrt(np.mean((predicted - (t - middle) / unit) ** 2))), seconds
    return 100.0 * float(np.mean(predicted != t)), seconds


def compare(tables, machines, numbers, quick):
    """Print the errors of all machines on all tables, and what they come to."""
    errors, seconds = {}, {}
    for name, data in tables:
        for kind, (X, y, Z, t) in variants(data):
            row = {}
            for label, machine in machines(X, quick):
                row[label], taken = error(machine, X, y, Z, t, numbers)
                errors.setdefault((kind, label), []).append(row[label])
                seconds.setdefault(label, []).append(taken)
            print(
                f"{name:>16} {kind:>12}  " + "  ".join(f"{label} {value:.3g}" for label, value in row.items()),
                flush=True,
            )
    labels = list(seconds)
    print(f"\n| | {' | '.join(labels)} |\n|---|{'---:|' * len(labels)}")
    for kind in ("raw", "standardised", "spoilt"):
        table = np.array([errors[kind, label] for label in labels])
        worse = table > np.maximum((1 + WORSE) * table.min(axis=0), table.min(axis=0) + (0.01 if numbers else 1.0))
        summary = {
            "mean": table.mean(axis=1),
            "worst": (table - table.min(axis=0)).max(axis=1),
            "share": worse.mean(axis=1),
        }
        names = {"mean": "mean error", "worst": "most above the best", "share": "share clearly above the best"}
        for key, values in summary.items():
            print(f"| {kind}, {names[key]} | {' | '.join(f'{value:.3g}' for value in values)} |")
    print(f"| seconds, mean | {' | '.join(f'{np.mean(seconds[label]):.2f}' for label in labels)} |")


def count(loss, values, weights):
    return float((weights * ~(loss.y * values > 0)).sum() / weights.sum())


def deviance(loss, values, weights):
    """Minus the log likelihood of a logistic link with the best slope >= 0."""
    values = np.nan_to_num(values)
    unit = values.std() or 1.0
    slopes = np.concatenate([[0.0], np.logspace(-3, 2, 60)]) / unit
    losses = [(weights * np.logaddexp(0.0, -loss.y * slope * values)).sum() for slope in slopes]
    return float(min(losses) / weights.sum())


def criteria():
    """What alpha, kernel and null space of SVC() may be chosen by, on the same kinds."""
    rules = {"squared hinge": mean_squared_hinge, "logistic": deviance, "errors": count}
    totals = {label: [] for label in rules}
    for name, (X, y, Z, t) in classification():
        if len(np.unique(y)) > 2:
            continue
        row = {}
        for label, score in rules.items():
            machine = type("SVC", (SVC,), {"_rule": AlphaRule(score)})()
            row[label] = 100 * float(np.mean(machine.fit(X, y).predict(Z) != t))
            totals[label].append(row[label])
        print(f"{name:>16}  " + "  ".join(f"{label} {value:.2f}" for label, value in row.items()), flush=True)
    print("mean  " + "  ".join(f"{label} {np.mean(values):.2f}" for label, values in totals.items()))


def probabilities():
    """Log loss and Brier score of predict_proba against five-fold calibration of scikit-learn's machine."""
    from sklearn.calibration import CalibratedClassifierCV

    totals = []
    for name, (X, y, Z, t) in classification():
        center, deviation = X.mean(axis=0), X.std(axis=0) + (X.std(axis=0) == 0)
        X, Z = (X - center) / deviation, (Z - center) / deviation
        classes = np.unique(y)
        row, truth = [], t[:, None] == classes
        for machine in (SVC(), CalibratedClassifierCV(PeerSVC(), cv=5)):
            found = machine.fit(X, y).predict_proba(Z)
            row.append((log_loss(t, found, labels=classes), ((found - truth) ** 2).sum(axis=1).mean()))
        totals.append(row)
        (loss, brier), (peers_loss, peers_brier) = row
        print(f"{name:>16}  SVC {loss:.3f} {brier:.3f}  calibrated {peers_loss:.3f} {peers_brier:.3f}", flush=True)
    for label, (ours, peer) in zip(("log loss", "Brier score"), np.mean(totals, axis=0).T, strict=True):
        print(f"mean {label} {ours:.3f}, calibrated {peer:.3f}   (no worse: {'met' if ours <= peer else 'MISSED'})")


def bands():
    """Coverage of bands between the quantiles 0.1 and 0.9 on held-out points, mean of three splits."""
    found = []
    names = [name for name in UCI.split() if exists(f"uci/{name}.npz")]
    for name in names:
        file = arrays(f"uci/{name}.npz")
        X, y, covered = file["X"].astype(float), file["y"].astype(float).ravel(), []
        for seed in range(3):
            A, u, B, v = halves(X, y, seed, 0.8)
            center, deviation = A.mean(axis=0), A.std(axis=0) + (A.std(axis=0) == 0)
            A, B = (A[:1000] - center) / deviation, (B - center) / deviation
            low, high = (SVR(loss="pinball", quantile=q).fit(A, u[:1000]).predict(B) for q in (0.1, 0.9))
            covered.append(np.mean((low <= v) & (v <= high)))
        found.append(np.mean(covered))
        print(f"{name:>16}  {np.mean(covered):.3f}", flush=True)
    if found:
        within = np.sum(np.abs(np.array(found) - 0.8) <= 0.02 + 1e-9)
        print(f"mean coverage {np.mean(found):.3f}; within two points of 0.8 on {within} of {len(found)} sets")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("classification", "regression", "criteria", "probabilities", "bands")
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[], help="some of the parts; all if left out")
    parser.add_argument("--quick", action="store_true", help="without grid searches")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = arguments.parts or parts
    if "classification" in chosen:
        compare(classification(), classifiers, False, arguments.quick)
    if "regression" in chosen:
        compare(regression(), regressors, True, arguments.quick)
    if "criteria" in chosen:
        criteria()
    if "probabilities" in chosen:
        probabilities()
    if "bands" in chosen:
        bands()


if __name__ == "__main__":
    main()
