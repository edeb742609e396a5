"""``seminorm grid``: what it writes is what FieldSmoother computes, and what it refuses it explains."""

import re
import sys

import numpy as np
import pytest

from seminorm import Field, FieldSmoother, cli
from seminorm.files.tables import open_table

FAST = ("--quiet", "--alpha", "0.01", "--depth", "3")


@pytest.fixture(scope="module")
def samples():
    """Coordinates, value and weight as columns; rounded, so that text holds them exactly."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2)) * [2, 1]
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(300)
    return np.round(np.column_stack([X, y, rng.uniform(0.1, 2, 300)]), 6)


def smoother(samples, weight=False, **options):
    options = {"alpha": 0.01, "depth": 3, "order": 2, "criterion": "robust_gcv", **options}
    X, y = samples[:, :2], samples[:, 2]
    return FieldSmoother(**options).fit(X, y, sample_weight=samples[:, 3] if weight else None)


def expected(model, **options):
    """Axes and values of the estimator's own grid."""
    grid = model.grid(**options)
    return (grid[0], grid[1]) if isinstance(grid, tuple) else ([grid[name].values for name in grid.dims], grid.values)


def text_of(columns, delimiter=",", header=None, ending="\n"):
    lines = [delimiter.join(f"{number:.6f}" for number in row) for row in columns]
    return ending.join(([] if header is None else [header]) + lines) + ending


def run(*arguments):
    return cli.main(["grid", *map(str, arguments)])


def failed(capsys, *arguments):
    """The one line of a command that must fail."""
    assert run(*arguments) == 1
    captured = capsys.readouterr()
    message = captured.err
    assert message.startswith("seminorm grid: ") and message.count("\n") == 1
    return message


# -- what is written -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    {
        "comma": lambda path, rows: path.with_suffix(".csv").write_text(text_of(rows, ",", "x,y,z")),
        "quoted": lambda path, rows: path.with_suffix(".csv").write_text(text_of(rows, ", ", '"x","y","z"')),
        "semicolon": lambda path, rows: path.with_suffix(".csv").write_text(text_of(rows, ";", "x;y;z")),
        "tab": lambda path, rows: path.with_suffix(".tsv").write_text(text_of(rows, "\t", "x\ty\tz")),
        "blanks": lambda path, rows: path.with_suffix(".txt").write_text(text_of(rows, "   ", "  x  y z")),
        "windows": lambda path, rows: path.with_suffix(".csv").write_bytes(
            text_of(rows, ",", "\ufeffx,y,z", ending="\r\n").encode()
        ),
        "savetxt": lambda path, rows: np.savetxt(path.with_suffix(".txt"), rows, header="x y z"),
        "comments": lambda path, rows: path.with_suffix(".csv").write_text(
            "# a survey\n\nx,y,z\n# more\n" + text_of(rows)
        ),
        "columns": lambda path, rows: np.savez(path.with_suffix(".npz"), **dict(zip("xyz", rows.T, strict=True))),
        "records": lambda path, rows: np.save(
            path.with_suffix(".npy"), np.array([tuple(row) for row in rows], dtype=[(name, float) for name in "xyz"])
        ),
    }.items(),
    ids=lambda item: item[0],
)
def test_any_file_gives_the_grid_of_the_estimator(write, samples, tmp_path, capsys):
    write[1](tmp_path / "points", samples[:, :3])
    (points,) = tmp_path.iterdir()
    assert run(points, "-o", tmp_path / "grid.npz", "--spacing", "0.25", *FAST) == 0
    axes, values = expected(smoother(samples), spacing=0.25)
    with np.load(tmp_path / "grid.npz") as grid:
        assert list(grid) == ["x", "y", "z"]
        np.testing.assert_array_equal(grid["x"], axes[0])
        np.testing.assert_array_equal(grid["y"], axes[1])
        np.testing.assert_allclose(grid["z"], values, rtol=1e-12)
    assert "300 points, coordinates x, y, value z" in capsys.readouterr().out


def test_files_without_names(samples, tmp_path):
    (tmp_path / "points.txt").write_text(text_of(samples[:, :3], " "))
    np.save(tmp_path / "points.npy", samples[:, :3])
    _, values = expected(smoother(samples))
    for name in ("points.txt", "points.npy"):
        assert run(tmp_path / name, "-o", tmp_path / "grid.npz", *FAST) == 0
        with np.load(tmp_path / "grid.npz") as grid:
            assert list(grid) == ["x0", "x1", "value"]
            np.testing.assert_allclose(grid["value"], values, rtol=1e-12)


