"""Ray tracing, cameras, rasterising and PNG files, against closed forms and each other."""

from dataclasses import replace

import numpy as np
import pytest

from seminorm import FieldSmoother
from seminorm.files.png import write_png
from seminorm.rendering import Light, Picture, render, render_mesh, render_points, trace
from seminorm.rendering.cameras import Orthographic, Perspective, fit
from seminorm.rendering.rasterizing import rasterize
from seminorm.rendering.shading import encoded, linear
from seminorm.shapes import as_implicit, meeting
from seminorm.shapes.primitives import Box, Plane, Sphere, Torus

SIZE = (64, 48)


def random_rays(rng, n, reach=3.0):
    """Rays from a sphere of the given radius to points near the middle."""
    origins = rng.normal(size=(n, 3))
    origins *= reach / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = rng.uniform(-1.3, 1.3, (n, 3)) - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def sphere_roots(origins, directions, radius):
    """t of both crossings of a ball around 0, NaN for rays that miss it."""
    b = (origins * directions).sum(axis=1)
    gap = b**2 - (origins**2).sum(axis=1) + radius**2
    root = np.sqrt(np.where(gap >= 0, gap, np.nan))
    return -b - root, -b + root


def torus_roots(origin, direction, major, minor):
    """All t at which a ray crosses a torus around the z axis, from the quartic polynomial."""
    square = np.poly1d([direction @ direction, 2 * origin @ direction, origin @ origin + major**2 - minor**2])
    flat = np.poly1d([direction[:2] @ direction[:2], 2 * origin[:2] @ direction[:2], origin[:2] @ origin[:2]])
    roots = (square**2 - 4 * major**2 * flat).roots
    return np.sort(roots[np.abs(roots.imag) < 1e-7].real)


def undistanced(radius=1.0):
    """A ball by a function that is no distance and states no bound on its gradient."""
    return as_implicit(lambda X: ((X**2).sum(axis=1) - radius**2) / (2 * radius), bounds=([-radius] * 3, [radius] * 3))


@pytest.mark.parametrize("ball", [Sphere([0, 0, 0], 1), undistanced()], ids=["distance", "quadratic"])
def test_rays_meet_a_ball_where_they_should(ball, rng):
    origins, directions = random_rays(rng, 3000)
    found = trace(ball, origins, directions)
    exact = sphere_roots(origins, directions, 1.0)[0]
    np.testing.assert_allclose(found, exact, atol=1e-6)
    assert 500 < np.isnan(found).sum() < 2500


def test_rays_that_start_inside_find_the_way_out(rng):
    origins = rng.uniform(-0.5, 0.5, (200, 3))
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    found = trace(Sphere([0, 0, 0], 1), origins, directions)
    np.testing.assert_allclose(found, sphere_roots(origins, directions, 1.0)[1], atol=1e-6)


