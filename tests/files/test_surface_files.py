"""Files of points and meshes: round trips, hand-written files of every variant, damaged files, trimesh as oracle."""

import base64
import json
import struct
import sys

import numpy as np
import pytest

from seminorm import _native
from seminorm._base.extras import MissingExtraError
from seminorm.clouds.cloud import PointCloud, as_cloud
from seminorm.files import FileFormatError, describe, open_points, read_mesh, read_points, write_mesh, write_points
from seminorm.shapes.mesh import Mesh

FAR = np.array([431234.567, 5412345.678, 812.3])
MESH_ENDINGS = ("ply", "obj", "stl", "off")
POINT_ENDINGS = ("ply", "pcd", "xyz", "txt", "npz")
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])


def torus(n=24, m=12):
    """A closed mesh of genus 1 with outward normals, and some attributes."""
    u, v = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * 2 * np.pi / m, indexing="ij")
    normals = np.stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)], axis=-1).reshape(-1, 3)
    center = np.stack([np.cos(u), np.sin(u), 0 * u], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b, c, d = (((i + p) % n * m + (j + q) % m).ravel() for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    colors = np.stack([u, v, u * 0], axis=-1).reshape(-1, 3) / 7
    return Mesh(center + 0.4 * normals, faces, normals, {"colors": np.rint(colors * 255) / 255})


@pytest.fixture
def cloud(rng):
    return PointCloud(
        FAR + rng.standard_normal((50, 3)),
        rng.standard_normal((50, 3)),
        rng.integers(0, 256, (50, 3)) / 255,
        {
            "quality": rng.standard_normal(50),
            "label": rng.integers(-9, 9, 50).astype(np.int32),
            "flow": np.eye(50)[:, :2],
        },
    )


def assert_same_cloud(found, wanted):
    np.testing.assert_array_equal(found.points, wanted.points)
    for name in ("normals", "colors"):
        assert (getattr(found, name) is None) == (getattr(wanted, name) is None)
        if getattr(wanted, name) is not None:
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.attributes.keys() == wanted.attributes.keys()
    for name, values in wanted.attributes.items():
        np.testing.assert_array_equal(found.attributes[name], values)


def put(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---- point clouds and meshes in memory


def test_rows_of_a_cloud_take_everything_along(cloud):
    mask = cloud.attributes["quality"] > 0
    part, same = cloud[mask], cloud[np.flatnonzero(mask)]
    assert_same_cloud(part, same)
    assert len(part) == mask.sum()
    np.testing.assert_array_equal(part.attributes["flow"], cloud.attributes["flow"][mask])
    np.testing.assert_array_equal(part.normals, cloud.normals[mask])
    assert len(cloud[[]]) == 0
    with pytest.raises(IndexError, match="rows must be"):
        cloud[np.array([0.5])]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": np.zeros((4, 2))}, r"points must have shape \(n, 3\), it has \(4, 2\)"),
        ({"points": SQUARE, "normals": SQUARE[:3]}, "normals must have one row for each of 4 points, it has 3"),
        ({"points": SQUARE, "colors": SQUARE * 200.0}, "colors must lie in"),
        ({"points": SQUARE, "attributes": {"t": np.zeros(3)}}, "attribute 't' must have shape"),
        ({"points": [["a", "b", "c"]]}, "points must be an array of numbers"),
    ],
)
def test_clouds_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        PointCloud(**arguments)


def test_integer_colors_fill_their_range():
    assert PointCloud(SQUARE[:1], colors=np.array([[0, 51, 255]], dtype=np.uint8)).colors.tolist() == [[0, 0.2, 1]]
    assert PointCloud(SQUARE[:1], colors=np.array([[0, 0, 65535]], dtype=np.uint16)).colors.tolist() == [[0, 0, 1]]


def test_as_cloud(cloud, tmp_path):
    assert as_cloud(cloud) is cloud
    both = as_cloud(np.hstack([cloud.points, cloud.normals]))
    np.testing.assert_array_equal(both.normals, cloud.normals)
    np.testing.assert_array_equal(as_cloud(cloud, normals=-cloud.normals).normals, -cloud.normals)
    assert_same_cloud(as_cloud(write_points(tmp_path / "a.ply", cloud)), cloud)
    mesh = torus()
    np.testing.assert_array_equal(as_cloud(mesh).colors, mesh.attributes["colors"])
    with pytest.raises(ValueError, match="points must be an array"):
        as_cloud(np.zeros((5, 4)))


class _Tensor:
    def __init__(self, array):
        self.array = array

    def cpu(self):
        return self

    def numpy(self):
        return self.array


def _foreign(module, **members):
    """An object that looks as if another library had made it."""
    return type("Foreign", (), {"__module__": module, **members})()


def test_as_cloud_knows_other_libraries_without_importing_them(cloud):
    p, n, c = cloud.points, cloud.normals, cloud.colors
    legacy = _foreign("open3d.cpu.pybind.geometry", points=p, normals=n, colors=np.zeros((0, 3)))
    tensor = _foreign("open3d.cpu.pybind.t.geometry", point={"positions": _Tensor(p), "normals": _Tensor(n)})
    polydata = _foreign(
        "pyvista.core.pointset", points=p, point_data={"Normals": n, "RGB": np.rint(c * 255).astype(np.uint8)}
    )
    for foreign in (legacy, tensor, polydata):
        found = as_cloud(foreign)
        np.testing.assert_array_equal(found.points, p)
        np.testing.assert_array_equal(found.normals, n)
    assert as_cloud(legacy).colors is None
    np.testing.assert_allclose(as_cloud(polydata).colors, c)
    assert not {"open3d", "pyvista"} & sys.modules.keys()


def test_as_cloud_from_trimesh(cloud):
    trimesh = pytest.importorskip("trimesh")
    mesh = torus()
    found = as_cloud(mesh.to_trimesh())
    np.testing.assert_array_equal(found.points, mesh.vertices)
    np.testing.assert_allclose(found.normals, mesh.normals)
    np.testing.assert_allclose(found.colors, mesh.attributes["colors"])
    assert as_cloud(trimesh.creation.box()).colors is None
    points = as_cloud(trimesh.PointCloud(cloud.points, colors=np.rint(cloud.colors * 255).astype(np.uint8)))
    np.testing.assert_array_equal(points.points, cloud.points)
    np.testing.assert_allclose(points.colors, cloud.colors)


def test_measures_of_a_mesh_agree_with_trimesh():
    pytest.importorskip("trimesh")
    mesh = torus()
    for moved in (mesh, Mesh(mesh.vertices + FAR, mesh.faces)):
        other = mesh.to_trimesh()
        assert moved.area == pytest.approx(other.area, rel=1e-8)
        assert moved.volume == pytest.approx(other.volume, rel=1e-8)
    assert mesh.volume > 0
    np.testing.assert_array_equal(mesh.bounds, other.bounds)
    assert mesh.is_watertight and other.is_watertight
    assert mesh.euler_characteristic == other.euler_number == 0
    assert mesh.genus == 1
    cosine = (mesh.vertex_normals() * other.vertex_normals).sum(axis=1)
    assert cosine.min() > 0.99  # trimesh weights faces by angle, we by area
    assert (mesh.vertex_normals() * mesh.normals).sum(axis=1).min() > 0.99


def test_components_and_keep():
    mesh = torus()
    small = Mesh(SQUARE + 9, [[0, 1, 2], [0, 2, 3]])
    n = len(mesh.vertices)
    both = Mesh(
        np.vstack([small.vertices, [[7, 7, 7]], mesh.vertices]),  # one vertex is not used
        np.vstack([small.faces, mesh.faces + 5]),
        attributes={"number": np.arange(n + 5)},
    )
    labels, count = both.components()
    assert count == 2
    assert labels.tolist() == [1, 1] + [0] * len(mesh.faces)
    for kept in (both.keep(labels == 0), both.keep(np.flatnonzero(labels == 0))):
        np.testing.assert_array_equal(kept.vertices, mesh.vertices)
        np.testing.assert_array_equal(kept.faces, mesh.faces)
        np.testing.assert_array_equal(kept.attributes["number"], np.arange(n) + 5)
    assert both.euler_characteristic == 1 + 0
    assert not both.is_watertight
    with pytest.raises(ValueError, match="genus is defined for watertight"):
        _ = both.genus
    assert both.keep(labels > 5).components()[1] == 0


def test_watertight_means_two_opposite_faces_at_every_edge():
    mesh = torus()
    assert mesh.is_watertight
    assert not mesh.keep(np.arange(1, len(mesh.faces))).is_watertight  # a hole
    turned = mesh.faces.copy()
    turned[0] = turned[0, ::-1]
    assert not Mesh(mesh.vertices, turned).is_watertight
    assert not Mesh(mesh.vertices, np.vstack([mesh.faces, mesh.faces])).is_watertight  # every edge has four
    assert not Mesh(mesh.vertices, np.vstack([mesh.faces, [[0, 0, 1]]])).is_watertight
    two = Mesh(np.vstack([mesh.vertices, mesh.vertices + 9]), np.vstack([mesh.faces, mesh.faces + len(mesh.vertices)]))
    assert two.is_watertight and two.genus == 2 and two.components()[1] == 2


def test_meshes_are_checked_and_lean():
    assert torus().faces.dtype == np.int32
    with pytest.raises(ValueError, match="vertices 0 to 3, they go from 0 to 4"):
        Mesh(SQUARE, [[0, 1, 4]])
    with pytest.raises(ValueError, match="faces must be integers"):
        Mesh(SQUARE, [[0.0, 1, 2]])
    empty = Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert (empty.area, empty.volume, empty.is_watertight, empty.components()[1]) == (0, 0, False, 0)


@pytest.mark.parametrize("library", ["trimesh", "open3d", "pyvista"])
def test_a_missing_library_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"needs {library}.*pip install"):
        getattr(torus(), f"to_{library}")()


