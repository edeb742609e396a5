"""Time to a tuned classifier: SVC with automatic alpha against a grid-searched Gaussian SVM, in one run.

The peer is scikit-learn's GridSearchCV(SVC(rbf)) over 13 x 11 parameters, five folds, all cores. Ours should take at
most a twentieth of its time on average over the sets, at equal or lower error. Then USPS, ten classes, alpha chosen
for each: no slower than 20 plain fits of scikit-learn's SVC.
"""

import argparse
import time

import numpy as np
from _datasets import arrays, exists, missing, require
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC as Peer

from seminorm import SVC

GRID = {"gamma": np.logspace(-4, 2, 13), "C": np.logspace(-2, 4, 11)}


def timed(fit):
    start = time.perf_counter()
    model = fit()
    return time.perf_counter() - start, model


def load(name):
    """Distinct rows, at most 3000."""
    file = arrays(f"ida/{name}.npz")
    X, first = np.unique(file["X"].astype(float), axis=0, return_index=True)
    y = file["y"].ravel()[first]
    chosen = np.random.default_rng(0).permutation(len(y))[:3000]
    return train_test_split(X[chosen], y[chosen], test_size=0.2, random_state=0, stratify=y[chosen])


def tuning(names):
    SVC().fit(*load(names[0])[::2])  # warm up
    ratios, differences = [], []
    print(f"{'set':>10} {'n':>5} {'ours':>9} {'peer':>9} {'ratio':>7} {'our error':>10} {'peer error':>11}")
    for name in names:
        X, Z, y, t = load(name)
        ours, model = timed(lambda X=X, y=y: SVC().fit(X, y))
        peer, search = timed(lambda X=X, y=y: GridSearchCV(Peer(), GRID, cv=5, n_jobs=-1).fit(X, y))
        errors = 100 * (1 - model.score(Z, t)), 100 * (1 - search.score(Z, t))
        ratios.append(ours / peer)
        differences.append(errors[0] - errors[1])
        print(
            f"{name:>10} {len(X):5} {ours:8.2f}s {peer:8.1f}s {ours / peer:7.3f} {errors[0]:9.2f}% {errors[1]:10.2f}%",
            flush=True,
        )
    mean = np.mean(ratios)
    print(f"mean ratio {mean:.3f} = 1/{1 / mean:.0f}   (at most 1/20: {'met' if mean <= 0.05 else 'MISSED'})")
    print(
        f"mean difference of the errors {np.mean(differences):+.2f} %   (at most 0: "
        f"{'met' if np.mean(differences) <= 0 else 'MISSED'})"
    )


def usps():
    file = arrays("usps/usps.npz")
    X, y, Z, t = file["X_train"].astype(float), file["y_train"], file["X_test"].astype(float), file["y_test"]
    plain, peer = min((timed(lambda: Peer().fit(X, y)) for _ in range(3)), key=lambda pair: pair[0])
    ours, model = timed(lambda: SVC().fit(X, y))
    print(f"USPS: ours, alpha chosen for ten classes {ours:.1f} s ({(model.predict(Z) != t).sum()} errors); ", end="")
    print(f"20 plain fits of the peer {20 * plain:.1f} s ({(peer.predict(Z) != t).sum()} errors)")
    ratio = ours / (20 * plain)
    print(f"ratio {ratio:.2f}   (at most 1: {'met' if ratio <= 1 else 'MISSED'})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=["banana", "image", "german", "splice"])
    parser.add_argument("--no-usps", action="store_true")
    options = parser.parse_args()
    require(*(f"ida/{name}.npz" for name in options.sets), "usps/usps.npz")
    if sets := [name for name in options.sets if exists(f"ida/{name}.npz")]:
        tuning(sets)
    else:
        print(missing(*(f"ida/{name}.npz" for name in options.sets)))
    if not options.no_usps:
        usps()