def test_columns_by_name_and_by_number_in_any_order(samples, tmp_path):
    mixed = samples[:, [3, 2, 1, 0]]
    (tmp_path / "points.csv").write_text(text_of(mixed, ",", "w,z,north,east"))
    _, values = expected(smoother(samples, weight=True))
    for choice in (
        ("--columns", "east,north", "--value", "z", "--weight", "w"),
        ("--columns", "4,3", "--value", "2", "--weight", "1"),
        ("--columns", "east,north", "--weight", "w"),
    ):
        assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.npz", *choice, *FAST) == 0
        with np.load(tmp_path / "grid.npz") as grid:
            np.testing.assert_allclose(grid["z"], values, rtol=1e-12)
            assert list(grid) == ["east", "north", "z"]


def test_a_value_in_the_middle_leaves_the_others_as_coordinates(samples, tmp_path, capsys):
    (tmp_path / "points.csv").write_text(text_of(samples[:, [0, 2, 1]], ",", "x,z,y"))
    assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.npz", "--value", "z", *FAST) == 0
    assert "coordinates x, y, value z" in capsys.readouterr().out


def test_text_in_other_columns_does_no_harm(samples, tmp_path):
    lines = text_of(samples[:, :3]).splitlines()
    (tmp_path / "points.csv").write_text("\n".join(f"station {i},{line},ok" for i, line in enumerate(lines)))
    choice = ("--columns", "2,3", "--value", "4")
    assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.npz", *choice, *FAST) == 0
    with np.load(tmp_path / "grid.npz") as grid:
        np.testing.assert_allclose(grid["value"], expected(smoother(samples))[1], rtol=1e-12)


def test_chunk_files_of_the_estimator_know_their_roles(samples, tmp_path, capsys):
    np.savez(tmp_path / "chunk.npz", sample_weight=samples[:, 3], y=samples[:, 2], X=samples[:, :2])
    assert run(tmp_path / "chunk.npz", "-o", tmp_path / "grid.npz", *FAST) == 0
    assert "coordinates X1, X2, value y, weight sample_weight" in capsys.readouterr().out
    with np.load(tmp_path / "grid.npz") as grid:
        np.testing.assert_allclose(grid["y"], expected(smoother(samples, weight=True))[1], rtol=1e-12)


def test_spacing_and_bounds(samples, tmp_path):
    np.save(tmp_path / "points.npy", samples[:, :3])
    options = ("--spacing", "0.5,0.25", "--bounds", "-1,1,-.5,0.5", "--mask-distance", "none")
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *options, *FAST) == 0
    with np.load(tmp_path / "grid.npz") as grid:
        np.testing.assert_allclose(grid["x0"], [-1, -0.5, 0, 0.5, 1])
        np.testing.assert_allclose(grid["x1"], [-0.5, -0.25, 0, 0.25, 0.5])
        nodes = np.stack(np.meshgrid(grid["x0"], grid["x1"], indexing="ij"), axis=-1).reshape(-1, 2)
        np.testing.assert_allclose(grid["value"].reshape(-1), smoother(samples).predict(nodes), rtol=1e-12)


def test_options_of_the_field_reach_the_estimator(samples, tmp_path):
    np.save(tmp_path / "points.npy", samples[:, :3])
    options = ("--alpha", "0.5", "--order", "3", "--depth", "2", "--scale", "2,1", "--margin", "1", "--quiet")
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *options) == 0
    model = smoother(samples, alpha=0.5, order=3, depth=2, scale=[2.0, 1.0], margin=1.0)
    with np.load(tmp_path / "grid.npz") as grid:
        np.testing.assert_allclose(grid["value"], expected(model)[1], rtol=1e-12)
    assert (
        run(
            tmp_path / "points.npy",
            "-o",
            tmp_path / "held.npz",
            "--criterion",
            "holdout",
            "--order",
            "2",
            "--depth",
            "2",
            "--quiet",
        )
        == 0
    )
    model = smoother(samples, alpha="auto", criterion="holdout", depth=2)
    with np.load(tmp_path / "held.npz") as grid:
        np.testing.assert_allclose(grid["value"], expected(model)[1], rtol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 4])
