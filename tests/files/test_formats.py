"""The table of file formats: every function it names exists, and a format from outside the package works."""

import importlib
import sys
import types

import numpy as np
import pytest

from seminorm import cli
from seminorm.clouds import PointCloud, as_cloud
from seminorm.files import Format, Grid, all_formats, describe, read_mesh, read_points, write_grid, write_mesh
from seminorm.shapes import Mesh, Sphere


@pytest.mark.parametrize("format", list(all_formats), ids=lambda format: " ".join(format.suffixes))
def test_functions_of_the_table_exist(format):
    module = importlib.import_module(format.module)
    assert all(callable(getattr(module, name)) for name in format.functions)


@pytest.fixture
def outside(monkeypatch):
    """A format whose module is no part of the package: arrays one after the other, in a file of NumPy."""

    def read_mesh(path):
        with open(path, "rb") as file:
            return Mesh(np.load(file), np.load(file))

    def write_mesh(path, mesh):
        with open(path, "wb") as file:
            np.save(file, mesh.vertices)
            np.save(file, mesh.faces)

    def write_grid(path, grid, notes):
        path.write_text(" ".join([*grid.axes, *grid.values, *notes]))

    module = types.ModuleType("my_format")
    module.read_mesh, module.write_mesh, module.write_grid = read_mesh, write_mesh, write_grid
    module.read_points = lambda path: PointCloud(read_mesh(path).vertices)
    module.write_points = lambda path, cloud: write_mesh(path, Mesh(cloud.points, np.zeros((0, 3), int)))
    monkeypatch.setitem(sys.modules, "my_format", module)
    functions = ("read_points", "read_mesh", "write_points", "write_mesh", "write_grid")
    format = all_formats.register(Format((".mine",), "my_format", functions))
    yield format
    all_formats.unregister(format)


def test_a_format_from_outside_is_read_and_written(outside, tmp_path):
    ball = Sphere([0, 0, 0], 1).mesh(0.3)
    path = write_mesh(tmp_path / "ball.mine", ball, single=True)
    np.testing.assert_array_equal(read_mesh(path).faces, ball.faces)
    np.testing.assert_array_equal(read_points(path).points, ball.vertices)
    assert as_cloud(ball.save(tmp_path / "saved.MINE")).bounds.tolist() == ball.bounds.tolist()
    assert (describe(path)["faces"], describe(path)["format"]) == (len(ball.faces), "mine")
    assert (
        write_grid(tmp_path / "g.mine", Grid({"x": np.zeros(1)}, {"z": np.zeros(1)}), {"a": 1}).read_text() == "x z a"
    )


def test_a_format_from_outside_works_on_the_command_line(outside, tmp_path, capsys):
    write_mesh(tmp_path / "ball.mine", Sphere([0, 0, 0], 1).mesh(0.2))
    assert cli.main(["info", str(tmp_path / "ball.mine")]) == 0
    assert "watertight" in capsys.readouterr().out
    assert ".mine" in cli.paths.MESH_SUFFIXES and ".mine" in cli.paths.GRID_SUFFIXES
    assert cli.main(["normals", str(tmp_path / "ball.mine"), "-o", str(tmp_path / "oriented.mine"), "--quiet"]) == 0
    assert len(read_points(tmp_path / "oriented.mine")) == len(read_points(tmp_path / "ball.mine"))
    with pytest.raises(SystemExit):
        cli.main(["reconstruct", "--help"])
    assert ".mine" in capsys.readouterr().out


def test_meshes_serve_for_points(outside, tmp_path, capsys):
    all_formats.unregister(outside)
    alone = all_formats.register(Format((".mine",), "my_format", ("read_mesh", "write_mesh")))
    ball = Sphere([0, 0, 0], 1).mesh(0.3)
    path = str(ball.save(tmp_path / "ball.mine"))
    for cloud in (read_points(path), as_cloud(path)):
        np.testing.assert_array_equal(cloud.points, ball.vertices)
    assert cli.main(["info", path]) == 0 and "faces" in capsys.readouterr().out
    all_formats.unregister(alone)
    all_formats.register(outside)


def test_a_format_is_gone_when_it_is_unregistered(tmp_path):
    assert ".mine" not in cli.paths.POINT_SUFFIXES
    with pytest.raises(ValueError, match=r"'.mine' and cannot be written as a mesh: .*\.ply"):
        Sphere([0, 0, 0], 1).mesh(0.5).save(tmp_path / "ball.mine")


def test_formats_are_checked():
    with pytest.raises(ValueError, match="functions of a format are"):
        Format((".mine",), "my_format", ("sing",))
    with pytest.raises(ValueError, match=r"got '\.MINE'"):
        Format((".MINE",), "my_format", ("read_points",))
    with pytest.raises(ValueError, match=r"already write_mesh for \.ply: that of seminorm\.files\.ply"):
        all_formats.register(Format((".ply",), "my_format", ("write_mesh",)))
