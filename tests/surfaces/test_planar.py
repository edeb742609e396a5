"""Curves through points in the plane: circles, ellipses, rings, squares, stars; closed forms for lengths and areas."""

import numpy as np
import pytest
from scipy.special import ellipe

from seminorm import reconstruct
from seminorm.clouds import estimate_normals
from seminorm.shapes import Contours
from seminorm.surfaces import Surface, fit_exact


def sampled(curve, n, noise=0.0, seed=0):
    """Points spread at random over the length of a closed curve of an angle, and their normals."""
    rng = np.random.default_rng(seed)
    fine = np.linspace(0, 2 * np.pi, 20_001)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve(fine), axis=0), axis=1))])
    angle = np.interp(rng.uniform(0, length[-1], n), length, fine)
    tangent = curve(angle + 1e-5) - curve(angle - 1e-5)
    normals = np.column_stack([tangent[:, 1], -tangent[:, 0]])
    points = curve(angle) + noise * rng.standard_normal((n, 2))
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def circle(angle, radius=1.0, x=0.0):
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + [x, 0]


def ellipse(angle):
    return circle(angle) * [1, 0.4]


def star(angle):
    return (1 + 0.3 * np.cos(5 * angle))[:, None] * circle(angle)


def square(angle):
    side, along = np.divmod((angle % (2 * np.pi)) * 2 / np.pi, 1.0)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    here, there = corners[side.astype(int) % 4], corners[(side.astype(int) + 1) % 4]
    return here + along[:, None] * (there - here)


def measured(curve):
    x, y = curve(np.linspace(0, 2 * np.pi, 200_001)).T
    length = np.hypot(np.diff(x), np.diff(y)).sum()
    return length, 0.5 * (x[:-1] * np.diff(y) - y[:-1] * np.diff(x)).sum()


@pytest.mark.parametrize("with_normals", [True, False])
@pytest.mark.parametrize(
    ("curve", "length", "area", "close"),
    [
        (circle, 2 * np.pi, np.pi, 1e-4),
        (ellipse, 4 * ellipe(1 - 0.4**2), 0.4 * np.pi, 1e-3),
        (square, 8.0, 4.0, 2e-2),
        (star, *measured(star), 5e-3),
    ],
)
def test_length_and_area(curve, length, area, close, with_normals):
    points, normals = sampled(curve, 200)
    lines = reconstruct(points, normals if with_normals else None).contours()
    assert lines.is_closed and len(lines) == 1
    assert lines.length == pytest.approx(length, rel=close) and lines.area == pytest.approx(area, rel=close)
    cosine = (lines.normals * lines.points).sum(axis=1)
    assert (cosine > 0).mean() > 0.9  # all but where a star bends inwards


@pytest.mark.parametrize("with_normals", [True, False])
def test_two_circles_and_a_ring(with_normals):
    one, other = sampled(circle, 150), sampled(lambda angle: circle(angle, 0.6, 2.0), 100, seed=1)
    points, normals = (np.concatenate(parts) for parts in zip(one, other, strict=True))
    pair = reconstruct(points, normals if with_normals else None).contours()
    np.testing.assert_allclose(np.sort(pair.areas), np.pi * np.array([0.36, 1.0]), rtol=1e-3)
    inner, turned = sampled(lambda angle: circle(angle, 0.6), 100, seed=1)
    points, normals = np.concatenate([one[0], inner]), np.concatenate([one[1], -turned])
    ring = reconstruct(points, normals if with_normals else None).contours()
    assert ring.area == pytest.approx(np.pi * 0.64, rel=1e-3) and ring.length == pytest.approx(
        2 * np.pi * 1.6, rel=1e-3
    )
    np.testing.assert_array_equal(ring.inside([[0, 0], [0.8, 0], [2, 0]]), [False, True, False])


@pytest.mark.parametrize(("n", "noise", "close"), [(300, 0.02, 0.03), (3000, 0.03, 0.01)])
def test_noise_is_averaged(n, noise, close):
    points, _ = sampled(star, n, noise)
    surface = reconstruct(points)
    lines = surface.contours()
    assert lines.is_closed and len(lines) == 1 and lines.area == pytest.approx(measured(star)[1], rel=close)
    assert surface.details["normals"].endswith("signs: outwards")


