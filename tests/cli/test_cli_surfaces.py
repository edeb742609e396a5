"""``seminorm reconstruct``, ``render`` and ``info``: what they write is what the library computes, and what they refuse
they explain in one line.
"""

import contextlib
import json
import signal
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from commands import FAST, SETTINGS, failed, misused, run, sphere_points

from seminorm import cli, files
from seminorm._base import saving as serialization
from seminorm._base.threads import thread_count
from seminorm._base.warnings import warn_user
from seminorm.clouds import PointCloud
from seminorm.files import read_mesh, write_points
from seminorm.shapes import Mesh
from seminorm.surfaces import Surface, reconstruct, reconstruction

VOLUME = 4 / 3 * np.pi


# -- reconstruct -----------------------------------------------------------------------------------------------------


def test_the_mesh_is_that_of_the_library(scan, surface, tmp_path, capsys):
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", *FAST) == 0
    mesh, expected = read_mesh(tmp_path / "mesh.ply"), surface.mesh()
    np.testing.assert_array_equal(mesh.vertices, expected.vertices)
    np.testing.assert_array_equal(mesh.faces, expected.faces)
    (line,) = capsys.readouterr().out.splitlines()
    assert f"400 points, depth 3, smoothness 0.05, tolerance 0.05, {len(mesh.vertices)} vertices" in line
    assert f"{len(mesh.faces)} faces, watertight" in line


@pytest.mark.parametrize("suffix", sorted({*cli.paths.MESH_SUFFIXES} - {".html"}))
def test_other_programs_read_the_mesh(suffix, scan, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    if suffix == ".3mf":
        pytest.importorskip("lxml")  # trimesh needs it
    path = tmp_path / f"mesh{suffix}"
    assert run("reconstruct", scan, "-o", path, "--quiet", *FAST) == 0
    mesh = trimesh.load(path, force="mesh")
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(VOLUME, rel=0.02)


def test_a_page_to_turn_the_mesh_in(scan, tmp_path):
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.html", "--quiet", *FAST) == 0
    text = (tmp_path / "mesh.html").read_text()
    assert text.lstrip().lower().startswith("<!doctype html>") and "<canvas" in text


def test_npz_holds_the_function(scan, surface, tmp_path, capsys):
    assert run("reconstruct", scan, "-o", tmp_path / "surface.npz", *FAST) == 0
    loaded = Surface.load(tmp_path / "surface.npz")
    X = np.random.default_rng(1).uniform(-1, 1, (50, 3))
    np.testing.assert_array_equal(loaded(X), surface(X))
    assert f"{surface.field.n_coef} coefficients" in capsys.readouterr().out


def test_normals_that_are_missing_are_estimated(points, surface, tmp_path, capsys):
    bare = write_points(tmp_path / "bare.ply", PointCloud(points))
    assert run("reconstruct", bare, "-o", tmp_path / "mesh.ply", *FAST) == 0
    told = capsys.readouterr()
    assert "bare.ply: no normals, estimating them" in told.err and "normals estimated" in told.out
    assert np.isclose(read_mesh(tmp_path / "mesh.ply").volume, VOLUME, rtol=0.03)
    scan = write_points(tmp_path / "scan.ply", PointCloud(points, points))
    for words, message in {
        (bare, scan): "bare.ply has no normals, and other files have",
        (bare, "--confidence"): "they have none",
        (scan, "--sensor", "0,0,9"): "--sensor is for points without normals",
    }.items():
        assert message in failed(capsys, "reconstruct", *words, "-o", tmp_path / "none.ply")


def test_normals_verb(points, tmp_path, capsys):
    bare = write_points(tmp_path / "bare.ply", PointCloud(points, None, (points + 1) / 2))
    assert run("normals", bare, "-o", tmp_path / "out.ply", "--confidence") == 0
    assert "signs: outwards" in capsys.readouterr().out
    oriented = files.read_points(tmp_path / "out.ply")
    assert ((oriented.normals * points).sum(axis=1) > 0.95).all()
    assert oriented.colors is not None and (oriented.attributes["confidence"] <= 1).all()
    assert run("normals", bare, "-o", tmp_path / "in.xyz", "--sensor", "0,0,0", "--planes", "--quiet") == 0
    assert ((files.read_points(tmp_path / "in.xyz").normals * points).sum(axis=1) < 0).all()
    assert capsys.readouterr().out == ""
    assert "read and written" in failed(capsys, "normals", bare, "-o", bare)
    assert "must end in" in failed(capsys, "normals", bare, "-o", tmp_path / "out.stl")
    assert "--neighbors must be" in failed(capsys, "normals", bare, "-o", tmp_path / "x.ply", "--neighbors", "9999")


@pytest.mark.slow
def test_everything_is_chosen_by_default(scan, tmp_path):
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", "--quiet") == 0
    mesh = read_mesh(tmp_path / "mesh.ply")
    assert np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1).max() < 0.02
    assert mesh.is_watertight