def test_t_is_in_units_of_the_direction_and_limits_hold():
    ball = Sphere([0, 0, 0], 1)
    np.testing.assert_allclose(trace(ball, [[0, 0, 5]], [[0, 0, -2]]), [2.0], atol=1e-6)
    np.testing.assert_allclose(trace(ball, [[0, 0, 5]], [[0, 0, -2]], near=2.5), [3.0], atol=1e-6)
    assert np.isnan(trace(ball, [[0, 0, 5]], [[0, 0, -2]], far=1.9)).all()
    assert np.isnan(trace(ball, [[0, 0, 5]], [[0, 0, 1]])).all()
    assert trace(ball, np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


def test_rays_meet_a_plane_where_they_should(rng):
    plane = Plane([0.1, 0.0, 0.2], [1.0, 2.0, -1.0])
    origins, directions = random_rays(rng, 1000)
    found = trace(plane, origins, directions, bounds=([-4] * 3, [4] * 3))
    exact = -plane(origins) / (directions @ plane.normal)
    at = origins + exact[:, None] * directions
    met = (exact > 0) & (np.abs(at) < 4).all(axis=1)
    np.testing.assert_allclose(found[met], exact[met], atol=2e-6)
    assert np.isnan(found[(exact < 0) | (np.abs(at) > 4.1).any(axis=1)]).all()


@pytest.mark.parametrize("known", [True, False], ids=["distance", "no bound on the gradient"])
def test_rays_meet_a_torus_first_where_the_quartic_is_first_zero(known, rng):
    ring = Torus(major=1.0, minor=0.35)
    if not known:
        ring = as_implicit(Torus(major=1.0, minor=0.35).value, bounds=ring.bounds)
    origins, directions = random_rays(rng, 400)
    flat = 0.3 * rng.normal(size=400) * (np.arange(400) < 200)  # half of the rays edge-on, with four crossings
    origins[:200, 2], directions[:200, 2] = 0.1 * flat[:200], 0.0
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    found = trace(ring, origins, directions)
    roots = [torus_roots(o, d, 1.0, 0.35) for o, d in zip(origins, directions, strict=True)]
    exact = np.array([r[r > 0].min() if (r > 0).any() else np.nan for r in roots])
    assert sum(len(r) == 4 for r in roots) > 50
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_grazing_rays():
    """Rays that cut a cap of 1e-6 off a ball cross it, rays that pass it by as little do not."""
    heights = np.array([1 - 1e-3, 1 - 1e-6, 1 + 1e-6, 1 + 1e-3])
    origins = np.column_stack([np.full(4, -3.0), np.zeros(4), heights])
    for ball in (Sphere([0, 0, 0], 1), undistanced()):
        found = trace(ball, origins, np.tile([1.0, 0.0, 0.0], (4, 1)))
        np.testing.assert_allclose(found[:2], 3 - np.sqrt(1 - heights[:2] ** 2), atol=1e-6)
        assert np.isnan(found[2:]).all()


def test_thin_shells_are_not_jumped_over(rng):
    """A shell thinner than a step; seen from outside and from within."""
    shell = Sphere([0, 0, 0], 1) - Sphere([0, 0, 0], 0.998)
    plain = as_implicit(shell.value, bounds=shell.bounds)
    origins, directions = random_rays(rng, 500)
    outer, inner = (sphere_roots(origins, directions, r) for r in (1.0, 0.998))
    for shape in (shell, plain):
        np.testing.assert_allclose(trace(shape, origins, directions), outer[0], atol=1e-6)
        middle = -(origins * directions).sum(axis=1)
        clear = np.isfinite(inner[0]) & (inner[1] - middle > 0.1)
        found = trace(shape, origins[clear], directions[clear], near=middle[clear])
        np.testing.assert_allclose(found, inner[1][clear], atol=1e-6)


def test_no_feature_longer_than_the_step_is_missed():
    """A function without any hint: plus and minus one, so only the length of the steps counts."""
    walls = as_implicit(
        lambda X: np.where(np.abs(X[:, 0] % 0.5 - 0.25) < 0.011, -1.0, 1.0), bounds=([0, 0, 0], [4, 1, 1])
    )
    origins = np.column_stack([np.linspace(-1, 3.0, 300), np.full((300, 2), 0.5)])
    found = origins[:, 0] + trace(walls, origins, np.tile([1.0, 0.0, 0.0], (300, 1)), max_step=0.02)
    first = np.maximum(origins[:, 0], 0.0)
    wall = np.ceil((first - 0.239) / 0.5) * 0.5 + 0.239
    inside = np.abs(first % 0.5 - 0.25) < 0.011
    np.testing.assert_allclose(found[~inside], wall[~inside], atol=1e-5)


def test_the_number_of_threads_does_not_matter(rng):
    shape = Torus() - Sphere([1, 0, 0], 0.6)
    origins, directions = random_rays(rng, 70_000)
    np.testing.assert_array_equal(trace(shape, origins, directions), trace(shape, origins, directions, threads=2))
    picture = Picture((200, 200), samples=1)
    one = render(shape, picture, shadows=True)
    np.testing.assert_array_equal(one, render(shape, picture, shadows=True, threads=2))


@pytest.mark.parametrize("kind", ["perspective", "orthographic"])
def test_projecting_points_on_rays_gives_their_pixels(kind, rng):
    camera = fit(([-1, -2, 0], [3, 1, 1]), rng.normal(size=3), kind)
    origins, directions = camera.rays(7, 5)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    x, y = np.meshgrid(np.arange(7) + 0.5, np.arange(5) + 0.5)
    pixels, depth = camera.project_with_depth(origins + rng.uniform(1, 5, (35, 1)) * directions, (7, 5))
    np.testing.assert_allclose(pixels, np.column_stack([x.ravel(), y.ravel()]), atol=1e-9)
    assert (depth > 0).all()


@pytest.mark.parametrize("kind", ["perspective", "orthographic"])
@pytest.mark.parametrize("size", [(100, 100), (300, 100), (100, 250)])
def test_a_fitted_camera_shows_the_whole_box_and_fills_the_picture(kind, size, rng):
    low, high = np.array([-1.0, -2.0, 0.0]), np.array([3.0, 1.0, 1.0])
    corners = np.array([[(low, high)[k >> a & 1][a] for a in range(3)] for k in range(8)])
    for _ in range(5):
        direction = rng.normal(size=3)
        for given in (size, (1, 1)):
            pixels = fit((low, high), direction, kind, size=given).project(corners, size)
            assert (pixels >= 0).all() and (pixels <= size).all()
        filled = np.ptp(fit((low, high), direction, kind, size=size).project(corners, size), axis=0) / size
        assert filled.max() > 0.6


def test_cameras_look_where_they_should():
    camera = Perspective.looking_at([1, 2, 3], [1, -5, 3], field_of_view=90)
    np.testing.assert_allclose(
        camera.project([[1, 2, 3], [2, -4, 3], [1, -4, 4]], (100, 100)), [[50, 50], [100, 50], [50, 0]], atol=1e-9
    )
    assert np.isnan(camera.project([[1, -6, 3]], (100, 100))).all()
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 0, -1], span=2.0)
    np.testing.assert_allclose(camera.project([[1, 0, 9], [0, 1, -9]], (100, 200)), [[100, 100], [50, 50]])
    with pytest.raises(ValueError, match="up"):
        Perspective.looking_at([0, 0, 0], [0, 0, 5], up=[0, 0, 1])
    with pytest.raises(ValueError, match="position or direction"):
        Perspective.looking_at([0, 0, 0])


