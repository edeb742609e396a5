"""Standard input and output: formats are recognised, pipes are clean, and what cannot be piped is refused."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from commands import FAST, run

from seminorm.clouds import PointCloud
from seminorm.files import read_mesh, read_points, write_points
from seminorm.shapes import Mesh

QUICK = ("--quiet", *FAST)
CERTAIN = ("ply", "pcd", "off", "3mf", "npz", "npy", "las", "e57")
GIVEN = ("xyz", "csv", "obj", "stl")


def written(suffix, points, folder):
    """The bytes of a file of points, or of a mesh, in a format."""
    path = folder / f"file.{suffix}"
    if suffix in ("off", "3mf", "obj", "stl"):
        Mesh(points[:4], [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]).save(path)
    elif suffix == "npy":
        np.save(path, points)
    elif suffix == "las":
        laspy = pytest.importorskip("laspy")
        las = laspy.create()
        las.header.scales = [1e-6] * 3
        las.x, las.y, las.z = points.T
        las.write(path)
    elif suffix == "e57":
        with pytest.importorskip("pye57").E57(str(path), mode="w") as file:
            file.write_scan_raw(dict(zip(("cartesianX", "cartesianY", "cartesianZ"), points.T, strict=True)))
    else:
        write_points(path, PointCloud(points))
    return path.read_bytes()


@pytest.mark.parametrize("suffix", CERTAIN)
def test_formats_are_recognized(suffix, points, tmp_path, pipe):
    status, out, err = pipe(written(suffix, points, tmp_path), "info", "-")
    assert (status, err) == (0, "")
    assert out.startswith(b"standard input\n") and (b" 4\n" if suffix in ("off", "3mf") else b" 400\n") in out


@pytest.mark.parametrize("suffix", GIVEN)
def test_other_formats_are_named(suffix, points, tmp_path, pipe):
    data = written(suffix, points, tmp_path)
    status, out, err = pipe(data, "info", "-")
    assert (status, out) == (1, b"") and "of a kind that cannot be told from its content: give --from" in err
    status, out, err = pipe(data, "info", "-", "--from", suffix)
    assert (status, err) == (0, "") and suffix.encode() in out.split(b"format")[1].splitlines()[0]


def test_a_pipeline(bare, points, pipe, tmp_path):
    """normals - | reconstruct - | info -, with the files of each step in memory."""
    status, oriented, told = pipe(bare.read_bytes(), "normals", "-", "--from", "xyz", "-o", "-")
    assert status == 0 and oriented.startswith(b"ply\n") and told.startswith("standard output: 400 points")
    (tmp_path / "oriented.ply").write_bytes(oriented)
    assert ((read_points(tmp_path / "oriented.ply").normals * points).sum(axis=1) > 0.9).all()
    status, mesh, told = pipe(oriented, "reconstruct", "-", "-o", "-", *FAST)
    assert status == 0 and told.startswith("standard output: 400 points, depth 3") and told.count("\n") == 1
    (tmp_path / "mesh.ply").write_bytes(mesh)
    assert read_mesh(tmp_path / "mesh.ply").is_watertight
    assert run("reconstruct", tmp_path / "oriented.ply", "-o", tmp_path / "same.ply", *QUICK) == 0
    assert mesh == (tmp_path / "same.ply").read_bytes()
    status, table, told = pipe(mesh, "info", "-")
    assert (status, told) == (0, "") and b"watertight  yes" in table
    status, picture, told = pipe(mesh, "render", "-", "-o", "-", "--size", "20x10")
    assert status == 0 and picture.startswith(b"\x89PNG") and told == "standard output: 20 x 10 pixels\n"


@pytest.mark.parametrize(
    ("target", "begin"),
    [("obj", b"# "), ("stl", None), ("off", b"NOFF"), ("3mf", b"PK"), ("glb", b"glTF"), ("gltf", b"{"), ("npz", b"PK")],
)
def test_any_format_goes_to_standard_output(target, begin, scan, tmp_path, pipe):
    status, out, err = pipe(b"", "reconstruct", scan, "-o", "-", "--to", target, "--quiet", *FAST)
    assert run("reconstruct", scan, "-o", tmp_path / f"file.{target}", *QUICK) == 0
    assert (status, err) == (0, "")
    assert out == (tmp_path / f"file.{target}").read_bytes() or target in ("npz", "3mf")  # archives have times in them
    assert begin is None or out.lstrip().startswith(begin)


def test_surfaces_and_grids_go_through_pipes(scan, pipe):
    function = pipe(b"", "reconstruct", scan, "-o", "-", "--to", "npz", *QUICK)[1]
    status, table, _ = pipe(function, "info", "-")
    assert status == 0 and b"a surface, as a function" in table
    status, picture, _ = pipe(function, "render", "-", "-o", "-", "--size", "20x10", "--quiet")
    assert status == 0 and picture.startswith(b"\x89PNG")
    status, out, err = pipe(function, "reconstruct", "-", "-o", "-", "--quiet")
    assert (status, out) == (1, b"") and "standard input holds a surface that seminorm reconstruct wrote" in err
    rows = "".join(f"{x},{y},{x + y}\n" for x in range(5) for y in range(5)).encode()
    words = ("-", "-o", "-", "--to", "csv", "--spacing", "1", "--alpha", "1e-6", "--depth", "2", "--quiet")
    status, grid, err = pipe(b"a,b,c\n" + rows, "grid", *words)
    assert status == 0 and grid.startswith(b"a,b,c\n") and "standard output: c at 5 x 5 points" in err
    np.testing.assert_allclose(
        np.loadtxt(grid.splitlines()[1:], delimiter=","), np.loadtxt(rows.splitlines(), delimiter=","), atol=1e-3
    )


def test_tables_and_warnings_do_not_mix_with_the_result(scan, points, tmp_path, pipe):
    path = write_points(tmp_path / "some.ply", PointCloud(np.r_[points, [[np.nan] * 3]]))
    status, out, err = pipe(path.read_bytes(), "reconstruct", "-", "-o", "-", "--stats", "--thin", "0.2", *FAST)
    assert status == 0 and out.startswith(b"ply\n")
    (tmp_path / "mesh.ply").write_bytes(out)
    assert read_mesh(tmp_path / "mesh.ply").is_watertight
    assert "standard input: left out 1 of 401 points" in err and "standard input: --thin 0.2 leaves" in err
    assert "peak memory" in err and str(tmp_path) not in err and "/tmp" not in err


def test_standard_input_among_files(scan, bare, points, tmp_path, pipe):
    half = write_points(tmp_path / "half.ply", PointCloud(points[:150], points[:150]))
    rest = write_points(tmp_path / "rest.ply", PointCloud(points[150:], points[150:]))
    stats = tmp_path / "stats.json"
    words = ("-o", tmp_path / "mesh.ply", "--stats-json", stats, *QUICK)
    for files in ((half, "-", *words), (half, *words, "-")):
        assert pipe(rest.read_bytes(), "reconstruct", *files) == (0, b"", "")
        assert '"standard input"' in stats.read_text() and '"points": 400' in stats.read_text()


def test_a_failure_writes_nothing(points, tmp_path, pipe):
    few = write_points(tmp_path / "few.ply", PointCloud(points[:9], points[:9])).read_bytes()
    status, out, err = pipe(few, "reconstruct", "-", "-o", "-", "--quiet")
    assert (status, out) == (1, b"")
    assert (
        err == "seminorm reconstruct: standard input: a surface needs at least 10 valid points with normals, got 9.\n"
    )


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        (b"", (), "standard input is empty: did the command before the pipe fail?"),
        (gzip.compress(b"ply"), (), "standard input is compressed by gzip: unpack it before the pipe."),
        (bz2.compress(b"ply"), (), "standard input is compressed by bzip2: unpack it before the pipe."),
        (lzma.compress(b"ply"), (), "standard input is compressed by xz: unpack it before the pipe."),
        ("archive", (), "standard input is a zip archive of scan.ply: unpack it before the pipe."),
        (b"1 2 3\n", (), "standard input is of a kind that cannot be told from its content: give --from, such as "),
        (b"1 2 3\n", ("-",), "standard input (-) is given twice, and can be read once: name files instead."),
        (
            b"ply\nformat ascii 1.0\nend_header\n1 2 3\n",
            ("--from", "xyz"),
            "standard input is not a point file: it looks like a PLY file: give --from ply.",
        ),
        (b"ply\nnonsense\n", (), "standard input"),
    ],
)
def test_input_that_cannot_be_read(data, words, message, tmp_path, pipe):
    if data == "archive":
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("scan.ply", "ply")
        data = (tmp_path / "a.zip").read_bytes()
    for verb in ("reconstruct", "normals", "render"):
        if verb == "reconstruct" or not words or words[0] != "-":
            status, out, err = pipe(data, verb, "-", *words, "-o", "-")
            assert (status, out, err.count("\n")) == (1, b"", 1)
            assert err.startswith(f"seminorm {verb}: {message}")


def test_terminals_are_no_files(scan, monkeypatch, capsys):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    assert run("info", "-") == 1
    assert "standard input (-) is a terminal: name a file, or pipe" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdout", terminal)
    assert run("reconstruct", scan, "-o", "-") == 1
    assert "standard output (-o -) is a terminal: name a file" in capsys.readouterr().err
    assert terminal.getvalue() == ""


def test_formats_of_what_is_no_stream(scan, tmp_path, pipe):
    assert "--from is for standard input (-)" in pipe(b"", "info", scan, "--from", "ply")[2]
    words = ("reconstruct", scan, "-o", tmp_path / "mesh.ply", *QUICK)
    assert "--to stl is for standard output (-o -) and for folders" in pipe(b"", *words, "--to", "stl")[2]
    assert pipe(b"", *words, "--to", "ply") == (0, b"", "")
    assert "standard output (-o -) takes one" in pipe(b"", "render", scan, "-o", "-", "--turntable", "3")[2]


def test_a_file_may_be_called_like_a_stream(scan, tmp_path, monkeypatch, pipe):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_bytes(scan.read_bytes())
    assert "cannot be read: its name must end in" in pipe(b"", "info", "./-")[2]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_broken_pipes(scan, monkeypatch, capsys):
    def into_closed_pipe(*words):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            return run(*words), capsys.readouterr().err

    status, err = into_closed_pipe("reconstruct", scan, "-o", "-", *QUICK)
    message = "standard output was closed before all was written: the command after the pipe ended."
    assert (status, err) == (1, f"seminorm reconstruct: {message}\n")
    assert into_closed_pipe("info", scan) == (1, "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_real_pipes(bare, tmp_path):
    seminorm = f"{sys.executable} -m seminorm"
    line = (
        f"{seminorm} normals - --from xyz -o - < {bare} | {seminorm} reconstruct - -o - {' '.join(FAST)} | tee mesh.ply"
    )
    process = subprocess.run(f"{line} | {seminorm} info -", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0 and "watertight  yes" in process.stdout
    assert read_mesh(tmp_path / "mesh.ply").is_watertight
    assert process.stderr.count("\n") == 2
    process = subprocess.run(f"{seminorm} info {bare} | true", shell=True, capture_output=True, text=True)
    assert process.stderr == ""