def test_several_files_are_taken_together(points, surface, tmp_path):
    for name, part in (("a.ply", points[:150]), ("b.xyz", points[150:])):
        write_points(tmp_path / name, PointCloud(part, part))
    output = tmp_path / "surface.npz"
    assert run("reconstruct", tmp_path / "a.ply", tmp_path / "b.xyz", "-o", output, "--quiet", *FAST) == 0
    np.testing.assert_allclose(Surface.load(output).field.coef, surface.field.coef, atol=1e-4)
    assert len(Surface.load(output).points) == len(points)


def test_confidence_is_the_length_of_the_normals(points, tmp_path):
    lengths = np.random.default_rng(2).uniform(0.1, 2, (len(points), 1))
    path = write_points(tmp_path / "scan.ply", PointCloud(points, points * lengths))
    output = tmp_path / "surface.npz"
    assert run("reconstruct", path, "-o", output, "--confidence", "--quiet", *FAST) == 0
    expected = reconstruct(points, points * lengths, confidence="normals", **SETTINGS)
    np.testing.assert_array_equal(Surface.load(output).field.coef, expected.field.coef)


def test_resolution_instead_of_depth(scan, tmp_path):
    output = tmp_path / "surface.npz"
    assert run("reconstruct", scan, "-o", output, "--resolution", "0.3", "--quiet", *FAST[2:]) == 0
    assert Surface.load(output).resolution <= 0.3 < 2 * Surface.load(output).resolution


def test_finer_mesh(scan, mesh_file, tmp_path):
    output = tmp_path / "mesh.ply"
    assert run("reconstruct", scan, "-o", output, "--mesh-resolution", "0.012", "--quiet", *FAST) == 0
    assert len(read_mesh(output).faces) > 3 * len(read_mesh(mesh_file).faces)


def test_deviation(scan, mesh_file, tmp_path):
    output = tmp_path / "mesh.ply"
    assert run("reconstruct", scan, "-o", output, "--deviation", "0.05", "--quiet", *FAST) == 0
    assert len(read_mesh(output).faces) < len(read_mesh(mesh_file).faces) / 2


def test_points_are_prepared(points, tmp_path):
    messy = np.concatenate([points, points[:30], [[9.0, 9.0, 9.0]]])
    path = write_points(tmp_path / "scan.ply", PointCloud(messy, np.concatenate([points, points[:30], [[0, 0, 1.0]]])))
    stats = tmp_path / "stats.json"
    options = ("--remove-duplicates", "--remove-outliers", "--thin", "0.2", "--quiet", "--stats-json", stats)
    assert run("reconstruct", path, "-o", tmp_path / "mesh.ply", *options, *FAST) == 0
    dropped = json.loads(stats.read_text())["dropped"]
    assert (dropped["duplicates"], dropped["outliers"]) == (30, 1)
    assert 0 < dropped["thinned"] == 400 - json.loads(stats.read_text())["points"]


def test_preparation_says_how_many_points_are_left(scan, tmp_path, capsys):
    names = f"{scan}, {scan}"
    message = f"{names}: --remove-duplicates leaves 400 of 800 points\n{names}: --thin 5 leaves 1 of 400 points\n"
    words = (scan, scan, "-o", tmp_path / "mesh.ply", "--remove-duplicates", "--thin", "5", *FAST)
    assert run("reconstruct", *words) == 1
    reason = f"seminorm reconstruct: {names}: a surface needs at least 10"
    assert capsys.readouterr().err.startswith(f"{message}{reason}")


def test_invalid_points_are_left_out_and_counted(points, surface, tmp_path, capsys):
    bad_points = np.concatenate([points, [[np.nan, 0, 0], [np.inf, 0, 0], [0, 0, 1.0]]])
    bad_normals = np.concatenate([points, [[0, 0, 1.0], [0, 0, 1.0], [0, 0, 0]]])
    path = write_points(tmp_path / "scan.ply", PointCloud(bad_points, bad_normals))
    assert run("reconstruct", path, "-o", tmp_path / "surface.npz", "--quiet", *FAST) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"seminorm: warning: {path}: left out 2 of 403 points: NaN or infinity in their coordinates.",
        f"seminorm: warning: {path}: left out 1 of 403 points: their normals are zero or not finite.",
    ]
    np.testing.assert_array_equal(Surface.load(tmp_path / "surface.npz").field.coef, surface.field.coef)


