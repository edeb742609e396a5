"""Usual mistakes, and the one line that each of them gets."""

import gzip
import shutil

import numpy as np
import pytest
from commands import FAST, run, sphere_points

from seminorm.clouds import PointCloud
from seminorm.files import write_points

FILES = "must end in .ply, .xyz, .txt, .asc, .csv, .xyzn, .xyzrgb, .pts, .pwn, .pcd, .ptx, .obj, .stl, .off, .3mf, "
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
LINES = "lines must be x y z or x y z nx ny nz, numbers with decimal points; a line of names may stand above them."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good files and bad ones."""
    folder, points = tmp_path_factory.mktemp("mistakes"), sphere_points()
    write_points(folder / "scan.ply", PointCloud(points, points, (points + 1) / 2))
    write_points(folder / "plain.ply", PointCloud(points, points))
    write_points(folder / "bare.xyz", PointCloud(points))
    write_points(folder / "line.ply", PointCloud(points[:, :1] * [1.0, 2.0, 3.0]))
    write_points(folder / "nan.ply", PointCloud(points * np.nan, points))
    shutil.copy(folder / "scan.ply", folder / "renamed.xyz")
    (folder / "renamed.ply").write_text("# x y z\n0.5 1 2\n")
    (folder / "scan.ply.gz").write_bytes(gzip.compress((folder / "scan.ply").read_bytes()))
    (folder / "cut.ply").write_bytes((folder / "scan.ply").read_bytes()[:-500])
    (folder / "tetra.obj").write_text(TETRAHEDRON)
    for name, delimiter in (("commas.xyz", " "), ("commas.csv", ";")):
        rows = [delimiter.join(f"{x:.4f}".replace(".", ",") for x in row) for row in points]
        (folder / name).write_text("\n".join(rows))
    (folder / "words.xyz").write_text("hello world\nand nothing else\n")
    (folder / "flat.xyz").write_text("1 2\n3 4\n")
    (folder / "ragged.xyz").write_text("1 2 3\n4 5\n")
    (folder / "empty.ply").write_text("")
    (folder / "notes.doc").write_text("1 2 3\n")
    (folder / "folder").mkdir()
    return folder


REFUSED = {  # by the verbs: status 1, and nothing but this line
    # files that are not there, or not what they should be
    "reconstruct missing.ply -o m.ply": "there is no file missing.ply (the current folder is {folder}).",
    "reconstruct scna.ply -o m.ply": "there is no file scna.ply: did you mean scan.ply?",
    "reconstruct *.pyl -o m.ply": "there is no file *.pyl: no file has a name of that pattern.",
    "reconstruct nowhere/a.ply -o m.ply": "there is no file nowhere/a.ply: there is no folder nowhere either.",
    "reconstruct folder -o m.ply": "folder is a folder, not a file: name the files in it.",
    "reconstruct scan.ply.gz -o m.ply": "scan.ply.gz is compressed: unpack it first.",
    "reconstruct notes.doc -o m.ply": f"notes.doc cannot be read: its name {FILES}.npz, .npy, .las, .laz or .e57.",
    "reconstruct empty.ply -o m.ply": "empty.ply is empty: was it saved, or copied, to the end?",
    "reconstruct cut.ply -o m.ply": "cut.ply is truncated: it promises 400 vertices ",
    "reconstruct renamed.xyz -o m.ply": "renamed.xyz is not a point file: it looks like a PLY file: "
    "rename it to end in .ply.",
    "reconstruct renamed.ply -o m.ply": "renamed.ply is not a PLY file: it looks like text that begins with the "
    "numbers 0.5 1.0 2.0: rename it to end in .xyz.",
    "reconstruct commas.xyz -o m.ply": "commas.xyz is not a point file: it looks like text whose numbers have decimal "
    "commas: write 0.5 for 0,5.",
    "info commas.csv": "commas.csv is not a point file: it looks like text whose numbers have decimal commas: write "
    "0.5 for 0,5.",
    "info words.xyz": "words.xyz is not a point file: it looks like text that begins with 'hello world\\nand nothing "
    f"else\\n': {LINES}",
    "normals flat.xyz -o m.ply": "flat.xyz has 2 columns, and points have at least three.",
    "render ragged.xyz -o p.png": "ragged.xyz, line 2: it has 2 columns where the lines above have 3.",
    # points that make no surface
    "reconstruct nan.ply -o m.ply": "nan.ply: none of the 400 points can be used: NaN or infinity in their coordinates "
    "(400).",
    "reconstruct line.ply -o m.ply": "line.ply: all points lie on a line, and a surface needs points that spread over "
    "it.",
    "normals line.ply -o m.ply": "line.ply: all points lie on a line, and a surface needs points that spread over it.",
    "reconstruct scan.ply bare.xyz -o m.ply": "bare.xyz has no normals, and other files have: estimate them first "
    "(seminorm normals bare.xyz -o FILE), or give files of one kind.",
    # files to write
    "reconstruct -o scan.ply result.obj": "there is no file result.obj, but scan.ply is there, and -o names the file "
    "to write: are they swapped?",
    "reconstruct scan.ply -o scan.ply": "scan.ply is to be read and written: name another file for --output.",
    "reconstruct scan.ply -o nowhere/m.ply": "cannot write nowhere/m.ply: there is no folder nowhere, make it first.",
    "reconstruct scan.ply -o folder": "cannot write folder: it is a folder, name a file in it.",
    "reconstruct scan.ply -o m.doc": "cannot write m.doc: its name must end in .ply, .obj, .stl, .off, .3mf, .glb, "
    ".gltf, .html or .npz.",
    "reconstruct scan.ply -o m.ply --outliers m.ply": "--output and --outliers are both m.ply: name two files.",
    "reconstruct scan.ply -o m.ply --stats-json s.txt": "cannot write s.txt: its name must end in .json.",
    "reconstruct scan.ply plain.ply -o {name}.ply": "{name} in --output {name}.ply is for --each, one file per "
    "input: add --each, or name one file.",
    "render scan.ply -o p.jpg": "cannot write p.jpg: its name must end in .png.",
    "render scan.ply plain.ply -o p.png": "scan.ply, plain.ply: this takes one file, and got 2; --each draws each.",
    "grid table.csv -o g.npz --region 6 11 46 48": "there is no file 11: several numbers of one option go with commas, "
    "such as 6,11,46,48.",
    "normals scan.ply plain.ply -o m.ply": "scan.ply, plain.ply: this takes one file, and got 2; --each estimates the "
    "normals of each.",
    # options that do not fit
    "reconstruct scan.ply -o m.stl --color": "--color: .stl files hold no colours, write .ply, .obj, .off, .3mf, .glb, "
    ".gltf or .html.",
    "reconstruct scan.ply -o m.obj --attributes density": "--attributes: .obj files hold no attributes of vertices, "
    "write .ply.",
    "reconstruct scan.ply -o m.npz --quality": "--quality is for meshes, and m.npz is to hold the function: leave it "
    "out, or write a mesh.",
    "reconstruct plain.ply -o m.ply --color": "--color: plain.ply has no colours (red, green, blue).",
    "reconstruct bare.xyz -o m.ply --sensor 1,2,3 --sensor 1,2,3": "--sensor is given 2 times for 1 file: give it "
    "once, or once per file in their order.",
    "reconstruct scan.ply -o m.ply --sensor 1,2,3": "--sensor is for points without normals, and these have some: "
    "leave it out.",
    "reconstruct bare.xyz -o m.ply --confidence": "--confidence counts points by their normals, and they have none: "
    "leave it out.",
    "reconstruct scan.ply -o m.ply --closed --trim 1": "--trim is for open surfaces, and --closed is not: leave out "
    "one of them.",
    "reconstruct scan.ply -o m.ply --resolution 1e-9": "scan.ply: --resolution needs 2**31 cells along the longest "
    "side, and 2**14 are the most: give a larger one.",
    "reconstruct scan.ply -o m.ply --from xyz": "--from is for standard input (-): files are read as their endings "
    "say.",
    "reconstruct scan.ply -o m.ply --to stl": "--to stl is for standard output (-o -) and for folders with --each: "
    "the ending of m.ply says how it is written.",
    "reconstruct scan.ply -o m.ply --memory 1MB": "--memory 1 MB: Python and the points take ",
    "normals bare.xyz -o m.ply --neighbors 999": "bare.xyz: --neighbors must be a whole number from 4 to the number of "
    "distinct points, 400, got 999: leave it out for an automatic choice.",
    "render scan.ply -o p.png --up 0,0,1 --direction 0,0,2": "--up [0. 0. 1.] must not be along the direction of the "
    "camera [0. 0. 1.].",
}

MISUSED = {  # by the parser: status 2, the usage, and this line
    "recontsruct scan.ply -o m.ply": "seminorm: there is no verb recontsruct: did you mean reconstruct?",
    "mesh scan.ply": "seminorm: there is no verb mesh: there are grid, normals, reconstruct, render and info",
    "scan.ply -o m.ply": "seminorm: there is no verb scan.ply: say first what to do with a file, as in seminorm "
    "reconstruct scan.ply",
    "--verison": "seminorm: there is no option --verison: did you mean --version?",
    "reconstruct scan.ply": "seminorm reconstruct: missing: -o FILE, what to write",
    "reconstruct -o m.ply": "seminorm reconstruct: missing: POINTS",
    "reconstruct": "seminorm reconstruct: missing: POINTS, -o FILE, what to write",
    "reconstruct scan.ply -o": "seminorm reconstruct: -o/--output needs a value",
    "reconstruct scan.ply -o m.ply --smothness 1": "seminorm reconstruct: there is no option --smothness: did you mean "
    "--smoothness?",
    "reconstruct scan.ply -o m.ply -depth 3": "seminorm reconstruct: there is no option -depth: did you mean --depth?",
    "reconstruct scan.ply -out m.ply": "seminorm reconstruct: there is no option -out: did you mean --output or "
    "--outliers?",
    "reconstruct scan.ply -o m.ply --xyzzy": "seminorm reconstruct: there is no option --xyzzy; --help lists all",
    "reconstruct scan.ply -o m.ply -q": "seminorm reconstruct: there is no option -q; --help lists all",
    "reconstruct scan.ply -o m.ply --co": "seminorm reconstruct: --co may be --confidence, --color: write more of it",
    "reconstruct scan.ply -o m.ply --color=red": "seminorm reconstruct: --color takes no value, got 'red'",
    "reconstruct scan.ply -o m.ply --smoothness 0,05": "seminorm reconstruct: --smoothness must be a positive length, "
    "with a decimal point, got '0,05'",
    "reconstruct scan.ply -o m.ply --depth 99": "seminorm reconstruct: --depth must be a whole number from 1 to 14, "
    "got '99'",
    "reconstruct scan.ply -o m.ply --attributes densty": "seminorm reconstruct: --attributes must be distance, "
    "density, filled, uncertainty, curvature or gradient_length, or several with commas, got 'densty'",
    "reconstruct scan.ply -o m.ply --open --closed": "seminorm reconstruct: --closed is not allowed with --open: leave "
    "out one of them",
    "reconstruct scan.ply -o m.ply --memory 4": "seminorm reconstruct: --memory must be a size such as 500MB, 4GB or "
    "2GiB, got '4'",
    "reconstruct scan.ply -o m.ply --sensor 1,2": "seminorm reconstruct: --sensor must be three numbers with commas "
    "between them, got '1,2'",
    "render scan.ply -o p.png --turntble 3": "seminorm render: there is no option --turntble: did you mean "
    "--turntable?",
    "render scan.ply -o p.png --size 800": "seminorm render: --size must be WIDTHxHEIGHT, 1 to 16384 each, got '800'",
    "info scan.ply --stats": "seminorm info: there is no option --stats; --help lists all",
}


@pytest.fixture
def inside(folder, monkeypatch):
    """The folder as the current one; nothing must be left there."""
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    yield folder
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("line", REFUSED)
def test_what_verbs_refuse(line, inside, capsys):
    verb, *words = line.split()
    expected = REFUSED[line].replace("{folder}", str(inside))
    assert run(verb, *words) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith(f"seminorm {verb}: {expected}")
    assert captured.err.count("\n") == 1 and (captured.err.endswith(f"{expected}\n") or not expected.endswith("."))


@pytest.mark.parametrize("line", MISUSED)
def test_what_the_parser_refuses(line, inside, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(*line.split())
    usage, *_, last = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2
    assert usage.startswith("usage: seminorm ") and last == MISUSED[line]


def test_a_mesh_with_few_vertices_is_no_scan(inside, capsys):
    assert run("reconstruct", "tetra.obj", "-o", "m.ply", "--quiet") == 1
    warning, error = capsys.readouterr().err.splitlines()
    advice = "its 4 vertices are taken as points: give the points it was made of."
    assert warning == f"seminorm: warning: tetra.obj is a mesh, and {advice}"
    assert error == "seminorm reconstruct: tetra.obj: a surface needs at least 10 points, got 4."


def test_coordinates_that_lost_their_digits(tmp_path, capsys):
    """Metres of a country's grid in single precision: steps of half a metre."""
    points = sphere_points()
    far = (points + [5e5, 5.4e6, 100.0]).astype(np.float32)
    np.savez(tmp_path / "far.npz", points=far, normals=points)
    run("reconstruct", tmp_path / "far.npz", "-o", tmp_path / "m.ply", "--quiet", *FAST)
    message = capsys.readouterr().err.splitlines()[0]
    assert "coordinates in single precision come in steps of 0.5 so far from 0, and points are about 0.1" in message
    assert message.endswith("subtract an offset before they are saved.")
    np.savez(tmp_path / "near.npz", points=points.astype(np.float32), normals=points)
    assert run("reconstruct", tmp_path / "near.npz", "-o", tmp_path / "m.ply", "--quiet", *FAST) == 0
    assert capsys.readouterr().err == ""


def test_files_on_either_side_of_options(scan, bare, tmp_path, monkeypatch, capsys):
    """What looks like a mistake, and is none."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(scan, "-odd.ply")
    for words in (
        ("-o", "m.ply", *FAST, scan),
        ("--quiet", "-o", "m.ply", scan, *FAST),
        (scan, "-o=m.ply", *FAST, "--", "-odd.ply"),
        (bare, "-o", "m.ply", "--sensor", "-9,0,0", *FAST),
    ):
        assert run("reconstruct", *words) == 0, capsys.readouterr().err