def test_the_function_is_the_exact_one():
    points, normals = sampled(ellipse, 80)
    lengths = {"smoothness": 0.05, "tolerance": 0.1}
    surface, exact = reconstruct(points, normals, depth=6, tol=1e-6, **lengths), fit_exact(points, normals, **lengths)
    X = np.random.default_rng(1).uniform(-1, 1, (50, 2)) * [1.1, 0.5]
    np.testing.assert_allclose(surface(X), exact(X), atol=2e-3)
    assert exact.contours().area == pytest.approx(surface.contours().area, rel=1e-3)


def test_outliers_are_set_aside_and_said():
    points, _ = sampled(star, 400, 0.01)
    stray = np.random.default_rng(5).uniform(-1.5, 1.5, (12, 2))
    stray = stray[np.abs(np.linalg.norm(stray, axis=1) - 1) > 0.5]
    with pytest.warns(UserWarning, match=f"{len(stray)} of {400 + len(stray)} points lie on no curve with others"):
        surface = reconstruct(np.concatenate([points, stray]))
    assert surface.details["outliers"] == list(range(400, 400 + len(stray)))
    lines = surface.contours()
    assert len(lines) == 1 and lines.area == pytest.approx(measured(star)[1], rel=0.02)
    assert reconstruct(np.concatenate([points, stray]), outliers="keep").details["outliers"] == []


def test_an_arc_stays_open_and_a_gap_is_filled():
    points, normals = sampled(lambda angle: circle(angle / 2), 100)
    surface = reconstruct(points, normals)
    lines = surface.contours()
    assert not lines.is_closed and len(lines) == 1 and lines.length == pytest.approx(np.pi, rel=0.1)
    assert np.isnan(lines.area) and surface.contours(boundary="closed").is_closed
    points, normals = sampled(lambda angle: circle(0.9 * angle), 200)
    gap = reconstruct(points, normals)
    assert gap.contours().area == pytest.approx(np.pi, rel=1e-3)
    for options in ({"max_hole": 0.2}, {"boundary": "open"}, {"boundary": "open", "trim": 0.1}):
        assert not gap.contours(**options).is_closed


def test_a_straight_line_does_not_know_its_sides():
    points = np.column_stack([np.linspace(0, 1, 40), np.zeros(40)])
    with pytest.warns(UserWarning, match="do not show which side is the inside"):
        surface = reconstruct(points)
    lines = surface.contours()
    assert not lines.is_closed and 1.0 < lines.length < 1.15
    assert reconstruct(points, sensor=[0.5, -3.0])([[0.5, -0.1]])[0] > 0


def test_wrong_normals_and_rows_that_are_left_out():
    points, normals = sampled(circle, 100)
    with pytest.warns(UserWarning, match="normals point inwards"):
        assert reconstruct(points, -normals)([[0.0, 0.0]])[0] < 0
    damaged, zero = points.copy(), normals.copy()
    damaged[3], zero[7] = np.nan, 0.0
    with pytest.warns(UserWarning, match=r"2 of 100 points were left out: 1 with NaN.*1 whose normal is zero"):
        assert reconstruct(damaged, zero).details["dropped"] == {"coordinates": 1, "normals": 1}


def test_what_is_refused():
    points, normals = sampled(circle, 50)
    surface = reconstruct(points, normals)
    with pytest.raises(ValueError, match=r"use contours\(\)"):
        surface.mesh()
    with pytest.raises(ValueError, match="poses is for scans in space"):
        reconstruct(points, poses=[np.eye(4)])
    with pytest.raises(ValueError, match="at least 10 valid points"):
        reconstruct(points[:5], normals[:5])
    with pytest.raises(ValueError, match="at least 4 distinct points, got 1"):
        reconstruct(np.zeros((20, 2)))
    with pytest.raises(ValueError, match=r"normals must have shape \(50, 2\)"):
        reconstruct(points, normals[:4])
    with pytest.raises(ValueError, match="sensor orients normals that are estimated"):
        reconstruct(points, normals, sensor=[0, 0])
    with pytest.raises(ValueError, match="boundary must be one of"):
        surface.contours(boundary="extrapolate")
    ball = np.random.default_rng(0).standard_normal((50, 3))
    with pytest.raises(ValueError, match=r"use mesh\(\)"):
        reconstruct(ball, ball, depth=2, smoothness=0.1, tolerance=0.1).contours()