def test_warnings_of_the_library_are_one_line(scan, tmp_path, monkeypatch, capsys):
    def warning(*arguments, **options):
        warn_user("first\nsecond")
        return reconstruct(*arguments, **options)

    monkeypatch.setattr(reconstruction, "reconstruct", warning)
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", "--quiet", *FAST) == 0
    assert capsys.readouterr().err == "seminorm: warning: first second\n"


def test_quiet_says_nothing_and_files_get_no_bars(scan, tmp_path, capsys):
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", "--quiet", *FAST) == 0
    assert capsys.readouterr() == ("", "")
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", *FAST) == 0
    assert "\r" not in capsys.readouterr().err


def test_stats(scan, surface, tmp_path, capsys):
    path = tmp_path / "stats.json"
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", "--stats", "--stats-json", path, *FAST) == 0
    stats, mesh = json.loads(path.read_text()), surface.mesh()
    assert stats["coefficients"] == surface.field.n_coef
    assert stats["dropped"] == {"coordinates": 0, "normals": 0}
    assert (stats["depth"], stats["order"], stats["points"]) == (3, 2, 400)
    assert (stats["smoothness"], stats["tolerance"]) == pytest.approx((0.05, 0.05))
    assert (stats["vertices"], stats["faces"], stats["watertight"]) == (len(mesh.vertices), len(mesh.faces), True)
    assert stats["peak_memory"] > 10**7
    seconds = stats["seconds"]
    assert seconds["total"] >= sum(seconds.values()) - seconds["total"] > 0
    assert {"import", "read", "mesh", "write", "total"} <= set(seconds)
    table = dict(line.split("  ", 1) for line in map(str.strip, capsys.readouterr().out.splitlines()) if "  " in line)
    assert table["coefficients"].strip() == str(stats["coefficients"])
    assert table["watertight"].strip() == "yes"
    assert float(table["mesh, seconds"]) == pytest.approx(seconds["mesh"], abs=0.006)


def test_stages_that_the_fit_tells_take_the_place_of_the_whole(scan, tmp_path, monkeypatch):
    def timed(*arguments, **options):
        surface = reconstruct(*arguments, **options)
        surface.details["seconds"] = {"choose": 1.5, "fit": 2.5}
        return surface

    monkeypatch.setattr(reconstruction, "reconstruct", timed)
    path = tmp_path / "stats.json"
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", "--stats-json", path, "--quiet", *FAST) == 0
    seconds = json.loads(path.read_text())["seconds"]
    assert (seconds["choose"], seconds["fit"]) == (1.5, 2.5)
    assert "reconstruct" not in seconds


def test_threads(scan, tmp_path):
    path, before = tmp_path / "stats.json", thread_count()
    for wanted in (1, 3):
        options = ("--threads", wanted, "--stats-json", path, "--quiet")
        assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", *options, *FAST) == 0
        assert json.loads(path.read_text())["threads"] == wanted
    assert thread_count() == before


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bytes(scan, tmp_path):
    for number in (1, 2, 4):
        words = ["reconstruct", scan, "-o", tmp_path / f"{number}.ply", "--threads", number, "--color", "--quiet"]
        words += ["--stats-json", tmp_path / f"{number}.json"]
        command = [sys.executable, "-m", "seminorm", *map(str, words), *FAST]
        subprocess.run(command, check=True, timeout=300)
        assert json.loads((tmp_path / f"{number}.json").read_text())["threads"] == number
    assert len({(tmp_path / f"{number}.ply").read_bytes() for number in (1, 2, 4)}) == 1


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("--closed",), {"boundary": "closed"}),
        (("--max-hole", "0.5"), {"max_hole": 0.5}),
        (("--closed", "--faces", "500"), {"boundary": "closed", "target_faces": 500}),
        (("--open",), {"boundary": "open"}),
        (("--trim", "0.2"), {"boundary": "open", "trim": 0.2}),
        (("--open", "--trim-quantile", "0.3"), {"boundary": "open", "trim_quantile": 0.3}),
    ],
)
def test_where_the_mesh_ends(words, options, cap, tmp_path, capsys):
    assert run("reconstruct", cap, "-o", tmp_path / "mesh.ply", *words, *FAST) == 0
    mesh, cloud = read_mesh(tmp_path / "mesh.ply"), files.read_points(cap)
    expected = reconstruct(cloud.points, cloud.normals, **SETTINGS).mesh(**options)
    np.testing.assert_array_equal(mesh.vertices, expected.vertices)
    np.testing.assert_array_equal(mesh.faces, expected.faces)
    assert mesh.is_watertight == ("--closed" in words)
    assert ("not watertight" in capsys.readouterr().out) == ("--closed" not in words)


