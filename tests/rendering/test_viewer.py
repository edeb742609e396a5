"""Pages that show meshes and points: what they hold, decoded without the library, and by the page's own script."""

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from seminorm.clouds.cloud import PointCloud
from seminorm.files import html, write_mesh, write_page
from seminorm.shapes.mesh import Mesh

FAR = np.array([431234.567, 5412345.678, 812.3])
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def ring(n=24, m=12, colors=True):
    """A torus with outward normals."""
    u, v = (grid.ravel() for grid in np.meshgrid(np.arange(n) / n, np.arange(m) / m, indexing="ij"))
    spoke = np.column_stack([np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), 0 * u])
    normals = spoke * np.cos(2 * np.pi * v)[:, None] + [0, 0, 1] * np.sin(2 * np.pi * v)[:, None]
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    a, b, c, d = ((i + p) % n * m + (j + q) % m for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    attributes = {"colors": np.column_stack([u, v, 1 - u])} if colors else None
    return Mesh(spoke + 0.4 * normals, faces, normals, attributes)


class Page(HTMLParser):
    """Scripts by their ids, visible text, and the addresses of a page; fails where a tag is not closed."""

    def __init__(self, path):
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.open, self.scripts, self.addresses, self.seen = [], {}, [], ""
        self.feed(self.text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in ("meta", "input"):
            self.open.append((tag, attributes.get("id")))
        self.addresses += [attributes[key] for key in ("src", "href") if key in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, name = self.open[-1] if self.open else (None, None)
        if tag == "script":
            self.scripts[name] = self.scripts.get(name, "") + data
        else:
            self.seen += data

    @property
    def scene(self):
        return json.loads(self.scripts["scene"])

    def array(self, i, kind, dtype):
        return np.frombuffer(base64.b64decode(self.scripts[self.scene["items"][i]["arrays"][kind]]), dtype)

    def positions(self, i):
        item = self.scene["items"][i]
        return item["low"] + self.array(i, "position", "<u2").reshape(-1, 3) / 65535 * item["size"]

    def faces(self, i):
        corners, number, shift = [0], 0, 0
        for byte in self.array(i, "corners", np.uint8).tolist():
            number, shift = number + ((byte & 127) << shift), shift + 7
            if byte < 128:
                corners.append(corners[-1] + (-(number + 1) // 2 if number % 2 else number // 2))
                number = shift = 0
        return np.reshape(corners[1:], (-1, 3))


def angles(a, b):
    """Between vectors of any length, in degrees."""
    cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


@pytest.mark.parametrize("shift", [np.zeros(3), FAR])
def test_a_page_holds_the_mesh(tmp_path, shift):
    mesh = ring()
    mesh.vertices += shift
    mesh.normals *= 3
    page = Page(mesh.save(tmp_path / "ring.html"))
    (item,) = page.scene["items"]
    assert item["name"] == "ring" and item["vertices"] == 288 and item["faces"] == 576
    step = np.ptp(mesh.vertices, axis=0).max() / 65535
    center = mesh.bounds.mean(axis=0)
    np.testing.assert_allclose(page.positions(0), mesh.vertices - center, rtol=0, atol=0.51 * step)
    np.testing.assert_array_equal(page.faces(0), mesh.faces)
    assert angles(page.array(0, "normal", np.int8).reshape(-1, 3), mesh.normals).max() < 0.5
    colors = page.array(0, "color", np.uint8).reshape(-1, 3)
    np.testing.assert_allclose(colors, 255 * mesh.attributes["colors"], rtol=0, atol=0.51)
    farthest = np.linalg.norm(mesh.vertices - center, axis=1).max()
    assert np.isclose(page.scene["reach"], farthest)


def test_normals_and_colors_may_be_missing(tmp_path):
    mesh = ring(colors=False)
    bare = Mesh(mesh.vertices, mesh.faces)
    page = Page(write_mesh(tmp_path / "bare.html", bare))
    assert angles(page.array(0, "normal", np.int8).reshape(-1, 3), mesh.normals).max() < 12
    assert set(page.scene["items"][0]["arrays"]) == {"position", "normal", "corners"}
    points = Page(write_page(tmp_path / "points.html", {"points": PointCloud(mesh.vertices)}))
    assert set(points.scene["items"][0]["arrays"]) == {"position"}


def test_several_items_share_one_place(tmp_path, rng):
    mesh = ring()
    points = PointCloud(
        mesh.vertices + [0, 0, 2], mesh.normals, mesh.attributes["colors"], {"quality": rng.random(288)}
    )
    page = Page(write_page(tmp_path / "both.html", {"mesh": mesh, "points": points}, title="Both"))
    assert [(item["name"], item["faces"]) for item in page.scene["items"]] == [("mesh", 576), ("points", 0)]
    np.testing.assert_allclose(page.positions(1) - page.positions(0), np.tile([0, 0, 2], (288, 1)), atol=1e-4)
    # neighbours are 0.12 to 0.37 and 0.21 apart
    assert 0.12 < page.scene["items"][1]["diameter"] < 0.3
    assert "Both" in page.seen


def test_the_first_view_is_the_one_asked_for(tmp_path):
    page = Page(write_page(tmp_path / "ring.html", {"ring": ring()}, direction=(0, 0, -2), up=(1, 0, 0)))
    np.testing.assert_allclose(np.reshape(page.scene["frame"], (3, 3)), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_a_page_of_one_shape_at_several_times(tmp_path):
    items = {str(k): ring() for k in range(3)}
    page = Page(write_page(tmp_path / "film.html", items, times=[0.0, 0.5, 3.0]))
    assert page.scene["times"] == [0.0, 0.5, 3.0] and 'type="range"' in page.text
    assert "times" not in Page(write_page(tmp_path / "still.html", items)).scene
    for times, message in (
        ([0.0, 1.0], "one number for each"),
        ([0.0, 2.0, 1.0], "increase"),
        ([0, 1, np.nan], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            write_page(tmp_path / "no.html", items, times=times)


def test_a_page_stands_alone(tmp_path):
    page = Page(write_page(tmp_path / "both.html", {"a": ring(), "b": ring()}, title="t"))
    assert page.addresses == [] and "http" not in page.text and "@import" not in page.text and "{{" not in page.text
    assert "needs WebGL" in page.text


def test_names_and_titles_are_escaped(tmp_path):
    name = "</script><b>& {{arrays}} {{title}} é"
    page = Page(write_page(tmp_path / "names.html", {name: ring()}, title=name))
    assert page.scene["items"][0]["name"] == name and page.seen.count(name) == 2
    assert "<b>" not in page.text
    np.testing.assert_array_equal(page.faces(0), ring().faces)


def test_points_that_are_not_finite_are_left_out(tmp_path, rng):
    places = rng.random((20, 3))
    normals = rng.standard_normal((20, 3))
    places[3, 1], places[7, 0], normals[5] = np.nan, np.inf, np.nan
    page = Page(write_page(tmp_path / "points.html", {"points": PointCloud(places, normals)}))
    kept = np.delete(places, [3, 7], axis=0)
    np.testing.assert_allclose(page.positions(0), kept - (kept.min(axis=0) + kept.max(axis=0)) / 2, atol=1e-5)
    directions = page.array(0, "normal", np.int8).reshape(-1, 3)
    assert directions[4].tolist() == [0, 0, 0] and np.count_nonzero(directions.any(axis=1)) == 17


def test_flat_items_and_single_points(tmp_path):
    square = Mesh([[0, 0, 5], [1, 0, 5], [1, 1, 5]], [[0, 1, 2]])
    page = Page(write_page(tmp_path / "flat.html", {"flat": square, "one": PointCloud([[0.5, 0.5, 5]])}))
    np.testing.assert_allclose(page.positions(0), [[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0]], atol=1e-9)
    np.testing.assert_allclose(page.positions(1), [[0, 0, 0]], atol=1e-9)
    alone = Page(write_page(tmp_path / "one.html", {"one": PointCloud([[0.5, 0.5, 5]])}))
    assert alone.scene["reach"] > 0


def test_what_cannot_be_shown_is_refused(tmp_path):
    path = tmp_path / "old.html"
    path.write_text("old page")
    with pytest.raises(ValueError, match="'old' has no faces to show"):
        Mesh(np.zeros((3, 3)), []).save(path)
    with pytest.raises(ValueError, match="'none' has no points"):
        write_page(path, {"none": PointCloud([[np.nan, 0, 0]])})
    with pytest.raises(ValueError, match="1 vertices with NaN"):
        write_page(path, {"bad": Mesh([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]])})
    with pytest.raises(ValueError, match="'array' is ndarray"):
        write_page(path, {"array": np.zeros((3, 3))})
    with pytest.raises(ValueError, match="at least one mesh"):
        write_page(path, {})
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_page(tmp_path / "nowhere" / "page.html", {"ring": ring()})
    assert path.read_text() == "old page" and list(tmp_path.iterdir()) == [path]


def test_a_page_that_fails_half_way_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "ring.html"
    path.write_text("old page")
    monkeypatch.setattr(html, "_LARGEST", 1000)
    with pytest.raises(ValueError, match="'ring' is too large for a browser"):
        ring().save(path)
    assert path.read_text() == "old page" and list(tmp_path.iterdir()) == [path]


def test_a_hundred_thousand_vertices_stay_small(tmp_path):
    mesh = ring(400, 250)
    path = mesh.save(tmp_path / "large.html")
    assert len(mesh.vertices) == 100_000 and path.stat().st_size < 3.5e6


@needs_node
def test_the_script_is_valid_and_decodes_faces(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(html, "_CHUNK_FACES", 100)
    n = 3 * 10**8
    faces = np.concatenate([rng.integers(0, n, (500, 3)), ring().faces, [[n - 1, 0, n - 1]]])
    packed = np.frombuffer(html._packed_corners(faces), np.uint8).tolist()
    script = Page(ring().save(tmp_path / "ring.html")).scripts[None]
    (tmp_path / "viewer.js").write_text(script, encoding="utf-8")
    subprocess.run(["node", "--check", str(tmp_path / "viewer.js")], check=True)
    decoder = re.search(r"function cornersOf\(.*?\n}", script, re.DOTALL)[0]
    (tmp_path / "decode.js").write_text(
        f"{decoder}\nconsole.log(JSON.stringify([...cornersOf(Uint8Array.from({packed}), {faces.size})]));"
    )
    found = subprocess.run(["node", str(tmp_path / "decode.js")], check=True, capture_output=True, text=True).stdout
    assert json.loads(found) == faces.ravel().tolist()