# ---- round trips


@pytest.mark.parametrize("ending", POINT_ENDINGS)
def test_points_survive_a_round_trip(cloud, ending, tmp_path):
    cloud.points[3] = [np.nan, np.inf, -np.inf]
    path = write_points(tmp_path / f"a.{ending}", cloud)
    assert_same_cloud(read_points(path), cloud)
    bare = PointCloud(cloud.points)
    assert_same_cloud(read_points(write_points(path, bare)), bare)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_attributes_keep_their_type_in_ply(tmp_path):
    kinds = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
    cloud = PointCloud(SQUARE, attributes={kind: np.arange(4).astype(kind) for kind in kinds})
    found = read_points(write_points(tmp_path / "a.ply", cloud)).attributes
    assert {name: values.dtype.str[1:] for name, values in found.items()} == {kind: kind for kind in kinds}
    large = PointCloud(SQUARE, attributes={"big": np.arange(4) + 2**40, "flag": np.arange(4) > 1})
    found = read_points(write_points(tmp_path / "a.ply", large)).attributes
    np.testing.assert_array_equal(found["big"], large.attributes["big"])
    np.testing.assert_array_equal(found["flag"], [0, 0, 1, 1])
    for name in ("x", "größe"):
        with pytest.raises(ValueError, match="cannot be written"):
            write_points(tmp_path / "b.ply", PointCloud(SQUARE, attributes={name: np.arange(4)}))


def test_attributes_keep_their_type_in_pcd(tmp_path):
    kinds = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
    cloud = PointCloud(SQUARE, attributes={kind: np.arange(4).astype(kind) for kind in kinds})
    found = read_points(write_points(tmp_path / "a.pcd", cloud)).attributes
    assert {name: values.dtype.str[1:] for name, values in found.items()} == {kind: kind for kind in kinds}
    odd = {"flag": np.arange(4) > 1, "half": np.arange(4).astype("f2"), "big end": np.arange(4).astype(">i4")}
    found = read_points(write_points(tmp_path / "a.pcd", PointCloud(SQUARE, attributes=odd))).attributes
    assert list(found) == ["flag", "half", "big_end"]
    for values, wanted in zip(found.values(), odd.values(), strict=True):
        np.testing.assert_array_equal(values, wanted)
    for name in ("x", "größe", "_", ""):
        with pytest.raises(ValueError, match="cannot be written to a PCD file"):
            write_points(tmp_path / "b.pcd", PointCloud(SQUARE, attributes={name: np.arange(4)}))
    with pytest.raises(ValueError, match=r"attribute 'name' .* it holds <U1, not numbers"):
        write_points(tmp_path / "b.pcd", PointCloud(SQUARE, attributes={"name": np.array(list("abcd"))}))


def test_single_precision_pcd(cloud, tmp_path):
    small, large = (write_points(tmp_path / f"{single}.pcd", cloud, single=single) for single in (True, False))
    assert small.stat().st_size < large.stat().st_size
    np.testing.assert_array_equal(read_points(small).points, cloud.points.astype(np.float32))
    assert b"SIZE 4 4 4 4 " in small.read_bytes() and b"SIZE 8 8 8 4 " in large.read_bytes()