def test_colors_reach_the_mesh_and_the_function(cap, tmp_path):
    pytest.importorskip("PIL")
    mesh_path, surface_path = tmp_path / "mesh.ply", tmp_path / "surface.npz"
    assert run("reconstruct", cap, "-o", mesh_path, "--color", "--open", "--quiet", *FAST) == 0
    assert run("reconstruct", cap, "-o", surface_path, "--color", "--quiet", *FAST) == 0
    mesh = read_mesh(mesh_path)
    among_points = mesh.vertices[:, 2] > 0.2
    error = np.abs(mesh.attributes["colors"] - (mesh.vertices + 1) / 2)[among_points]
    assert error.max() < 0.05
    assert Surface.load(surface_path).attached == ("colors",)
    view = ("--direction", "0,0,-1", "--orthographic", "--size", "60x60", "--quiet")
    for path in (mesh_path, surface_path):
        assert run("render", path, "-o", tmp_path / "p.png", *view) == 0
        image = picture(tmp_path / "p.png").astype(int)
        assert image[30, 45, 0] > image[30, 15, 0] + 50  # red grows with x
        assert image[15, 30, 1] > image[45, 30, 1] + 50  # green grows with y


def test_an_empty_mesh_is_not_written(scan, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Surface, "mesh", lambda self, **options: Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=int)))
    message = failed(capsys, "reconstruct", scan, "-o", tmp_path / "mesh.ply", "--quiet", *FAST)
    assert "the mesh is empty" in message
    assert list(tmp_path.iterdir()) == []


def test_memory_is_passed_on_if_the_library_can_take_it(scan, tmp_path, monkeypatch):
    limits = []

    def limited(*arguments, memory_limit=None, **options):
        limits.append(memory_limit)
        return reconstruct(*arguments, **options)

    monkeypatch.setattr(reconstruction, "reconstruct", limited)
    for options in ((), ("--memory", "4GB")):
        assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", "--quiet", *options, *FAST) == 0
    assert limits[0] is None
    assert 10**9 < limits[1] < 4 * 10**9  # what the interpreter and the points leave of it


def test_too_little_memory_is_refused(scan, tmp_path, capsys):
    message = failed(capsys, "reconstruct", scan, "-o", tmp_path / "mesh.ply", "--memory", "1MB", "--quiet", *FAST)
    assert "of memory already: allow more" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500MB", 500 * 10**6), ("4GB", 4 * 10**9), ("2GiB", 2 * 2**30), ("1.5 kB", 1500), ("2tib", 2 * 2**40)],
)
def test_sizes_of_memory(text, expected):
    assert cli.options.memory(text) == expected


# -- what is refused -------------------------------------------------------------------------------------------------


def bad_file(kind, folder, points):
    """A file that cannot be reconstructed."""
    path = folder / {"ending": "scan.doc", "text": "scan.xyz", "npz": "scan.npz"}.get(kind, "scan.ply")
    if kind == "folder":
        path.mkdir()
    elif kind in ("empty", "ending", "text", "npz"):
        path.write_text({"ending": "1 2 3", "text": "hello\nworld\n", "npz": "hello"}.get(kind, ""))
    elif kind == "truncated":
        write_points(path, PointCloud(points, points))
        path.write_bytes(path.read_bytes()[:-500])
    elif kind == "few":
        write_points(path, PointCloud(points[:9], points[:9]))
    elif kind == "all NaN":
        write_points(path, PointCloud(points[:9] * np.nan, points[:9]))
    elif kind == "equal":
        write_points(path, PointCloud(np.ones_like(points), points))
    return path


@pytest.mark.parametrize(
    ("kind", "words"),
    {
        "missing": ["there is no file", "scan.ply"],
        "folder": ["scan.ply is a folder"],
        "empty": ["scan.ply is empty"],
        "ending": ["scan.doc cannot be read", ".ply", ".xyz"],
        "text": ["scan.xyz"],
        "npz": ["scan.npz", "not a whole NPZ"],
        "truncated": ["scan.ply is truncated", "400"],
        "few": ["at least 10", "got 9"],
        "equal": ["all points are the same"],
    }.items(),
)
def test_bad_files(kind, words, points, tmp_path, capsys):
    path = bad_file(kind, tmp_path, points)
    before = set(tmp_path.iterdir())
    message = failed(capsys, "reconstruct", path, "-o", tmp_path / "mesh.ply", "--quiet")
    assert all(word in message for word in words), message
    assert set(tmp_path.iterdir()) == before


