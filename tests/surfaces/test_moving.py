"""Surfaces that move: what they carry, normals of frames without any, frames as a list, open sheets, files."""

import numpy as np
import pytest

from seminorm.clouds import PointCloud, frames
from seminorm.clouds.frames import has_frames, with_frame_normals
from seminorm.clouds.sheets import signs_of_sheets
from seminorm.shapes.carried import FrameAttachments
from seminorm.surfaces import MovingSurface, reconstruct_moving

TIMES = np.arange(4.0)
LENGTHS = {"depth": 2, "smoothness": 0.1, "tolerance": 0.1, "order": 2}


def ball(n=250, seed=0):
    points = np.random.default_rng(seed).standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def drifting(with_normals=True):
    """Frames of a ball that moves along x, red by its own x and labelled by the sign of it."""
    clouds = []
    for time in TIMES:
        u = ball(seed=int(time))
        label = (u[:, 0] > 0).astype(int)
        clouds.append(
            PointCloud(u + [0.2 * time, 0, 0], u if with_normals else None, (u + 1) / 2, attributes={"label": label})
        )
    return clouds


@pytest.fixture(scope="module")
def moving():
    return reconstruct_moving(drifting(), times=TIMES, **LENGTHS)


def test_a_list_of_frames_is_one_cloud_with_times(moving):
    clouds = drifting()
    points, normals = (np.concatenate([getattr(c, name) for c in clouds]) for name in ("points", "normals"))
    same = reconstruct_moving(points, normals, np.repeat(TIMES, 250), **LENGTHS)
    X = np.random.default_rng(1).uniform(-1, 1, (20, 3))
    np.testing.assert_array_equal(moving.at(1.5)(X), same.at(1.5)(X))
    assert moving.attached == ("label", "colors") and same.attached == ()


@pytest.mark.parametrize(("time", "close"), [(2.0, 0.02), (1.5, 0.03)])
def test_colors_and_classes_move_with_the_surface(moving, time, close):
    mesh = moving.at(time).mesh(0.1, attributes=("speed", "distance"))
    own = mesh.vertices - [0.2 * time, 0, 0]
    assert np.abs(mesh.attributes["colors"] - (own + 1) / 2).mean() < close
    clear = np.abs(own[:, 0]) > 0.4
    np.testing.assert_array_equal(mesh.attributes["label"][clear], own[clear, 0] > 0)
    assert np.abs(mesh.attributes["speed"] - 0.2 * np.abs(own[:, 0])).mean() < 0.04
    assert mesh.attributes["distance"].max() < 0.5
    np.testing.assert_array_equal(moving.at(time).attribute("label", mesh.vertices), mesh.attributes["label"])


def test_attributes_between_frames_are_means_in_proportion():
    points, times = np.tile(ball(60), (2, 1)), np.repeat([0.0, 2.0], 60)
    attached = FrameAttachments(points, times, {"heat": np.repeat([1.0, 3.0], 60), "kind": np.repeat([4, 5], 60)})
    for time, heat, kind in ((-1, 1, 4), (0, 1, 4), (0.5, 1.5, 4), (1.5, 2.5, 5), (2, 3, 5), (9, 3, 5)):
        np.testing.assert_allclose(attached.at("heat", points[:5], time), heat, atol=1e-5)
        np.testing.assert_array_equal(attached.at("kind", points[:5], time), kind)


def test_a_saved_surface_is_the_same(moving, tmp_path):
    loaded = MovingSurface.load(moving.save(tmp_path / "moving.npz"))
    mesh, same = moving.at(0.7).mesh(0.2), loaded.at(0.7).mesh(0.2)
    for name in ("vertices", "faces"):
        np.testing.assert_array_equal(getattr(mesh, name), getattr(same, name))
    for name, values in mesh.attributes.items():
        np.testing.assert_array_equal(values, same.attributes[name])
    assert "label, colors" in repr(loaded) and loaded.details["normals"] == "given"


def test_normals_are_estimated_for_each_time():
    clouds = drifting(with_normals=False)
    moving = reconstruct_moving(clouds, times=TIMES, **LENGTHS)
    assert moving.details["normals"] == "estimated from all points of the same time, signs: outwards"
    for time in (0.0, 1.5):
        mesh = moving.at(time).mesh(0.1)
        assert mesh.is_watertight and mesh.volume == pytest.approx(4 / 3 * np.pi, rel=0.03)


def sheet(time, n=300):
    X = np.random.default_rng(int(time)).uniform(-1, 1, (n, 2))
    return np.column_stack([X, 0.1 * np.sin(2 * X[:, 0] + time)])