@pytest.mark.parametrize("ending", ["ply", "obj", "off"])
def test_meshes_survive_a_round_trip(ending, tmp_path):
    mesh = torus()
    mesh = Mesh(mesh.vertices + FAR, mesh.faces, mesh.normals, mesh.attributes)
    found = read_mesh(mesh.save(tmp_path / f"a.{ending}"))
    np.testing.assert_array_equal(found.vertices, mesh.vertices)
    np.testing.assert_array_equal(found.faces, mesh.faces)
    np.testing.assert_array_equal(found.normals, mesh.normals)
    np.testing.assert_allclose(found.attributes["colors"], mesh.attributes["colors"], atol=1e-6)
    for bare in (Mesh(mesh.vertices, mesh.faces), Mesh(mesh.vertices, mesh.faces, mesh.normals)):
        found = read_mesh(write_mesh(tmp_path / f"a.{ending}", bare))
        np.testing.assert_array_equal(found.vertices, mesh.vertices)
        assert (found.normals is None) == (bare.normals is None)


def test_single_precision_ply(tmp_path):
    mesh = torus()
    small, large = write_mesh(tmp_path / "s.ply", mesh, single=True), write_mesh(tmp_path / "d.ply", mesh)
    assert small.stat().st_size < large.stat().st_size
    np.testing.assert_array_equal(read_mesh(small).vertices, mesh.vertices.astype(np.float32))


def test_stl_merges_vertices_and_warns_of_lost_digits(tmp_path, recwarn):
    mesh = torus()
    found = read_mesh(mesh.save(tmp_path / "a.stl"))
    assert not recwarn.list
    assert len(found.vertices) == len(mesh.vertices)
    assert found.is_watertight
    np.testing.assert_array_equal(found.vertices[found.faces], mesh.vertices.astype(np.float32)[mesh.faces])
    with pytest.warns(UserWarning, match="single precision"):
        Mesh(mesh.vertices + FAR, mesh.faces).save(tmp_path / "far.stl")


@pytest.mark.parametrize("ending", [*MESH_ENDINGS, "glb", "gltf"])
def test_trimesh_reads_what_we_write(ending, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    mesh = torus()
    other = trimesh.load(mesh.save(tmp_path / f"a.{ending}"), force="mesh", process=False)
    assert len(other.faces) == len(mesh.faces)
    np.testing.assert_allclose(other.triangles, mesh.vertices[mesh.faces], atol=1e-6)
    assert other.volume == pytest.approx(mesh.volume, rel=1e-5)
    if ending == "ply":
        np.testing.assert_array_equal(other.visual.vertex_colors[:, :3], np.rint(mesh.attributes["colors"] * 255))


@pytest.mark.parametrize("ending", MESH_ENDINGS)
def test_we_read_what_trimesh_writes(ending, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    ours = torus()
    path = tmp_path / f"a.{ending}"
    ours.to_trimesh().export(path)
    found = read_mesh(path)
    other = trimesh.load(path, force="mesh", process=False)
    np.testing.assert_allclose(found.vertices[found.faces], other.triangles, atol=1e-7)
    np.testing.assert_allclose(found.vertices[found.faces], ours.vertices[ours.faces], atol=1e-6)
    assert found.is_watertight


def test_ascii_files_of_trimesh(tmp_path):
    pytest.importorskip("trimesh")
    mesh = torus()
    mesh.to_trimesh().export(tmp_path / "a.stl", file_type="stl_ascii")
    mesh.to_trimesh().export(tmp_path / "a.ply", encoding="ascii")
    for name in ("a.stl", "a.ply"):
        found = read_mesh(tmp_path / name)
        np.testing.assert_allclose(found.vertices[found.faces], mesh.vertices[mesh.faces], atol=1e-6)


def test_glb_carries_a_large_offset_normals_and_colors(tmp_path):
    mesh = torus()
    far = Mesh(mesh.vertices + FAR, mesh.faces, mesh.normals * 3, mesh.attributes)
    data = far.save(tmp_path / "a.glb").read_bytes()
    magic, version, total, length, kind = struct.unpack("<4sIII4s", data[:20])
    assert (magic, version, total, kind) == (b"glTF", 2, len(data), b"JSON")
    document, binary = json.loads(data[20 : 20 + length]), data[28 + length :]
    assert data[24 + length : 28 + length] == b"BIN\0" and length % 4 == 0
    attributes = document["meshes"][0]["primitives"][0]["attributes"]

    def array(number, dtype, width):
        accessor = document["accessors"][number]
        start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(binary, dtype, accessor["count"] * width, start).reshape(-1, width)

    positions = array(attributes["POSITION"], "<f4", 3)
    np.testing.assert_allclose(positions + np.array(document["nodes"][0]["translation"]), far.vertices, atol=1e-6)
    np.testing.assert_allclose(array(attributes["NORMAL"], "<f4", 3), mesh.normals, atol=1e-6)
    light = array(attributes["COLOR_0"], "<u2", 4)[:, :3] / 65535
    np.testing.assert_allclose(
        np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055),  # the sRGB standard
        mesh.attributes["colors"],
        atol=1e-4,
    )


def test_gltf_holds_what_glb_holds(tmp_path):
    mesh = torus()
    text = json.loads(mesh.save(tmp_path / "a.GLTF").read_text())
    data = mesh.save(tmp_path / "a.glb").read_bytes()
    length = int.from_bytes(data[12:16], "little")
    kind, _, packed = text["buffers"][0].pop("uri").partition(";base64,")
    assert kind == "data:application/octet-stream"
    assert base64.b64decode(packed) == data[28 + length :]
    assert text == json.loads(data[20 : 20 + length])
    for ending in ("glb", "gltf"):
        with pytest.raises(ValueError, match=f"a {ending.upper()} file needs at least one face"):
            Mesh(SQUARE, np.zeros((0, 3), int)).save(tmp_path / f"b.{ending}")


# ---- hand-written files


PLY_HEADER = """ply
format {} 1.0
comment made by hand
obj_info nothing
element vertex 4
property float x
property double y
property float z
property uchar red
property uchar green
property uchar blue
property short level
element face 2
property uchar flag
property list uchar int vertex_indices
property list uchar float texcoord
end_header
"""
LEVELS = [-3, 7, 300, -300]


def ply_body(order):
    rows = b"".join(struct.pack(order + "fdfBBBh", *SQUARE[k], 255, 0, 51, LEVELS[k]) for k in range(4))
    quad = struct.pack(order + "BB4iB2f", 9, 4, 0, 1, 2, 3, 2, 0.5, 0.5)
    return rows + quad + struct.pack(order + "BB3iB0f", 9, 3, 0, 2, 1, 0)


def ply_text():
    rows = "".join(f"{x:g} {y:g} {z:g} 255 0 51 {LEVELS[k]}\n" for k, (x, y, z) in enumerate(SQUARE))
    return rows + "9 4 0 1 2 3 2 0.5 0.5\n9 3 0 2 1 0\n"


@pytest.mark.parametrize("storage", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_ply_variants(storage, newline, tmp_path):
    body = {"ascii": ply_text().encode(), "binary_little_endian": ply_body("<"), "binary_big_endian": ply_body(">")}
    header = PLY_HEADER.format(storage).replace("\n", newline).encode()
    mesh = read_mesh(put(tmp_path, "a.ply", header + body[storage]))
    np.testing.assert_array_equal(mesh.vertices, SQUARE)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 2, 1]]
    assert mesh.attributes["level"].tolist() == LEVELS
    assert mesh.attributes["level"].dtype == np.int16
    np.testing.assert_array_equal(mesh.attributes["colors"], np.tile([1, 0, 0.2], (4, 1)))


