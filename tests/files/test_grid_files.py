"""Files of grids that programs for maps read: GeoTIFF and NetCDF, by other readers; and pictures."""

import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest
from commands import failed, run

from seminorm.files import Grid, write_grid

X, Y = 500_000.0 + 25.0 * np.arange(40), 5_600_000.0 + 50.0 * np.arange(30)


@pytest.fixture
def grid(rng):
    values = rng.standard_normal((40, 30))
    values[3, 4] = np.nan
    return Grid({"x": X, "y": Y}, {"z": values, "z_std": rng.random((40, 30))})


def bands_of(path):
    """Pixels (height, width, bands) and tags of a TIFF file, by hand."""
    data, tags = path.read_bytes(), {}
    kinds = {2: "c", 3: "H", 4: "I", 12: "d"}
    assert data[:4] == b"II*\0"
    start = struct.unpack_from("<I", data, 4)[0]
    for k in range(struct.unpack_from("<H", data, start)[0]):
        tag, kind, count = struct.unpack_from("<HHI", data, start + 2 + 12 * k)
        form = f"<{count}{kinds[kind]}"
        at = start + 2 + 12 * k + 8
        tags[tag] = struct.unpack_from(
            form, data, at if struct.calcsize(form) <= 4 else struct.unpack_from("<I", data, at)[0]
        )
    strips = [zlib.decompress(data[a : a + n]) for a, n in zip(tags[273], tags[279], strict=True)]
    return np.frombuffer(b"".join(strips), "<f4").reshape(tags[257][0], tags[256][0], tags[277][0]), tags


def test_geotiff_bands_and_georeference(grid, tmp_path, monkeypatch):
    monkeypatch.setattr("seminorm.files.geotiff._STRIP_BYTES", 2000)  # several strips
    pixels, tags = bands_of(write_grid(tmp_path / "g.tif", grid, {"crs": "EPSG:25832"}))
    assert len(tags[273]) > 3 and list(tags) == sorted(tags)
    for band, values in enumerate(grid.values.values()):
        np.testing.assert_array_equal(pixels[:, :, band], values.T[::-1].astype("f4"))
    assert tags[33550] == (25.0, 50.0, 0.0) and tags[33922] == (0.0, 0.0, 0.0, X[0], Y[-1], 0.0)
    keys = np.reshape(tags[34735], (-1, 4))
    assert {tuple(row) for row in keys[1:].tolist()} == {(1024, 0, 1, 1), (1025, 0, 1, 2), (3072, 0, 1, 25832)}
    assert b"".join(tags[42113]) == b"nan\0"


def test_geotiff_by_pillow(grid, tmp_path):
    image = pytest.importorskip("PIL.Image")
    one = Grid({"lon": X / 1e5, "lat": Y / 1e5}, {"z": grid.values["z"]})
    picture = image.open(write_grid(tmp_path / "g.tiff", one, {"crs": "EPSG:4326"}))
    np.testing.assert_array_equal(np.asarray(picture), one.values["z"].T[::-1].astype("f4"))
    assert (2048, 0, 1, 4326) in set(zip(*[iter(picture.tag_v2[34735])] * 4, strict=False))


def test_netcdf_by_gmt(grid, tmp_path):
    """The Generic Mapping Tools see the coordinates, the nodes (gridline registration), the range, and the gaps."""
    pytest.importorskip("xarray")
    if shutil.which("gmt") is None:
        pytest.skip("gmt is not installed")
    path = write_grid(tmp_path / "g.nc", Grid(grid.axes, {"z": grid.values["z"]}), {"crs": "EPSG:25832"})

    def gmt(*words):
        return subprocess.run(["gmt", *map(str, words)], capture_output=True, text=True, check=True).stdout.split()

    low, high = np.nanmin(grid.values["z"]), np.nanmax(grid.values["z"])
    _, *numbers = gmt("grdinfo", "-C", path)
    found = [float(number) for number in numbers]
    np.testing.assert_allclose(found[:10], [X[0], X[-1], Y[0], Y[-1], low, high, 25.0, 50.0, 40, 30])
    nodes = np.array(gmt("grd2xyz", path), dtype=float).reshape(30, 40, 3)
    np.testing.assert_allclose(nodes[::-1, :, 2].T, grid.values["z"], rtol=1e-6)
    np.testing.assert_allclose(nodes[0, :, 0], X)


