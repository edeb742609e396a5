"""The gallery: its page, and the command that builds it."""

import html
import io
import re
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import gallery
from gallery import raw_scans
from gallery.__main__ import main as build_page
from gallery.page import Code, Paragraph, Picture, Section, Table, Viewer, marked, number, page
from gallery.sections import DEMO, SECTIONS, TOPICS
from gallery.sections.scans import section as scans_section

pytestmark = pytest.mark.slow
VOID = {"meta", "img", "br", "link"}


class Outline(HTMLParser):
    """Pictures, frames, anchors and links of a page; fails where a tag is not closed properly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.images, self.scenes = [], [], []
        self.anchors, self.links, self.resources = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "img":
            self.images.append(attributes)
        if "data-scene" in attributes:
            self.scenes.append(attributes)
        if "id" in attributes:
            self.anchors.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if {"src", "href"} & set(attributes) and tag in ("link", "script", "iframe"):
            self.resources.append(attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@dataclass
class Build:
    folder: Path
    status: int
    printed: str
    warnings: list
    figures_before: list
    figures_after: list

    @property
    def page(self):
        return (self.folder / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The page, built once by the command line."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    folder = tmp_path_factory.mktemp("work") / "some" / "folder"
    before = pyplot.get_fignums()
    output = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(output),
        redirect_stderr(output),
        warnings.catch_warnings(record=True) as caught,
    ):
        patch.delenv("SEMINORM_DATA", raising=False)  # the page that everyone gets
        warnings.simplefilter("always")
        status = build_page(["--output", str(folder), "--quiet"])
    return Build(folder, status, output.getvalue(), caught, before, pyplot.get_fignums())


def tiny(folder):
    (folder / "tiny.png").write_bytes(b"new picture")
    return Section("Tiny", [Picture("tiny.png", "nothing", "A caption.")])


def test_the_demo_prints_where_the_page_is_and_nothing_else(built):
    assert built.status == 0
    assert built.printed == f"The page is {(built.folder / 'index.html').resolve()}\n"
    assert [str(warning.message) for warning in built.warnings] == []


def test_the_demo_leaves_pyplot_and_the_surroundings_alone(built):
    assert built.figures_after == built.figures_before
    assert list(built.folder.parent.iterdir()) == [built.folder]


def test_every_picture_of_the_page_is_there(built):
    read = pytest.importorskip("matplotlib.image").imread
    outline = Outline(built.page)
    images, pages = outline.images, {"index.html"} | {scene["data-scene"] for scene in outline.scenes}
    assert len(images) >= len(DEMO) - 1
    assert {image["src"] for image in images} == {file.name for file in built.folder.iterdir()} - pages
    for image in images:
        picture = read(built.folder / image["src"])
        assert image["alt"] and picture.shape[0] > 300 and picture.shape[1] > 700
        colors = np.unique((255 * picture[..., :3]).astype(int) @ [65536, 256, 1])
        assert len(colors) > 50


def test_the_page_stands_alone(built):
    outline = Outline(built.page)
    assert outline.resources == [] and "http" not in built.page and "@import" not in built.page
    assert [link.removeprefix("#") for link in outline.links if link.startswith("#")] == outline.anchors
    others = [link for link in outline.links if not link.startswith("#")]
    assert others == [scene["data-scene"] for scene in outline.scenes] and all(s["data-title"] for s in outline.scenes)
    assert all("http" not in (built.folder / other).read_text(encoding="utf-8") for other in others)
    assert len(set(outline.anchors)) == len(DEMO) - 1  # that on real scans needs data
    words = re.findall(r"[a-z]+", re.sub(r"<[^>]*>", " ", built.page.lower()))
    assert "nan" not in words and "inf" not in words
    assert str(built.folder.parent) not in built.page


def cells(text, name, columns):
    """The cells of the only table row with that name and that number of columns (or of all such rows, as a list)."""
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    plain = [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in rows]
    return [row[1:] for row in plain if len(row) == columns and row[0] == name]


def test_the_numbers_bear_the_captions_out(built):
    def value(name, columns, column):
        (row,) = cells(built.page, name, columns)
        return float(row[column])

    ours = value("Smoother()", 6, 1)
    for smoothing in ("0", "1"):
        assert value(f"SciPy RBFInterpolator(smoothing={smoothing})", 6, 1) > 1.3 * ours
    assert np.isclose(value("SciPy RBFInterpolator(smoothing=...)", 6, 1), ours)
    assert value("in the gap", 4, 0) > 2 * value("among the data", 4, 0)
    assert value("values and gradients", 6, 2) < 0.5 * value("values", 6, 2)
    assert max(float(row[3]) for row in cells(built.page, "ThinPlate()", 5) if row[0] != "2") < 1e-9
    assert max(float(row[3]) for row in cells(built.page, "Gaussian(scale=1)", 5)) > 0.5
    assert value("with the cycle free", 4, 2) < 0.1 * value("smoothing alone", 4, 2)
    noise = value("mean distance of the points to the truth", 2, 0)
    assert value("mean distance of the surface to the truth, near points", 2, 0) < 0.5 * noise


def test_a_section_that_fails_leaves_the_old_page(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def broken(folder):
        raise RuntimeError("no such luck")

    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "index.html").write_text("old page")
    (folder / "tiny.png").write_bytes(b"old picture")
    monkeypatch.setattr(gallery, "DEMO", [tiny, broken])
    with pytest.raises(RuntimeError, match="no such luck"):
        gallery.run(folder, verbose=False)
    assert (folder / "index.html").read_text() == "old page" and (folder / "tiny.png").read_bytes() == b"old picture"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_new_page_replaces_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums(), dict(pyplot.rcParams)
    monkeypatch.setattr(gallery, "DEMO", [tiny])
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    Path("demo/index.html").write_text("old page")
    Path("demo/notes.txt").write_text("mine")
    assert gallery.run(verbose=False) == Path("demo/index.html")
    assert "A caption." in Path("demo/index.html").read_text() and Path("demo/tiny.png").read_bytes() == b"new picture"
    assert Path("demo/notes.txt").read_text() == "mine"
    assert (pyplot.get_fignums(), dict(pyplot.rcParams)) == before


def test_progress_names_the_sections(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(gallery, "DEMO", [tiny])
    gallery.run(tmp_path / "page")
    assert "1/1" in capsys.readouterr().err


def test_missing_extra_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert build_page(["--output", str(tmp_path / "page")]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and "pip install 'seminorm[plot]'" in captured.err
    assert list(tmp_path.iterdir()) == []


def test_output_that_is_a_file_is_one_line(capsys, tmp_path):
    (tmp_path / "page").write_text("a file")
    assert build_page(["--output", str(tmp_path / "page")]) == 1
    assert "page is a file" in capsys.readouterr().err and (tmp_path / "page").read_text() == "a file"


def test_interrupt_is_one_line_and_leaves_nothing(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")

    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(gallery, "DEMO", [tiny, interrupted])
    assert build_page(["--quiet", "--output", str(tmp_path / "page")]) == 130
    assert capsys.readouterr().err == "gallery: interrupted\n" and list(tmp_path.iterdir()) == []


def test_page_escapes_text():
    blocks = [
        Paragraph("a < b & `x < y`"),
        Code("if a < b: pass"),
        Table(["<h>"], [["<c>"]], "<t>"),
        Picture("a.png", 'say "x"', "<f>"),
        Viewer("a&b.html", "<v>", "<w>", "a&b.png"),
    ]
    text = page("<title>", "lead", [Section("A & B, twice", blocks)], "foot")
    outline = Outline(text)
    assert "<code>x &lt; y</code>" in text and "a &lt; b &amp;" in text and "if a &lt; b" in text
    assert outline.anchors == ["a-b-twice"] and outline.images[0]["alt"] == 'say "x"'
    (scene,) = outline.scenes
    assert scene["data-scene"] == outline.links[-1] == "a&b.html" and scene["data-title"] == "<v>"


def test_markdown_means_what_the_text_says():
    assert marked("`a*b` costs $2 * 3 < [4] | #5") == "`a*b` costs \\$2 \\* 3 \\< \\[4\\] \\| \\#5"
    table = Table(["<h>", "n"], [["`c|d`", "1"]], "A caption.").markdown("files/")
    assert table.splitlines()[0] == "| \\<h\\> | n |" and table.endswith("A caption.")
    picture = Picture("a.png", "a line", "See *this*.").markdown("files/")
    assert "files/a.png" in picture and ":alt: a line" in picture and "See \\*this\\*." in picture


@pytest.mark.parametrize("build", SECTIONS, ids=lambda build: build.__module__.rpartition(".")[2])
def test_every_script_runs_without_warnings(build, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    if build in DEMO:
        pytest.skip("the page of the demo is built from it, above.")
    pytest.importorskip("laspy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        section = gallery.quietly(build, tmp_path)
    pictures = [block for block in section.blocks if isinstance(block, Picture | Viewer)]
    assert pictures and any(isinstance(block, Code) for block in section.blocks)
    for block in pictures:
        shown = tmp_path / (block.file if isinstance(block, Picture) else block.still)
        image = pytest.importorskip("matplotlib.image").imread(shown)
        assert len(np.unique((255 * image[..., :3]).astype(int) @ [65536, 256, 1])) > 50
    assert "nan" not in re.findall(r"[a-z]+", section.markdown("").lower())


def test_every_script_is_in_the_gallery_once_and_is_short():
    folder = Path(gallery.__file__).parent / "sections"
    listed = [module.__name__.rpartition(".")[2] for modules in TOPICS.values() for module in modules]
    assert sorted(listed) == sorted(path.stem for path in folder.glob("[a-z]*.py"))
    assert len(listed) - len({"scans"}) >= 30
    titles = [re.search(r'Section\(\s*"(.+?)"', (folder / f"{name}.py").read_text())[1] for name in listed]
    assert len(set(titles)) == len(titles)


def test_code_is_the_source_of_what_ran():
    text = Code.of(tiny, cells).text
    assert text.startswith("def tiny(folder):") and "\n\ndef cells(text, name, columns):" in text


def test_numbers_are_short():
    assert [number(value) for value in (0.0123456, 1.0, 1234.5, 2e-13)] == ["0.0123", "1", "1.23e+03", "2e-13"]


@pytest.fixture
def scans(tmp_path, monkeypatch):
    """A folder of data with a whole ball (two sets), and the lower half of one with normals, one of which is none."""
    folder = tmp_path / "data" / "surfaces" / "points"
    folder.mkdir(parents=True)
    ball = np.random.default_rng(0).standard_normal((1500, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    np.savez(folder / "ball.npz", points_500=ball[:500], points_1500=ball)
    half = ball[ball[:, 2] < 0]
    normals = half.copy()
    normals[0] = np.nan
    np.savez(folder / "half.npz", points=half, normals=normals)
    monkeypatch.setenv("SEMINORM_DATA", str(tmp_path / "data"))
    return folder


def test_raw_scans_are_reconstructed_with_defaults_and_shown(scans, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert [scan.name for scan in raw_scans.raw_scans(scans, largest=True)] == ["ball_1500", "half"]
    assert raw_scans.main(["--output", str(tmp_path / "page")]) == 0
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    (ball,), (small,), (half,) = (cells(text, name, 6) for name in ("ball_1500", "ball_500", "half"))
    assert ball[:3] == ["1500", "estimated", "closed, genus 0"] and small[:3] == ["500", "estimated", "closed, genus 0"]
    assert half[1:3] == ["given", "open"] and "2 of 3 times nothing" in text and "1 whose normal is zero" in text
    assert [image["src"] for image in Outline(text).images] == ["raw-scans.png"]
    assert "The page is" in capsys.readouterr().out


def test_thinned_scans_keep_points_and_normals_together(scans):
    half = list(raw_scans.raw_scans(scans))[-1]
    few = half.thinned(100)
    valid = np.isfinite(few.cloud.normals).all(axis=1)
    assert len(few.cloud) == 100 and half.thinned(10_000) is half
    assert np.allclose(few.cloud.points[valid], few.cloud.normals[valid])


def test_without_scans_the_gallery_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SEMINORM_DATA", str(tmp_path / "nowhere"))
    assert raw_scans.main(["--output", str(tmp_path / "page")]) == 0
    assert capsys.readouterr().out.startswith("Skipped: ") and list(tmp_path.iterdir()) == []
    monkeypatch.setattr(gallery, "DEMO", [tiny, scans_section])
    gallery.run(tmp_path / "page")
    assert "scans left out" in capsys.readouterr().err
