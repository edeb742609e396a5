"""Where points were measured from: in clouds, in the files that say so, and in the normals that look there."""

import numpy as np
import pytest

from seminorm.clouds import PointCloud, as_cloud, drop_invalid, estimate_normals, thin
from seminorm.files import describe, open_points, read_mesh, read_points, write_mesh, write_points
from seminorm.shapes import Mesh

PLACE = [1.5, -2.25, 431234.567]
TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.fixture
def cloud(rng):
    """Points that were measured from two places, and one from nowhere."""
    sensor = np.repeat([PLACE, [0.0, 0.0, 0.0], [np.nan] * 3], [20, 19, 1], axis=0)
    points = rng.standard_normal((40, 3))
    return PointCloud(points, points, None, {"label": np.arange(40)}, sensor)


# ---- clouds


def test_one_sensor_is_kept_once(rng):
    cloud = PointCloud(rng.standard_normal((1000, 3)), sensor=PLACE)
    for part, n in ((cloud, 1000), (cloud[10:20], 10), (cloud[[3, 3]], 2), (cloud[np.arange(1000) < 5], 5)):
        assert part.sensor.shape == (n, 3) and part.sensor.dtype == np.float64
        assert part.sensor.strides[0] == 0
        np.testing.assert_array_equal(part.sensor, np.tile(PLACE, (n, 1)))
    assert cloud[:0].sensor.shape == (0, 3)
    assert repr(cloud) == "PointCloud(1000 points, sensor)"
    assert PointCloud(TRIANGLE, sensor=[1, 2, 3]).sensor.tolist() == [[1, 2, 3]] * 3


def test_sensors_follow_rows(cloud):
    rows = [39, 0, 25]
    np.testing.assert_array_equal(cloud[rows].sensor, cloud.sensor[rows])
    np.testing.assert_array_equal(cloud[30:].sensor, cloud.sensor[30:])
    np.testing.assert_array_equal(as_cloud(cloud, normals=-cloud.normals).sensor, cloud.sensor)
    assert repr(cloud) == "PointCloud(40 points, normals, sensor, label)"
    assert PointCloud(cloud.points).sensor is None and PointCloud(cloud.points)[:3].sensor is None


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (np.zeros((2, 3)), r"sensor must have shape \(3,\) or \(40, 3\), one row per point, it has \(2, 3\)"),
        (np.zeros(40), r"sensor must have shape \(3,\) or \(40, 3\)"),
        (["a", "b", "c"], "sensor must be an array of numbers"),
    ],
)
def test_sensors_are_checked(cloud, sensor, message):
    with pytest.raises(ValueError, match=message):
        PointCloud(cloud.points, sensor=sensor)


def test_preparation_takes_sensors_along(cloud):
    cloud.points[4, 0] = np.nan
    valid = drop_invalid(cloud)[0]
    np.testing.assert_array_equal(valid.sensor, np.delete(cloud.sensor, 4, axis=0))
    valid.attributes["row"] = np.arange(len(valid))
    for spacing in (1e-9, 100.0):  # all points stay, or one is left, with the sensor of the point nearest to it
        thinned = thin(valid, spacing)
        np.testing.assert_array_equal(thinned.sensor, valid.sensor[thinned.attributes["row"]])
    assert thin(PointCloud(TRIANGLE, sensor=PLACE), 10.0).sensor.tolist() == [PLACE]


def test_normals_look_at_the_sensor_of_the_cloud(rng):
    flat = rng.random((500, 2))
    points = np.column_stack([flat, 0.1 * np.sin(9 * flat[:, 0])])
    below = [0.5, 0.5, -3.0]
    found = estimate_normals(PointCloud(points, sensor=below))
    assert found.oriented == "sensor" and (found.normals[:, 2] < 0).all()
    np.testing.assert_array_equal(found.sensor, np.tile(below, (500, 1)))
    assert found[:7].sensor.shape == (7, 3)
    assert (estimate_normals(PointCloud(points, sensor=below), sensor=[0, 0, 9]).normals[:, 2] > 0).all()
    sensor = np.tile(below, (500, 1))
    sensor[3] = np.nan
    found = estimate_normals(PointCloud(points, sensor=sensor))
    assert found.oriented == "sensor" and (found.normals[:, 2] < 0).all()  # the others tell that point its side
    np.testing.assert_array_equal(found.sensor, sensor)
    lines = np.argsort(np.argsort(flat[:, 1])) // 50
    assert estimate_normals(PointCloud(points, sensor=below), scan_lines=lines).oriented != "sensor"