@pytest.mark.parametrize("order", ["<", ">"])
def test_ply_with_faces_and_lists_before_the_vertices(order, tmp_path):
    storage = {"<": "binary_little_endian", ">": "binary_big_endian"}[order]
    header = (
        f"ply\nformat {storage} 1.0\nelement face 2\nproperty list uint ushort vertex_index\nelement camera 1\n"
        "property float a\nelement vertex 3\nproperty list uchar int rays\nproperty float x\nproperty float y\n"
        "property float z\nend_header\n"
    )
    faces = struct.pack(order + "I3HI2H", 3, 0, 1, 2, 2, 0, 1)  # the second has two corners
    rows = b"".join(struct.pack(f"{order}B{k}i3f", k, *range(k), *SQUARE[k]) for k in range(3))
    mesh = read_mesh(put(tmp_path, "a.ply", header.encode() + faces + struct.pack(order + "f", 1.0) + rows))
    np.testing.assert_array_equal(mesh.vertices, SQUARE[:3])
    assert mesh.faces.tolist() == [[0, 1, 2]]


def test_ply_triangle_strips(tmp_path):
    header = "ply\nformat {} 1.0\nelement vertex 6\nproperty float x\nproperty float y\nproperty float z\n"
    header += "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
    points = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0]], dtype="<f4")
    strip = [0, 2, 1, 3, -1, 2, 4, 3, 5]
    text = "\n".join(" ".join(map(str, row)) for row in points) + "\n9 " + " ".join(map(str, strip)) + "\n"
    binary = points.tobytes() + np.array([9, *strip], dtype="<i4").tobytes()
    for storage, body in (("ascii", text.encode()), ("binary_little_endian", binary)):
        mesh = read_mesh(put(tmp_path, "a.ply", header.format(storage).encode() + body))
        assert len(mesh.faces) == 4
        np.testing.assert_array_equal(mesh.vertices[mesh.faces][:, :, 2], 0)
        a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
        np.testing.assert_allclose(np.cross(b - a, c - a)[:, 2], 1.0)  # all turn the same way


def test_ply_float_colors_have_one_scale_for_all_chunks(tmp_path):
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 3\n"
    header += "".join(f"property float {name}\n" for name in ("x", "y", "z", "red", "green", "blue")) + "end_header\n"
    for factor in (1.0, 255.0):
        rows = np.hstack([SQUARE[:3], factor * np.array([[0, 0, 0], [0, 0, 1], [1, 0.2, 0]])]).astype("<f4")
        path = put(tmp_path, "a.ply", header.encode() + rows.tobytes())
        parts = [part.colors for part in open_points(path, chunk=1)]
        np.testing.assert_allclose(np.vstack(parts), [[0, 0, 0], [0, 0, 1], [1, 0.2, 0]], atol=1e-7)


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.xyz", "0 0 0\n1 0 0\n", ""),
        ("a.xyz", "# made by hand\n\n0,0,0\n1, 0, 0\n", ""),
        ("a.txt", "0;0;0;0;0;1\n1;0;0;0;1;0\n", "n"),
        ("a.csv", "X,Y,Z,Intensity\n0,0,0,7\n1,0,0,8\n", "i"),
        ("a.asc", "//X Y Z R G B\n0 0 0 255 0 51\n1 0 0 0 255 51\n", "c"),
        ("a.csv", "# x y z intensity\n0,0,0,7\n// more\n1,0,0,8 # last\n", "i"),
        ("a.txt", "# x, y, z, intensity\n0\t0 0 7\n\n1 0 0 8\n", "i"),
        ("a.xyz", "0 0 0 0.6 0.8 0\n1 0 0 0 0 -1\n", "n"),
        ("a.xyz", "0 0 0 255 0 51\n1 0 0 0 255 51\n", "c"),
        ("a.xyzrgb", "0 0 0 1 0 0.2\n1 0 0 0 1 0.2\n", "c"),
        ("a.xyz", "0 0 0 0 0 1 255 0 51\n1 0 0 0 1 0 0 255 51\n", "nc"),
        ("a.txt", "0 0 0 255 0 51 0 0 1\n1 0 0 0 255 51 0 1 0\n", "nc"),
        ("a.txt", "0 0 0 0 0 1 1 0 0.2\n1 0 0 0 1 0 0 1 0.2\n", "nc"),
        ("a.pts", "2\n0 0 0\n1 0 0\n", ""),
        ("a.pts", "2\n0 0 0 7\n1 0 0 8\n", "i"),
        ("a.pts", "2\n0 0 0 7 255 0 51\n1 0 0 8 0 255 51\n", "ic"),
        ("a.pts", "1\n0 0 0 -7 255 0 51\n1\n1 0 0 -8 0 255 51\n", "ic"),
        ("a.pts", "0 0 0\n1 0 0\n", ""),
        ("a.pwn", "2\n0 0 0\n1 0 0\n0 0 1\n0 1 0\n", "n"),
        ("a.pwn", "0 0 0 0 0 1\n1 0 0 0 1 0\n", "n"),
        ("a.xyz", "0 0 0 0 0 1 5\r\n1 0 0 0 1 0 6\r\n", "nk"),
        ("a.txt", "0 0 0 0 0 1 1 0 0 5 6\n1 0 0 0 1 0 0 1 0 7 8\n", "nm"),
        ("a.XYZ", "\ufeff0 0 0\n1 0 0\n", ""),
    ],
)
def test_text_variants(name, text, columns, tmp_path):
    cloud = read_points(put(tmp_path, name, text))
    np.testing.assert_array_equal(cloud.points, SQUARE[:2])
    assert (cloud.normals is not None) == ("n" in columns)
    assert (cloud.colors is not None) == ("c" in columns)
    assert [name.lower() for name in cloud.attributes] == (
        {"i": ["intensity"], "k": ["column7"], "m": [f"column{k}" for k in range(7, 12)]}.get(columns.strip("nc"), [])
    )
    if "n" in columns:
        np.testing.assert_allclose(np.linalg.norm(cloud.normals, axis=1), 1)
    if "c" in columns:
        np.testing.assert_allclose(cloud.colors, [[1, 0, 0.2], [0, 1, 0.2]])