def test_signs_agree_from_frame_to_frame(monkeypatch):
    """A sheet that turns over once around its middle axis: no frame knows its outside, all agree with the next."""
    angles = np.linspace(0, np.pi, 9)
    points = np.concatenate([sheet(0) @ turn(angle).T for angle in angles])
    times = np.repeat(np.arange(9.0), 300)
    monkeypatch.setattr(frames, "estimate_normals", as_if_undecided(frames.estimate_normals))
    with pytest.warns(UserWarning, match="do not show which side is the inside"):
        cloud, origin = with_frame_normals(PointCloud(points), times)
    up = np.array([cloud.normals[times == k].mean(axis=0) for k in range(9)])
    expected = np.array([turn(angle)[:, 2] for angle in angles])
    cosine = (up * expected).sum(axis=1)
    assert (np.sign(cosine) == np.sign(cosine[0])).all() and np.abs(cosine).min() > 0.8
    assert origin.endswith("signs: consistent")


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def as_if_undecided(estimate):
    def estimated(cloud, **options):
        found = estimate(cloud, **options)
        found.oriented = "consistent"
        return found

    return estimated


def test_a_sensor_orients_all_frames():
    times = np.repeat(TIMES, 300)
    points = np.concatenate([sheet(time) for time in TIMES])
    cloud, origin = with_frame_normals(PointCloud(points), times, sensor=[0, 0, -5])
    assert (cloud.normals[:, 2] < 0).mean() > 0.99 and origin.endswith("signs: sensor")


def test_a_sheet_stays_open_and_a_ball_closed(moving):
    assert not moving.is_open
    points = np.concatenate([sheet(time) for time in TIMES])
    normals = np.tile([0.0, 0.0, 1.0], (len(points), 1))
    waving = reconstruct_moving(points, normals, np.repeat(TIMES, 300), **LENGTHS)
    assert waving.is_open
    mesh = waving.at(1.5).mesh(0.1)
    assert not mesh.is_watertight and np.abs(mesh.vertices).max() < 1.4
    assert waving.at(1.5).mesh(0.1, boundary="closed").is_watertight


def test_what_is_refused(moving):
    u, times = ball(), np.repeat([0.0, 1.0], 125)
    for arguments, message in (
        ((u, u), "times are missing: give one number for each of the 250 points"),
        (([u, u], None, [0, 1, 2]), "one number for each of the 2 frames"),
        (([u, u], [u, None], [0, 1]), "frame 1 has no normals, and other frames have"),
        (([u, u[:4]], None, [0, 1]), "from at least 10, and time 1 has 4"),
        ((u, None, np.arange(250.0)), "here 250 points have 250 times: give normals"),
    ):
        with pytest.raises(ValueError, match=message):
            reconstruct_moving(*arguments)
    with pytest.raises(ValueError, match="sensor orients normals that are estimated"):
        reconstruct_moving(u, u, times, sensor=[0, 0, 9])
    with pytest.raises(ValueError, match="'uncertainty' is not known of moving surfaces"):
        moving.at(1.0).mesh(attributes="uncertainty")
    with pytest.raises(ValueError, match="no attribute 'heat' is attached; there are: label, colors"):
        moving.attribute("heat", u, 1.0)


def test_what_counts_as_frames():
    assert has_frames(np.repeat([0, 1], 50)) and not has_frames(np.repeat([0, 1], 49))


@pytest.mark.parametrize("time", [0.0, 0.4, 1.0, 2.7, 3.0])
def test_derivatives_of_carried_frames_are_those_of_their_values(moving, time):
    X = np.column_stack([1.05 * ball(20, seed=9) + [0.2 * time, 0, 0], np.full(20, time)])
    values, gradients = moving.field.jet(X)
    np.testing.assert_allclose(values, moving.field(X), atol=1e-6)
    for axis in range(4):
        step = 1e-3 * np.eye(4)[axis]
        low, high = (X, X + step) if time == 0.0 else (X - step, X) if time == 3.0 else (X - step, X + step)
        if axis < 3:
            low, high = X - step, X + step
        width = (high - low)[0, axis]
        np.testing.assert_allclose(
            (moving.field(high) - moving.field(low)) / width, gradients[:, axis], atol=0.02 if axis == 3 else 5e-3
        )


