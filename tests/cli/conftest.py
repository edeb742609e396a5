"""Points on a sphere, as files: with normals and colours, without; their surface; commands with pipes."""

import io
import sys

import pytest
from commands import SETTINGS, run, sphere_points

from seminorm.clouds import PointCloud
from seminorm.files import write_points
from seminorm.surfaces import reconstruct


@pytest.fixture(scope="session")
def points():
    return sphere_points()


@pytest.fixture(scope="session")
def scan(points, tmp_path_factory):
    """A file of points with normals and colours."""
    path = tmp_path_factory.mktemp("scan") / "scan.ply"
    return write_points(path, PointCloud(points, points, (points + 1) / 2))


@pytest.fixture(scope="session")
def bare(points, tmp_path_factory):
    """A file of points alone, as text."""
    return write_points(tmp_path_factory.mktemp("bare") / "bare.xyz", PointCloud(points))


@pytest.fixture(scope="session")
def cap(tmp_path_factory):
    """A file of the upper half of a sphere, with colours."""
    points = sphere_points(1200, seed=3)
    points = points[points[:, 2] > 0]
    return write_points(tmp_path_factory.mktemp("cap") / "cap.ply", PointCloud(points, points, (points + 1) / 2))


@pytest.fixture(scope="session")
def surface(points):
    return reconstruct(points, points, **SETTINGS)


@pytest.fixture(scope="session")
def mesh_file(surface, tmp_path_factory):
    return surface.mesh().save(tmp_path_factory.mktemp("mesh") / "mesh.ply")


@pytest.fixture(scope="session")
def surface_file(surface, tmp_path_factory):
    return surface.save(tmp_path_factory.mktemp("surface") / "surface.npz")


@pytest.fixture
def pipe(monkeypatch, capsysbinary):
    """A command with standard input (bytes): its exit status, the bytes it writes, and its messages."""

    def through(data, verb, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = run(verb, *arguments)
        told = capsysbinary.readouterr()
        return status, told.out, told.err.decode()

    return through