def test_text_keeps_what_is_not_finite(tmp_path):
    cloud = read_points(put(tmp_path, "a.xyz", "nan 0 0\n1 -inf 0\n-nan 0 1e400\n"))
    np.testing.assert_array_equal(cloud.points, [[np.nan, 0, 0], [1, -np.inf, 0], [np.nan, 0, np.inf]])


PCD_POINTS = np.array([[0.5, 1.5, -2], [np.nan, 0, 1], [3, 3, 3], [0.5, 1.5, -2]], dtype=np.float32)
PCD_RGB = 255 << 16 | 51  # red 255, green 0, blue 51


def pcd_header(storage, rgb="F"):
    return (
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z _ rgb normal_x normal_y normal_z\n"
        f"SIZE 4 4 4 1 4 4 4 4\nTYPE F F F U {rgb} F F F\nCOUNT 1 1 1 4 1 1 1 1\nWIDTH 4\nHEIGHT 1\n"
        f"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 4\nDATA {storage}\n"
    )


def pcd_rows(rgb_kind="<f4"):
    kinds = [("p", "<f4", 3), ("_", "u1", 4), ("rgb", rgb_kind), ("n", "<f4", 3)]
    rows = np.zeros(4, dtype=kinds)
    rows["p"], rows["n"] = PCD_POINTS, [0, 0, 1]
    rows["rgb"] = np.array([PCD_RGB], dtype="<u4").view(rgb_kind)
    return rows


def lzf_literals(data):
    """A valid LZF stream without any repetitions."""
    return b"".join(bytes([len(data[k : k + 32]) - 1]) + data[k : k + 32] for k in range(0, len(data), 32))


def lzf_repeats(data):
    """A valid LZF stream: greedy search for repetitions, straight from the description of the format."""
    out, literal, i = b"", b"", 0
    while i < len(data):
        best, start = 0, 0
        for j in range(max(0, i - 8191), i):
            length = 0
            while length < 264 and i + length < len(data) and data[j + length] == data[i + length]:
                length += 1
            if length > best:
                best, start = length, j
        if best >= 3:
            out, literal = out + (lzf_literals(literal) if literal else b""), b""
            distance, n = i - start - 1, best - 2
            head = (min(n, 7) << 5) | (distance >> 8)
            out += bytes([head] + ([n - 7] if n >= 7 else []) + [distance & 255])
            i += best
        else:
            literal += data[i : i + 1]
            i += 1
    return out + (lzf_literals(literal) if literal else b"")


def pcd_file(storage, pack=lzf_literals):
    rows = pcd_rows()
    if storage == "ascii":
        rgb = rows["rgb"][0]
        body = "".join(f"{x:g} {y:g} {z:g} 0 0 0 0 {rgb:.9g} 0 0 1\n" for x, y, z in PCD_POINTS).encode()
    elif storage == "binary":
        body = rows.tobytes()
    else:
        parts = [rows["p"][:, 0], rows["p"][:, 1], rows["p"][:, 2], rows["_"], rows["rgb"], *rows["n"].T]
        data = b"".join(part.tobytes() for part in parts)
        body = struct.pack("<II", len(pack(data)), len(data)) + pack(data)
    return pcd_header(storage).encode() + body


@pytest.mark.parametrize(
    "content",
    [
        pcd_file("ascii"),
        pcd_file("binary"),
        pcd_file("binary_compressed"),
        pcd_file("binary_compressed", lzf_repeats),
        pcd_header("binary", "U").encode() + pcd_rows("<u4").tobytes(),
    ],
    ids=["ascii", "binary", "literals", "repeats", "unsigned rgb"],
)
def test_pcd_variants(content, tmp_path):
    cloud = read_points(put(tmp_path, "a.pcd", content))
    np.testing.assert_array_equal(cloud.points, PCD_POINTS)
    np.testing.assert_array_equal(cloud.normals, np.tile([0, 0, 1], (4, 1)))
    np.testing.assert_array_equal(cloud.colors, np.tile([1, 0, 0.2], (4, 1)))
    assert not cloud.attributes


def test_lzf_repetitions_are_long_and_overlap():
    packed = lzf_repeats(data := b"abc" * 200 + bytes(range(256)) + b"z" * 1000 + b"abcabc")
    unpacked = np.zeros(len(data), dtype=np.uint8)
    assert len(packed) < len(data) / 3
    assert _native.decompress_lzf(np.frombuffer(packed, np.uint8), unpacked) == len(data)
    assert unpacked.tobytes() == data
    assert _native.decompress_lzf(np.frombuffer(packed[:-1], np.uint8), unpacked) == -1
    assert _native.decompress_lzf(np.frombuffer(packed, np.uint8), unpacked[:-1]) == -1
    assert _native.decompress_lzf(np.array([0x20, 9], dtype=np.uint8), unpacked) == -1  # points before the beginning


OBJ_VERTICES = "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in SQUARE)
OBJ_NORMALS = "vn 0 0 1\nvn 0 1 0\n"