# ---- round trips


@pytest.mark.parametrize("ending", ["ply", "pcd", "xyz", "txt", "npz"])
def test_sensors_survive_a_round_trip(cloud, ending, tmp_path):
    for wanted in (cloud, PointCloud(cloud.points, sensor=PLACE), PointCloud(cloud.points, sensor=np.zeros(3))):
        path = write_points(tmp_path / f"a.{ending}", wanted)
        found = read_points(path)
        np.testing.assert_array_equal(found.sensor, wanted.sensor)
        np.testing.assert_array_equal(found.points, wanted.points)
        assert found.attributes.keys() == wanted.attributes.keys()
        assert describe(path)["has_sensor"] and "x_origin" in describe(path)["columns"]
        parts = [chunk.sensor for chunk in open_points(path, chunk=7)]
        np.testing.assert_array_equal(np.vstack(parts), wanted.sensor)
    bare = write_points(tmp_path / f"a.{ending}", PointCloud(cloud.points))
    assert read_points(bare).sensor is None and not describe(bare)["has_sensor"]


def test_a_large_ply_file_keeps_sensors(rng, tmp_path):
    """More points than are read at once."""
    n = 2**18 + 5
    cloud = PointCloud(rng.random((n, 3)), sensor=rng.random((n, 3)))
    np.testing.assert_array_equal(read_points(write_points(tmp_path / "a.ply", cloud)).sensor, cloud.sensor)
    header = "ply\nformat binary_little_endian 1.0\ncomment scanner_position 1 2 3\n" + f"element vertex {n}\n"
    header += "".join(f"property double {axis}\n" for axis in "xyz") + "end_header\n"
    (tmp_path / "b.ply").write_bytes(header.encode() + cloud.points.tobytes())
    found = read_points(tmp_path / "b.ply")
    np.testing.assert_array_equal(found.points, cloud.points)
    np.testing.assert_array_equal(found.sensor, np.tile([1.0, 2, 3], (n, 1)))
    assert found.sensor.strides[0] == 0


def test_meshes_of_ply_files_keep_sensors(tmp_path):
    mesh = Mesh(TRIANGLE, [[0, 1, 2]], attributes={"sensor": np.tile(PLACE, (3, 1)), "quality": np.arange(3)})
    path = write_mesh(tmp_path / "a.ply", mesh)
    assert read_points(path).sensor.tolist() == [PLACE] * 3
    found = read_mesh(path)
    assert found.attributes["sensor"].tolist() == [PLACE] * 3
    assert as_cloud(found).sensor.tolist() == [PLACE] * 3 and list(as_cloud(found).attributes) == ["quality"]
    number = Mesh(TRIANGLE, [[0, 1, 2]], attributes={"sensor": np.arange(3)})  # something else of that name
    assert as_cloud(number).sensor is None
    np.testing.assert_array_equal(read_mesh(number.save(tmp_path / "b.ply")).attributes["sensor"], np.arange(3))


def test_npz_files_with_something_else_called_sensor(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.zeros((5, 3)), sensor=np.arange(5))
    found = read_points(tmp_path / "a.npz")
    assert found.sensor is None and found.attributes["sensor"].tolist() == [0, 1, 2, 3, 4]
    np.savez(tmp_path / "a.npz", points=np.zeros((5, 3)), sensor=PLACE)
    assert read_points(tmp_path / "a.npz").sensor.tolist() == [PLACE] * 5


# ---- conventions


def ply(tmp_path, comment="", properties=(), rows="0 0 0", camera=""):
    names = ["x", "y", "z", *properties]
    text = f"ply\nformat ascii 1.0\n{comment}\nelement vertex 1\n" + "".join(
        f"property double {name}\n" for name in names
    )
    if camera:
        text += "element camera 1\n" + "".join(f"property float view_p{axis}\n" for axis in "xyz")
        text += "property int viewportx\n"
    (tmp_path / "a.ply").write_text(f"{text}end_header\n{rows}\n{camera}")
    return read_points(tmp_path / "a.ply")


