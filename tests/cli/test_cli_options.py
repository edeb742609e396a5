"""Every option of the verbs of surfaces does something: a test for each, and no option without one."""

import io
import json
import sys

import numpy as np
import pytest
from commands import FAST, run, sphere_points
from scipy.spatial import cKDTree

from seminorm import cli
from seminorm._base.threads import thread_count
from seminorm.clouds import PointCloud, estimate_normals
from seminorm.clouds.normals import estimation
from seminorm.files import read_mesh, read_points, write_points
from seminorm.shapes.attributes import NAMES
from seminorm.surfaces import MovingSurface, Surface

VERBS = ("reconstruct", "normals", "render", "info")
TESTS = {verb: {} for verb in VERBS}  # of each option


def of(verb, *options):
    """Enter the test of some options of a verb."""

    def enter(test):
        for option in options:
            assert option not in TESTS[verb]
            TESTS[verb][option] = test
        return test

    return enter


class Shop:
    """Files to work on, and commands whose words are kept."""

    def __init__(self, verb, folder, capsys, patch, **files):
        self.verb, self.folder, self.capsys, self.patch, self.words = verb, folder, capsys, patch, []
        self.scan, self.bare, self.cap, self.mesh_file = (files[name] for name in ("scan", "bare", "cap", "mesh_file"))
        self.out = self.err = ""

    def run(self, *words):
        """The exit status of the verb."""
        self.words += [str(word) for word in words]
        status = run(self.verb, *words)
        self.out, self.err = self.capsys.readouterr()
        return status

    def made(self, name, *words, source=None):
        """What the verb makes of a file, by default the scan with fixed lengths."""
        fit = FAST if self.verb == "reconstruct" else ()
        quiet = () if self.verb == "info" else ("--quiet",)
        given = [word for word in fit[::2] if word in words]
        fit = [word for k in range(0, len(fit), 2) if fit[k] not in given for word in fit[k : k + 2]]
        path = self.folder / name
        assert self.run(source or self.scan, "-o", path, *quiet, *fit, *words) == 0
        readers = {".npz": Surface.load, ".ply": read_mesh if self.verb == "reconstruct" else read_points}
        return {**readers, ".png": picture}[path.suffix](path)


def picture(path):
    return np.asarray(pytest.importorskip("PIL.Image").open(path)).astype(int)


@pytest.fixture
def shop(request, tmp_path, capsys, monkeypatch, scan, bare, cap, mesh_file):
    files = {"scan": scan, "bare": bare, "cap": cap, "mesh_file": mesh_file}
    return Shop(request.param, tmp_path, capsys, monkeypatch, **files)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_a_test(verb):
    parser = cli.make_parser().verbs[verb]
    assert set(TESTS[verb]) == {option for option in parser._option_string_actions if option.startswith("--")}


# -- all verbs -------------------------------------------------------------------------------------------------------


@of("reconstruct", "--help")
@of("normals", "--help")
@of("render", "--help")
@of("info", "--help")
def shows_usage_and_examples(shop):
    with pytest.raises(SystemExit) as stopped:
        shop.run("--help")
    lines = shop.capsys.readouterr().out.strip().splitlines()
    assert stopped.value.code == 0 and lines[0].startswith(f"usage: seminorm {shop.verb} ")
    examples = lines[lines.index("examples:") + 1 :]
    assert len(examples) > 1 and all(f"seminorm {shop.verb} " in line for line in examples)
    parser = cli.make_parser()
    for line in examples:
        for command in line.split(" | "):  # the parser takes what the help shows
            words = command.replace("'", "").split()
            assert words[0] != "seminorm" or cli.parsing.parsed(parser, words[1:]).verb == words[1]


@of("reconstruct", "--traceback")
@of("normals", "--traceback")
@of("render", "--traceback")
@of("info", "--traceback")
def raises_errors(shop):
    output = () if shop.verb == "info" else ("-o", shop.folder / "file.png" if shop.verb == "render" else "file.ply")
    assert shop.run("nowhere.ply", *output) == 1
    with pytest.raises(FileNotFoundError):
        shop.run("nowhere.ply", *output, "--traceback")