def test_points_that_are_all_invalid(points, tmp_path, capsys):
    path = bad_file("all NaN", tmp_path, points)
    message = failed(capsys, "reconstruct", path, "-o", tmp_path / "mesh.ply", "--quiet")
    assert "scan.ply: none of the 9 points can be used: NaN or infinity in their coordinates (9)." in message
    normals = np.concatenate([points[:5] * 0, points[5:9]])
    write_points(path, PointCloud(np.concatenate([points[:5], points[5:9] * np.nan]), normals))
    message = failed(capsys, "reconstruct", path, "-o", tmp_path / "mesh.ply", "--quiet")
    assert "coordinates (4), their normals are zero or not finite (5)." in message


def test_the_output_is_checked_before_anything_is_read(scan, tmp_path, capsys):
    (tmp_path / "folder.ply").mkdir()
    broken = bad_file("truncated", tmp_path, sphere_points())
    for output, word in {
        "mesh.doc": "must end in .ply",
        "mesh": "must end in .ply",
        "nowhere/mesh.ply": "there is no folder",
        "folder.ply": "it is a folder",
        "/proc/mesh.ply": "takes no files" if sys.platform == "linux" else "there is no folder",
    }.items():
        message = failed(capsys, "reconstruct", broken, "-o", tmp_path / output)
        assert "cannot write" in message and word in message
    message = failed(capsys, "reconstruct", broken, "-o", tmp_path / "m.ply", "--stats-json", tmp_path / "stats.txt")
    assert "must end in .json" in message
    assert "read and written" in failed(capsys, "reconstruct", scan, broken, "-o", broken)


def test_options_that_do_not_go_together(scan, tmp_path, capsys):
    npz, stl, ply = (tmp_path / f"mesh{suffix}" for suffix in (".npz", ".stl", ".ply"))
    for options in (
        ("--trim", "1"),
        ("--trim-quantile", "0.5"),
        ("--open",),
        ("--mesh-resolution", "1"),
        ("--deviation", "0"),
    ):
        message = failed(capsys, "reconstruct", scan, "-o", npz, *options)
        assert f"{options[0]} is for meshes" in message
    assert ".stl files hold no colours" in failed(capsys, "reconstruct", scan, "-o", stl, "--color")
    assert "--confidence" in failed(capsys, "reconstruct", scan, "-o", ply, "--thin", "0.1", "--confidence")
    assert "not allowed with" in misused(capsys, "reconstruct", scan, "-o", ply, "--depth", 3, "--resolution", 1)
    assert "not allowed with" in misused(capsys, "reconstruct", scan, "-o", ply, "--trim", 1, "--trim-quantile", 0)
    assert list(tmp_path.iterdir()) == []


def test_colors_that_are_not_there(points, tmp_path, capsys):
    path = write_points(tmp_path / "plain.ply", PointCloud(points, points))
    message = failed(capsys, "reconstruct", path, "-o", tmp_path / "mesh.ply", "--color", "--quiet")
    assert "plain.ply has no colours" in message


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--depth", "0", "from 1 to 14"),
        ("--depth", "deep", "from 1 to 14"),
        ("--smoothness", "-1", "a positive length"),
        ("--resolution", "nan", "a positive length"),
        ("--trim", "0", "a positive length"),
        ("--trim-quantile", "1", "not including, 1"),
        ("--trim-quantile", "-0.5", "from 0 up to"),
        ("--order", "4", "one of 2, 3"),
        ("--threads", "0", "1 or more"),
        ("--threads", "2.5", "1 or more"),
        ("--memory", "4", "500MB"),
        ("--memory", "0GB", "500MB"),
        ("--memory", "1.2.3GB", "500MB"),
    ],
)
def test_values_of_options(option, value, word, scan, tmp_path, capsys):
    message = misused(capsys, "reconstruct", scan, "-o", tmp_path / "mesh.ply", option, value)
    assert option in message and word in message


@pytest.mark.slow
def test_files_appear_whole_or_not_at_all(scan, surface_file, tmp_path, monkeypatch, capsys):
    outputs = [tmp_path / name for name in ("mesh.ply", "mesh.obj", "mesh.stl", "mesh.glb", "mesh.off", "surface.npz")]
    for output in outputs:
        output.write_text("old")

    def full(*paths):
        raise OSError("the disk is full")

    monkeypatch.setattr(serialization.os, "replace", full)
    for output in outputs:
        assert "the disk is full" in failed(capsys, "reconstruct", scan, "-o", output, "--quiet", *FAST)
    assert "the disk is full" in failed(capsys, "render", scan, "-o", tmp_path / "picture.png", "--size", "20x10")
    assert sorted(tmp_path.iterdir()) == sorted(outputs)
    assert {output.read_text() for output in outputs} == {"old"}


