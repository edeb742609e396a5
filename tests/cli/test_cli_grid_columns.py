"""``seminorm grid``: which columns are what, how numbers may be written, and what is far from all data."""

import re

import numpy as np
import pytest
from commands import failed, run

from seminorm import FieldSmoother
from seminorm.clouds import PointCloud
from seminorm.files import open_table, write_points
from seminorm.functions.masks import far_from

FAST = ("--quiet", "--alpha", "0.01", "--depth", "2", "--spacing", "0.25", "--scale", "1")


@pytest.fixture(scope="module")
def rows():
    """Longitude, latitude, depth and a deviation."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 2)) * [2, 1] + [10, 60]
    return np.round(np.column_stack([X, np.sin(3 * X[:, 0]) + X[:, 1], rng.uniform(0.1, 1, 200)]), 4)


def written(path, rows, header, delimiter=",", decimal="."):
    lines = [delimiter.join(f"{number:.4f}".replace(".", decimal) for number in row) for row in rows]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def gridded(folder, path, *options):
    assert run("grid", path, "-o", folder / "grid.npz", *(options or FAST)) == 0
    with np.load(folder / "grid.npz") as grid:
        return {name: grid[name] for name in grid}


@pytest.mark.parametrize(
    ("header", "order", "said"),
    [
        ("lat,lon,depth,quality", (1, 0, 2, 3), "coordinates lon, lat, value depth, not used: quality"),
        ("Easting,Northing,Z,flag", (0, 1, 2, 3), "coordinates Easting, Northing, value Z, not used: flag"),
        ("id,x,y,value", (3, 0, 1, 2), "coordinates x, y, value value, not used: id"),
        ("x,y,z,std", (0, 1, 2, 3), "coordinates x, y, value z, standard deviation std"),
        ("a,b,c,weight", (0, 1, 2, 3), "coordinates a, b, value c, weight weight"),
        ("x,y,z,temperature", (0, 1, 2, 3), "coordinates x, y, z, value temperature"),
        ("x,y,time,bar", (0, 1, 2, 3), "coordinates x, y, time, value bar"),
        ("lon,lat,temp_c,quality", (0, 1, 2, 3), "coordinates lon, lat, value temp_c, not used: quality"),
        ("x (km),y (km),flag,Depth [m]", (0, 1, 3, 2), "coordinates x (km), y (km), value Depth [m], not used: flag"),
    ],
)
def test_columns_are_recognised_by_usual_names(header, order, said, rows, tmp_path, capsys):
    path = written(tmp_path / "points.csv", rows[:, order], header)
    gridded(tmp_path, path, "--quiet", "--alpha", "1", "--depth", "0", "--spacing", "0.5", "--scale", "1")
    assert capsys.readouterr().out.splitlines()[0].endswith(f"200 points, {said}")


def test_the_value_is_not_guessed_among_several_columns(rows, tmp_path, capsys):
    path = written(tmp_path / "points.csv", rows, "x,y,foo,bar")
    message = failed(capsys, "grid", path, "-o", tmp_path / "grid.npz", *FAST)
    assert "is the value: foo, bar? Name it by --value, such as --value foo." in message


def test_deviations_are_weights(rows, tmp_path):
    path = written(tmp_path / "points.csv", rows, "x,y,z,error")
    values = gridded(tmp_path, path, "--columns", "x,y", "--value", "z", "--sigma", "error", *FAST)["z"]
    model = FieldSmoother(0.01, depth=2).fit(rows[:, :2], rows[:, 2], sample_weight=rows[:, 3] ** -2.0)
    assert values.ravel()[8] == pytest.approx(
        model.predict([[rows[:, 0].min() + 0.25, rows[:, 1].min() + 0.75]])[0], rel=1e-3
    )
    assert "give --weight or --sigma" in _failure(tmp_path, path, "--weight", "x", "--sigma", "y")


def _failure(folder, path, *options):
    from contextlib import redirect_stderr
    from io import StringIO

    with redirect_stderr(StringIO()) as words:
        assert run("grid", path, "-o", folder / "grid.npz", "--quiet", *options) == 1
    return words.getvalue()


@pytest.mark.parametrize(("delimiter", "ending"), [(";", ".csv"), ("\t", ".tsv"), ("  ", ".txt"), (" ; ", ".csv")])
def test_decimal_commas(delimiter, ending, rows, tmp_path):
    header = delimiter.join(["x", "y", "z"])
    path = written(tmp_path / f"points{ending}", rows[:, :3], header, delimiter, ",")
    table = open_table(path)
    assert table.names == ["x", "y", "z"]
    np.testing.assert_array_equal(table.read().values, rows[:, :3])
    plain = written(tmp_path / "plain.txt", rows[:, :3], header, delimiter)
    np.testing.assert_array_equal(open_table(plain).read().values, rows[:, :3])


def test_commas_between_columns_stay_what_they_are(tmp_path):
    (tmp_path / "points.csv").write_text("x,z\n0,1\n0,25\n")
    np.testing.assert_array_equal(open_table(tmp_path / "points.csv").read().values, [[0, 1], [0, 25]])


@pytest.mark.parametrize("mark", ["*", "NaN", "-9999", "-9999.0", "1e+31"])
def test_missing_values_are_recognised(mark, rows, tmp_path, capsys):
    path = written(tmp_path / "points.csv", rows[:, :3], "x,y,z")
    path.write_text(path.read_text() + f"10.5,60.5,{mark}\n")
    message = failed(capsys, "grid", path, "-o", tmp_path / "grid.npz", *FAST)
    assert re.search("missing or infinite values in 1 of 201 rows.* line 202: --skip-missing", message)
    assert ("--missing none" in message) == (mark not in ("*", "NaN"))
    known = gridded(tmp_path, path, "--skip-missing", *FAST)
    np.testing.assert_array_equal(known["z"], gridded(tmp_path, written(path, rows[:, :3], "x,y,z"))["z"])


def test_missing_values_can_be_named(rows, tmp_path, capsys):
    path = written(tmp_path / "points.csv", rows[:, :3], "x,y,z")
    path.write_text(path.read_text() + "10.5,60.5,-77\n10.6,60.5,-9999\n")
    gridded(tmp_path, path, "--missing", "-77,-9999", "--skip-missing", *FAST)
    assert "200 points" in capsys.readouterr().out
    gridded(tmp_path, path, "--missing", "none", *FAST)
    assert "202 points" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("10.5,60.5\n", "line 202 has 2 columns, and column 3 is wanted: it may be cut"),
        ("10.5,60.5,1", "it may be cut|may be cut"),
    ],
)
def test_cut_lines(end, message, rows, tmp_path, capsys):
    path = written(tmp_path / "points.csv", rows, "x,y,z,w")
    path.write_text(path.read_text() + end)
    assert re.search(message, failed(capsys, "grid", path, "-o", tmp_path / "grid.npz", "--value", "z", *FAST))


@pytest.mark.parametrize("name", ["points.npy", "points.npz"])
def test_damaged_arrays(name, rows, tmp_path, capsys, rng):
    path = tmp_path / name
    (np.save if name.endswith("y") else np.savez_compressed)(path, rows)
    content = path.read_bytes()
    messages = set()
    for k in range(12):
        damaged = bytearray(content[: len(content) * (k + 1) // 13] if k % 2 else content)
        if not k % 2:
            damaged[int(rng.integers(0, 100)) : 128] = rng.bytes(28)
        path.write_bytes(bytes(damaged))
        message = failed(capsys, "grid", path, "-o", tmp_path / "grid.npz", *FAST)
        messages.add("cannot be read as a file of arrays of numbers, it may be damaged" in message)
    assert messages == {True}


def test_points_of_a_scan_by_class(rows, tmp_path, capsys):
    classes = np.where(np.arange(200) < 150, 2.0, 5.0)
    cloud = PointCloud(rows[:, :3], attributes={"classification": classes})
    write_points(tmp_path / "scan.ply", cloud)
    values = gridded(tmp_path, tmp_path / "scan.ply", "--classes", "2", *FAST)["z"]
    assert "150 points, coordinates x, y, value z" in capsys.readouterr().out
    ground = written(tmp_path / "ground.csv", rows[:150, :3], "x,y,z")
    np.testing.assert_allclose(values, gridded(tmp_path, ground)["z"], rtol=1e-6)
    assert "no points of the classes 7" in _failure(tmp_path, tmp_path / "scan.ply", "--classes", "7")
    assert "--classes needs a column" in _failure(tmp_path, ground, "--classes", "2")


def test_las_files(rows, tmp_path, capsys):
    laspy = pytest.importorskip("laspy")
    las = laspy.create(point_format=3, file_version="1.2")
    las.header.scales, las.header.offsets = [1e-4] * 3, [0.0] * 3
    las.x, las.y, las.z = rows[:, :3].T
    las.classification = np.where(np.arange(200) < 150, 2, 5).astype(np.uint8)
    las.write(tmp_path / "scan.las")
    values = gridded(tmp_path, tmp_path / "scan.las", "--classes", "2", *FAST)["z"]
    ground = written(tmp_path / "ground.csv", rows[:150, :3], "x,y,z")
    np.testing.assert_allclose(values, gridded(tmp_path, ground)["z"], rtol=1e-6)


def test_degrees_of_longitude_are_scaled(rows, tmp_path, capsys):
    path = written(tmp_path / "points.csv", rows[:, :3], "lon,lat,depth")
    options = ("--quiet", "--alpha", "0.01", "--depth", "2", "--spacing", "0.25")
    values = gridded(tmp_path, path, *options)["depth"]
    middle = 0.5 * (rows[:, 1].min() + rows[:, 1].max())
    cosine = np.cos(np.radians(middle))
    assert f"longitudes are scaled by {cosine:.4g}" in capsys.readouterr().out
    scaled = gridded(tmp_path, path, *options, "--scale", f"{float(1 / cosine)!r},1")["depth"]
    np.testing.assert_array_equal(values, scaled)
    assert "longitudes" not in capsys.readouterr().out


def test_cells_far_from_data_are_missing(rng, tmp_path, capsys):
    X = rng.random((300, 2))
    np.save(tmp_path / "points.npy", np.column_stack([X, X[:, 0]]))
    options = ("--quiet", "--alpha", "1", "--depth", "1", "--spacing", "0.1", "--bounds", "0/2/0/1")
    for words, limit in ((("--mask-distance", "0.3"), 0.3), (("--mask-distance", "none"), np.inf)):
        grid = gridded(tmp_path, tmp_path / "points.npy", *options, *words)
        nodes = np.stack(np.meshgrid(grid["x0"], grid["x1"], indexing="ij"), axis=-1)
        gaps = np.sqrt(((nodes[:, :, None] - X) ** 2).sum(axis=-1)).min(axis=-1)  # brute force
        np.testing.assert_array_equal(np.isnan(grid["value"]), gaps > limit)
    grid = gridded(tmp_path, tmp_path / "points.npy", *options)
    far = np.isnan(grid["value"])
    assert not far[:11].any() and far[15:].all() and (np.diff(far.astype(int), axis=0) >= 0).all()
    assert "grid points are NaN: extrapolated, and farther than" in capsys.readouterr().out


def test_gaps_between_tracks_are_not_far(rng):
    tracks = np.column_stack([rng.random(2000), np.repeat([0.0, 0.5, 1.0], [700, 600, 700])])
    axes = [np.linspace(0, 1, 21), np.linspace(-2, 3, 51)]
    far, limit = far_from(tracks, axes)
    assert 0.4 < limit < 0.7 and not far[:, 20:31].any() and far[:, :10].all()
    assert not far_from(np.zeros((3, 2)) + [[0.0], [0.5], [1.0]], axes)[0][:, 20:31].any()  # on a line