@pytest.mark.parametrize(
    ("text", "faces"),
    [
        (OBJ_VERTICES + "f 1 2 3\nf 1 3 4\n", [[0, 1, 2], [0, 2, 3]]),
        (OBJ_VERTICES + "f 1 2 3 4\n", [[0, 1, 2], [0, 2, 3]]),
        (OBJ_VERTICES + "f 1 2 3 4\nf 3 2 1  # back\n", [[0, 1, 2], [0, 2, 3], [2, 1, 0]]),
        (OBJ_VERTICES + "f -4 -3 -2\n\tf -4 -2 -1\n", [[0, 1, 2], [0, 2, 3]]),
        (OBJ_VERTICES[:30].rpartition("\n")[0] + "\nf -1 1 2\n" + OBJ_VERTICES[24:], None),
        ("o thing\nusemtl a\n" + OBJ_VERTICES + "vt 0 0\nf 1/1 2/1 \\\n3/1\n", [[0, 1, 2]]),
        (OBJ_VERTICES + OBJ_NORMALS + "f 1//1 2//1 3//1\nf 1//1 3//1 4//1\n", [[0, 1, 2], [0, 2, 3]]),
        (OBJ_VERTICES + OBJ_NORMALS + "vt 0 0\nf 1/1/-2 2/1/-2 3/1/-2 4/1/-2\n", [[0, 1, 2], [0, 2, 3]]),
        (OBJ_VERTICES + "vt 0 0\nf 1/1 2 3/1\n", [[0, 1, 2]]),
    ],
)
def test_obj_variants(text, faces, tmp_path):
    mesh = read_mesh(put(tmp_path, "a.obj", text))
    if faces is None:  # -1 counts back from where the face stands, not from the end
        assert mesh.faces.tolist() == [[2, 0, 1]]
        return
    np.testing.assert_array_equal(mesh.vertices, SQUARE)
    assert mesh.faces.tolist() == faces
    if "vn" in text:
        np.testing.assert_array_equal(mesh.normals, np.tile([0, 0, 1], (4, 1)))
    else:
        assert mesh.normals is None


def test_obj_normals_that_differ_at_a_vertex_are_averaged(tmp_path):
    mesh = read_mesh(put(tmp_path, "a.obj", OBJ_VERTICES + OBJ_NORMALS + "f 1//1 2//1 3//1\nf 1//2 3//2 4//2\n"))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(mesh.normals, [[0, half, half], [0, 0, 1], [0, half, half], [0, 1, 0]])


def test_obj_points_with_normals_and_colors(tmp_path):
    text = "v 0 0 0 1 0 0.2\nv 1 0 0 0 1 0\nvn 0 0 1\nvn 1 0 0\n"
    cloud = read_points(put(tmp_path, "a.obj", text))
    assert cloud.normals.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert cloud.colors.tolist() == [[1, 0, 0.2], [0, 1, 0]]
    with pytest.raises(FileFormatError, match="2 vertices and no faces"):
        read_mesh(tmp_path / "a.obj")


@pytest.mark.parametrize(
    "text",
    [
        "OFF\n4 2 0\n{}4 0 1 2 3\n3 0 2 1 255 0 0\n",
        "OFF 4 2 5\n# comment\n{}\n4 0 1 2 3  0.1 0.2 0.3\n3 0 2 1\n",
        "OFF4 2 0\n{}4 0 1 2 3\n3 0 2 1\n",
    ],
)
def test_off_variants(text, tmp_path):
    rows = "".join(f"{x:g} {y:g} {z:g}\n" for x, y, z in SQUARE)
    mesh = read_mesh(put(tmp_path, "a.off", text.format(rows)))
    np.testing.assert_array_equal(mesh.vertices, SQUARE)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 2, 1]]


def test_off_with_normals_and_colors(tmp_path):
    def content(kind, more):
        rows = "".join(f"{x:g} {y:g} {z:g} {more}\n" for x, y, z in SQUARE)
        return f"{kind}\n4 1 0\n{rows}3 0 1 2\n"

    for kind, more in (("COFF", "255 0 51 255"), ("COFF", "1.0 0.0 0.2 1.0"), ("CNOFF", "0 0 1 255 0 51 255")):
        mesh = read_mesh(put(tmp_path, "a.off", content(kind, more)))
        np.testing.assert_allclose(mesh.attributes["colors"], np.tile([1, 0, 0.2], (4, 1)))
    for kind, more in (("NOFF", "0 0 1"), ("CNOFF", "0 0 1 255 0 51 255")):
        mesh = read_mesh(put(tmp_path, "a.off", content(kind, more)))
        np.testing.assert_array_equal(mesh.normals, np.tile([0, 0, 1], (4, 1)))


def test_ascii_stl_by_hand(tmp_path):
    text = "solid a\n" + "".join(
        "facet normal 0 0 1\n outer loop\n"
        + "".join(f"  vertex {x:e} {y:e} {z:e}\n" for x, y, z in SQUARE[face])
        + " endloop\nendfacet\n"
        for face in ([0, 1, 2], [0, 2, 3])
    )
    mesh = read_mesh(put(tmp_path, "a.stl", text + "endsolid a\n"))
    np.testing.assert_array_equal(mesh.vertices, SQUARE)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    with pytest.raises(FileFormatError, match="ends after 2 faces without endsolid"):
        read_mesh(put(tmp_path, "a.stl", text))


def test_npz_takes_other_arrays_with_a_row_a_point(tmp_path):
    np.savez(tmp_path / "a.npz", points=SQUARE.astype(np.float32), scan=np.arange(4), names=np.array(["a", "b"]))
    cloud = read_points(tmp_path / "a.npz")
    np.testing.assert_array_equal(cloud.points, SQUARE)
    assert list(cloud.attributes) == ["scan"]


@pytest.mark.parametrize("ending", ["las", "laz"])
def test_las_and_laz(ending, tmp_path):
    laspy = pytest.importorskip("laspy")
    if ending == "laz" and not laspy.LazBackend.detect_available():
        pytest.skip("laspy has no backend for LAZ")
    data = laspy.create(point_format=3, file_version="1.4")
    data.header.offsets, data.header.scales = np.floor(FAR), [0.001] * 3
    data.add_extra_dim(laspy.ExtraBytesParams(name="height", type=np.float32))
    data.x, data.y, data.z = (FAR + SQUARE).T
    data.red, data.green, data.blue = ([65535] * 4, [0] * 4, [13107] * 4)
    data.intensity, data.height = [5, 6, 7, 8], [0.5, 1.5, 2.5, 3.5]
    path = tmp_path / f"a.{ending}"
    data.write(str(path))
    cloud = read_points(path)
    np.testing.assert_allclose(cloud.points, FAR + SQUARE, atol=0.00051, rtol=0)
    np.testing.assert_allclose(cloud.colors, np.tile([1, 0, 0.2], (4, 1)))
    assert cloud.attributes["intensity"].tolist() == [5, 6, 7, 8]
    assert cloud.attributes["height"].tolist() == [0.5, 1.5, 2.5, 3.5]
    message = "promises 4 points .* and holds 3" if ending == "las" else "cut-a"
    with pytest.raises(FileFormatError, match=message):
        read_points(put(tmp_path, f"cut-a.{ending}", path.read_bytes()[:-30]))


