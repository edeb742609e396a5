"""Handwritten digits with nothing to tune, and those that the machine is least sure of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from seminorm import SVC

from ..drawing import new_figure, save, stopwatch
from ..page import Code, Paragraph, Picture, Section, number


def fit(X, y):
    return SVC().fit(X, y)


def section(folder: Path) -> Section:
    digits = load_digits()
    X, Z, y, t = train_test_split(digits.data, digits.target, train_size=500, random_state=0)
    seconds, model = stopwatch(lambda: fit(X, y), 1)
    probabilities, said = model.predict_proba(Z), model.predict(Z)
    doubtful = np.argsort(probabilities.max(axis=1))[:12]
    figure = new_figure(9.6, 3.6)
    for ax, i in zip(figure.subplots(2, 6).flat, doubtful, strict=True):
        ax.imshow(Z[i].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{said[i]}, is {t[i]}", fontsize=10, color="#b3261e" if said[i] != t[i] else "#1f2933")
        ax.set_axis_off()
    intro = (
        "500 digits of 8 x 8 pixels, ten classes, one machine per class. No scale, no C, no grid search: each machine "
        "chooses its alpha, and whether linear functions are free."
    )
    caption = (
        f"{number(100 * np.mean(said != t), 2)} % of {len(t)} other digits are wrong, after {number(seconds, 2)} "
        "s. The twelve it is least sure of: what it says, and what was meant (red where it is wrong)."
    )
    alternative = "Twelve badly written digits with the machine's answers"
    picture = Picture(save(figure, folder, "digits"), alternative, caption)
    return Section("Digits, untuned", [Paragraph(intro), Code.of(fit), picture])