@of("reconstruct", "--from")
@of("normals", "--from")
@of("render", "--from")
@of("info", "--from")
def names_the_format_of_standard_input(shop):
    suffix = ".png" if shop.verb == "render" else ".ply"
    output = () if shop.verb == "info" else ("-o", shop.folder / f"file{suffix}")
    fit = FAST if shop.verb == "reconstruct" else ()
    for words, status in (((), 1), (("--from", "xyz"), 0)):
        shop.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(shop.bare.read_bytes())))
        assert shop.run("-", *words, *output, *fit) == status


@of("reconstruct", "--output")
@of("normals", "--output")
@of("render", "--output")
def names_the_file_to_write(shop):
    path = shop.folder / ("file.png" if shop.verb == "render" else "file.ply")
    assert shop.run(shop.scan, "--output", path, *(FAST if shop.verb == "reconstruct" else ())) == 0
    assert shop.out.startswith(f"{path}: ") and path.stat().st_size > 1000


@of("reconstruct", "--to")
@of("normals", "--to")
@of("reconstruct", "--each")
@of("normals", "--each")
def names_the_format_of_files_in_a_folder(shop):
    target, fit = ("off", FAST) if shop.verb == "reconstruct" else ("pcd", ())
    assert shop.run("--each", shop.scan, shop.bare, "-o", shop.folder, "--to", target, *fit) == 0
    assert {path.name for path in shop.folder.iterdir()} == {f"scan.{target}", f"bare.{target}"}


@of("render", "--each")
@of("render", "--quiet")
def draws_each(shop):
    assert shop.run("--each", shop.scan, shop.bare, "-o", shop.folder, "--size", "20x10") == 0
    assert {path.name for path in shop.folder.iterdir()} == {"scan.png", "bare.png"} and "all 2 files" in shop.out
    assert shop.run("--each", shop.scan, shop.bare, "-o", shop.folder, "--size", "20x10", "--quiet") == 0
    assert "all 2 files" not in shop.out


@of("reconstruct", "--quiet")
@of("normals", "--quiet")
def says_nothing(shop):
    fit = FAST if shop.verb == "reconstruct" else ()
    assert shop.run(shop.bare, "-o", shop.folder / "file.ply", *fit) == 0 and shop.out
    assert shop.run(shop.bare, "-o", shop.folder / "file.ply", "--quiet", *fit) == 0
    assert (shop.out, shop.err) == ("", "")


# -- motion ----------------------------------------------------------------------------------------------------------


@of("reconstruct", "--times", "--at", "--steps", "--time-scale")
@of("render", "--at", "--steps")
def moments(shop):
    words = (shop.scan, shop.scan, "--times", "0,2", "--quiet", *FAST)
    film = shop.folder / "film.npz"
    if shop.verb == "render":
        assert run("reconstruct", *words, "-o", film) == 0
        words = (film, "--size", "20x10", "--quiet")
    else:
        assert shop.run(*words, "-o", film, "--time-scale", "0.5") == 0
        assert MovingSurface.load(film).details["time_scale"] == 0.5
        words += ("--mesh-resolution", "0.3")
    ending = "png" if shop.verb == "render" else "ply"
    name = "m.png" if shop.verb == "render" else "m_{:03d}.ply"
    assert shop.run(*words, "-o", shop.folder / name, "--at", "0.5,1") == 0
    assert shop.run(*words, "-o", shop.folder / name.replace("m", "s", 1), "--steps", "3") == 0
    found = {path.name for path in shop.folder.glob(f"*.{ending}")}
    assert found == {f"{word}.{ending}" for word in ("m_000", "m_001", "s_000", "s_001", "s_002")}


# -- reconstruct: the fit --------------------------------------------------------------------------------------------


@of("reconstruct", "--depth", "--resolution")
def widths(shop):
    assert shop.made("s.npz", "--depth", "2").field.depth == 2
    words = ("--resolution", "0.3", "--smoothness", "0.05", "--tolerance", "0.05", "--quiet")
    assert shop.run(shop.scan, "-o", shop.folder / "s.npz", *words) == 0
    assert 0.15 < Surface.load(shop.folder / "s.npz").resolution <= 0.3


@of("reconstruct", "--smoothness", "--tolerance", "--order")
def lengths(shop):
    details = shop.made("s.npz", "--smoothness", "0.2", "--tolerance", "0.1", "--order", "3").details
    assert (details["smoothness"], details["tolerance"], details["order"]) == pytest.approx((0.2, 0.1, 3))