def covered(image):
    return image[:, :, 3] > 127


def test_a_picture_shows_the_shape_where_it_projects():
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 1, 0], span=4.0)
    picture = Picture((80, 80), camera, background=None, samples=1)
    image = render(Sphere([0.5, 0, 0.25], 1), picture)
    x, y = np.meshgrid((np.arange(80) - 39.5) / 20, (39.5 - np.arange(80)) / 20)
    np.testing.assert_array_equal(covered(image), np.hypot(x - 0.5, y - 0.25) < 1)
    solid = render(Sphere([0.5, 0, 0.25], 1), replace(picture, background=(1, 1, 1)))
    assert solid.shape == (80, 80, 3) and (solid[0] == 255).all()


def test_antialiased_pictures_cover_the_area_of_the_shape():
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 1, 0], span=4.0)
    image = render(Sphere([0, 0, 0], 1), Picture((40, 40), camera, background=None, samples=4))
    assert (image[:, :, 3] / 255).sum() / 100 == pytest.approx(np.pi, rel=5e-3)
    assert len(np.unique(image[:, :, 3])) > 5


def test_of_several_shapes_the_nearest_is_seen_in_its_color():
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 1, 0], span=4.0)
    shapes, colors = [Sphere([0, 1, 0], 1), Sphere([0, -1, 0], 0.5)], [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0)]
    picture = Picture(SIZE, camera, samples=1)
    for order in (1, -1):
        image = render(shapes[::order], picture, colors=colors[::order]).astype(int)
        assert image[24, 32, 2] > image[24, 32, 0] + 50
        assert image[24 - 9, 32, 0] > image[24 - 9, 32, 2] + 50
    striped = render(shapes[0], picture, colors=lambda X: np.where(X[:, :1] > 0, (0, 1.0, 0), (0, 0, 1.0)))
    assert striped[24, 36, 1] > 100 > striped[24, 36, 2] and striped[24, 28, 2] > 100 > striped[24, 28, 1]


def test_a_cut_shows_the_inside():
    """Through the cut one sees the core where it is cut, the hollow between, and the shell as a ring."""
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 1, 0], span=4.0)
    shapes = [Sphere([0, 0, 0], 1) - Sphere([0, 0, 0], 0.8), Sphere([0, 0, 0], 0.4)]
    picture, clip = Picture((81, 81), camera, samples=1), Plane([0, 0, 0], [0, -1, 0])
    image = render(shapes, picture, colors=[(1.0, 0, 0), (0, 0, 1.0)], clip=clip).astype(int)
    assert image[40, 40, 2] > 150 and image[40, 40, 0] < 100
    assert image[40, 40 + 18, 0] > 150 and image[40, 40 + 18, 2] < 100
    flat = image[40, [40, 42, 44]]
    assert np.ptp(flat, axis=0).max() <= 1
    skin = render(shapes[1], picture, clip=clip, capped=False).astype(int)
    assert np.ptp(skin[40, [40, 42, 44]], axis=0).max() > 1