def test_other_dimensions(d, tmp_path, rng):
    X = rng.random((100, d))
    np.save(tmp_path / "points.npy", np.column_stack([X, X @ np.arange(1, d + 1) + 5]))  # linear: free of penalty
    options = (
        "--quiet",
        "--alpha",
        "1",
        "--depth",
        "1",
        "--margin",
        "0.5",
        "--spacing",
        "0.5",
        "--bounds",
        ",".join(["0,1"] * d),
    )
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *options) == 0
    with np.load(tmp_path / "grid.npz") as grid:
        nodes = np.stack(np.meshgrid(*[[0, 0.5, 1]] * d, indexing="ij"), axis=-1)
        np.testing.assert_allclose(grid["value"], nodes @ np.arange(1, d + 1) + 5, rtol=1e-3)


def test_std_and_the_field_itself(samples, tmp_path):
    np.save(tmp_path / "points.npy", samples[:, :3])
    options = ("--spacing", "0.4", "--std", "--field", tmp_path / "field.npz")  # few nodes: exact deviations
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *options, *FAST) == 0
    model = smoother(samples)
    with np.load(tmp_path / "grid.npz") as grid:
        nodes = np.stack(np.meshgrid(grid["x0"], grid["x1"], indexing="ij"), axis=-1).reshape(-1, 2)
        mean, std = model.predict(nodes, return_std=True)
        np.testing.assert_allclose(grid["value"].reshape(-1), mean, rtol=1e-12)
        np.testing.assert_allclose(grid["value_std"].reshape(-1), std, rtol=1e-9)
    np.testing.assert_array_equal(Field.load(tmp_path / "field.npz")(nodes), model.function_(nodes))


def test_std_and_values_are_those_of_one_grid_without_xarray(samples, tmp_path, monkeypatch):
    np.save(tmp_path / "points.npy", samples[:, :3])
    options = ("--spacing", "0.4", "--std", *FAST)
    for name in ("with.npz", "without.npz"):
        assert run(tmp_path / "points.npy", "-o", tmp_path / name, *options) == 0
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with np.load(tmp_path / "with.npz") as grid, np.load(tmp_path / "without.npz") as plain:
        assert list(plain) == ["x0", "x1", "value", "value_std"]
        for name in plain:
            np.testing.assert_array_equal(plain[name], grid[name])


def test_an_axis_closes_up(samples, tmp_path, capsys):
    np.save(tmp_path / "points.npy", samples[:, :3])
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", "--period", "2", "--scale", "1", *FAST) == 0
    _, values = expected(smoother(samples, period=[2.0, None], scale=1.0))
    with np.load(tmp_path / "grid.npz") as grid:
        written = next(grid[name] for name in grid.files if grid[name].ndim == 2)
    known = np.isfinite(written)
    assert known.mean() > 0.9
    np.testing.assert_allclose(written[known], values[known], rtol=1e-5, atol=1e-6)
    message = failed(capsys, tmp_path / "points.npy", "-o", tmp_path / "g.npz", "--period", "1,2,3")
    assert "--period has 3 numbers for 2 coordinates" in message


def test_the_spacing_left_out_knows_the_scale(samples, tmp_path):
    np.save(tmp_path / "points.npy", samples[:, :3])
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", "--scale", "10,1", *FAST) == 0
    with np.load(tmp_path / "grid.npz") as grid:
        assert len(grid["x1"]) == 100 and len(grid["x0"]) in (19, 20, 21)  # 2 / 10 against 1
        np.testing.assert_allclose(np.diff(grid["x0"]), 10 * np.diff(grid["x1"])[0])


def test_netcdf_has_the_last_coordinate_first(samples, tmp_path):
    xarray = pytest.importorskip("xarray")
    (tmp_path / "points.csv").write_text(text_of(samples[:, :3], ",", "lon,lat,speed m/s"))
    options = ("--std", "--spacing", "0.4", "--scale", "1", *FAST)
    assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.nc", *options) == 0
    with xarray.open_dataset(tmp_path / "grid.nc") as grid:
        assert list(grid.data_vars) == ["speed m_s", "speed m_s_std"]
        assert grid["speed m_s"].dims == ("lat", "lon") and grid.attrs["alpha"] == 0.01
        axes, values = expected(smoother(samples), spacing=0.4)
        np.testing.assert_allclose(grid["speed m_s"].transpose("lon", "lat"), values, rtol=1e-12)
        np.testing.assert_allclose(grid["lat"], axes[1])