# ---- chunks and descriptions


@pytest.mark.parametrize("ending", ["ply", "npy", "xyz"])
@pytest.mark.parametrize("chunk", [1, 7, 50, 1000])
def test_chunks_can_be_read_again(cloud, ending, chunk, tmp_path):
    path = tmp_path / f"a.{ending}"
    if ending == "npy":
        cloud = PointCloud(cloud.points, cloud.normals)
        np.save(path, np.hstack([cloud.points, cloud.normals]))
    else:
        write_points(path, cloud)
    source = open_points(path, chunk=chunk)
    assert len(source) == 50
    for _ in range(2):
        parts = list(source)
        assert max(len(part) for part in parts) == min(chunk, 50)
        assert len(parts) == -(-50 // chunk)
        np.testing.assert_array_equal(np.concatenate([part.points for part in parts]), cloud.points)
        np.testing.assert_array_equal(np.concatenate([part.normals for part in parts]), cloud.normals)
        for name, values in cloud.attributes.items():
            np.testing.assert_array_equal(np.concatenate([part.attributes[name] for part in parts]), values)
    with pytest.raises(ValueError, match="chunk must be at least 1"):
        open_points(path, chunk=0)


def test_chunks_do_not_read_the_whole_file(cloud, tmp_path, monkeypatch):
    path = write_points(tmp_path / "a.ply", cloud)
    source = open_points(path, chunk=10)
    counts = []
    original = np.fromfile
    monkeypatch.setattr(np, "fromfile", lambda *a, **k: counts.append(k["count"]) or original(*a, **k))
    next(iter(source))
    assert counts == [10]


@pytest.mark.parametrize("ending", MESH_ENDINGS)
def test_describe_a_mesh(ending, tmp_path):
    mesh = torus()
    facts = describe(mesh.save(tmp_path / f"a.{ending}"))
    assert facts["kind"] == "mesh" and facts["has_faces"] and facts["format"] == ending
    assert (facts["points"], facts["faces"]) == (len(mesh.vertices), len(mesh.faces))
    np.testing.assert_allclose(facts["bounds"], mesh.bounds, atol=1e-6)
    assert facts["has_normals"] == (ending != "stl")
    json.dumps(facts)


def test_describe_points(cloud, tmp_path):
    cloud.points[7, 1] = np.nan
    facts = describe(write_points(tmp_path / "a.ply", cloud))
    assert facts["kind"] == "points" and facts["invalid_points"] == 1 and not facts["has_faces"]
    assert facts["columns"] == ["x", "y", "z", "nx", "ny", "nz", "red", "green", "blue", "quality", "label", "flow"]
    valid = np.delete(cloud.points, 7, axis=0)
    np.testing.assert_array_equal(facts["bounds"], [valid.min(axis=0), valid.max(axis=0)])
    nowhere = PointCloud(np.full((2, 3), np.nan))
    assert describe(write_points(tmp_path / "b.ply", nowhere))["bounds"] is None


# ---- damaged files


ALL_ENDINGS = [
    *("ply", "xyz", "txt", "pts", "pwn", "pcd", "obj", "stl", "off", "npz", "npy", "las", "laz"),
    *("ptx", "e57", "3mf"),
]


@pytest.mark.parametrize("ending", ALL_ENDINGS)
def test_missing_empty_and_foreign_files(ending, tmp_path):
    for reader in (read_points, open_points, describe):
        with pytest.raises(FileFormatError, match=r"there is no file .*absent"):
            reader(tmp_path / f"absent.{ending}")
        with pytest.raises(FileFormatError, match=r"empty-one\.\w+ is empty"):
            reader(put(tmp_path, f"empty-one.{ending}", ""))
        with pytest.raises(FileFormatError, match=r"page\.\w+ .*looks like a page of HTML"):
            reader(put(tmp_path, f"page.{ending}", "<html><body>404 not found, sorry</body></html>\n" * 4))
        with pytest.raises(FileFormatError, match=r"binary\.\w+ "):
            reader(put(tmp_path, f"binary.{ending}", bytes(range(256)) * 3))
    with pytest.raises(FileNotFoundError):
        read_points(tmp_path / f"absent.{ending}")
    with pytest.raises(FileFormatError, match="is a folder"):
        read_points(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"OFF\n1 0 0\n0 0 0\n", "an OFF file"),
        (b"1 2 3\n4 5 6\n", "text that begins with the numbers 1.0 2.0 3.0"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"ASTM-E57\x01\x00\x00\x00", "an E57 file"),
        (b"PK\x03\x04", "a zip archive, an NPZ or a 3MF file"),
        (OBJ_VERTICES.encode(), "an OBJ file"),
        (b"hello world", "text that begins with 'hello world'"),
    ],
)
def test_a_wrong_ending_is_recognised(content, message, tmp_path):
    with pytest.raises(FileFormatError, match=rf"a\.ply is not a PLY file: it looks like .*{message}"):
        read_points(put(tmp_path, "a.ply", content))


def test_unknown_endings(tmp_path, cloud):
    with pytest.raises(FileFormatError, match=r"the ending '.docx' and cannot be read: .*\.ply"):
        read_points(put(tmp_path, "a.docx", "1"))
    with pytest.raises(FileFormatError, match="no ending"):
        read_points(put(tmp_path, "a", "1"))
    with pytest.raises(FileFormatError, match=r"'.xyz' and cannot be read as a mesh: .*\.obj"):
        read_mesh(put(tmp_path, "a.xyz", "0 0 0\n"))
    with pytest.raises(FileFormatError, match="cannot be written as points"):
        write_points(tmp_path / "a.las", cloud)
    with pytest.raises(FileFormatError, match="cannot be written as a mesh"):
        torus().save(tmp_path / "a.xyz")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        torus().save(tmp_path / "nowhere" / "a.ply")