def test_a_thin_part_that_moves_by_more_than_its_thickness_stays_whole():
    """A rod 0.2 thick that moves by 0.5: the mean of two functions has none, or two, in between."""
    rng = np.random.default_rng(2)
    normals = np.repeat(ball(800, seed=4)[:, :2], 1, axis=0)
    normals = np.column_stack([normals / np.linalg.norm(normals, axis=1, keepdims=True), np.zeros(800)])
    side = 0.1 * normals + np.column_stack([np.zeros((800, 2)), rng.uniform(-0.8, 0.8, 800)])
    caps = ball(300, seed=5)
    ends = 0.1 * caps + np.where(caps[:, 2:] > 0, 0.8, -0.8) * [0, 0, 1]
    points, directions = np.concatenate([side, ends]), np.concatenate([normals, caps])
    given = {"depth": 5, "smoothness": 0.01, "tolerance": 0.02}
    moving = reconstruct_moving([points, points + [0.5, 0, 0]], [directions, directions], [0.0, 1.0], **given)
    mesh = moving.at(0.5).mesh(0.025)
    volume = np.pi * 0.01 * 1.6 + 4 / 3 * np.pi * 1e-3
    assert mesh.is_watertight and mesh.components()[1] == 1 and mesh.volume == pytest.approx(volume, rel=0.1)
    np.testing.assert_allclose(mesh.vertices.mean(axis=0)[:2], [0.25, 0.0], atol=0.02)


def test_signs_of_sheets_apart_agree_from_frame_to_frame():
    """Two sheets; some frames have the signs of the second one wrong, and all say that they know the outside."""
    clouds = []
    for time in range(5):
        lower, upper = sheet(time), sheet(time + 9) + [0, 0, 3]
        points = np.concatenate([lower, upper])
        found = frames.estimate_normals(PointCloud(points), sensor=[0, 0, 50])
        found.normals[300:] *= -1.0 if time in (1, 4) else 1.0
        clouds.append(found)
    for cloud, signs in zip(clouds, signs_of_sheets(clouds), strict=True):
        assert ((signs[:, None] * cloud.normals)[:, 2] > 0).all()


def test_methods_and_what_they_refuse():
    u, times = ball(), np.repeat([0.0, 1.0], 125)
    lengths = {**LENGTHS, "order": 3}
    assert reconstruct_moving(u, u, times, **lengths).details["method"] == "frames"
    together = reconstruct_moving(u, u, times, time_scale=1.0, **lengths)
    assert together.details["method"] == "spacetime" and together.details["time_scale"] == 1.0
    assert reconstruct_moving(u, u, np.linspace(0, 1, 250), **lengths).details["method"] == "spacetime"
    uneven = np.repeat([0.0, 1.0], [245, 5])
    for arguments, options, message in (
        ((u, u, times), {"method": "flow"}, "method must be one of"),
        ((u, u, times), {"method": "frames", "time_scale": 1.0}, 'time_scale is for method="spacetime"'),
        ((u, u, np.linspace(0, 1, 250)), {"method": "frames"}, "250 points have 250 times"),
        ((u, u, uneven), {}, "time 1 has 5 valid points with normals, and each frame needs at least 10"),
    ):
        with pytest.raises(ValueError, match=message):
            reconstruct_moving(*arguments, **options)


def test_frames_that_show_different_things_are_said():
    rng = np.random.default_rng(0)
    u = ball(400)
    scattered = np.concatenate([u * rng.uniform(0.2, 3.0, (400, 1))])
    with pytest.warns(UserWarning, match="between the times 0 and 1 points that took no part"):
        reconstruct_moving([u, scattered], [u, rng.permutation(u)], [0, 1], **LENGTHS)


def test_frames_that_do_not_fit_together_are_said():
    clouds, lengths = drifting()[:3], {**LENGTHS, "order": 2}
    bare = PointCloud(clouds[1].points, clouds[1].normals, attributes={"label": np.zeros(250, dtype=int)})
    with pytest.warns(UserWarning, match="frame 1 has no 'colors', and other frames have"):
        assert reconstruct_moving([clouds[0], bare], times=[0, 1], **lengths).attached == ("label",)
    with pytest.warns(UserWarning, match="2 frames have the time 1: their points are taken as one frame"):
        assert len(reconstruct_moving(clouds, times=[0, 1, 1], **lengths).field.moments) == 2
    with pytest.raises(ValueError, match="frame 1 has no points: leave it out, and its time 1"):
        reconstruct_moving([clouds[0], PointCloud(np.empty((0, 3)), np.empty((0, 3))), clouds[2]], times=[0, 1, 2])


def test_frames_in_any_order_give_the_same():
    clouds = drifting()
    straight = reconstruct_moving(clouds[:3], times=[0, 1, 2], **LENGTHS)
    mixed = reconstruct_moving([clouds[k] for k in (2, 0, 1)], times=[2, 0, 1], **LENGTHS)
    X = ball(20) * 1.1
    np.testing.assert_array_equal(straight.at(0.7)(X), mixed.at(0.7)(X))
