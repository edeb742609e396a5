"""``seminorm reconstruct --times``: frames in; meshes, a page or a function out; what is refused, and what is said."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from commands import failed, run, sphere_points

from seminorm.clouds import PointCloud
from seminorm.files import read_mesh, write_points
from seminorm.surfaces import MovingSurface, reconstruct_moving

QUICK = ("--depth", "2", "--smoothness", "0.1", "--tolerance", "0.1", "--order", "2", "--mesh-resolution", "0.2")
TIMES = 0.0, 1.0, 2.0


def radius(time):
    return 1 + 0.2 * time


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """Files of a ball that grows, with normals and colours."""
    folder = tmp_path_factory.mktemp("frames")
    balls = [sphere_points(150, seed=k) for k in range(3)]
    return [
        write_points(folder / f"ball2_{k}.ply", PointCloud(radius(time) * ball, ball, (ball + 1) / 2))
        for k, (time, ball) in enumerate(zip(TIMES, balls, strict=True))
    ]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    return [
        write_points(folder / f"ball_{k}.xyz", PointCloud(radius(time) * sphere_points(150, seed=k)))
        for k, time in enumerate(TIMES)
    ]


@pytest.fixture(scope="module")
def moving_file(frames, tmp_path_factory):
    path = tmp_path_factory.mktemp("function") / "moving.npz"
    assert run("reconstruct", *frames, "--times", "0,1,2", "-o", path, "--color", "--quiet", *QUICK[:-2]) == 0
    return path


def volume(path):
    return read_mesh(path).volume / (4 / 3 * np.pi)


def test_a_mesh_per_frame_is_that_of_the_library(frames, tmp_path, capsys):
    words = "--times", "names", "-o", tmp_path / "mesh_{:02d}.ply", "--color", "--stats-json", tmp_path / "s.json"
    assert run("reconstruct", *frames, *words, *QUICK) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [*(f"mesh_0{k}.ply" for k in range(3)), "s.json"]
    lengths = {"depth": 2, "smoothness": 0.1, "tolerance": 0.1, "order": 2}
    moving = reconstruct_moving(frames, times=TIMES, **lengths)
    for k, time in enumerate(TIMES):
        mesh, expected = read_mesh(tmp_path / f"mesh_0{k}.ply"), moving.at(time).mesh(0.2)
        np.testing.assert_array_equal(mesh.vertices, expected.vertices)
        np.testing.assert_allclose(mesh.attributes["colors"], expected.attributes["colors"], atol=0.5 / 255 + 1e-9)
        assert mesh.is_watertight and mesh.volume == pytest.approx(expected.volume)
    told, stats = capsys.readouterr().out, json.loads((tmp_path / "s.json").read_text())
    assert "450 points in 3 frames at times 0 to 2" in told and "s per frame to fit" in told and "s per mesh" in told
    assert [one["time"] for one in stats["meshes"]] == [0, 1, 2] and not stats["open"]
    assert stats["seconds_per_frame"]["fit"] > 0 and stats["peak_memory"] > 0 and stats["fit_memory"] >= 0


def test_normals_are_estimated_per_frame_and_times_come_from_files(bare, tmp_path, capsys):
    named = tmp_path / "times.csv"
    named.write_text("name,time\nball_2,2\nball_0.xyz, 0\nball_1,1\n")
    words = "--times", named, "-o", tmp_path, "--to", "obj", "--at", "0.5,1", "--stats"
    assert run("reconstruct", *bare, *words, *QUICK) == 0
    told = capsys.readouterr()
    assert "no normals, estimating them for each time" in told.err
    assert (
        "signs: outwards" in told.out and "mesh at time 0.5" in told.out and "memory of the fit per frame" in told.out
    )
    for k, time in enumerate((0.5, 1.0)):
        assert volume(tmp_path / f"frame_00{k}.obj") == pytest.approx(radius(time) ** 3, rel=0.05)


def test_a_page_plays_the_frames(frames, tmp_path):
    page = tmp_path / "film.html"
    assert run("reconstruct", *frames, "--times", "0,1,2", "-o", page, "--steps", "5", "--quiet", *QUICK) == 0
    text = page.read_text()
    assert '"times":[0.0,0.5,1.0,1.5,2.0]' in text and text.count('id="position-') == 5 and 'type="range"' in text


def test_one_mesh_to_standard_output(frames, pipe, tmp_path):
    status, out, err = pipe(b"", "reconstruct", *frames, "--times", "0,1,2", "--at", "1", "-o", "-", *QUICK)
    (tmp_path / "mesh.ply").write_bytes(out)
    assert status == 0 and "1 mesh of" in err
    assert volume(tmp_path / "mesh.ply") == pytest.approx(radius(1) ** 3, rel=0.05)


def test_times_of_points_from_a_column(tmp_path):
    ball, times = sphere_points(300), np.repeat(TIMES, 100)
    points = PointCloud(radius(times)[:, None] * ball, ball, attributes={"gps": times})
    scan = write_points(tmp_path / "scan.ply", points)
    words = "--times", "gps", "-o", tmp_path / "mesh_{time:.1f}.ply", "--at", "0,2", "--quiet"
    assert run("reconstruct", scan, *words, *QUICK) == 0
    assert volume(tmp_path / "mesh_2.0.ply") == pytest.approx(radius(2) ** 3, rel=0.05)


def test_info_and_render_of_what_moves(moving_file, frames, tmp_path, capsys):
    assert run("info", moving_file) == 0
    told = capsys.readouterr().out
    assert "a surface that moves" in told and "0 to 2, 3 different" in told and "colors" in told
    assert MovingSurface.load(moving_file).attached == ("colors",)
    small = "--size", "40x30", "--samples", "1", "--quiet"
    assert run("render", moving_file, "-o", tmp_path / "first.png", *small) == 0
    assert run("render", moving_file, "-o", tmp_path / "film.png", "--steps", "3", *small) == 0
    assert run("render", moving_file, "-o", tmp_path / "turn.png", "--at", "1", "--turntable", "2", *small) == 0
    assert [path.stem for path in sorted(tmp_path.iterdir())] == [
        "film_000", "film_001", "film_002", "first", "turn_000", "turn_001"
    ]  # fmt: skip
    assert (tmp_path / "film_000.png").read_bytes() == (tmp_path / "first.png").read_bytes()
    for words, message in {
        (moving_file, "--at", "5"): "--at 5 is outside the times of the points, 0 to 2",
        (moving_file, "--steps", "3", "--turntable", "2"): "give one time with --at",
        (frames[0], "--at", "1"): "does not move: leave --at out",
    }.items():
        assert message in failed(capsys, "render", *words, "-o", tmp_path / "no.png")


def test_what_is_refused_before_the_work_begins(frames, bare, tmp_path, capsys):
    out = tmp_path / "m_{:03d}.ply"
    few = write_points(tmp_path / "few.xyz", PointCloud(sphere_points(6)))
    for words, message in {
        (*frames, "--times", "0,1", "-o", out): "--times has 2 numbers for 3 files",
        (frames[0], "--times", "0", "-o", out): "is one frame: give two or more, or leave --times out",
        (*frames, "--times", "1,1,1", "-o", out): "all files have the time 1; leave it out for a surface at rest",
        (*frames, "--times", "0,1,inf", "-o", out): "must be finite numbers",
        (*frames, "--times", "there.txt", "-o", out): "there is no such file, and these are no numbers",
        (*frames, "--times", "gps", "-o", out): "has no column 'gps'",
        (frames[0], bare[0], "--times", "0,1", "-o", out): "ball_0.xyz has no normals, and other files have",
        (bare[0], few, "--times", "0,1", "-o", out): "few.xyz has 6 points, and normals are estimated from at least 10",
        (*frames, "--times", "0,1,2", "-o", tmp_path / "m.ply"): "is one file, and there are 3 times",
        (*frames, "--times", "0,1,2", "-o", tmp_path / "m_{name}.ply"): "{:03d} stands for the number",
        (*frames, "--times", "0,1,2", "-o", tmp_path / "m_{time:.0f}.ply", "--steps", "9"): "would both be written to",
        (*frames, "--times", "0,1,2", "-o", tmp_path / "m.npz", "--at", "1"): "leave out --at and --steps",
        (*frames, "--times", "0,1,2", "-o", out, "--at", "3"): "--at 3 is outside the times of the points, 0 to 2",
        (*frames, "--times", "0,1,2", "-o", out, "--at", "1", "--steps", "3"): "--steps is not allowed with --at",
        (*frames, "--times", "0,1,2", "-o", out, "--sharp"): "--sharp is for surfaces at rest",
        (*frames, "--times", "0,1,2", "-o", out, "--attributes", "uncertainty"): "is not known",
        (*frames, "--times", "0,1,2", "-o", frames[0].parent / "ball2_{}.ply"): "is to be read and written",
        (*frames, "--at", "1", "-o", out): "--at is for a surface that moves: give --times",
        (*frames, "--attributes", "speed", "-o", out): "only a surface that moves has a speed",
    }.items():
        assert message in failed(capsys, "reconstruct", *words)
    assert [path.name for path in tmp_path.iterdir()] == ["few.xyz"]


def test_files_of_the_same_time_and_empty_ones_are_said(frames, tmp_path, capsys):
    words = "--times", "0,1,1", "-o", tmp_path / "m.npz", "--quiet"
    assert run("reconstruct", *frames, *words, *QUICK[:-2]) == 0
    assert "2 frames have the time 1: their points are taken as one frame" in capsys.readouterr().err
    empty = tmp_path / "empty.ply"
    empty.write_text(
        "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    )
    words = frames[0], empty, "--times", "0,1", "-o", tmp_path / "n.npz"
    assert "empty.ply has no vertices" in failed(capsys, "reconstruct", *words)


def test_a_long_gap_is_said(frames, tmp_path, capsys):
    words = "--times", "0,1,9", "-o", tmp_path / "m.npz", "--quiet"
    assert run("reconstruct", *frames, *words, *QUICK[:-2]) == 0
    assert "there is no frame between the times 1 and 9, 8.0 times as long as usual" in capsys.readouterr().err


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from seminorm.shapes.mesh import Mesh
save, saved = Mesh.save, []
def interrupted(mesh, path):
    saved.append(save(mesh, path))
    if len(saved) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return path
Mesh.save = interrupted
from seminorm.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupt_leaves_no_frames(frames, tmp_path):
    words = [*map(str, frames), "--times", "0,1,2", "-o", str(tmp_path / "m_{}.ply"), "--quiet", *QUICK]
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "reconstruct", *words], capture_output=True, text=True, timeout=120
    )
    assert (process.returncode, process.stderr) == (130, "seminorm: interrupted\n")
    assert list(tmp_path.iterdir()) == []
