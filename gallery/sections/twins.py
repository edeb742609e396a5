"""A thin plate in scikit-learn's own machine: the positive definite twin of a kernel that is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.svm import SVC as PeerSVC

from seminorm.kernels import ThinPlate
from seminorm.nullspace import Twin
from seminorm.plotting import plot_decision
from seminorm.plotting._style import BLUE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def fit(X, y):
    return PeerSVC(kernel=Twin.from_data(ThinPlate(), X), C=1).fit(X, y)  # of scikit-learn


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 2))
    y = (X**2).sum(axis=1) + 0.3 * rng.standard_normal(160) > 1.4
    eigenvalues = {
        "ThinPlate()": np.linalg.eigvalsh(ThinPlate()(X)),
        "its twin": np.linalg.eigvalsh(Twin.from_data(ThinPlate(), X)(X)),
    }
    figure = new_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    for (name, values), marker in zip(eigenvalues.items(), ("x", "o"), strict=True):
        left.plot(np.sort(values), marker, markersize=3.5, label=f"{name}: {(values < -1e-9).sum()} negative")
    left.set(yscale="symlog", title="eigenvalues of the kernel matrix")
    left.axhline(0, color=BLUE, linewidth=0.8)
    left.legend(loc="upper left")
    plot_decision(fit(X, y), np.array([[-3, -3], [3, 3]]), ax=right, X=X, y=y, resolution=100)
    right.set_title("scikit-learn's SVC with the twin")
    right.grid(False)
    intro = (
        "The thin plate is conditionally positive definite: its matrix has a few negative eigenvalues, and most "
        "software refuses it. Its twin vanishes at a few points, has the same semi-norm, and is an ordinary kernel."
    )
    caption = f"The smallest eigenvalue of the twin's matrix is {number(eigenvalues['its twin'].min(), 2)}."
    alternative = "Eigenvalues of two kernel matrices, and the decision boundary of a machine with the twin"
    picture = Picture(save(figure, folder, "twins"), alternative, caption)
    return Section("A twin for scikit-learn", [Paragraph(intro), Code.of(fit), picture])