def test_files(tmp_path):
    points, normals = sampled(circle, 60)
    surface = reconstruct(points, normals).attach("heat", points[:, 0])
    loaded = Surface.load(surface.save(tmp_path / "curve.npz"))
    lines = loaded.contours(0.05)
    np.testing.assert_array_equal(lines.points, surface.contours(0.05).points)
    np.testing.assert_allclose(lines.attributes["heat"], lines.points[:, 0], atol=0.05)
    table = np.loadtxt(lines.save(tmp_path / "lines.csv"), delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, :2], lines.points)
    assert surface.save(tmp_path / "lines.svg", resolution=0.05).read_text().startswith("<svg")
    rows = lines.save(tmp_path / "lines.obj").read_text().splitlines()
    assert rows[-1].startswith("l 1 2 3") and rows[-1].endswith(f"{len(lines.points)} 1")
    with pytest.raises(ValueError, match="there are no lines"):
        Contours([]).save(tmp_path / "no.svg")


def test_normals_alone():
    points, normals = sampled(star, 300)
    points[5] = np.nan
    with pytest.warns(UserWarning, match="1 of 300 points have NaN"):
        cloud = estimate_normals(points)
    assert np.isnan(cloud.normals[5]).all() and cloud.confidence[5] == 0 and len(cloud) == 300
    cosine = np.delete((cloud.normals * normals).sum(axis=1), 5)
    assert cosine.min() > 0 and np.median(cosine) > 0.999
    assert estimate_normals(np.repeat(points[:4], 5, axis=0), orient=False).oriented == "no"
    points[5] = 0.0
    for options, message in (
        ({"scan_lines": np.zeros(300, dtype=int)}, "for points in space"),
        ({"n_neighbors": 2}, "from 3 to 300"),
        ({"sensor": [0, 0, 1]}, r"sensor must have shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            estimate_normals(points, **options)


def test_noisy_points_in_any_order_give_the_same_curve():
    points, _ = sampled(circle, 500, 0.02)
    order = np.random.default_rng(3).permutation(500)
    areas = [reconstruct(some).contours().area for some in (points, points[order], 1000 * points + 5)]
    assert areas[1] == pytest.approx(areas[0], rel=5e-3) and areas[2] / 1e6 == pytest.approx(areas[0], rel=5e-3)


@pytest.mark.parametrize("n", [20, 30, 50])
@pytest.mark.parametrize(
    ("curve", "area", "close"), [(circle, np.pi, 5e-3), (ellipse, 0.4 * np.pi, 2e-2), (star, measured(star)[1], 5e-2)]
)
def test_few_points_without_normals(curve, area, close, n):
    lines = reconstruct(sampled(curve, n)[0]).contours()
    assert lines.is_closed and len(lines) == 1 and lines.area == pytest.approx(area, rel=close)


def test_a_long_ellipse_keeps_its_tips():
    """33 times as long as wide."""
    points, _ = sampled(lambda angle: circle(angle) * [1, 0.03], 500)
    surface = reconstruct(points)
    lines = surface.contours()
    assert surface.details["outliers"] == [] and lines.is_closed and len(lines) == 1
    assert lines.area == pytest.approx(0.03 * np.pi, rel=1e-2)
    assert np.ptp(lines.points[:, 0]) == pytest.approx(2.0, rel=1e-2)


def test_a_figure_eight_becomes_its_two_lobes():
    """Where a curve crosses itself no function has it as zero set with a gradient: the lobes are, together."""
    points, _ = sampled(lambda angle: np.column_stack([np.sin(angle), np.sin(angle) * np.cos(angle)]), 200)
    lines = reconstruct(points).contours()
    assert lines.is_closed and lines.area == pytest.approx(4 / 3, rel=0.01)
    assert lines.inside([[0.7, 0.0], [-0.7, 0.0], [0.0, 0.3], [0.0, -0.3]]).tolist() == [True, True, False, False]