def test_netcdf_without_xarray_names_the_pip_command(samples, tmp_path, capsys, monkeypatch):
    np.save(tmp_path / "points.npy", samples[:, :3])
    monkeypatch.setitem(sys.modules, "xarray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'seminorm[grid]'" in failed(capsys, tmp_path / "points.npy", "-o", tmp_path / "grid.nc", *FAST)
    assert [file.name for file in tmp_path.iterdir()] == ["points.npy"]


def test_csv_has_a_line_for_each_node(samples, tmp_path):
    (tmp_path / "points.csv").write_text(text_of(samples[:, :3], ",", "x,y,z"))
    assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.csv", "--std", "--spacing", "0.4", *FAST) == 0
    lines = (tmp_path / "grid.csv").read_text().splitlines()
    assert lines[0] == "x,y,z,z_std"
    written = np.array([line.split(",") for line in lines[1:]], dtype=float)
    (x, y), values = expected(smoother(samples), spacing=0.4)
    np.testing.assert_allclose(written[:, :2], [(a, b) for a in x for b in y])
    np.testing.assert_allclose(written[:, 2], values.reshape(-1), rtol=1e-10)
    np.testing.assert_array_equal(open_table(tmp_path / "grid.csv").read([2]).values[:, 0], written[:, 2])


def test_names_that_would_collide_are_replaced(samples, tmp_path):
    for names in ("x,x,z", "file,y,z", "z_std,y,z"):
        (tmp_path / "points.csv").write_text(text_of(samples[:, :3], ",", names))
        assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.npz", *FAST) == 0
        with np.load(tmp_path / "grid.npz") as grid:
            assert list(grid) == ["x0", "x1", "value"]


# -- what is said ----------------------------------------------------------------------------------------------------


def test_the_report_has_alpha_depth_coefficients_and_noise(samples, tmp_path, capsys):
    np.save(tmp_path / "points.npy", samples[:, :3])
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", "--depth", "3") == 0
    captured = capsys.readouterr()
    model = smoother(samples, alpha="auto")
    stated = re.search(r"alpha (\S+) \(chosen\), depth (\d+), (\d+) coefficients, noise (\S+)", captured.out)
    assert np.isclose(float(stated[1]), model.alpha_, rtol=1e-3)
    assert (int(stated[2]), int(stated[3])) == (model.function_.depth, model.function_.n_coef)
    assert np.isclose(float(stated[4]), np.sqrt(model.noise_variance_), rtol=1e-3)
    assert f"{tmp_path / 'grid.npz'}: value at " in captured.out
    assert re.search(r"depth 3, [\d ]+ coefficients", captured.err)


def test_quiet_shows_no_progress_and_a_given_alpha_is_not_called_chosen(samples, tmp_path, capsys):
    (tmp_path / "points.csv").write_text(text_of(samples[:, :3]))
    assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.npz", *FAST) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and "alpha 0.01, depth" in captured.out


def test_reading_shows_progress(samples, tmp_path, capsys):
    (tmp_path / "points.csv").write_text(text_of(samples[:, :3]))
    assert run(tmp_path / "points.csv", "-o", tmp_path / "grid.npz", "--alpha", "0.01", "--depth", "1") == 0
    assert "reading: 100%" in capsys.readouterr().err


# -- missing values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "NaN", "n/a", "NULL", "inf"])
def test_missing_values_are_counted_or_skipped(token, samples, tmp_path, capsys):
    lines = text_of(samples[:, :3], ",", "x,y,z").splitlines()
    lines[7] = f"0.5,{token},1"
    lines[11] = f"0.5,0.5,{token}"
    (tmp_path / "points.csv").write_text("# first\n" + "\n".join(lines))
    arguments = (tmp_path / "points.csv", "-o", tmp_path / "grid.npz", *FAST)
    message = failed(capsys, *arguments)
    assert "missing or infinite values in 2 of 300 rows, first in line 9: --skip-missing leaves these rows" in message
    assert not (tmp_path / "grid.npz").exists()
    assert run(*arguments, "--skip-missing") == 0
    assert "298 points" in capsys.readouterr().out
    kept = np.delete(samples, [6, 10], axis=0)
    with np.load(tmp_path / "grid.npz") as grid:
        np.testing.assert_allclose(grid["z"], expected(smoother(kept))[1], rtol=1e-12)


def test_missing_values_of_other_columns_do_not_count(samples, tmp_path):
    columns = samples.copy()
    columns[5, 3] = np.nan
    np.save(tmp_path / "points.npy", columns)
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", "--columns", "1,2", "--value", "3", *FAST) == 0


def test_missing_values_of_arrays_name_the_row(samples, tmp_path, capsys):
    columns = samples[:, :3].copy()
    columns[[40, 50, 60], [0, 1, 2]] = np.nan
    np.save(tmp_path / "points.npy", columns)
    message = failed(capsys, tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *FAST)
    assert "3 of 300 rows, first in row 41" in message
    np.save(tmp_path / "points.npy", np.full((4, 3), np.nan))
    message = failed(capsys, tmp_path / "points.npy", "-o", tmp_path / "grid.npz", "--skip-missing", *FAST)
    assert "all of its 4 rows" in message


def test_long_files_are_read_in_pieces(samples, tmp_path, monkeypatch):
    monkeypatch.setattr("seminorm.files.tables._CHUNK_LINES", 7)
    lines = text_of(samples, ",", "x,y,z,w").splitlines()
    lines.insert(20, "1,,3,4")
    (tmp_path / "points.csv").write_text("\n".join(["# c"] * 30 + lines))
    values, places = open_table(tmp_path / "points.csv").read([3, 0])
    np.testing.assert_array_equal(values, np.insert(samples, 19, [1, np.nan, 3, 4], axis=0)[:, [3, 0]])
    np.testing.assert_array_equal(places, np.arange(32, 32 + 301))


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("absent.csv", None, (), "there is no file .*absent.csv"),
        ("folder", ..., (), "folder is a folder, not a file"),
        ("p.csv", "", (), "p.csv holds no numbers"),
        ("p.csv", "# nothing\n\n", (), "p.csv holds no numbers"),
        ("p.csv", "x,y,z\n", (), "line of names and no numbers"),
        ("p.csv", "x,y,z\n1,2,3\n", ("--value", "depth"), "has no column 'depth': it has x, y, z"),
        ("p.csv", "x,y,z\n1,2,3\n", ("--columns", "x,q"), "has no column 'q': it has x, y, z"),
        ("p.csv", "x,y,z\n1,2,3\n", ("--weight", "4"), "has no column '4': it has x, y, z"),
        ("p.csv", "1,2,3\n1,2,3\n", ("--weight", "0"), "has no column '0': it has the columns 1 to 3, without names"),
        ("p.csv", "1\n2\n", (), "not enough columns, 1: at least one coordinate and the value"),
        ("p.csv", "1,2\n3,4\n", ("--weight", "1"), "not enough columns, 2: .* besides the weight"),
        ("p.csv", "1,2,3,4,5,6\n", (), "has 5 columns besides the value, and .* at most 4 coordinates: .*--columns"),
        ("p.csv", "x,y,z\n1,2,3\n", ("--columns", "x,y", "--value", "y"), "column y is named twice"),
        ("p.csv", "x,y,z\n1,2,3\n4,five,6\n", (), "p.csv, line 3: the text 'five' stands where a number .* column y"),
        ("p.csv", "1,2,3\n4,5,6\n7,8,1_000\n", (), "line 3: the text '1_000' stands where a number .* column 3"),
        ("p.csv", "x,y,2020\n1,2,3\n", (), "line 1: the text 'x' stands where a number is wanted, in column 1"),
        ("p.csv", "1,2,3\n4,5,6\n\n7,8\n", (), "line 4 has 2 columns, and column 3 is wanted"),
        ("p.csv", "1 2\n3 4\n", ("--spacing", "1,2"), "--spacing has 2 numbers for 1 coordinates: give one, or one"),
        ("p.csv", "1 2\n3 4\n", ("--spacing", "-1"), "spacing must be positive"),
        ("p.csv", "1 2 3\n4 5 6\n", ("--scale", "1,2,3"), "--scale has 3 numbers for 2 coordinates"),
        ("p.csv", "1 2 3\n4 5 6\n", ("--bounds", "0,1"), "--bounds must be 4 numbers for 2 coordinates, .*got"),
        ("p.csv", "1 2 3\n4 5 6\n", ("--bounds", "0,1,3,2"), "--bounds must be .* in order, the least of each"),
        ("p.csv", "1 2\n3 4\n", ("--alpha", "much"), "alpha must be .auto. or a positive number, got 'much'"),
        ("p.csv", "1 2\n3 4\n", ("--depth", "2.5"), "depth must be .*2.5"),
        ("p.csv", "1 2\n3 4\n", ("--margin", "-1"), "margin must be"),
        ("p.csv", "x,z,w\n1,2,-3\n4,5,6\n", ("--weight", "w"), "sample_weight must be finite and not negative"),
        ("p.npy", {"": np.zeros((2, 3, 4))}, (), r"must hold columns: its array has shape \(2, 3, 4\)"),
        ("p.npy", {"": np.array([["a", "b"]])}, (), "column 1 of .*p.npy holds <U1, not numbers"),
        ("p.npy", {"": np.array([{}, {}])}, (), "p.npy cannot be read as a file of arrays of numbers"),
        ("p.npy", "not an array", (), "p.npy cannot be read as a file of arrays of numbers"),
        ("p.npz", {"x": np.zeros(3), "z": np.zeros(4)}, (), "equally many: x has 3, z has 4"),
        ("p.npz", {"a": np.array(3.0)}, (), "p.npz holds no numbers"),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(name, content, options, message, tmp_path, capsys):
    path = tmp_path / name
    if content is ...:
        path.mkdir()
    elif isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        np.save(path, content[""]) if "" in content else np.savez(path, **content)
    before = sorted(tmp_path.iterdir())
    assert re.search(message, failed(capsys, path, "-o", tmp_path / "grid.npz", "--quiet", *options))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "grid.jpg"), r"cannot write grid.jpg: its name must end in .npz, .nc, .csv, .tif or .tiff"),
        (("-o", "grid"), r"cannot write grid: its name must end in .npz, .nc, .csv, .tif or .tiff"),
        (("-o", "nowhere/grid.npz"), "cannot write nowhere.grid.npz: there is no folder nowhere"),
        (("-o", "."), "cannot write .: it is a folder"),
        (("-o", "grid.npz", "--field", "nowhere/f.npz"), "cannot write nowhere.f.npz: there is no folder"),
        (("-o", "grid.npz", "--field", "grid.npz"), "--output and --field are both grid.npz"),
        (("-o", "grid.npz", "--field", "./grid.npz"), "--output and --field are both grid.npz"),
        (("-o", "absent.csv"), "absent.csv is to be read and written: name another file for --output"),
        (("-o", "grid.npz", "--field", "absent.csv"), "absent.csv is to be read and written: .* --field"),
    ],
)
def test_outputs_are_checked_before_anything_is_read(options, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert re.search(message, failed(capsys, "absent.csv", *options))


def test_endings_may_be_large(samples, tmp_path):
    np.save(tmp_path / "points.npy", samples[:, :3])
    assert run(tmp_path / "points.npy", "-o", tmp_path / "GRID.NPZ", *FAST) == 0
    with np.load(tmp_path / "GRID.NPZ") as grid:
        assert list(grid) == ["x0", "x1", "value"]


@pytest.mark.parametrize("options", [(), ("-o", "grid.npz", "--spacing", "wide"), ("-o", "grid.npz", "--order", "4")])
def test_wrong_usage_is_a_usage_error(options, capsys):
    with pytest.raises(SystemExit) as stopped:
        run("points.csv", *options)
    assert stopped.value.code == 2
    assert re.search(r"missing: -o FILE|numbers with commas between them, got 'wide'|--order", capsys.readouterr().err)


def test_a_failure_while_writing_leaves_the_old_grid(samples, tmp_path, capsys, monkeypatch):
    np.save(tmp_path / "points.npy", samples[:, :3])
    (tmp_path / "grid.npz").write_text("old")

    def broken(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", broken)
    assert "no space left" in failed(capsys, tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *FAST)
    assert (tmp_path / "grid.npz").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["grid.npz", "points.npy"]


def test_a_grid_replaces_an_old_one_with_the_usual_permissions(samples, tmp_path):
    np.save(tmp_path / "points.npy", samples[:, :3])
    (tmp_path / "grid.npz").write_text("old")
    assert run(tmp_path / "points.npy", "-o", tmp_path / "grid.npz", *FAST) == 0
    with np.load(tmp_path / "grid.npz") as grid:
        assert grid["value"].size
    assert (tmp_path / "grid.npz").stat().st_mode == (tmp_path / "points.npy").stat().st_mode
    assert sorted(file.name for file in tmp_path.iterdir()) == ["grid.npz", "points.npy"]