INTERRUPTED = """
import ctypes, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may have been told to ignore it
from seminorm import cli
from seminorm._base import saving as serialization
from seminorm.surfaces import reconstruction

def press(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)

def fit(*arguments, **options):
    exec("press()")  # after a plain KeyboardInterrupt from such a text, python -m ends by the signal

def compile(*arguments, **options):
    ctypes.CFUNCTYPE(None)(press)()  # exceptions in callbacks are lost
    for _ in range(1000):
        time.sleep(0.01)

where, *words = sys.argv[1:]
if where == "write":
    serialization.os.replace = press
else:
    reconstruction.reconstruct = {"fit": fit, "compile": compile}[where]
sys.exit(cli.main(words))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot send themselves Ctrl-C")
@pytest.mark.parametrize("where", ["fit", "compile", "write"])
def test_interrupts_leave_nothing_behind(where, scan, tmp_path):
    output = tmp_path / "output" / "mesh.ply"
    output.parent.mkdir()
    output.write_text("old")
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    words = [where, "reconstruct", str(scan), "-o", str(output), "--quiet", *FAST]
    command = [sys.executable, "-m", "interrupted", *words]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert (process.returncode, process.stderr) == (130, "seminorm: interrupted\n")
    assert [file.read_text() for file in output.parent.iterdir()] == ["old"]


def test_interrupts_are_as_before_when_all_is_done(scan):
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    assert run("info", scan) == 0
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def test_traceback_on_request(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        cli.main(["--traceback", "reconstruct", str(tmp_path / "scan.ply"), "-o", str(tmp_path / "mesh.ply")])


@pytest.mark.slow
def test_little_is_imported(scan, tmp_path):
    code = f"""
import sys
from seminorm import cli
cli.main(["reconstruct", "nowhere.ply", "-o", "mesh.ply"])
print(*(name in sys.modules for name in ("numpy", "scipy", "tqdm")))
cli.main(["reconstruct", {str(scan)!r}, "-o", {str(tmp_path / "mesh.ply")!r}, "--quiet", *{FAST!r}])
print(*(name in sys.modules for name in ("matplotlib", "seminorm.estimators", "seminorm.plotting", "trimesh")))
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert printed.stdout.split() == ["False"] * 7
    assert (tmp_path / "mesh.ply").exists()


# -- render ----------------------------------------------------------------------------------------------------------


def picture(path):
    image = pytest.importorskip("PIL.Image").open(path)
    return np.asarray(image)


ALONG_Z = ("--direction", "0,0,-1", "--orthographic", "--size", "120x80", "--background", "transparent", "--quiet")


@pytest.mark.parametrize("kind", ["mesh", "surface"])
def test_a_sphere_is_a_disc(kind, mesh_file, surface_file, tmp_path, capsys):
    shape = {"mesh": mesh_file, "surface": surface_file}[kind]
    assert run("render", shape, "-o", tmp_path / "disc.png", *ALONG_Z) == 0
    image = picture(tmp_path / "disc.png")
    assert image.shape == (80, 120, 4)
    y, x = np.mgrid[:80, :120] + 0.5
    radius = np.hypot(x - 60, y - 40)
    expected = 80 * 0.44  # the box fills the shorter side up to a margin of 6 % on either side
    assert (image[..., 3][radius < expected - 1.5] == 255).all()
    assert (image[..., 3][radius > expected + 1.5] == 0).all()
    assert "disc.png: 120 x 80 pixels" in capsys.readouterr().out


def test_points_are_drawn_in_their_colors(scan, points, tmp_path):
    for name, options in (("own.png", ()), ("red.png", ("--color", "255,0,0"))):
        assert run("render", scan, "-o", tmp_path / name, *ALONG_Z, *options) == 0
    own, red = picture(tmp_path / "own.png"), picture(tmp_path / "red.png")
    np.testing.assert_array_equal(own[..., 3], red[..., 3])
    covered = red[..., 3] == 255
    assert 0.2 < covered.mean() < 0.5
    assert (red[covered][:, 0] > red[covered][:, 1:3].max(axis=1)).all()
    left, right = own[:, :50][covered[:, :50]].mean(axis=0), own[:, 70:][covered[:, 70:]].mean(axis=0)
    assert right[0] > left[0] + 50  # the file's red grows with x


def test_a_mesh_is_drawn_in_its_own_colors_or_in_another(surface, tmp_path):
    mesh = surface.mesh()
    mesh.attributes["colors"] = np.tile([0.1, 0.8, 0.1], (len(mesh.vertices), 1))
    path = mesh.save(tmp_path / "green.ply")
    for options, strongest in (
        ((), 1),
        (("--color", "blue"), 2),
        (("--color", "#ff0000"), 0),
        (("--color", "1,0,0"), 0),
    ):
        assert run("render", path, "-o", tmp_path / "p.png", "--size", "60x40", "--quiet", *options) == 0
        assert np.argmax(picture(tmp_path / "p.png")[20, 30]) == strongest


