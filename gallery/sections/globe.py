"""Measurements around the globe: longitudes meet at the date line, and the poles are places like others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def fit(places, values):
    return Smoother(coordinates="geographic").fit(places, values)  # columns: longitude, latitude in degrees


def _field(places: np.ndarray) -> np.ndarray:
    longitude, latitude = np.radians(places).T
    return 25 * np.cos(latitude) ** 2 - 12 * np.sin(latitude) * np.cos(2 * longitude) * np.cos(latitude)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    u = rng.standard_normal((400, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    places = np.degrees(np.column_stack([np.arctan2(u[:, 1], u[:, 0]), np.arcsin(u[:, 2])]))
    values = _field(places) + 1.5 * rng.standard_normal(400)
    model = fit(places, values)
    longitudes, latitudes = np.linspace(-180, 180, 181), np.linspace(-90, 90, 91)
    grid = np.stack(np.meshgrid(longitudes, latitudes), axis=-1).reshape(-1, 2)
    map_ = model.predict(grid).reshape(91, 181)
    figure = new_figure(9.6, 4.2)
    ax = figure.subplots(subplot_kw={"projection": "mollweide"})
    filled = ax.contourf(np.radians(longitudes), np.radians(latitudes), map_, 16)
    ax.scatter(*np.radians(places).T, c=values, s=14, edgecolors="white", linewidths=0.5, norm=filled.norm)
    ax.set_xticklabels([])
    figure.colorbar(filled, ax=ax, shrink=0.8)
    seam = np.abs(map_[:, 0] - map_[:, -1]).max()
    intro = (
        "Degrees are not lengths: a degree of longitude is nothing at the pole, and -180 and 180 are one meridian. "
        'With `coordinates="geographic"` points become unit vectors, and the fit knows of neither seam nor pole. A '
        "table with columns `lon` and `lat` is recognised by itself."
    )
    caption = (
        f"400 noisy values and the fit. The largest jump across the date line is {number(seam, 1)}. Its error is "
        f"{number(np.sqrt(np.mean((model.predict(grid) - _field(grid)) ** 2)), 2)}, the noise 1.5."
    )
    alternative = "A map of the world with coloured dots at 400 places and smooth colours between them"
    return Section(
        "Around the globe",
        [Paragraph(intro), Code.of(fit), Picture(save(figure, folder, "globe"), alternative, caption)],
    )
