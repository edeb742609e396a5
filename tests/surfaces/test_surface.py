"""Reconstructed surfaces against closed forms: meshes, where they end, what they carry, files, set operations."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from seminorm.files import read_mesh
from seminorm.shapes.attributes import NAMES, Neighborhood
from seminorm.shapes.carried import carry
from seminorm.shapes.extraction.marching import component_labels
from seminorm.shapes.extraction.trimming import components_with_data, near_cells, trimmed_faces
from seminorm.shapes.meshing import mesh_implicit
from seminorm.shapes.primitives import Plane, Sphere, Torus
from seminorm.surfaces import FitModel, Surface, reconstruct

DATA = Path(__file__).parents[1] / "data"
GIVEN = {"depth": 4, "smoothness": 0.02, "tolerance": 0.03, "order": 2}


def directions(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def ring(n, seed=0):
    """Points and normals of a torus around the z axis with radii 1 and 0.4."""
    around, across = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, n))
    outwards = np.column_stack([np.cos(around), np.sin(around), np.zeros(n)])
    normals = np.cos(across)[:, None] * outwards + np.sin(across)[:, None] * np.array([0.0, 0.0, 1.0])
    return outwards + 0.4 * normals, normals


@cache
def ball(center=0.0):
    normals = directions(4000)
    return reconstruct(normals + [center, 0.0, 0.0], normals, **{**GIVEN, "order": 3})


@cache
def dome():
    """The upper half of a sphere."""
    normals = directions(6000)
    normals = normals[normals[:, 2] > 0]
    return reconstruct(normals, normals, **{**GIVEN, "depth": 5})


@cache
def planet_and_moon():
    """A small ball with 150 of 30 000 points."""
    big, small = directions(29_850), directions(150, seed=1)
    points = np.concatenate([big, 0.07 * small + [1.4, 0.0, 0.0]])
    return reconstruct(points, np.concatenate([big, small]), depth=6, smoothness=0.002, tolerance=0.01, order=2)


@cache
def noisy():
    """Noise wider than the cells, which makes bubbles."""
    rng = np.random.default_rng(5)
    normals = directions(15_000)
    points = normals + 0.05 * rng.standard_normal(normals.shape)
    wrong = normals + 0.6 * rng.standard_normal(normals.shape)
    return reconstruct(points, wrong, depth=6, smoothness=0.005, tolerance=0.007, order=2)


def boundary_edges(mesh):
    ends = np.sort(np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]), axis=1)
    edges, counts = np.unique(ends, axis=0, return_counts=True)
    return edges[counts == 1]


def boundary_loops(mesh):
    edges = boundary_edges(mesh)
    used, numbered = np.unique(edges, return_inverse=True)
    numbered = numbered.reshape(-1, 2)
    triangles = np.column_stack([numbered, numbered[:, :1]])
    return len(np.unique(component_labels(triangles, len(used))))


# -- the function ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ball_has_the_closed_forms(rng):
    surface = ball()
    X = directions(300, seed=3) * rng.uniform(0.9, 1.1, (300, 1))
    radius = np.linalg.norm(X, axis=1)
    assert (surface.inside(X) == (radius < 1))[np.abs(radius - 1) > 1e-3].all()
    np.testing.assert_allclose(np.linalg.norm(surface.project(X), axis=1), 1.0, atol=2e-3)
    np.testing.assert_allclose(surface.distance(X, refine=True), radius - 1, atol=2e-3)
    near = np.abs(radius - 1) < 0.02
    np.testing.assert_allclose(surface.distance(X[near]), radius[near] - 1, atol=2e-3)
    curvature = surface.curvature(surface.project(X))
    np.testing.assert_allclose(curvature.mean, 1.0, atol=0.01)
    np.testing.assert_allclose(curvature.gaussian, 1.0, atol=0.02)


@pytest.mark.slow
def test_ball_and_ring_are_meshed_closed():
    mesh = ball().mesh()
    assert mesh.is_watertight
    assert mesh.genus == 0
    assert mesh.volume == pytest.approx(4 / 3 * np.pi, rel=3e-3)
    assert mesh.area == pytest.approx(4 * np.pi, rel=3e-3)
    points, normals = ring(5000)
    mesh = reconstruct(points, normals, **{**GIVEN, "depth": 5}).mesh()
    assert mesh.is_watertight
    assert mesh.genus == 1
    assert mesh.volume == pytest.approx(2 * np.pi**2 * 0.4**2, rel=5e-3)
    exact = Torus([0, 0, 0], [0, 0, 1], 1.0, 0.4)
    assert np.abs(exact(mesh.vertices)).max() < 0.01


def test_resolution_may_be_finer_or_coarser_than_the_field():
    surface = ball()
    counts = [len(surface.mesh(factor * surface.resolution).vertices) for factor in (3.0, 1.0, 0.5, 0.3)]
    assert counts[1] / counts[0] == pytest.approx(9, rel=0.2)
    assert counts[2] / counts[1] == pytest.approx(4, rel=0.1)
    assert counts[3] / counts[2] == pytest.approx(4, rel=0.1)
    coarse = surface.mesh(3 * surface.resolution)
    assert coarse.is_watertight
    np.testing.assert_allclose(np.linalg.norm(coarse.vertices, axis=1), 1.0, atol=5e-3)


# -- where it ends ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_open_surface_ends_near_the_data():
    surface = dome()
    spacing = np.sqrt(2 * np.pi / len(surface.points))
    mesh = surface.mesh(boundary="open")
    distance, _ = cKDTree(surface.points).query(mesh.vertices)
    assert distance.max() < 6 * spacing
    assert (mesh.vertices[:, 2] > -6 * spacing).all()
    assert boundary_loops(mesh) == 1
    assert mesh.components()[1] == 1
    assert mesh.euler_characteristic == 1  # a disc
    reached, _ = cKDTree(mesh.vertices).query(surface.points)
    assert reached.max() < surface.resolution
    assert surface.mesh(boundary="closed").is_watertight


def test_mesh_is_thinned_where_the_surface_is_flat():
    surface = ball()
    whole, thin, coarse = (surface.mesh(deviation=deviation) for deviation in (0, None, 0.01))
    assert len(whole.vertices) > 1.3 * len(thin.vertices) > 3 * len(coarse.vertices)
    for mesh in (whole, thin, coarse):
        assert mesh.is_watertight and mesh.genus == 0
        assert np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1).max() < 2e-3
    assert len(surface.mesh(surface.resolution / 4).vertices) == len(whole.vertices)
    assert coarse.volume == pytest.approx(4 / 3 * np.pi, rel=0.03)
    with pytest.raises(ValueError, match="deviation must be a length"):
        surface.mesh(deviation=-1.0)


def test_triangles_are_well_shaped():
    surface = ball()

    def angles(mesh):
        p = mesh.vertices[mesh.faces]
        along = np.roll(p, -1, axis=1) - p
        along /= np.linalg.norm(along, axis=2, keepdims=True)
        return np.degrees(np.arccos(-(along * np.roll(along, 1, axis=1)).sum(axis=2))).min(axis=1)

    standard, quality = surface.mesh(), surface.mesh(method="quality")
    assert np.mean(angles(standard) < 10) < 0.01
    assert np.mean(angles(quality) < 30) < 0.02 and angles(quality).min() > 15
    assert quality.is_watertight and quality.genus == 0
    assert np.abs(np.linalg.norm(quality.vertices, axis=1) - 1).max() < 2e-3
    with pytest.raises(ValueError, match="method must be one of 'standard', 'quality'"):
        surface.mesh(method="best")


def test_triangles_with_attributes_are_no_wider_than_the_data():
    surface = dome()
    mesh = surface.mesh(deviation=0.05, attributes="distance")
    p = mesh.vertices[mesh.faces]
    longest = max(surface.data.typical, surface.resolution)
    assert np.linalg.norm(p - np.roll(p, 1, axis=1), axis=2).max() <= 1.3 * longest  # refined after


@pytest.mark.parametrize("trim", [0.12, 0.2])
def test_trim_is_the_largest_distance_to_the_data(trim):
    surface = dome()
    mesh = surface.mesh(boundary="open", trim=trim)
    distance, _ = cKDTree(surface.points).query(mesh.vertices)
    assert 0.5 * trim < distance.max() <= 1.001 * trim  # faces are kept or dropped before they are refined
    assert boundary_loops(mesh) == 1


def test_trim_quantile_is_the_share_cut_off():
    surface = dome()
    whole = len(surface.mesh(boundary="open", trim=10.0).vertices)
    kept = [len(surface.mesh(boundary="open", trim_quantile=share).vertices) for share in (0.0, 0.15, 0.3)]
    assert kept[0] == whole
    assert kept[1] / whole == pytest.approx(0.85, abs=0.05)
    assert kept[2] / whole == pytest.approx(0.7, abs=0.1)
    lowest = surface.mesh(boundary="open", trim_quantile=0.3).vertices[:, 2].min()
    assert lowest > surface.mesh(boundary="open", trim_quantile=0.15).vertices[:, 2].min()


def test_extrapolated_surface_reaches_the_border_of_the_box():
    points = np.random.default_rng(0).uniform(-1, 1, (500, 3)) * [1, 1, 0]
    surface = reconstruct(points, np.tile([0.0, 0.0, 1.0], (500, 1)), **{**GIVEN, "depth": 3})
    mesh = surface.mesh(boundary="extrapolate", resolution=surface.resolution)
    low, high = surface.field.bounds
    np.testing.assert_allclose(mesh.bounds[:, :2], [low[:2], high[:2]], atol=1e-6 + 8 * surface.resolution)
    np.testing.assert_allclose(mesh.vertices[:, 2], 0.0, atol=0.02)
    closed = surface.mesh(boundary="closed")
    assert closed.is_watertight
    assert np.ptp(closed.bounds[:, 0]) < 2.5 * np.ptp(points[:, 0])


def test_narrow_holes_are_filled_and_wide_ones_stay():
    """A flat grid of vertices with a narrow and a wide gap, cut by hand."""
    side = 40
    x, y = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    vertices = np.column_stack([x.ravel(), y.ravel(), np.zeros(side**2)]).astype(float)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    lower = np.column_stack([corner, corner + side, corner + 1])
    faces = np.concatenate([lower, np.column_stack([corner + 1, corner + side, corner + side + 1])])
    narrow, wide = (np.hypot(*(vertices[:, :2] - center).T) < radius for center, radius in ((8, 1.5), (25, 7)))
    far = narrow | wide
    keep = trimmed_faces(vertices, faces, far, np.full(side**2, 5.0))
    center = vertices[faces].mean(axis=1)
    assert keep[np.hypot(*(center[:, :2] - 8).T) < 3].all()
    assert not keep[np.hypot(*(center[:, :2] - 25).T) < 6].any()
    assert keep[~far[faces].any(axis=1)].all()
    assert not trimmed_faces(vertices, faces, np.ones(side**2, dtype=bool), np.full(side**2, 1e3)).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boundary": "half"}, "'closed', 'open', 'extrapolate', got 'half'"),
        ({"trim": 0.1}, "boundary='open'"),
        ({"boundary": "open", "trim": 0.1, "trim_quantile": 0.1}, "not both"),
        ({"boundary": "open", "trim": -1.0}, "trim must be a positive length"),
        ({"boundary": "open", "trim_quantile": 1.0}, "trim_quantile must be a share"),
        ({"boundary": "open", "trim": 1e-9}, "larger trim"),
        ({"attributes": ("age",)}, "got 'age'"),
        ({"resolution": 0.0}, "resolution must be a positive length"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ball().mesh(**options)


# -- components ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_small_object_with_its_own_data_survives():
    mesh = planet_and_moon().mesh()
    labels, count = mesh.components()
    assert count == 2
    moon = mesh.keep(labels == 1)
    assert moon.is_watertight
    assert moon.volume == pytest.approx(4 / 3 * np.pi * 0.07**3, rel=0.1)
    assert planet_and_moon().mesh(boundary="open").components()[1] == 2


@pytest.mark.slow
def test_bubbles_of_noise_go():
    everything = noisy().mesh(keep_unsupported=True)
    assert everything.components()[1] > 10
    mesh = noisy().mesh()
    assert mesh.components()[1] == 1
    assert len(mesh.vertices) > 0.9 * len(everything.vertices)


def test_large_component_needs_data_too():
    """Three equal spheres, data on two of them."""
    sphere = ball().mesh(ball().resolution)
    n = len(sphere.vertices)
    vertices = np.concatenate([sphere.vertices + [shift, 0, 0] for shift in (0.0, 3.0, 6.0)])
    faces = np.concatenate([sphere.faces + k * n for k in range(3)])
    points = np.concatenate([directions(2000), directions(1900, seed=1) + [6.0, 0, 0]])
    supported = components_with_data(component_labels(faces, 3 * n), vertices, faces, points, 0.1)
    assert supported.tolist() == [True, False, True]


def test_near_agrees_with_distances(rng):
    X, others = rng.uniform(0, 10, (2000, 3)), rng.uniform(2, 5, (40, 3))
    near = near_cells(X, others, 0.5)
    distance, _ = cKDTree(others).query(X, p=np.inf)
    assert near[distance <= 0.5].all()
    assert not near[distance > 1.0].any()
    assert not near_cells(X, others[:0], 0.5).any()


# -- what is told at the vertices ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_computed_attributes():
    surface = dome()
    mesh = surface.mesh(attributes=NAMES, boundary="closed")
    assert set(mesh.attributes) == set(NAMES)
    told, z = mesh.attributes, mesh.vertices[:, 2]
    brute, _ = cKDTree(surface.points).query(mesh.vertices)
    np.testing.assert_array_equal(told["distance"], brute)
    well = z > 0.3
    density = len(surface.points) / (2 * np.pi)
    assert np.median(told["density"][well]) == pytest.approx(density, rel=0.15)
    assert not told["filled"][well].any()
    assert told["filled"][brute > 6 / np.sqrt(density)].all()
    assert np.median(told["curvature"][well]) == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(told["curvature"], surface.curvature(mesh.vertices).mean)
    np.testing.assert_allclose(told["gradient_length"], np.linalg.norm(surface.gradient(mesh.vertices), axis=1))
    assert np.median(told["gradient_length"][well]) == pytest.approx(1.0, abs=0.1)
    assert told["uncertainty"].min() > 0
    assert np.median(told["uncertainty"][brute > 0.3]) > 3 * np.median(told["uncertainty"][well])


@pytest.mark.slow
def test_uncertainty_is_the_spread_of_repeated_fits():
    """Twenty spheres with fresh noise: their spread at fixed places, against the estimate from one of them."""
    clean, probes = directions(3000), directions(100, seed=7)
    heights, estimate = [], None
    for seed in range(20):
        rng = np.random.default_rng(seed)
        normals = clean + 0.3 * rng.standard_normal(clean.shape)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        points = clean + 0.03 * rng.standard_normal(clean.shape)
        surface = reconstruct(points, normals, depth=4, smoothness=0.08, tolerance=0.1, order=2)
        places = surface.project(probes)
        heights.append(np.linalg.norm(places, axis=1))
        if seed == 0:
            surface = Surface(surface.field, surface.points, model=surface.model, normals=normals)
            estimate = surface._measured("uncertainty", places)
    spread = np.sqrt(np.mean(np.var(heights, axis=0, ddof=1)))
    assert 0.7 < np.sqrt(np.mean(estimate**2)) / spread < 1.8


def test_uncertainty_needs_to_know_the_fit():
    surface = ball()
    with pytest.raises(ValueError, match="smoothness"):
        Surface(surface.field, surface.points).mesh(attributes="uncertainty")


def test_equal_points_have_a_spacing():
    points = np.repeat(directions(50), 40, axis=0)
    data = Neighborhood(points)
    assert (data.spacing(np.arange(len(points))) > 0).all()
    assert np.isfinite(data.density(points[:5])).all()


# -- what is carried -------------------------------------------------------------------------------------------------


def colored(surface):
    return Surface(surface.field, surface.points, surface.details)


def test_colors_reach_the_vertices_and_survive_trimming():
    surface = colored(dome())
    surface.attach("colors", 0.5 + 0.5 * surface.points)
    surface.attach("height", 100 + surface.points[:, 2])
    for options in ({}, {"boundary": "open"}):
        mesh = surface.mesh(**options)
        colors = mesh.attributes["colors"]
        assert colors.shape == mesh.vertices.shape
        assert colors.min() >= 0
        assert colors.max() <= 1
        near = cKDTree(surface.points).query(mesh.vertices)[0] < 0.1
        assert np.abs(colors - (0.5 + 0.5 * mesh.vertices))[near].max() < 0.1
        assert np.sqrt(np.mean((colors - (0.5 + 0.5 * mesh.vertices))[near] ** 2)) < 0.01
        heights = mesh.attributes["height"]
        assert heights.shape == (len(mesh.vertices),)
        assert heights.min() >= 100
        assert np.abs(heights - 100 - mesh.vertices[:, 2])[near].max() < 0.12


def test_carried_numbers_stay_in_range_and_pass_over_nan(rng):
    points = directions(2000)
    steps = (points[:, 0] > 0).astype(float) * 7 - 3
    steps[rng.permutation(2000)[:500]] = np.nan
    carried = carry(points, steps)
    X = 3 * rng.uniform(-1, 1, (3000, 3))
    values = carried(X)
    assert values.min() >= -3
    assert values.max() <= 4
    away = np.abs(points[:, 0]) > 0.3
    np.testing.assert_allclose(carried(points[away]), np.where(points[away, 0] > 0, 4.0, -3.0), atol=0.3)
    with pytest.raises(ValueError, match="nowhere finite"):
        carry(points, np.full(2000, np.nan))


def test_constant_is_carried_exactly():
    points = directions(300)
    np.testing.assert_array_equal(carry(points, np.full((300, 2), 0.25))(2 * points), np.full((300, 2), 0.25))


def test_whole_numbers_are_those_of_the_nearest_point():
    surface = colored(ball())
    classes = np.where(surface.points[:, 0] > 0, 12, 5).astype(np.uint8)
    mesh = surface.attach("class", classes).mesh()
    nearest = cKDTree(surface.points).query(mesh.vertices)[1]
    np.testing.assert_array_equal(mesh.attributes["class"], classes[nearest])
    assert mesh.attributes["class"].dtype == np.uint8


def test_unsuitable_attributes_are_refused():
    surface = colored(ball())
    with pytest.raises(ValueError, match="'short' must have shape"):
        surface.attach("short", np.zeros(3))
    with pytest.raises(ValueError, match="numbers or truth values"):
        surface.attach("name", np.full(len(surface.points), "a"))
    with pytest.raises(ValueError, match=r"colors must lie in \[0, 1\]"):
        surface.attach("colors", 255.0 * np.abs(surface.points))
    with pytest.raises(ValueError, match="there are: none"):
        surface.attribute("colors", surface.points)


# -- files -----------------------------------------------------------------------------------------------------------


def same_mesh(a, b):
    assert np.array_equal(a.vertices, b.vertices)
    assert np.array_equal(a.faces, b.faces)
    assert np.array_equal(a.normals, b.normals)
    assert list(a.attributes) == list(b.attributes)
    for name, values in a.attributes.items():
        assert values.dtype == b.attributes[name].dtype
        assert np.array_equal(values, b.attributes[name])


@pytest.mark.slow
def test_npz_keeps_every_bit(tmp_path):
    surface = Surface(ball().field, ball().points, ball().details, model=ball().model, normals=ball().points)
    surface.attach("colors", np.abs(surface.points)).attach("class", np.arange(len(surface.points)))
    surface.attach("warm", surface.points[:, 0] > 0)
    again = Surface.load(surface.save(tmp_path / "ball.npz"))
    assert again.details == surface.details
    assert again.model == surface.model
    assert again.attached == ("colors", "class", "warm")
    assert np.array_equal(again.points, surface.points)
    assert np.array_equal(again.normals, surface.normals)
    same_mesh(surface.mesh(attributes=NAMES), again.mesh(attributes=NAMES))
    twice = Surface.load(again.save(tmp_path / "again.npz"))
    same_mesh(surface.mesh(), twice.mesh())


@pytest.mark.slow
def test_files_of_format_1_know_their_fit():
    """They have order, smoothness and normal_weight in their details, and no model."""
    surface = Surface.load(DATA / "format1_surface.npz")
    expected = np.load(DATA / "format1_expected.npz")
    np.testing.assert_allclose(surface(expected["points3"]), expected["surface"], atol=1e-6)
    assert surface.model == FitModel(*(surface.details[name] for name in ("order", "smoothness", "tolerance", "area")))
    assert "normal_weight" not in surface.details
    assert all("tolerance" in trial for trial in surface.details["trials"])
    deviation = surface.mesh(attributes="uncertainty").attributes["uncertainty"]
    assert np.isfinite(deviation).all() and (deviation > 0).all() and deviation.max() < 0.1


def test_mesh_files_take_the_options_of_mesh(tmp_path):
    surface = colored(dome()).attach("colors", np.abs(dome().points))
    path = surface.save(tmp_path / "dome.ply", boundary="open", attributes=("distance",))
    mesh, written = surface.mesh(boundary="open", attributes=("distance",)), read_mesh(path)
    assert np.array_equal(written.vertices, mesh.vertices)
    assert np.array_equal(written.faces, mesh.faces)
    np.testing.assert_allclose(written.attributes["colors"], mesh.attributes["colors"], atol=0.5 / 255 + 1e-9)
    np.testing.assert_array_equal(written.attributes["distance"], mesh.attributes["distance"])
    for ending in ("obj", "off", "stl"):
        assert len(read_mesh(surface.save(tmp_path / f"dome.{ending}")).faces)
    with pytest.raises(ValueError, match="leave out boundary"):
        surface.save(tmp_path / "dome.npz", boundary="open")


def test_damaged_files_are_named(tmp_path):
    path = ball().save(tmp_path / "ball.npz")
    whole = path.read_bytes()
    with pytest.raises(FileNotFoundError, match=r"nothing\.npz"):
        Surface.load(tmp_path / "nothing.npz")
    ball().field.save(tmp_path / "field.npz")
    with pytest.raises(ValueError, match="does not hold a Surface"):
        Surface.load(tmp_path / "field.npz")
    broken = tmp_path / "broken.npz"
    for damage in (whole[: len(whole) // 2], whole[:5000] + bytes(2000) + whole[7000:], b"", b"no archive"):
        broken.write_bytes(damage)
        with pytest.raises(ValueError, match=r"broken\.npz"):
            Surface.load(broken)


def test_trimesh_takes_the_mesh():
    pytest.importorskip("trimesh")
    surface = colored(ball()).attach("colors", np.abs(ball().points))
    mesh = surface.mesh(attributes=("distance",))
    other = mesh.to_trimesh()
    assert other.is_watertight
    assert other.volume == pytest.approx(mesh.volume)
    assert other.visual.vertex_colors.shape == (len(mesh.vertices), 4)
    assert "distance" in other.vertex_attributes


# -- set operations --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_set_operations_of_surfaces_are_meshed():
    a, b = ball(), ball(1.0)
    cap = np.pi * 0.5**2 * (3 - 0.5) / 3  # of height 0.5, cut from the unit ball
    whole = 4 / 3 * np.pi
    for shape, volume in ((a | b, 2 * whole - 2 * cap), (a & b, 2 * cap), (a - b, whole - 2 * cap)):
        mesh = shape.mesh(0.05)
        assert mesh.is_watertight
        assert mesh.components()[1] == 1
        assert mesh.volume == pytest.approx(volume, rel=0.01)
    half = (a & Plane([0, 0, 0], [0, 0, 1])).mesh()
    assert half.is_watertight
    assert half.volume == pytest.approx(whole / 2, rel=0.01)


def test_mesh_of_any_shape():
    mesh = Sphere([1, 2, 3], 2.0).mesh()
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * 8, rel=0.01)
    plane = mesh_implicit(Plane([0, 0, 0.3], [0, 0, 1]), 0.1, bounds=([0, 0, 0], [1, 1, 1]), closed=False)
    assert plane.area == pytest.approx(1.0)
    with pytest.raises(ValueError, match="bounds are missing"):
        Plane([0, 0, 0], [0, 0, 1]).mesh()
    with pytest.raises(ValueError, match="3 dimensions"):
        Sphere([0, 0], 1.0).mesh()
    with pytest.raises(ValueError, match="resolution must be a positive length"):
        Sphere([0, 0, 0], 1.0).mesh(-1.0)


def test_a_shell_around_everything_is_left_out():
    """Where the function changes its sign once more, far from all points."""
    vertices, faces = [], []
    for radius in (3.0, 1.0):
        mesh = Sphere([0, 0, 0], radius).mesh(0.2)
        faces.append(mesh.faces + sum(len(part) for part in vertices))
        vertices.append(mesh.vertices)
    vertices, faces = np.concatenate(vertices), np.concatenate(faces)
    points = np.random.default_rng(0).standard_normal((500, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    labels = component_labels(faces, len(vertices))
    assert components_with_data(labels, vertices, faces, points, 0.1).tolist() == [False, True]
