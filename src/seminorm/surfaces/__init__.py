"""Surfaces from points: reconstruction, implicit shapes, meshes, files and pictures."""

from .._lazy import lazy_names

_HOMES = {
    "Box": "primitives",
    "Capsule": "primitives",
    "Implicit": "implicit",
    "Mesh": "mesh",
    "MovingSurface": "moving",
    "Plane": "primitives",
    "PointCloud": "cloud",
    "Sphere": "primitives",
    "Surface": "surface",
    "Torus": "primitives",
    "as_cloud": "cloud",
    "as_implicit": "implicit",
    "blend": "implicit",
    "drop_invalid": "preparation",
    "extract": "extraction",
    "fit_exact": "exact",
    "meeting": "implicit",
    "mesh_implicit": "meshing",
    "open_points": "files",
    "product": "implicit",
    "read_mesh": "files",
    "read_points": "files",
    "reconstruct": "reconstruction",
    "remove_duplicates": "preparation",
    "remove_outliers": "preparation",
    "render": "raytracing",
    "render_mesh": "rasterising",
    "render_points": "rasterising",
    "slice_image": "raytracing",
    "thin": "preparation",
    "write_mesh": "files",
    "write_page": "files",
    "write_png": "png",
    "write_points": "files",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