def test_truncated_binary_ply_says_how_much_is_there(cloud, tmp_path):
    data = write_points(tmp_path / "a.ply", cloud).read_bytes()
    with pytest.raises(FileFormatError, match=rf"cut\.ply is truncated: it promises 50 vertices \({len(data)} bytes\)"):
        read_points(put(tmp_path, "cut.ply", data[:-1]))
    with pytest.raises(FileFormatError, match="and holds 49 "):
        open_points(tmp_path / "cut.ply")
    data = torus().save(tmp_path / "a.ply").read_bytes()
    with pytest.raises(FileFormatError, match=rf"promises 576 faces \({len(data)} bytes\) and holds 575"):
        read_mesh(put(tmp_path, "cut.ply", data[:-1]))
    body = PLY_HEADER.format("binary_little_endian").encode() + ply_body("<")
    with pytest.raises(FileFormatError, match="promises 2 rows of element face and holds 1"):
        read_mesh(put(tmp_path, "cut.ply", body[:-3]))
    with pytest.raises(FileFormatError, match="no line end_header"):
        read_mesh(put(tmp_path, "cut.ply", body[:60]))


def test_truncated_text(tmp_path):
    text = PLY_HEADER.format("ascii") + ply_text()
    lines = text.splitlines(keepends=True)
    for cut, message in ((1, "2 faces and holds 1"), (2, "2 faces and holds 0"), (4, "4 vertices and holds 2")):
        with pytest.raises(FileFormatError, match=rf"cut\.ply is truncated: it promises {message}"):
            read_mesh(put(tmp_path, "cut.ply", "".join(lines[:-cut])))
    with pytest.raises(FileFormatError, match="4 vertices and holds 3"):  # in the middle of a line
        read_mesh(put(tmp_path, "cut.ply", "".join(lines[:-3]) + lines[-3][:5]))
    with pytest.raises(FileFormatError, match="2 faces and holds 1"):
        read_mesh(put(tmp_path, "cut.ply", text[:-6]))
    for name, content, message in (
        ("cut.pts", "3\n0 0 0\n1 1 1\n", "3 points and holds 2"),
        ("cut.pwn", "2\n0 0 0\n1 1 1\n0 0 1\n", "4 lines of positions and normals and holds 3"),
        ("cut.off", "OFF\n4 1 0\n0 0 0\n1 0 0\n", "4 vertices and holds 2"),
        ("cut.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "2 faces and holds 1"),
        ("cut.pcd", pcd_file("ascii").rpartition(b"0.5")[0], "4 points and holds 3"),
    ):
        with pytest.raises(FileFormatError, match=rf"{name}.* promises {message}"):
            open_points(put(tmp_path, name, content))


def test_truncated_binary_files(tmp_path):
    with pytest.raises(FileFormatError, match=r"promises 4 points .* and holds 3"):
        read_points(put(tmp_path, "a.pcd", pcd_file("binary")[:-1]))
    with pytest.raises(FileFormatError, match="bytes of compressed points"):
        read_points(put(tmp_path, "a.pcd", pcd_file("binary_compressed")[:-1]))
    damaged = bytearray(pcd_file("binary_compressed", lzf_repeats))
    damaged[len(pcd_header("binary_compressed")) + 8] ^= 0xFF
    with pytest.raises(FileFormatError, match="cannot be unpacked"):
        read_points(put(tmp_path, "a.pcd", bytes(damaged)))
    data = torus().save(tmp_path / "a.stl").read_bytes()
    with pytest.raises(FileFormatError, match=r"promises 576 faces .* and holds 574"):
        read_mesh(put(tmp_path, "b.stl", data[:-51]))
    for ending in ("npz", "npy"):
        np.savez(tmp_path / "c.npz", points=SQUARE)
        np.save(tmp_path / "c.npy", SQUARE)
        data = (tmp_path / f"c.{ending}").read_bytes()
        with pytest.raises(FileFormatError, match=rf"d\.{ending}"):
            read_points(put(tmp_path, f"d.{ending}", data[: len(data) // 2]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty quaternion x\nend_header\n1\n",
            "property quaternion",
        ),
        ("a.ply", "ply\nformat ternary 1.0\nend_header\n", "format ternary"),
        ("a.ply", "ply\nformat ascii 1.0\nelement face 1\nend_header\n", "no vertices"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n", "no vertices"),
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n",
            "no columns x, y and z",
        ),
        ("a.xyz", "# nothing\n\n", "no line of numbers"),
        ("a.xyz", "1 2 3\n4 5 6\n7 8\n", "line 3: it has 2 columns where the lines above have 3"),
        ("a.xyz", "# first\n1 2 3\n4 five 6\n", "line 3: the text 'five'"),
        ("a.xyz", "1 2\n4 5\n", "2 columns"),
        ("a.pts", "1\n1 2 3\n4 5 6\n", "more lines than the 1 it promises"),
        ("a.pcd", "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F Q\nPOINTS 1\nDATA ascii\n", "header"),
        ("a.pcd", "VERSION 0.7\nFIELDS x y z\n", "no line DATA"),
        ("a.obj", "o thing\nvt 0 0\n", "no vertices"),
        ("a.obj", "v 0 0 0\nv 1 0\n", "damaged"),
        ("a.obj", "v 0 0 0\nf 1 1 0\n", "refers to vertex 0"),
        ("a.obj", "v 0 0 0\nf 1 1 x\n", "not made of whole numbers"),
        ("a.obj", OBJ_VERTICES + "f 1 2 5\n", "refers to vertex 4, and there are 4"),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "refers to vertex 3, and there are 3"),
        ("a.off", "OFF BINARY\n", "binary OFF"),
        ("a.off", "OFF\nmany\n", "numbers of vertices and faces"),
        ("a.stl", "solid empty\nendsolid empty\n", "no vertices"),
    ],
)
def test_damaged_files_are_explained(name, content, message, tmp_path):
    with pytest.raises(FileFormatError, match=rf"{name}.*{message}"):
        open_points(put(tmp_path, name, content))
        read_mesh(tmp_path / name)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = write_points(tmp_path / "a.ply", PointCloud(SQUARE))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="it holds <U1, not numbers"):
        write_points(path, PointCloud(SQUARE, attributes={"name": np.array(list("abcd"))}))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.ply"]


def test_real_meshes_agree_with_trimesh(data_folder):
    trimesh = pytest.importorskip("trimesh")
    for name in ("armadillo_43k", "mask", "fertility"):
        path = data_folder / "surfaces" / "meshes" / f"{name}.ply"
        ours, other = read_mesh(path), trimesh.load(path, process=False)
        np.testing.assert_array_equal(ours.vertices, other.vertices)
        np.testing.assert_array_equal(ours.faces, other.faces)
        assert ours.is_watertight == other.is_watertight
        assert ours.area == pytest.approx(other.area)
        assert ours.euler_characteristic == other.euler_number
