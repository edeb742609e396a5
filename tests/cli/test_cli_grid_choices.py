"""``seminorm grid``: what is chosen for the field, and what is said of it."""

import re

import numpy as np
import pytest
from commands import run

from seminorm import FieldSmoother


@pytest.fixture(scope="module")
def walk():
    """A rough function at 400 places of a line."""
    rng = np.random.default_rng(3)
    return np.column_stack([np.linspace(0, 1, 400), np.cumsum(rng.standard_normal(400)) / 20])


def gridded(rows, folder, *options, name="grid.npz"):
    np.save(folder / "points.npy", rows)
    assert run("grid", folder / "points.npy", "-o", folder / name, "--quiet", "--spacing", "0.1", *options) == 0
    if name.endswith(".npz"):
        with np.load(folder / name) as grid:
            return grid["value"]


def test_the_operator_is_chosen_by_default_and_said(walk, tmp_path, capsys):
    model = FieldSmoother().fit(walk[:, :1], walk[:, 1])
    values = gridded(walk, tmp_path)
    np.testing.assert_allclose(values, model.predict(np.arange(11)[:, None] * 0.1), rtol=1e-9)
    line = capsys.readouterr().out.splitlines()[2]
    assert line.startswith(f"{model.function_.roughness}") and f"by {model.criterion_}" in line
    assert model.function_.roughness.lowest == 1  # a random walk is no plate


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--operator", "none"), {"operator": None}),
        (("--operator", "matern"), {"operator": "matern"}),
        (("--order", "1", "--criterion", "gcv"), {"order": 1, "criterion": "gcv"}),
        (("--loss", "student_t", "--order", "2"), {"loss": "student_t", "order": 2}),
        (("--robust", "--order", "2"), {"loss": "huber", "order": 2}),
    ],
)
def test_what_is_asked_for_reaches_the_estimator(options, wanted, walk, tmp_path):
    model = FieldSmoother(**wanted).fit(walk[:, :1], walk[:, 1])
    expected = model.predict(np.arange(11)[:, None] * 0.1)
    np.testing.assert_allclose(gridded(walk, tmp_path, *options), expected, rtol=1e-9)


def test_directions_are_chosen_when_asked_for_and_said(walk, tmp_path, capsys):
    gridded(walk, tmp_path, "--anisotropy", "auto", "--order", "1")
    assert "no direction is smoother than others: there is one coordinate" in capsys.readouterr().out


def test_the_notes_of_a_grid_file(walk, tmp_path):
    xarray = pytest.importorskip("xarray")
    gridded(walk, tmp_path, "--operator", "tension", name="grid.nc")
    model = FieldSmoother(operator="tension").fit(walk[:, :1], walk[:, 1])
    with xarray.open_dataset(tmp_path / "grid.nc") as grid:
        assert grid.attrs["alpha"] == pytest.approx(model.alpha_)
        assert grid.attrs["energy"] == str(model.function_.roughness) and grid.attrs["criterion"] == "reml"


def test_outliers_are_counted(walk, tmp_path, capsys):
    rows = walk.copy()
    rows[::40, 1] += 100.0
    gridded(rows, tmp_path, "--robust", "--order", "1")
    assert re.search(r"loss huber: 1\d of 400 values have less than a tenth", capsys.readouterr().out)


def test_contradictions_are_errors(walk, tmp_path, capsys):
    np.save(tmp_path / "points.npy", walk)
    options = ("--operator", "tension", "--order", "2")
    assert run("grid", tmp_path / "points.npy", "-o", tmp_path / "grid.npz", "--quiet", *options) == 1
    assert "give order or operator, not both" in capsys.readouterr().err