def test_background(mesh_file, tmp_path):
    for color, corner in (("white", [255, 255, 255]), ("0,0,0.5", [0, 0, 128]), ("#102030", [16, 32, 48])):
        options = ("--size", "30x20", "--background", color, "--quiet", "--samples", "1")
        assert run("render", mesh_file, "-o", tmp_path / "p.png", *options) == 0
        np.testing.assert_allclose(picture(tmp_path / "p.png")[0, 0], corner, atol=1)


def test_a_turntable_goes_around(scan, tmp_path):
    options = ("--orthographic", "--size", "60x40", "--quiet")
    assert run("render", scan, "-o", tmp_path / "t.png", "--turntable", "4", "--direction", "1,2,-1", *options) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"t_00{k}.png" for k in range(4)]
    pictures = [picture(tmp_path / f"t_00{k}.png").astype(int) for k in range(4)]
    for number, direction in enumerate(["1,2,-1", "-2,1,-1", "-1,-2,-1", "2,-1,-1"]):
        assert run("render", scan, "-o", tmp_path / "one.png", "--direction", direction, *options) == 0
        difference = np.abs(picture(tmp_path / "one.png") - pictures[number]).mean()
        assert difference < 0.35 * np.abs(pictures[number - 1] - pictures[number]).mean()


def test_the_camera_of_a_turntable_keeps_its_distance():
    bounds = np.array([[-3.0, -1, -1], [3, 1, 1]])
    for extra in ([], ["--orthographic"]):
        words = ["render", "mesh.ply", "-o", "p.png", "--turntable", "6", "--up", "0,1,0", *extra]
        cameras = cli.render._cameras(cli.make_parser().parse_args(words), bounds)
        corners = np.array(np.meshgrid(*bounds.T)).reshape(3, -1).T
        seen = np.stack([camera.project_with_depth(corners, (800, 600))[0] for camera in cameras])
        assert (seen >= 0).all() and (seen <= [800, 600]).all()
        assert np.ptp([np.linalg.norm(camera.position) for camera in cameras]) < 1e-9
        assert len({camera.span for camera in cameras} if extra else {1}) == 1
        turns = [camera.direction @ following.direction for camera, following in pairwise(cameras)]
        assert np.ptp(turns) < 1e-9
        assert np.ptp([camera.direction[1] for camera in cameras]) < 1e-9


def test_points_that_cannot_be_drawn(points, tmp_path, capsys):
    some = PointCloud(np.concatenate([points, [[np.nan] * 3]]))
    path = write_points(tmp_path / "some.xyz", some)
    assert run("render", path, "-o", tmp_path / "p.png", "--size", "20x10", "--quiet") == 0
    assert capsys.readouterr().err.startswith(f"seminorm: warning: {path}: left out 1 of 401 points")
    path = write_points(tmp_path / "none.ply", PointCloud(points * np.nan))
    assert "none.ply" in failed(capsys, "render", path, "-o", tmp_path / "p.png", "--size", "20x10")


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--size", "800", "WIDTHxHEIGHT"),
        ("--size", "0x5", "WIDTHxHEIGHT"),
        ("--size", "99999x10", "16384"),
        ("--direction", "1,2", "three numbers"),
        ("--direction", "0,0,0", "not all zero"),
        ("--up", "a,b,c", "three numbers"),
        ("--color", "mauvish", "#rrggbb"),
        ("--color", "1,2,999", "#rrggbb"),
        ("--background", "-1,0,0", "#rrggbb"),
        ("--samples", "0", "from 1 to 16"),
        ("--turntable", "-3", "1 or more"),
    ],
)
def test_values_of_options_of_pictures(option, value, word, mesh_file, tmp_path, capsys):
    message = misused(capsys, "render", mesh_file, "-o", tmp_path / "p.png", option, value)
    assert option in message and word in message


def test_pictures_that_are_refused(mesh_file, surface_file, tmp_path, capsys):
    png = tmp_path / "p.png"
    assert "must end in .png" in failed(capsys, "render", mesh_file, "-o", tmp_path / "p.jpg")
    assert "there is no file" in failed(capsys, "render", tmp_path / "no.ply", "-o", png)
    assert "cannot be read" in failed(capsys, "render", bad_file("ending", tmp_path, None), "-o", png)
    message = failed(capsys, "render", mesh_file, "-o", png, "--up", "0,0,1", "--direction", "0,0,2")
    assert "up" in message and "direction" in message
    whole, words = surface_file.read_bytes(), [word.encode("utf-32-le") for word in ("Surface", "Serface")]
    for name, content in {"cut.npz": whole[:-400], "other.npz": whole.replace(*words)}.items():
        (tmp_path / name).write_bytes(content)
        assert name in failed(capsys, "render", tmp_path / name, "-o", png)
    assert not png.exists()