def test_shadows_fall_on_what_lies_behind_the_shape():
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 0, -1], span=4.0)
    floor = Box([-2, -2, -1.2], [2, 2, -1.0])
    lights = [Light([1.0, 0.0, 1.0], follows_camera=False)]
    picture = Picture((80, 80), camera, lights=lights, samples=1)
    shapes = [floor, Sphere([0, 0, 0], 0.5)]
    lit, dark = (render(shapes, picture, shadows=shadows).astype(int) for shadows in (False, True))
    darker = (lit - dark).max(axis=2) > 20
    x, y = np.meshgrid((np.arange(80) - 39.5) / 20, (39.5 - np.arange(80)) / 20)
    on_floor = np.hypot(x, y) > 0.5
    shade = ((x + 1) / np.sqrt(2)) ** 2 + y**2 < 0.5**2
    edge = np.abs(np.sqrt(((x + 1) / np.sqrt(2)) ** 2 + y**2) - 0.5) < 0.08
    np.testing.assert_array_equal(darker[on_floor & ~edge], shade[on_floor & ~edge])


def test_quick_and_exhaustive_pictures_agree():
    ring = as_implicit(Torus().value, bounds=([-3] * 3, [3] * 3))
    picture = Picture(SIZE, samples=1)
    np.testing.assert_array_equal(render(ring, picture), render(ring, picture, exhaustive=True))


@pytest.mark.slow
def test_fields_are_traced_to_their_own_zeros(rng):
    X = rng.uniform(-1.4, 1.4, (4000, 3))
    field = FieldSmoother(alpha=1e-6, depth=3).fit(X, Sphere([0, 0, 0], 1)(X)).function_
    ball = as_implicit(field, bounds=([-1.3] * 3, [1.3] * 3))
    assert ball.resolution == pytest.approx(2.8 / 8, rel=0.01) and not ball.thread_safe
    origins, directions = random_rays(rng, 300)
    found = trace(ball, origins, directions)
    exact = sphere_roots(origins, directions, 1.0)[0]
    hit = np.isfinite(found)
    assert (hit != np.isfinite(exact)).mean() < 0.05
    assert np.abs(field(origins[hit] + found[hit, None] * directions[hit])).max() < 2e-6
    steep = np.nan_to_num(sphere_roots(origins, directions, 0.9)[0]) > 0
    np.testing.assert_allclose(found[steep], exact[steep], atol=0.1)
    assert render(ball, Picture(SIZE)).shape == (48, 64, 3)


def test_a_meeting_of_surfaces_can_be_drawn_as_a_tube():
    tube = meeting(Sphere([0, 0, 0], 1), Plane([0, 0, 0], [0, 0, 1])).offset(0.1)
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 0, -1], span=4.0)
    seen = covered(render(tube, Picture((80, 80), camera, background=None, samples=1)))
    x, y = np.meshgrid((np.arange(80) - 39.5) / 20, (39.5 - np.arange(80)) / 20)
    np.testing.assert_array_equal(seen, np.abs(np.hypot(x, y) - 1) < 0.1)


def standard_decoding(color):
    """IEC 61966-2-1: a line near black, a power beyond."""
    return color / 12.92 if color <= 0.04045 else ((color + 0.055) / 1.055) ** 2.4


def test_colors_are_decoded_by_the_standard():
    bytes_ = np.arange(256)
    light = linear(bytes_ / 255)
    np.testing.assert_allclose(light, [standard_decoding(byte / 255) for byte in bytes_], rtol=1e-14)
    np.testing.assert_array_equal(encoded(light), bytes_)
    np.testing.assert_allclose(linear([0.04045, 0.5, 0.735357]), [0.0031308, 0.2140411, 0.5], atol=1e-6)
    assert encoded([-1.0, 0.0, 1.0, 9.0]).tolist() == [0, 0, 255, 255]


