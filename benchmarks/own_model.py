"""A model of your own as the bias: the model alone, the machine alone, and the machine with the model's out-of-fold
outputs free, SVC(null_space=CrossFitted(model)); per cent of errors on held-out points.

The sets of Walder and Chapelle 2007, Table 1 (three splits each), COIL-20 (6 and 12 images per class) and 20-newsgroups
(400 and 1600 documents). The models are a random forest and logistic regression for tables, nearest neighbours and a
forest for images, naive Bayes and logistic regression for words. "both" should be no worse than the better of the two.
"""

import argparse
import warnings

import numpy as np
from _datasets import arrays, exists, require
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from seminorm import SVC
from seminorm.kernels import Linear
from seminorm.nullspace import CrossFitted

TABLES = "banana breast_cancer diabetis flare_solar german heart image ringnorm splice thyroid twonorm waveform"
FOREST = RandomForestClassifier(200, min_samples_leaf=2, random_state=0, n_jobs=-1)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def tables(splits):
    for name in TABLES.split():
        if exists(f"ida/{name}.npz"):
            file = arrays(f"ida/{name}.npz")
            for k in range(splits):
                train, test = file["train"][k], file["test"][k]
                yield name, (file["X"][train], file["y"][train], file["X"][test], file["y"][test])


def images(splits):
    if not exists("coil20/coil20.npz"):
        return
    file = arrays("coil20/coil20.npz")
    X, y = file["X"].reshape(len(file["y"]), -1).astype(float), file["y"]
    for size in (6, 12)[:splits]:
        rng = np.random.default_rng(0)
        train = np.concatenate([rng.permutation(np.flatnonzero(y == label))[:size] for label in np.unique(y)])
        test = np.setdiff1d(np.arange(len(y)), train)
        yield f"COIL-20, {size} per class", (X[train], y[train], X[test], y[test])


def words(splits):
    if not exists("newsgroups/20news_counts.npz"):
        return
    file = arrays("newsgroups/20news_counts.npz")
    parts = [
        sparse.csr_matrix(
            (file[f"{part}_data"].astype(float), file[f"{part}_indices"], file[f"{part}_indptr"]),
            shape=tuple(file[f"shape_{part}"]),
        )
        for part in ("train", "test")
    ]
    X, Z = (normalize(np.sqrt(part)).tocsr() for part in parts)
    order = np.random.default_rng(0).permutation(X.shape[0])
    for size in (400, 1600)[:splits]:
        rows = np.sort(order[:size])
        yield f"20 newsgroups, {size}", (X[rows], file["y_train"][rows], Z, file["y_test"])


def compare(cases, machine, models):
    """Print the errors of all cases, and their means over splits."""
    found = {}
    for name, (X, y, Z, t) in cases:
        alone = clone(machine).fit(X, y)
        rows = {"machine": alone}
        for label, model in models.items():
            rows[label] = clone(model).fit(X, y)
            rows[f"both, {label}"] = clone(machine).set_params(null_space=CrossFitted(model)).fit(X, y)
        for label, trained in rows.items():
            found.setdefault(name, {}).setdefault(label, []).append(100.0 * float(np.mean(trained.predict(Z) != t)))
    return {name: {label: float(np.mean(errors)) for label, errors in row.items()} for name, row in found.items()}


def show(results):
    for labels in dict.fromkeys(tuple(row) for row in results.values()):
        rows = {name: row for name, row in results.items() if tuple(row) == labels}
        print(f"\n| | {' | '.join(labels)} |\n|---|{'---:|' * len(labels)}")
        for name, row in rows.items():
            print(f"| {name} | {' | '.join(f'{value:.2f}' for value in row.values())} |")
        print(f"| mean | {' | '.join(f'{np.mean([row[label] for row in rows.values()]):.2f}' for label in labels)} |")
        for label in labels:
            if label.startswith("both, "):
                other = label.removeprefix("both, ")
                worse = [
                    name for name, row in rows.items() if row[label] > min(row["machine"], row[other]) + 1.0 - 1e-9
                ]
                print(f"{label}: worse than the better of the two by a point or more on {', '.join(worse) or 'none'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one split of each, the smallest training sets")
    arguments = parser.parse_args()
    require("ida/banana.npz")
    warnings.simplefilter("ignore")
    splits = 1 if arguments.quick else 3
    forest, linear = {"forest": FOREST}, {"logistic": LINEAR}
    show(compare(tables(splits), SVC(), forest | linear))
    show(compare(images(splits), SVC(), {"neighbours": KNeighborsClassifier(1), **forest}))
    bayes = {"naive Bayes": MultinomialNB(alpha=0.1), "logistic": LogisticRegression(C=10.0, max_iter=500)}
    show(compare(words(splits), SVC(Linear()), bayes))


if __name__ == "__main__":
    main()
