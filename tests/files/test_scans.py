"""Files of laser scanners: PTX, E57 and COPC, with places of sensors, transformations and missing returns."""

import io
import struct
import sys

import numpy as np
import pytest

from seminorm._base.extras import MissingExtraError
from seminorm.clouds import estimate_normals
from seminorm.files import FileFormatError, describe, open_points, read_points

HALF = np.sqrt(0.5)
QUARTER_TURN = (HALF, 0.0, 0.0, HALF)  # about z, as a quaternion w x y z
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # the same as a matrix
NO_TURN = np.eye(3)
PLACES = np.array([[10.0, 20.0, 30.0], [-5.0, 0.0, 1.0]])


def rotation_of(quaternion):
    """The textbook formula: v -> q v q*."""

    def product(a, b):
        vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
        return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], vector])

    q = np.asarray(quaternion)
    conjugate = q * [1, -1, -1, -1]
    turned = [product(product(q, np.concatenate([[0.0], axis])), conjugate)[1:] for axis in np.eye(3)]
    return np.stack(turned, axis=1)


# ---- PTX


def ptx_scan(rows, shape, place=(0, 0, 0), rotation=NO_TURN, shift=(0, 0, 0)):
    """A scan as text; rows of numbers, and the rotation that turns columns."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[3, :3], matrix[3, 3] = rotation.T, shift, 1.0  # rows are multiplied from the left
    header = [[shape[0]], [shape[1]], place, *rotation.T, *matrix]
    return "".join(" ".join(f"{number:.12g}" for number in row) + "\n" for row in [*header, *rows])


@pytest.fixture
def ptx_rows(rng):
    rows = np.column_stack([rng.integers(-900, 900, (6, 3)) / 16, np.arange(6) / 8, rng.integers(0, 256, (6, 3))])
    rows[2, :4] = 0, 0, 0, 0.5  # no return
    return rows


def put(path, text):
    path.write_text(text)
    return path


def test_ptx_of_one_scan(ptx_rows, tmp_path):
    text = ptx_scan(ptx_rows, (2, 3), PLACES[0], TURN, PLACES[0])
    cloud = read_points(put(tmp_path / "a.ptx", text))
    kept = np.delete(ptx_rows, 2, axis=0)
    np.testing.assert_allclose(cloud.points, kept[:, :3] @ TURN.T + PLACES[0], atol=1e-12)
    np.testing.assert_array_equal(cloud.sensor, np.tile(PLACES[0], (5, 1)))
    np.testing.assert_array_equal(cloud.attributes["intensity"], kept[:, 3])
    np.testing.assert_allclose(cloud.colors, kept[:, 4:] / 255)
    assert list(cloud.attributes) == ["intensity"] and cloud.sensor.strides[0] == 0
    assert describe(tmp_path / "a.ptx")["has_sensor"]
    assert [len(chunk.sensor) for chunk in open_points(tmp_path / "a.ptx", chunk=2)] == [2, 2, 1]


def test_ptx_of_several_scans(ptx_rows, tmp_path):
    nothing = np.zeros((2, 7))
    text = ptx_scan(ptx_rows, (2, 3), PLACES[0], TURN, PLACES[0]) + ptx_scan(nothing, (1, 2), (7, 7, 7))
    text += "\n" + ptx_scan(ptx_rows[:2, :4], (1, 2), shift=PLACES[1]) + "\n\n"
    cloud = read_points(put(tmp_path / "a.PTX", text))
    assert cloud.attributes["scan"].tolist() == [0] * 5 + [2] * 2
    assert cloud.attributes["scan"].dtype.kind == "i"
    np.testing.assert_array_equal(cloud.sensor, PLACES[[0] * 5 + [1] * 2])  # the third header gives only the shift
    np.testing.assert_array_equal(cloud.points[5:], ptx_rows[:2, :3] + PLACES[1])
    assert cloud.colors is None  # one of the scans has none
    assert len(cloud.attributes["intensity"]) == 7


def test_ptx_agrees_with_published_numbers(tmp_path):
    """What CloudCompare and Cyclone make of a sample (https://rapidlasso.de/matrix-transformation-in-lastools/)."""
    rotation = np.array(
        [[-0.955179, 0.296021, -0.002106], [-0.296023, -0.95518, 0.001152], [-0.00167, 0.001724, 0.999997]]
    )
    shift = [3.847211, 12.235314, -0.425777]
    rows = [[1.111111, 2.111111, 3.111, 0.111], [0, 0, 0, 0], [1.666666, 2.666666, 3.666, 0.678]]
    cloud = read_points(put(tmp_path / "a.ptx", ptx_scan(rows, (1, 3), rotation=rotation.T, shift=shift)))
    np.testing.assert_allclose(cloud.points, [[2.156, 10.553, 2.685], [1.460, 10.188, 3.240]], atol=0.00051)
    np.testing.assert_array_equal(cloud.sensor, [shift] * 2)


def test_ptx_sensors_are_where_the_points_are(ptx_rows, tmp_path):
    for place, shift, sensor in (
        (PLACES[0], PLACES[0], PLACES[0]),
        (PLACES[0], PLACES[1], PLACES[1]),  # the matrix leads to a coordinate system of the user's
        (PLACES[0], (0, 0, 0), PLACES[0]),  # the points were moved before
    ):
        cloud = read_points(put(tmp_path / "a.ptx", ptx_scan(ptx_rows, (2, 3), place, shift=shift)))
        np.testing.assert_array_equal(cloud.sensor, [sensor] * 5)


@pytest.mark.parametrize("width", [3, 4, 6, 7])
def test_ptx_widths(width, ptx_rows, tmp_path):
    columns = {3: [0, 1, 2], 4: [0, 1, 2, 3], 6: [0, 1, 2, 4, 5, 6], 7: range(7)}[width]
    cloud = read_points(put(tmp_path / "a.ptx", ptx_scan(ptx_rows[:, columns], (6, 1))))
    assert (cloud.colors is not None) == (width > 4)
    assert ("intensity" in cloud.attributes) == (width in (4, 7))
    np.testing.assert_array_equal(cloud.sensor, np.zeros((5, 3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.rpartition("\n")[0].rpartition("\n")[0], "promises 6 points of scan 1 and holds 5"),
        (lambda text: "\n".join(text.splitlines()[:7]), "promises 10 lines above scan 1 and holds 7"),
        (lambda text: text + "1 2 3 0.5 0 0 0\n", "behind the points of scan 1 are no header of another scan"),
        (lambda text: text + "the end\n", "behind the points of scan 1 are no header of another scan"),
        (lambda text: text + "2\n1\n0 0 0\n", "promises 10 lines above scan 2 and holds 3"),
        (lambda text: text.replace("2\n3\n", "2.5\n3\n", 1), "2.5 columns or rows"),
        (lambda text: text.replace("2\n3\n", "nan\n3\n", 1), "nan columns or rows"),
        (lambda text: text.replace("2\n3\n", "1e30\n3\n", 1), "more than the file has bytes"),
        (lambda text: text.replace("10 20 30 1\n", "10 20 30 2\n", 1), "fourth column of the transformation of scan 1"),
        (lambda text: "1 2 3\n" + text, "not a PTX file: it looks like text that begins with the numbers"),
        (lambda text: text[: text.index("10 20 30 1\n") + 11] + "1 2\n" * 6, "have 2 numbers where 3, 4, 6 or 7"),
        (lambda text: text.replace("0.25", "many"), "is damaged: among its 6 points of scan 1"),
    ],
)
def test_damaged_ptx_is_explained(change, message, ptx_rows, tmp_path):
    ptx_rows[2, 3] = 0.25
    text = change(ptx_scan(ptx_rows, (2, 3), PLACES[0], shift=PLACES[0]))
    with pytest.raises(FileFormatError, match=rf"a\.ptx.*{message}"):
        read_points(put(tmp_path / "a.ptx", text))


def test_ptx_without_a_single_return(tmp_path):
    with pytest.raises(FileFormatError, match=r"a\.ptx has no points"):
        read_points(put(tmp_path / "a.ptx", ptx_scan(np.zeros((4, 4)), (2, 2))))


def test_normals_of_a_scan_look_at_its_sensors(rng, tmp_path):
    """A sheet that is seen from above by one scanner and from below by another: each has its side."""
    x, y = rng.uniform(-1, 1, (2, 400))
    above = np.column_stack([x, y, 0.3 * np.cos(x), 0 * x])
    below = above[:, :4] + [0.0, 0.0, -0.4, 0.0]
    text = ptx_scan(above - [0, 0, 5, 0], (20, 20), (0, 0, 5), shift=(0, 0, 5))
    text += ptx_scan(below + [0, 0, 5, 0], (20, 20), (0, 0, -5), shift=(0, 0, -5))
    found = estimate_normals(read_points(put(tmp_path / "a.ptx", text)))
    assert found.oriented == "sensor"
    assert (np.sign(found.normals[:, 2]) == np.repeat([1, -1], 400)).all()


# ---- E57


def write_e57(path, scans):
    """Scans as dicts: "columns" of (values, range of whole numbers, None or "scaled"), "pose", "limits" of colours."""
    pye57 = pytest.importorskip("pye57")
    lib = pye57.libe57
    with pye57.E57(str(path), "w") as file:
        image = file.image_file
        image.extensionsAdd("nor", "http://www.libe57.org/E57_NOR_surface_normals.txt")

        def structure(entries):
            node = lib.StructureNode(image)
            for name, value in entries.items():
                node.set(name, structure(value) if isinstance(value, dict) else lib.FloatNode(image, float(value)))
            return node

        for scan in scans:
            node, prototype, buffers = structure({}), structure({}), lib.VectorSourceDestBuffer()
            node.set("guid", lib.StringNode(image, "{0}"))
            if "pose" in scan:
                (w, x, y, z), place = scan["pose"]
                rotation = {"x": x, "y": y, "z": z, "w": w}  # in an order of its own
                pose = {"rotation": rotation, "translation": dict(zip("xyz", place, strict=True))}
                node.set("pose", structure(pose))
            if "limits" in scan:
                colors = ("Red", "Green", "Blue")
                limits = {f"color{color}{end}": 0 for color in colors for end in ("Minimum", "Maximum")}
                limits |= {f"color{color}Maximum": scan["limits"] for color in colors}
                node.set("colorLimits", structure(limits))
            columns = {name: np.array(values, dtype=float) for name, (values, _) in scan["columns"].items()}
            for name, (_, kind) in scan["columns"].items():
                if kind is None:
                    entry = lib.FloatNode(image, 0.0, lib.E57_DOUBLE, -1e9, 1e9)
                elif kind == "scaled":
                    entry = lib.ScaledIntegerNode(image, 0, -(2**40), 2**40, 1 / 1024, 100.0)
                else:
                    entry = lib.IntegerNode(image, kind[0], *kind)
                prototype.set(name, entry)
                buffers.append(lib.SourceDestBuffer(image, name, columns[name], len(columns[name]), True, True))
            points = lib.CompressedVectorNode(image, prototype, lib.VectorNode(image, True))
            node.set("points", points)
            file.data3d.append(node)
            writer = points.writer(buffers)
            if n := len(next(iter(columns.values()))):
                writer.write(n)
            writer.close()
    return path


def cartesian(points, **more):
    return {f"cartesian{axis}": (column, None) for axis, column in zip("XYZ", np.transpose(points), strict=True)} | more


def colors_of(values, kind):
    return {f"color{name}": (values[:, k], kind) for k, name in enumerate(("Red", "Green", "Blue"))}


@pytest.fixture
def points(rng):
    return rng.integers(-4096, 4096, (8, 3)) / 1024


def test_e57_of_one_scan(points, rng, tmp_path):
    normals = rng.standard_normal((8, 3))
    columns = cartesian(
        points, intensity=(np.arange(8), (0, 4095)), cartesianInvalidState=([0, 1, 2] + [0] * 5, (0, 2))
    )
    columns |= {f"nor:normal{axis}": (normals[:, k], None) for k, axis in enumerate("XYZ")}
    columns["cartesianY"] = (points[:, 1], "scaled")
    path = write_e57(tmp_path / "a.e57", [{"columns": columns, "pose": (QUARTER_TURN, PLACES[0])}])
    cloud, kept = read_points(path), [0, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(cloud.points, points[kept] @ TURN.T + PLACES[0], atol=1e-12)
    np.testing.assert_allclose(cloud.normals, normals[kept] @ TURN.T, atol=1e-12)
    np.testing.assert_array_equal(cloud.sensor, np.tile(PLACES[0], (6, 1)))
    np.testing.assert_array_equal(cloud.attributes["intensity"], kept)
    assert list(cloud.attributes) == ["intensity"] and cloud.colors is None
    assert describe(path)["format"] == "e57"


def test_e57_agrees_with_another_reader(points, rng, tmp_path):
    e57 = pytest.importorskip("e57")
    quaternion = rng.standard_normal(4)
    quaternion /= np.linalg.norm(quaternion)
    path = write_e57(tmp_path / "a.e57", [{"columns": cartesian(points), "pose": (quaternion, PLACES[1])}])
    np.testing.assert_allclose(read_points(path).points, e57.read_points(str(path)).points, atol=1e-12)


def test_e57_poses_follow_the_textbook(points, rng, tmp_path):
    quaternion = rng.standard_normal(4)
    quaternion /= np.linalg.norm(quaternion)
    for factor in (1.0, 1.01):  # of a length that is not quite one
        pose = (factor * quaternion, PLACES[1])
        path = write_e57(tmp_path / "a.e57", [{"columns": cartesian(points), "pose": pose}])
        np.testing.assert_allclose(read_points(path).points, points @ rotation_of(quaternion).T + PLACES[1], atol=1e-12)


def test_e57_of_several_scans(points, tmp_path):
    bytes_, words = np.tile([255, 0, 51], (8, 1)), np.tile([65535, 0, 13107], (8, 1))
    scans = [
        {"columns": cartesian(points) | colors_of(bytes_, (0, 255)), "pose": ((1, 0, 0, 0), PLACES[0])},
        {"columns": cartesian(points[:0]) | colors_of(bytes_[:0], (0, 255))},
        {"columns": cartesian(points) | colors_of(words, (0, 65535)), "pose": (QUARTER_TURN, (0, 0, 0))},
        {"columns": cartesian(points) | colors_of(bytes_ / 255, None), "pose": ((1, 0, 0, 0), (0, 0, 0))},
        {"columns": cartesian(points) | colors_of(bytes_ * 4, (0, 65535)), "limits": 1020},
    ]
    cloud = read_points(write_e57(tmp_path / "a.e57", scans))
    np.testing.assert_array_equal(cloud.attributes["scan"], np.repeat([0, 2, 3, 4], 8))
    np.testing.assert_allclose(cloud.colors, np.tile([1, 0, 0.2], (32, 1)))
    np.testing.assert_allclose(cloud.points[8:16], points @ TURN.T, atol=1e-12)
    unknown = [np.nan] * 3  # the last has no pose at all
    np.testing.assert_array_equal(cloud.sensor, np.repeat([PLACES[0], [0] * 3, [0] * 3, unknown], 8, axis=0))


def test_e57_poses_that_move_nothing_tell_no_sensor(points, tmp_path):
    still = ((1, 0, 0, 0), (0, 0, 0))
    for scans in ([{}], [{"pose": still}], [{"pose": still}, {"pose": still}]):
        cloud = read_points(write_e57(tmp_path / "a.e57", [{"columns": cartesian(points), **scan} for scan in scans]))
        assert cloud.sensor is None
        np.testing.assert_array_equal(cloud.points, np.tile(points, (len(scans), 1)))


def test_e57_in_distances_and_angles(points, tmp_path):
    distance = np.linalg.norm(points, axis=1)
    azimuth, elevation = np.arctan2(points[:, 1], points[:, 0]), np.arcsin(points[:, 2] / distance)
    values = {"sphericalRange": distance, "sphericalAzimuth": azimuth, "sphericalElevation": elevation}
    columns = {name: (column, None) for name, column in values.items()}
    columns["sphericalInvalidState"] = ([0] * 7 + [2], (0, 2))
    cloud = read_points(write_e57(tmp_path / "a.e57", [{"columns": columns}]))
    np.testing.assert_allclose(cloud.points, points[:7], atol=1e-12)
    np.testing.assert_array_equal(cloud.sensor, np.zeros((7, 3)))


def test_e57_without_points_or_coordinates(points, tmp_path):
    with pytest.raises(FileFormatError, match=r"a\.e57 has no points"):
        read_points(write_e57(tmp_path / "a.e57", []))
    with pytest.raises(FileFormatError, match="neither cartesian nor spherical coordinates, but intensity"):
        read_points(write_e57(tmp_path / "a.e57", [{"columns": {"intensity": ([1, 2], (0, 9))}}]))


def test_damaged_e57_is_explained(points, tmp_path):
    data = write_e57(tmp_path / "a.e57", [{"columns": cartesian(points)}]).read_bytes()
    for cut in (20, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.e57").write_bytes(data[:cut])
        with pytest.raises(FileFormatError, match=rf"cut\.e57 is truncated: it promises \d+ bytes and holds {cut}"):
            read_points(tmp_path / "cut.e57")
    for place in (60, len(data) // 2, len(data) - 100):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        (tmp_path / "bad.e57").write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"bad\.e57 cannot be read, it may be damaged: \w+"):
            read_points(tmp_path / "bad.e57")


def test_the_package_for_e57_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.e57").write_bytes(b"ASTM-E57" + bytes(100))
    monkeypatch.setitem(sys.modules, "pye57", None)
    with pytest.raises(MissingExtraError, match=r"reading E57 files needs pye57.*pip install 'seminorm\[e57\]'"):
        read_points(tmp_path / "a.e57")


# ---- COPC


def write_copc(path, data, sizes):
    """A LAZ file whose chunks are the nodes of an octree: the root and its first child; laspy can only read them."""
    laspy, lazrs = pytest.importorskip("laspy"), pytest.importorskip("lazrs")
    packing = lazrs.LazVlr.new_for_compression(data.header.point_format.id, 0, True)
    header, records = data.header, data.points.array

    def write(file, hierarchy):
        info = struct.pack("<5d2Q2d88x", 0, 0, 0, 1.0, 0.1, hierarchy, 32 * len(sizes), 0.0, 1.0)
        header.vlrs = [laspy.VLR("copc", 1, "", info), laspy.vlrs.known.LasZipVlr(packing.record_data())]
        header.are_points_compressed = True
        header.start_of_first_evlr, header.number_of_evlrs = max(hierarchy - 60, 0), 1
        header.write_to(file)
        compressor = lazrs.LasZipCompressor(file, packing)
        compressor.reserve_offset_to_chunk_table()
        page, first = b"", 0
        for level, n in enumerate(sizes):
            start = file.tell()
            compressor.compress_many(records[first : first + n].view(np.uint8))
            compressor.finish_current_chunk()
            page += struct.pack("<4iQ2i", level, 0, 0, 0, start, file.tell() - start, n)
            first += n
        compressor.done()
        place = file.tell() + 60
        file.write(struct.pack("<H16sHQ32s", 0, b"copc", 1000, len(page), b"") + page)
        return place

    hierarchy = write(io.BytesIO(), 0)
    with open(path, "wb") as file:
        write(file, hierarchy)
    return path


@pytest.mark.parametrize("name", ["a.copc.laz", "A.COPC.LAZ"])
def test_copc(name, rng, tmp_path):
    laspy = pytest.importorskip("laspy")
    points = rng.uniform(-1, 1, (50, 3))
    points[20:] = rng.uniform(-1, 0, (30, 3))  # the child
    data = laspy.create(point_format=7, file_version="1.4")
    data.header.scales = [0.001] * 3
    data.x, data.y, data.z = points.T
    data.red = data.green = data.blue = np.full(50, 65535)
    data.intensity = np.arange(50)
    data.update_header()
    path = write_copc(tmp_path / name, data, [20, 30])
    with laspy.CopcReader.open(path) as oracle:
        assert len(oracle.query()) == 50
    cloud = read_points(path)
    np.testing.assert_allclose(cloud.points, points, atol=0.00051, rtol=0)
    np.testing.assert_array_equal(cloud.attributes["intensity"], np.arange(50))
    np.testing.assert_array_equal(cloud.colors, np.ones((50, 3)))
    assert describe(path)["points"] == 50
