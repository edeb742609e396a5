"""What the scripts on the generalised bias [Li et al. 2007] share: options, geodesic neighbours, tables."""

from __future__ import annotations

import argparse
from pathlib import Path

import _data
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from sklearn import svm
from sklearn.metrics import pairwise_distances

from seminorm import SVC

CLASSES, VIEWS = 20, 72  # of COIL-20


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with what every script takes; scripts add their own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller experiment, a few minutes at most")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="also write the tables as Markdown")
    return parser


def coil_arguments(parser: argparse.ArgumentParser):
    """What the two scripts on COIL-20 take."""
    parser.add_argument("--graph", choices=("all", "training"), default="all", help="images that the graph joins")
    parser.add_argument("--graph-neighbors", type=int, default=3, metavar="K", help="edges of each image (default 3)")
    parser.add_argument(
        "--loss",
        choices=("hinge", "squared_hinge"),
        default="hinge",
        help="of SVM-GB (default hinge, as in the source)",
    )


def say(text: str = ""):
    print(text, flush=True)


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table with aligned columns, which also reads well as plain text."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    rule = ["-" * (width - 1) + ":" if k else "-" * width for k, width in enumerate(widths)]
    lines = [
        [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        for row in [header, *rows]
    ]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_markdown(path: Path | None, text: str):
    if path is not None:
        path.write_text(text.rstrip() + "\n", encoding="utf-8")
        say(f"\nwritten: {path}")


class Coil:
    """COIL-20: 72 views of each of 20 objects, 5 degrees apart, with Euclidean and geodesic distances.

    Parameters
    ----------
    graph : {"all", "training"}
        Images that the neighbourhood graph joins. Geodesic distances are shortest paths in it; images that are not in
        the graph are joined to it in the same way, by their nearest neighbours.
    neighbors : int
        Number of nearest images that each image is joined to.
    """

    def __init__(self, graph: str = "all", neighbors: int = 3):
        data = _data.arrays("coil20/coil20.npz")
        order = np.lexsort((data["angle"], data["y"]))
        self.y = data["y"][order].astype(int)
        self.distances = pairwise_distances(data["X"][order].reshape(len(order), -1).astype(float))
        self.graph, self.neighbors = graph, neighbors
        self._whole = _geodesic(self.distances, neighbors) if graph == "all" else None

    def split(self, per_class: int) -> tuple[np.ndarray, np.ndarray]:
        """The first views of each class for training, the rest for testing."""
        first = np.arange(len(self.y)) % VIEWS < per_class
        return np.flatnonzero(first), np.flatnonzero(~first)

    def geodesic(self, train: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances among the training images, and from the others to them."""
        if self._whole is not None:
            return self._whole[np.ix_(train, train)], self._whole[np.ix_(other, train)]
        inner = _geodesic(self.distances[np.ix_(train, train)], self.neighbors)
        direct = self.distances[np.ix_(other, train)]
        doors = np.argsort(direct, axis=1, kind="stable")[:, : self.neighbors]
        return inner, (np.take_along_axis(direct, doors, 1)[:, :, None] + inner[doors]).min(axis=1)


def _geodesic(distances: np.ndarray, neighbors: int) -> np.ndarray:
    n = len(distances)
    others = distances + np.diag(np.full(n, np.inf))
    nearest = np.argsort(others, axis=1, kind="stable")[:, :neighbors]
    lengths = np.take_along_axis(distances, nearest, 1).ravel()
    graph = sparse.csr_matrix((lengths, (np.repeat(np.arange(n), neighbors), nearest.ravel())), shape=(n, n))
    return shortest_path(graph.maximum(graph.T), method="D", directed=False)


def neighbor_classes(distances: np.ndarray, labels: np.ndarray, own: bool = True, k: int = 3) -> np.ndarray:
    """Classes of the k nearest training images of each row, nearest first; -1 where fewer can be reached.

    ``own=False`` is for the training images themselves: an image is not its own neighbour.
    """
    if not own:
        distances = distances + np.diag(np.full(len(distances), np.inf))
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.where(np.isfinite(np.take_along_axis(distances, nearest, 1)), labels[nearest], -1)


def class_features(classes: np.ndarray) -> np.ndarray:
    """The features of the source: is class p among the classes of the three nearest neighbours?"""
    return (classes[:, :, None] == np.arange(CLASSES)).any(axis=1).astype(float)


def vote(classes: np.ndarray) -> np.ndarray:
    """The class of most neighbours; the nearest one decides a tie."""
    counts = (classes[:, :, None] == np.arange(CLASSES)).sum(axis=1).astype(float)
    counts += 0.5 * (classes[:, :1] == np.arange(CLASSES))
    return counts.argmax(axis=1)


def coil_features(coil: Coil, train: np.ndarray, test: np.ndarray, own: bool) -> dict[str, np.ndarray]:
    """Features of training and test images, made with the labels of the training images only, and the vote."""
    inner, outer = coil.geodesic(train, test)
    labels = coil.y[train]
    classes = neighbor_classes(outer, labels)
    return {
        "train": class_features(neighbor_classes(inner, labels, own)),
        "test": class_features(classes),
        "vote": vote(classes),
    }


def median_distance(coil: Coil, images: np.ndarray) -> float:
    """Between two different ones of these images."""
    return float(np.median(coil.distances[np.ix_(images, images)][np.triu_indices(len(images), 1)]))


def coil_machine(coil: Coil, train, test, own: bool | None, width: float, alpha: float, loss: str):
    """A one-versus-one machine with a Gaussian kernel: its accuracy, and the share of pairs without a kernel term.

    For ``own=None`` it is scikit-learn's SVM with a constant bias, hinge loss and C = 1 / (2 alpha). Otherwise the
    twenty features are free; ``own`` says whether a training image is its own neighbour.
    """
    K = np.exp(-(coil.distances**2) / (2 * width**2))
    K, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    if own is None:
        return float(
            svm.SVC(kernel="precomputed", C=0.5 / alpha).fit(K, coil.y[train]).score(K_test, coil.y[test])
        ), 0.0
    features = coil_features(coil, train, test, own)
    machine = SVC("precomputed", alpha=alpha, loss=loss, multi_class="ovo")
    machine.fit(K, coil.y[train], null_columns=features["train"])
    predicted = machine.predict(K_test, null_columns=features["test"])
    return float((predicted == coil.y[test]).mean()), float((machine.dual_coef_ == 0).all(axis=1).mean())