@of("reconstruct", "--fast")
def fast(shop):
    lengths = ("--smoothness", "0.05", "--tolerance", "0.05", "--quiet")
    assert shop.run(shop.scan, "-o", shop.folder / "slow.npz", *lengths) == 0
    assert shop.run(shop.scan, "-o", shop.folder / "fast.npz", "--fast", *lengths) == 0
    slow, fast = (Surface.load(shop.folder / f"{name}.npz") for name in ("slow", "fast"))
    assert (slow.details["order"], fast.details["order"]) == (3, 2)
    assert fast.resolution == pytest.approx(2 * slow.resolution)


@of("reconstruct", "--sensor")
def sensor(shop):
    cap = write_points(shop.folder / "cap.xyz", PointCloud(read_points(shop.cap).points))
    for height in (9, -9):
        words = ("--sensor", f"0,0,{height}", "--keep-outliers")
        assert shop.made("s.npz", *words, source=cap)([[0, 0, 1.1]])[0] * height > 0


@of("reconstruct", "--confidence")
def confidence(shop):
    points = read_points(shop.scan).points
    lengths = np.where(points[:, :1] > 0, 1.0, 0.01)
    path = write_points(shop.folder / "sure.ply", PointCloud(points * (1.1 - 0.1 * lengths), points * lengths))
    plain, weighed = (shop.made("s.npz", *words, source=path) for words in ((), ("--confidence",)))
    assert abs(plain([[-1.09, 0, 0]])[0]) < 0.02 < abs(weighed([[-1.09, 0, 0]])[0])


# -- reconstruct: the mesh -------------------------------------------------------------------------------------------


@of("reconstruct", "--mesh-resolution", "--deviation", "--faces")
def sizes_of_triangles(shop):
    usual = len(shop.made("m.ply").faces)
    assert len(shop.made("m.ply", "--mesh-resolution", "0.02").faces) > 1.5 * usual
    assert len(shop.made("m.ply", "--deviation", "0.05").faces) < usual / 2
    assert 200 < len(shop.made("m.ply", "--faces", "300").faces) <= 300


def smallest_angles(mesh):
    """The smallest angle of each triangle, in degrees."""
    corners = mesh.vertices[mesh.faces]
    ahead, back = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    cosines = (ahead * back).sum(axis=2) / np.linalg.norm(ahead, axis=2) / np.linalg.norm(back, axis=2)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1))).min(axis=1)


@of("reconstruct", "--quality")
def quality(shop):
    usual, good = (smallest_angles(shop.made("m.ply", *words)) for words in ((), ("--quality",)))
    assert good.min() > usual.min() + 5
    assert good.mean() > usual.mean() + 5 and (good > 30).mean() > 0.95
    assert read_mesh(shop.folder / "m.ply").is_watertight
    few, better = (smallest_angles(shop.made("m.ply", "--faces", "1500", *words)) for words in ((), ("--quality",)))
    assert better.min() > few.min() + 3 and len(better) <= 1500
    coarse = shop.made("m.ply", "--quality", "--mesh-resolution", "0.2")
    assert (smallest_angles(coarse) > 30).mean() > 0.95 and len(coarse.faces) < 3000


@of("reconstruct", "--sharp", "--rounded")
def edges(shop):
    rng = np.random.default_rng(0)
    axis, rows = rng.integers(3, size=4000), np.arange(4000)
    points, normals = rng.uniform(-1, 1, (4000, 3)), np.zeros((4000, 3))
    points[rows, axis] = normals[rows, axis] = rng.choice([-1.0, 1.0], 4000)
    cube = write_points(shop.folder / "cube.ply", PointCloud(points, normals))
    fine = ("--depth", "6", "--smoothness", "0.005", "--tolerance", "0.01")
    sharp, rounded = (shop.made("m.ply", word, *fine, source=cube) for word in ("--sharp", "--rounded"))
    near, far = (np.linalg.norm(mesh.vertices[:, :2] - 1.0, axis=1).min() for mesh in (sharp, rounded))
    assert near < 1e-6 < far


@of("reconstruct", "--open", "--closed", "--max-hole")
def ends(shop):
    points = sphere_points(1200)
    points = points[points[:, 2] < 0.85]
    holed = write_points(shop.folder / "holed.ply", PointCloud(points, points))
    assert shop.made("m.ply", source=holed).is_watertight
    for words in (("--open",), ("--max-hole", "0.3")):
        assert not shop.made("m.ply", *words, source=holed).is_watertight
    assert not shop.made("m.ply", source=shop.cap).is_watertight
    assert shop.made("m.ply", "--closed", source=shop.cap).is_watertight