def test_a_direction_is_as_good_as_a_camera():
    ball = Sphere([0, 0, 0], 1)
    camera = fit(ball.bounds, (1, 2, -1), "orthographic", up=(1, 0, 0), size=SIZE)
    described = Picture(SIZE, direction=(1, 2, -1), kind="orthographic", up=(1, 0, 0))
    np.testing.assert_array_equal(render(ball, described), render(ball, Picture(SIZE, camera)))


def ball_mesh(n=120):
    """A ball of quads cut in two, counter-clockwise from outside."""
    theta, phi = np.linspace(0, np.pi, n + 1), np.linspace(0, 2 * np.pi, 2 * n, endpoint=False)
    theta, phi = np.meshgrid(theta, phi, indexing="ij")
    vertices = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    i, j = np.meshgrid(np.arange(n), np.arange(2 * n), indexing="ij")
    a, b = i * 2 * n + j, i * 2 * n + (j + 1) % (2 * n)
    c, d = a + 2 * n, b + 2 * n
    faces = np.concatenate([np.stack([a, c, d], -1).reshape(-1, 3), np.stack([a, d, b], -1).reshape(-1, 3)])
    return vertices.reshape(-1, 3), faces


@pytest.mark.parametrize("kind", ["perspective", "orthographic"])
def test_depths_of_a_mesh_agree_with_the_ray_tracer(kind):
    vertices, faces = ball_mesh()
    camera = fit(([-1] * 3, [1] * 3), (1, 2, -0.5), kind)
    owner, depth = rasterize(vertices, faces, camera, SIZE)
    origins, directions = camera.rays(*SIZE)
    t = trace(Sphere([0, 0, 0], 1), origins, directions).reshape(SIZE[::-1])
    traced = t * (directions @ camera.direction).reshape(SIZE[::-1])
    assert (np.isfinite(depth) != np.isfinite(t)).mean() < 2e-3
    normals = origins + np.nan_to_num(t).reshape(-1, 1) * directions
    facing = -(normals * directions).sum(axis=1).reshape(SIZE[::-1]) > 0.3
    both = np.isfinite(depth) & np.isfinite(t) & facing
    assert both.sum() > 500
    np.testing.assert_allclose(depth[both], traced[both], atol=2e-3)
    centers = vertices[faces[owner[both]]].mean(axis=1)
    points = (origins + t.reshape(-1, 1) * directions)[both.ravel()]
    assert np.linalg.norm(centers - points, axis=1).max() < 0.05


@pytest.mark.parametrize("kind", ["perspective", "orthographic"])
def test_pictures_of_a_mesh_agree_with_the_ray_tracer(kind):
    vertices, faces = ball_mesh()
    camera = fit(([-1] * 3, [1] * 3), (1, 2, -0.5), kind)
    stripes = lambda X: (X + 1.01) / 2.02  # noqa: E731
    picture = Picture(SIZE, camera)
    traced = render(Sphere([0, 0, 0], 1), picture, colors=stripes).astype(int)
    for colors in (stripes, stripes(vertices)):
        drawn = render_mesh(vertices, faces, picture, colors=colors).astype(int)
        assert np.percentile(np.abs(drawn - traced), 99) <= 3
    flat = render_mesh(vertices, faces, picture, colors=stripes, smooth=False).astype(int)
    assert 0 < np.abs(flat - drawn).mean() < 3
    inside_out = render_mesh(vertices, faces[:, ::-1], picture, colors=stripes).astype(int)
    assert inside_out[24, 32].sum() < drawn[24, 32].sum()


def test_perspective_is_right_within_a_face():
    """Two triangles that lean away: colours must follow the surface, not the picture."""
    vertices = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 8.0, 0.0], [-1.0, 8.0, 0.0]])
    camera = Perspective.looking_at([0, 1, 0], [0, -2, 1.5], field_of_view=40)
    colors = np.column_stack([vertices[:, 1] / 8, vertices[:, 0] / 2 + 0.5, np.zeros(4)])
    exact = lambda X: np.column_stack([X[:, 1] / 8, X[:, 0] / 2 + 0.5, np.zeros(len(X))]).clip(0, 1)  # noqa: E731
    picture = Picture(SIZE, camera)
    one, other = (render_mesh(vertices, [[0, 1, 2], [0, 2, 3]], picture, colors=c) for c in (colors, exact))
    assert np.abs(one.astype(int) - other.astype(int)).max() <= 1
    plane = render(Plane([0, 0, 0], [0, 0, 1]), picture, colors=exact, bounds=([-1, 0, 0], [1, 8, 0]))
    np.testing.assert_allclose(plane[20:35, 28:36].astype(int), other[20:35, 28:36], atol=1)