@pytest.mark.parametrize(
    "names",
    [
        ("x_origin", "y_origin", "z_origin"),
        ("origin_x", "origin_y", "origin_z"),
        ("scanner_x", "scanner_y", "scanner_z"),
        ("sensor_x", "sensor_y", "sensor_z"),
        ("vp_x", "vp_y", "vp_z"),
        ("sx", "sy", "sz"),
        ("X_Origin", "Y_Origin", "Z_Origin"),
    ],
)
def test_columns_of_the_sensor(names, tmp_path):
    cloud = ply(tmp_path, properties=names, rows="0 0 0 7 8 9")
    assert cloud.sensor.tolist() == [[7, 8, 9]] and not cloud.attributes
    (tmp_path / "a.csv").write_text(",".join(["x", "y", "z", *names]) + "\n0,0,0,7,8,9\n")
    assert read_points(tmp_path / "a.csv").sensor.tolist() == [[7, 8, 9]]
    incomplete = ply(tmp_path, properties=names[:2], rows="0 0 0 7 8")
    assert incomplete.sensor is None and list(incomplete.attributes) == [*names[:2]]


@pytest.mark.parametrize(
    ("comment", "place"),
    [
        ("comment scanner_position 1 2 3", [1, 2, 3]),
        ("comment scanner_position 0 0 0", [0, 0, 0]),
        ("obj_info sensor 1.5 -2 3e2", [1.5, -2, 300]),
        ("obj_info viewpoint 1 2 3 1 0 0 0", [1, 2, 3]),
        ("comment VIEWPOINT 0 0 0 1 0 0 0", None),
        ("comment Scanner position: 1, .5, -3.", [1, 0.5, -3]),
        ("comment sensor_origin = [1 2 3]", [1, 2, 3]),
        ("comment scan-position (1; 2; 3)", [1, 2, 3]),
        ("comment scanner model 7 1 2 3", None),
        ("comment sensor 1 2", None),
        ("comment sensors 1 2 3", None),
        ("comment scan 2024 1 2", None),
        ("comment sensor 1 2 3rd", None),
        ("comment first\ncomment scanner 1 2 3", [1, 2, 3]),
        ("comment written by me", None),
    ],
)
def test_comments_of_ply_files(comment, place, tmp_path):
    found = ply(tmp_path, comment)
    assert (None if found.sensor is None else found.sensor[0].tolist()) == place


def test_columns_count_more_than_comments(tmp_path):
    found = ply(tmp_path, "comment sensor 1 2 3", ("x_origin", "y_origin", "z_origin"), "0 0 0 7 8 9")
    assert found.sensor.tolist() == [[7, 8, 9]]


def test_cameras_of_ply_files(tmp_path):
    """As the Point Cloud Library writes them."""
    assert ply(tmp_path, camera="1 2 3 640").sensor.tolist() == [[1, 2, 3]]
    assert ply(tmp_path, camera="0 0 0 640").sensor is None
    header = (
        "ply\nformat binary_big_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
    )
    header += "element camera 1\nproperty float view_px\nproperty float view_py\nproperty float view_pz\nend_header\n"
    data = header.encode() + np.array([0, 0, 0, 1, 2, 3], dtype=">f4").tobytes()
    (tmp_path / "a.ply").write_bytes(data)
    assert read_points(tmp_path / "a.ply").sensor.tolist() == [[1, 2, 3]]
    (tmp_path / "a.ply").write_bytes(data[:-1])
    with pytest.raises(ValueError, match=r"a\.ply is truncated: it promises 1 cameras and holds 0"):
        read_points(tmp_path / "a.ply")


def test_viewpoints_of_pcd_files(cloud, tmp_path):
    header = "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\nHEIGHT 1\n"
    for viewpoint, place in (
        ("VIEWPOINT 1 2 3 1 0 0 0\n", [[1, 2, 3]]),
        ("VIEWPOINT 0 0 0 1 0 0 0\n", None),
        ("", None),
    ):
        (tmp_path / "a.pcd").write_text(f"{header}{viewpoint}POINTS 1\nDATA ascii\n5 6 7\n")
        found = read_points(tmp_path / "a.pcd").sensor
        assert (None if found is None else found.tolist()) == place
    (tmp_path / "a.pcd").write_text(f"{header}VIEWPOINT here\nPOINTS 1\nDATA ascii\n5 6 7\n")
    with pytest.raises(ValueError, match="its header cannot be understood"):
        read_points(tmp_path / "a.pcd")
    same = write_points(tmp_path / "b.pcd", PointCloud(cloud.points, sensor=np.tile(PLACE, (40, 1))))
    assert b"\nVIEWPOINT 1.5 -2.25 431234.567 1 0 0 0\n" in same.read_bytes()
    differ = write_points(tmp_path / "b.pcd", cloud)
    assert b"\nVIEWPOINT 0.0 0.0 0.0 1 0 0 0\n" in differ.read_bytes()
    assert b" x_origin y_origin z_origin " in differ.read_bytes()