@of("reconstruct", "--trim", "--trim-quantile")
def trims(shop):
    data = cKDTree(read_points(shop.cap).points)
    far = [data.query(shop.made("m.ply", "--trim", d, source=shop.cap).vertices)[0].max() for d in ("0.1", "0.3")]
    assert far[0] < 0.16 < far[1] < 0.4
    areas = [shop.made("m.ply", "--trim-quantile", q, source=shop.cap).area for q in ("0.1", "0.5")]
    assert areas[1] < 0.7 * areas[0]


@of("reconstruct", "--color", "--attributes")
def columns(shop):
    assert not shop.made("m.ply").attributes
    mesh = shop.made("m.ply", "--color")
    assert np.abs(mesh.attributes["colors"] - (mesh.vertices + 1) / 2).max() < 0.05
    mesh = shop.made("m.ply", "--attributes", "distance,curvature")
    assert set(mesh.attributes) == {"distance", "curvature"}
    np.testing.assert_allclose(
        mesh.attributes["distance"], cKDTree(read_points(shop.scan).points).query(mesh.vertices)[0]
    )
    assert np.median(mesh.attributes["curvature"]) == pytest.approx(1, abs=0.05)
    assert set(shop.made("m.ply", "--color", "--attributes", ",".join(NAMES)).attributes) == {"colors", *NAMES}


# -- reconstruct: preparation and running ----------------------------------------------------------------------------


@of("reconstruct", "--remove-duplicates", "--remove-outliers", "--thin", "--keep-outliers", "--outliers")
def preparation(shop):
    points = np.r_[read_points(shop.scan).points, [[9.0, 9, 9]]]
    path = write_points(shop.folder / "messy.ply", PointCloud(np.r_[points, points[:30]], np.r_[points, points[:30]]))
    kept = ("--keep-outliers",)
    for words, n in (((), 431), (("--remove-duplicates",), 401), (("--remove-duplicates", "--remove-outliers"), 400)):
        assert len(shop.made("s.npz", *words, *kept, source=path).points) == n
    assert len(shop.made("s.npz", "--thin", "0.3", *kept, source=path).points) < 200
    points = np.r_[sphere_points(1500), np.random.default_rng(0).uniform(-1.5, 1.5, (40, 3))]
    path = write_points(shop.folder / "noisy.ply", PointCloud(points, points))
    aside = shop.folder / "aside.xyz"
    set_aside = shop.made("s.npz", "--outliers", aside, source=path).details["outliers"]
    np.testing.assert_array_equal(read_points(aside).points, points[set_aside])
    assert len(set_aside) > 20 and not len(shop.made("s.npz", *kept, source=path).details["outliers"])


@of("reconstruct", "--threads", "--stats", "--stats-json", "--memory")
def running(shop):
    path = shop.folder / "stats.json"
    for n in (1, 2):
        words = ("--threads", n, "--stats-json", path, "--memory", "8GB")
        shop.made("m.ply", *words)
        assert shop.out == "" and json.loads(path.read_text())["threads"] == n
    shop.made("m.ply", "--stats")
    assert "peak memory" in shop.out and "fit, seconds" in shop.out
    assert shop.run(shop.scan, "-o", shop.folder / "m.ply", "--memory", "1MB", *FAST) == 1
    assert "--memory 1 MB: Python and the points take" in shop.err


# -- normals ---------------------------------------------------------------------------------------------------------


@of("normals", "--neighbors", "--planes", "--confidence")
def neighbourhoods(shop):
    points = read_points(shop.bare).points
    for words, options in (
        ((), {}),
        (("--neighbors", "20"), {"n_neighbors": 20}),
        (("--planes",), {"fit": "plane"}),
    ):
        cloud, expected = shop.made("n.ply", *words, source=shop.bare), estimate_normals(points, **options)
        np.testing.assert_allclose(cloud.normals, expected.normals, atol=1e-12)
        assert "confidence" not in cloud.attributes
    cloud = shop.made("n.ply", "--confidence", source=shop.bare)
    np.testing.assert_allclose(cloud.attributes["confidence"], estimate_normals(points).confidence)
    planes, quadrics = (estimate_normals(points, fit=fit).normals for fit in ("plane", "quadric"))
    assert np.abs(planes - quadrics).max() > 0.01