def test_points_are_drawn_in_front_of_those_behind_in_their_color():
    camera = Orthographic.looking_at([0, 0, 0], direction=[0, 1, 0], span=4.0)
    points = np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [1.0, 0.0, 1.0]])
    colors = np.array([[255, 0, 0], [0, 0, 255], [0, 255, 0]], dtype=np.uint8)
    picture = Picture((80, 80), camera, background=None, samples=1)
    image = render_points(points, picture, colors=colors, radius=0.3)
    assert image[40, 40, 2] > 100 > image[40, 40, 0]
    assert image[20, 60, 1] > 100 > image[20, 60, 2]
    x, y = np.meshgrid((np.arange(80) - 39.5) / 20, (39.5 - np.arange(80)) / 20)
    np.testing.assert_array_equal(covered(image), (np.hypot(x, y) < 0.3) | (np.hypot(x - 1, y - 1) < 0.3))
    single = render_points(points[2:], picture, radius=1e-9)
    assert covered(single).sum() == 1 and covered(single)[20, 60]


def test_normals_light_points(rng):
    points = rng.normal(size=(3000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    outside, inside = (render_points(points, Picture(SIZE), normals=n, radius=0.1) for n in (points, -points))
    assert outside[24, 32].astype(int).sum() > inside[24, 32].astype(int).sum() + 20
    assert render_points(points, Picture(SIZE)).shape == (48, 64, 3)


@pytest.mark.parametrize("channels", [None, 3, 4])
def test_png_files_are_read_back_by_others(channels, tmp_path, rng):
    image_module = pytest.importorskip("PIL.Image")
    shape = (13, 17) if channels is None else (13, 17, channels)
    image = rng.integers(0, 256, shape).astype(np.uint8)
    path = write_png(tmp_path / "picture.png", image)
    with image_module.open(path) as read:
        read.load()
        assert read.mode == {None: "L", 3: "RGB", 4: "RGBA"}[channels]
        np.testing.assert_array_equal(np.asarray(read), image)
    assert [file.name for file in tmp_path.iterdir()] == ["picture.png"]


SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: render(Plane([0, 0, 0], [0, 0, 1])), "no bounds"),
        (lambda: render([]), "empty"),
        (lambda: render([Sphere([0, 0, 0], 1)], colors=[(1, 0, 0), (0, 1, 0)]), "one entry for each"),
        (lambda: render(Sphere([0, 0, 0], 1), Picture((4, 4)), colors=(255, 0, 0)), "between 0 and 1"),
        (lambda: Picture(size=(0, 4)), "size"),
        (lambda: Picture(samples=0), "samples"),
        (lambda: render(Sphere([0, 0, 0], 1), Picture(kind="fisheye")), "kind"),
        (lambda: render(Sphere([0, 0], 1)), "3 dimensions"),
        (lambda: Picture(background=(2, 0, 0)), "background"),
        (lambda: trace(Sphere([0, 0, 0], 1), [[0, 0, 3]], [[0, 0, 0]]), "zero vectors"),
        (lambda: trace(Sphere([0, 0, 0], 1), [[0, 0, np.nan]], [[0, 0, 1]]), "NaN"),
        (lambda: trace(Sphere([0, 0, 0], 1), [[0, 0, 3]], [[0, 0, 1]], max_step=0), "max_step"),
        (lambda: render_mesh(SQUARE, [[0, 1, 3]]), "between 0 and 2"),
        (lambda: render_mesh(SQUARE * np.nan, [[0, 1, 2]]), "NaN"),
        (lambda: render_mesh(SQUARE, np.empty((0, 3), dtype=int)), "faces"),
        (lambda: render_points(SQUARE, normals=SQUARE[:2]), "3 rows"),
        (lambda: fit((SQUARE[0], SQUARE[1] + 1), kind="fisheye"), "kind"),
        (lambda: write_png("x.png", np.zeros((3, 3))), "uint8"),
    ],
)
def test_mistakes_are_explained(action, message):
    with pytest.raises(ValueError, match=message):
        action()