def test_netcdf_has_what_the_coards_conventions_ask(grid, tmp_path):
    """One-dimensional rising coordinates of the nodes with their range, and values with a number for gaps."""
    xarray = pytest.importorskip("xarray")
    path = write_grid(tmp_path / "g.nc", Grid(grid.axes, {"z": grid.values["z"]}), {})
    with xarray.open_dataset(path, decode_cf=False) as file:
        for name, axis in grid.axes.items():
            assert file[name].dims == (name,) and (np.diff(file[name]) > 0).all()
            np.testing.assert_array_equal(file[name].attrs["actual_range"], [axis[0], axis[-1]])
        assert "_FillValue" in file["z"].attrs and file["z"].dims == ("y", "x")
        assert file.attrs.get("node_offset", 0) == 0  # values belong to nodes


@pytest.mark.parametrize(
    ("axes", "message"),
    [((X,), "two coordinates, and the grid has 1"), ((X, Y**2), "evenly spaced, rising coordinates .* y has not")],
)
def test_what_a_geotiff_cannot_hold(axes, message, tmp_path):
    values = np.zeros(tuple(map(len, axes)))
    with pytest.raises(ValueError, match=message):
        write_grid(tmp_path / "g.tif", Grid(dict(zip("xy", axes, strict=False)), {"z": values}))
    assert not list(tmp_path.iterdir())


def test_netcdf_follows_the_conventions(grid, tmp_path):
    xarray = pytest.importorskip("xarray")
    degrees = Grid({"lon": X / 1e5, "lat": Y / 1e5}, grid.values)
    with xarray.open_dataset(write_grid(tmp_path / "g.nc", degrees, {"crs": "EPSG:4326"})) as file:
        assert file.attrs["Conventions"].startswith("CF-") and file["z"].dims == ("lat", "lon")
        assert file["lon"].attrs["units"] == "degrees_east" and file["lat"].attrs["standard_name"] == "latitude"
        np.testing.assert_array_equal(
            file["z"].attrs["actual_range"], [np.nanmin(grid.values["z"]), np.nanmax(grid.values["z"])]
        )
        assert file["crs"].attrs["epsg_code"] == "EPSG:4326"
        assert (file["z"].encoding | file["z"].attrs)["grid_mapping"] == "crs"
        np.testing.assert_array_equal(file["z"].transpose("lon", "lat"), grid.values["z"])
    with xarray.open_dataset(write_grid(tmp_path / "h.nc", grid)) as file:
        assert file["y"].attrs["standard_name"] == "projection_y_coordinate" and "crs" not in file


def test_the_command_line_writes_maps_and_pictures(tmp_path, capsys, rng):
    X = rng.random((100, 2)) + [10, 50]
    np.savetxt(
        tmp_path / "points.csv", np.column_stack([X, X[:, 0]]), delimiter=",", header="lon,lat,depth", comments=""
    )
    options = ("--quiet", "--alpha", "1", "--depth", "1", "--spacing", "0.1", "--region", "10/11/50/51", "--std")
    preview = tmp_path / "picture.png"
    assert run("grid", tmp_path / "points.csv", "-o", tmp_path / "g.tif", *options, "--preview", preview) == 0
    pixels, tags = bands_of(tmp_path / "g.tif")
    assert pixels.shape == (11, 11, 2) and 4326 in tags[34735]
    np.testing.assert_allclose(pixels[:, :, 0], np.broadcast_to(np.linspace(10, 11, 11), (11, 11)), rtol=1e-4)
    image = pytest.importorskip("PIL.Image").open(preview)
    assert min(image.size) > 400 and len(set(image.convert("RGB").resize((60, 45)).getdata())) > 50
    message = failed(capsys, "grid", tmp_path / "points.csv", "-o", tmp_path / "g.tif", "--crs", "UTM 32")
    assert "--crs must be a code such as EPSG:25832, got 'UTM 32'" in message
    message = failed(capsys, "grid", tmp_path / "points.csv", "-o", tmp_path / "g.tif", "--preview", tmp_path / "g.gif")
    assert "must end in .png, .pdf or .svg" in message