@of("normals", "--sensor")
def sensor_of_normals(shop):
    cloud = shop.made("n.ply", "--sensor", "0,0,0", source=shop.bare)
    assert ((cloud.normals * cloud.points).sum(axis=1) < 0).all()


@of("normals", "--threads")
def threads_of_normals(shop):
    used = []

    def counting(*arguments, **options):
        used.append(thread_count())
        return estimate_normals(*arguments, **options)

    shop.patch.setattr(estimation, "estimate_normals", counting)
    for n in (1, 3):
        shop.made("n.ply", "--threads", n, source=shop.bare)
    assert used == [1, 3]


# -- render ----------------------------------------------------------------------------------------------------------

ABOVE = ("--direction", "0,0,-1", "--orthographic", "--size", "40x40", "--background", "transparent")


@of("render", "--size", "--background", "--samples")
def pictures(shop):
    assert shop.made("p.png", "--size", "30x20", source=shop.mesh_file).shape == (20, 30, 3)
    white = shop.made("p.png", "--size", "30x20", "--background", "255,255,255", source=shop.mesh_file)
    assert (white[0, 0] == 255).all() and white[10, 15].max() < 255
    hard, soft = (shop.made("p.png", *ABOVE, "--samples", n, source=shop.mesh_file)[..., 3] for n in ("1", "3"))
    assert set(np.unique(hard)) == {0, 255} and len(np.unique(soft)) > 4


@of("render", "--direction", "--up", "--orthographic")
def cameras(shop):
    """The file's red grows with x, its green with y, its blue with z."""
    above = shop.made("p.png", *ABOVE, "--up", "0,1,0")
    turned = shop.made("p.png", *ABOVE, "--up", "1,0,0")
    assert above[20, 30, 0] > above[20, 10, 0] + 50 and turned[10, 20, 0] > turned[30, 20, 0] + 50
    below = shop.made("p.png", "--direction", "0,0,1", *ABOVE[2:], "--up", "0,1,0")
    assert above[..., 2].mean() > below[..., 2].mean() + 5
    perspective = shop.made("p.png", *ABOVE[:2], *ABOVE[3:], source=shop.mesh_file)
    parallel = shop.made("p.png", *ABOVE, source=shop.mesh_file)
    assert (perspective[..., 3] == 255).sum() != (parallel[..., 3] == 255).sum()


@of("render", "--color", "--turntable")
def colors_and_turns(shop):
    for name, strongest in (("#c03020", 0), ("green", 1)):
        assert np.argmax(shop.made("p.png", *ABOVE, "--color", name, source=shop.mesh_file)[20, 20, :3]) == strongest
    words = ("--turntable", "3", "--size", "20x20", "--quiet")
    assert shop.run(shop.scan, "-o", shop.folder / "t.png", *words) == 0
    drawn = [picture(shop.folder / f"t_00{k}.png") for k in range(3)]
    assert all(np.abs(drawn[k] - drawn[k - 1]).mean() > 1 for k in range(3))


CASES = [(verb, test) for verb in VERBS for test in dict.fromkeys(TESTS[verb].values())]


@pytest.mark.parametrize(("shop", "test"), CASES, indirect=["shop"], ids=lambda part: getattr(part, "__name__", part))
def test_options(shop, test):
    test(shop)
    entered = {option for option, known in TESTS[shop.verb].items() if known is test}
    assert entered <= set(shop.words), "a test must use the options it is entered for"


def test_names_of_attributes_are_those_of_the_library():
    assert sorted(cli.options.MEASURES) == sorted(NAMES)


@pytest.mark.parametrize("suffix", [suffix for suffix in cli.paths.MESH_SUFFIXES if suffix != ".ply"])
def test_other_formats_of_meshes_hold_no_attributes(suffix, scan, surface, tmp_path, capsys):
    path = tmp_path / f"mesh{suffix}"
    assert run("reconstruct", scan, "-o", path, "--attributes", "distance", "--quiet", *FAST) == 1
    assert f"--attributes: {suffix} files hold no attributes of vertices, write .ply." in capsys.readouterr().err
    surface.mesh(attributes="distance", deviation=0.05).save(path)
    if suffix in cli.paths.FACE_SUFFIXES:
        assert "distance" not in read_mesh(path).attributes
