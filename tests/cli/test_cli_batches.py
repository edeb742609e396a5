"""``--each``: names of what is written, what clashes, and failures that stop no other file."""

import json
import shutil

import numpy as np
import pytest
from commands import FAST, failed, run

from seminorm.clouds import PointCloud
from seminorm.files import read_mesh, read_points, write_points
from seminorm.surfaces import Surface, reconstruction

QUICK = ("--quiet", *FAST)


@pytest.fixture
def folder(scan, bare, tmp_path, monkeypatch):
    """Two files of points and an empty folder, the current ones."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(scan, "a.ply")
    shutil.copy(bare, "b.xyz")
    (tmp_path / "out").mkdir()
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-o", "out"), ["a.ply", "b.ply"]),
        (("-o", "out", "--to", "off"), ["a.off", "b.off"]),
        (("-o", "out/{name}-mesh.obj"), ["a-mesh.obj", "b-mesh.obj"]),
        (("-o", "out", "--to", ".STL", "--threads", "1"), ["a.stl", "b.stl"]),
    ],
)
def test_names_of_what_is_written(words, expected, folder):
    assert run("reconstruct", "--each", "a.ply", "b.xyz", *words, *QUICK) == 0
    assert names(folder / "out") == expected
    assert all(read_mesh(folder / "out" / name).is_watertight for name in expected)


def test_each_file_gives_what_it_gives_alone(folder, capsys):
    assert run("reconstruct", "--each", "a.ply", "b.xyz", "-o", "out", "--outliers", "out/{name}-aside.xyz", *FAST) == 0
    told = capsys.readouterr()
    first, second, last = told.out.splitlines()
    assert first.startswith("out/a.ply: 400 points, depth 3") and second.startswith("out/b.ply: 400 points, normals")
    assert last == "all 2 files are done"
    assert told.err == "b.xyz: no normals, estimating them\n"
    for name in ("a.ply", "b.xyz"):
        assert run("reconstruct", name, "-o", "alone.ply", *QUICK) == 0
        written = (folder / "out" / name).with_suffix(".ply")
        assert written.read_bytes() == (folder / "alone.ply").read_bytes()
    assert names(folder / "out") == ["a-aside.xyz", "a.ply", "b-aside.xyz", "b.ply"]


def test_normals_and_pictures_of_each(folder, points, capsys):
    assert run("normals", "--each", "a.ply", "b.xyz", "-o", "out", "--to", "xyz", "--quiet") == 0
    assert names(folder / "out") == ["a.xyz", "b.xyz"]
    for name in names(folder / "out"):
        assert ((read_points(folder / "out" / name).normals * points).sum(axis=1) > 0.9).all()
    assert run("render", "--each", "a.ply", "b.xyz", "-o", "out/{name}.png", "--size", "20x10") == 0
    assert names(folder / "out") == ["a.png", "a.xyz", "b.png", "b.xyz"]
    assert capsys.readouterr().out.endswith("out/b.png: 20 x 10 pixels\nall 2 files are done\n")


def test_one_failure_stops_no_other(folder, capsys):
    (folder / "bad.ply").write_text("ply\n")
    words = ("--each", "missing.ply", "a.ply", "bad.ply", "-o", "out", "--stats-json", "all.json")
    assert run("reconstruct", *words, *QUICK) == 1
    missing, bad, last = capsys.readouterr().err.splitlines()
    assert missing.startswith("seminorm reconstruct: there is no file missing.ply")
    assert bad.startswith("seminorm reconstruct: bad.ply")
    assert last == "seminorm reconstruct: 2 of 3 files failed: missing.ply, bad.ply"
    assert names(folder / "out") == ["a.ply"]
    first, second, third = json.loads((folder / "all.json").read_text())
    assert first["inputs"] == ["missing.ply"] and "there is no file" in first["error"]
    assert (second["inputs"], second["output"], second["points"]) == (["a.ply"], "out/a.ply", 400)
    assert second["watertight"] and third["inputs"] == ["bad.ply"]


def test_faults_of_the_program_stop_no_other_either(folder, monkeypatch, capsys):
    fit, calls = reconstruction.reconstruct, []

    def faulty(*arguments, **options):
        calls.append(options)
        if len(calls) == 1:
            raise KeyError("nonsense")
        return fit(*arguments, **options)

    monkeypatch.setattr(reconstruction, "reconstruct", faulty)
    assert run("reconstruct", "--each", "a.ply", "b.xyz", "-o", "out", *QUICK) == 1
    assert "seminorm reconstruct: a.ply: this is a fault of seminorm (KeyError: 'nonsense')" in capsys.readouterr().err
    assert names(folder / "out") == ["b.ply"]
    calls.clear()
    with pytest.raises(KeyError):
        run("reconstruct", "--each", "a.ply", "b.xyz", "-o", "out", "--traceback", *QUICK)


def test_one_file_alone_may_be_each(folder, capsys):
    assert run("reconstruct", "--each", "a.ply", "-o", "out", "--stats-json", "all.json", *FAST) == 0
    assert "all" not in capsys.readouterr().out
    assert len(json.loads((folder / "all.json").read_text())) == 1


def test_warnings_name_the_file(folder, points, capsys):
    for name in ("c.ply", "d.ply"):
        write_points(name, PointCloud(np.r_[points, [[np.nan] * 3]], np.r_[points, points[:1]]))
    assert run("reconstruct", "--each", "c.ply", "d.ply", "-o", "out", *QUICK) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[2] for line in told] == ["c.ply:", "d.ply:"]
    assert all("left out 1 of 401 points" in line for line in told)


@pytest.mark.parametrize("many", [False, True])
def test_sensors_are_those_of_the_files(many, folder, points):
    write_points("a.ply", PointCloud(points))
    sensors = ("--sensor", "0,0,0", "--sensor", "0,0,9") if many else ("--sensor", "0,0,0")
    assert run("normals", "--each", "a.ply", "b.xyz", "-o", "out", *sensors, "--quiet") == 0
    a, b = (read_points(folder / "out" / name) for name in ("a.ply", "b.ply"))
    assert ((a.normals * points).sum(axis=1) < 0).all()
    top = points[:, 2] > 0.3
    assert (((b.normals * points).sum(axis=1)[top] > 0) == many).all()


def test_sensors_of_files_that_are_taken_together(folder, cap):
    """The two halves of a cap, seen from above and from below: the normals disagree, unless one sensor serves all."""
    cloud = read_points(cap)
    left = cloud.points[:, 0] < 0
    for name, half in (("left.xyz", left), ("right.xyz", ~left)):
        write_points(name, PointCloud(cloud.points[half]))
    for seconds, sign in (("0,0,9", 1), ("0,0,-9", -1)):
        words = ("left.xyz", "right.xyz", "-o", "s.npz", "--sensor", seconds, "--keep-outliers")
        assert run("reconstruct", *words, *QUICK) == 0
        assert sign * Surface.load("s.npz")([[0, 0, 1.1]])[0] > 0.03
    words = ("left.xyz", "right.xyz", "-o", "s.npz", "--sensor", "0,0,9", "--sensor", "0,0,-9", "--keep-outliers")
    assert run("reconstruct", *words, *QUICK) == 0
    above_left, above_right = Surface.load("s.npz").gradient([[-0.6, 0, 0.8], [0.6, 0, 0.8]])[:, 2]
    assert above_left > 0 > above_right


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.ply", "b.xyz", "-o", "m.ply"), "is one file, and --each writes several"),
        (("a.ply", "b.xyz", "-o", "nowhere"), "--output nowhere: there is no such folder, make it first."),
        (("a.ply", "b.xyz", "-o", "nowhere/{name}.ply"), "there is no folder nowhere, make it first."),
        (("a.ply", "b.xyz", "-o", "out/{name}.doc"), "its name must end in .ply"),
        (("a.ply", "b.xyz", "-o", "out/{name}.obj", "--to", "stl"), "--to stl is for folders and for standard output"),
        (("a.ply", "a.xyz", "-o", "out"), "a.ply and a.xyz would both be written to out/a.ply"),
        (("a.ply", "a.ply", "-o", "out"), "a.ply is given twice"),
        (("a.ply", "b.xyz", "-o", "."), "a.ply is to be read and written"),
        (("a.ply", "b.xyz", "-o", "out", "--outliers", "x.ply"), "--outliers x.ply is one file"),
        (("a.ply", "b.xyz", "-o", "out", "--outliers", "out"), "--output and --outliers are both out/a.ply"),
        (("a.ply", "b.xyz", "-o", "out", "--stats-json", "{name}.json"), "--stats-json {name}.json: one list"),
        (("a.ply", "b.xyz", "-o", "-"), "name files in place of -"),
        (("a.ply", "-", "-o", "out"), "name files in place of -"),
        (("a.ply", "b.xyz", "a.xyz", "-o", "out", *("--sensor", "0,0,1") * 2), "--sensor is given 2 times for 3 files"),
    ],
)
def test_batches_that_are_refused(words, message, folder, capsys):
    shutil.copy("b.xyz", "a.xyz")
    before = names(folder)
    assert message in failed(capsys, "reconstruct", "--each", *words, *QUICK)
    assert names(folder) == before and names(folder / "out") == []


def test_placeholders_are_for_batches(folder, capsys):
    assert "{name} in --output {name}.ply is for --each" in failed(capsys, "reconstruct", "a.ply", "-o", "{name}.ply")
    words = ("a.ply", "-o", "m.ply", "--outliers", "{name}.xyz")
    assert "{name} in --outliers" in failed(capsys, "reconstruct", *words)