# -- info ------------------------------------------------------------------------------------------------------------


def told(capsys, *paths):
    """The tables of files, as dicts."""
    status = run("info", *paths)
    blocks = capsys.readouterr().out.split("\n\n")
    tables = [
        dict(map(str.strip, row.split("  ", 1)) for row in map(str.strip, block.splitlines()[1:])) for block in blocks
    ]
    return status, tables


def test_info(scan, mesh_file, surface_file, surface, capsys):
    status, (points, mesh, function) = told(capsys, scan, mesh_file, surface_file)
    assert status == 0
    assert (points["holds"], points["points"]) == ("points", "400")
    assert points["columns"] == "x, y, z, nx, ny, nz, red, green, blue"
    low, high = files.read_points(scan).bounds
    assert points["z"].startswith(f"{low[2]:.6g} to {high[2]:.6g}")
    assert (mesh["holds"], mesh["watertight"], mesh["components"]) == ("a mesh", "yes", "1")
    assert mesh["faces"] == str(len(read_mesh(mesh_file).faces))
    assert float(mesh["volume"]) == pytest.approx(VOLUME, rel=0.02)
    assert float(mesh["area"]) == pytest.approx(4 * np.pi, rel=0.02)
    assert function["coefficients"] == str(surface.field.n_coef)
    assert (function["depth"], function["order"], function["points"]) == ("3", "2", "400")
    assert float(function["smoothness"]) == pytest.approx(0.05, rel=1e-3)


def test_info_of_what_is_missing(points, tmp_path, capsys):
    path = write_points(tmp_path / "plain.xyz", PointCloud(np.concatenate([points, [[np.nan] * 3]])))
    status, (table,) = told(capsys, path)
    assert status == 0
    assert table["NaN or infinite"] == "1"
    assert "estimates them" in table["normals"]


def test_info_goes_on_after_a_bad_file(scan, points, tmp_path, capsys):
    assert run("info", bad_file("truncated", tmp_path, points), scan, tmp_path / "no.ply") == 1
    captured = capsys.readouterr()
    first, second = captured.err.splitlines()
    assert first.startswith("seminorm info: ") and "is truncated" in first
    assert "there is no file" in second
    assert str(scan) in captured.out
    with pytest.raises(FileNotFoundError):
        cli.main(["--traceback", "info", str(tmp_path / "no.ply")])


def test_points_set_aside_are_counted_and_written(tmp_path, capsys):
    rng = np.random.default_rng(0)
    ball = rng.standard_normal((1500, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    everything = np.vstack([ball, rng.uniform(-1.5, 1.5, (40, 3))])
    scan, aside = files.write_points(tmp_path / "scan.xyz", np.hstack([everything, everything])), tmp_path / "aside.xyz"
    stats = tmp_path / "stats.json"
    words = ("--outliers", aside, "--stats-json", stats)
    assert run("reconstruct", scan, "-o", tmp_path / "mesh.ply", *words, *FAST) == 0
    told = json.loads(stats.read_text())
    assert told["outliers"] == len(files.read_points(aside)) > 25
    assert told["watertight"] and told["components"] == 1 and told["genus"] == 0
    assert "set aside" in capsys.readouterr().err
    assert run("reconstruct", scan, "-o", tmp_path / "all.ply", "--keep-outliers", "--stats-json", stats, *FAST) == 0
    assert json.loads(stats.read_text())["outliers"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--closed", "--open"), "not allowed with"),
        (("--closed", "--trim", "0.1"), "--trim is for open surfaces"),
        (("--max-hole", "0.1", "--trim-quantile", "0.1"), "--trim-quantile is for open surfaces"),
        (("--max-hole", "-1"), "--max-hole"),
        (("--keep-outliers", "--outliers", "a.ply"), "not allowed with"),
        (("--outliers", "a.txt3"), "a.txt3"),
    ],
)
def test_ends_and_outliers_that_do_not_go_together(words, message, cap, tmp_path, capsys):
    with contextlib.suppress(SystemExit):
        assert run("reconstruct", cap, "-o", tmp_path / "mesh.ply", *words) != 0
    assert message in capsys.readouterr().err
    assert not (tmp_path / "mesh.ply").exists()
