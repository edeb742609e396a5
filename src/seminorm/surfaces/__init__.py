"""Surfaces from points: reconstruction, implicit shapes, meshes, files and pictures."""

from .cloud import PointCloud, as_cloud
from .files import open_points, read_mesh, read_points, write_mesh, write_points
from .implicit import Implicit, as_implicit, blend, meeting, product
from .mesh import Mesh
from .preparation import drop_invalid, remove_duplicates, remove_outliers, thin
from .primitives import Box, Capsule, Plane, Sphere, Torus
from .reconstruction import reconstruct
from .surface import Surface

__all__ = [
    "Box",
    "Capsule",
    "Implicit",
    "Mesh",
    "Plane",
    "PointCloud",
    "Sphere",
    "Surface",
    "Torus",
    "as_cloud",
    "as_implicit",
    "blend",
    "drop_invalid",
    "meeting",
    "open_points",
    "product",
    "read_mesh",
    "read_points",
    "reconstruct",
    "remove_duplicates",
    "remove_outliers",
    "thin",
    "write_mesh",
    "write_points",
]
