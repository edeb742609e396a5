"""Sets of points without normals that publications compare on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _datasets import arrays
from few_points import SETS as FEW
from few_points import Nearest
from few_points import load as load_few
from scipy.spatial import cKDTree

SURFACES = "surfaces/"
DRAWN = ("bathtub", "hand_ok", "walrus", "wireframes_doghead", "wireframes_spring")
TEAPOTS = {1000: "PGR 1.6 s", 3000: "PGR 19 s", 5000: "PGR 67 s"}
LORDQUAS = "SIREN 0.42/7.67, DiGS 0.19/3.52, StEik 0.18/2.80 (mean of five shapes)"
_ROUNDS, _SAMPLES = 40, 5000


@dataclass(frozen=True)
class PointSet:
    """Points (n, 3), and what is known of their surface."""

    points: np.ndarray
    truth: object = None  # a mesh of trimesh
    normals: np.ndarray | None = None
    published: str = ""
    own_units: bool = False  # distances as published: in units of the data, not in per cent of the diagonal


def _few(name: str) -> PointSet:
    return PointSet(*load_few(name))


def _drawn(name: str) -> PointSet:
    return PointSet(arrays(SURFACES + "vipss/no_truth.npz")[name])


def _teapot(size: int) -> PointSet:
    return PointSet(arrays(SURFACES + "points/pgr_teapot.npz")[f"points_{size}"], published=TEAPOTS[size])


def _plain(file: str) -> PointSet:
    content = arrays(SURFACES + file)
    return PointSet(content["points"].astype(float), normals=content.get("normals"))


def _scanned(name: str, scan: str, published: str, own_units: bool) -> PointSet:
    import trimesh

    content = arrays(SURFACES + f"srb/{name}.npz")
    truth = trimesh.Trimesh(content["vertices"], content["faces"], process=False)
    return PointSet(aligned(content[scan], truth), truth, published=published, own_units=own_units)


SETS: dict[str, Callable[[], PointSet]] = {
    **{name: lambda name=name: _few(name) for name in FEW},
    **{name: lambda name=name: _drawn(name) for name in DRAWN},
    **{f"teapot {size}": lambda size=size: _teapot(size) for size in TEAPOTS},
    "gcno torus": lambda: _plain("points/gcno_BS_4000_torus.npz"),
    "pgr bunny 20000": lambda: _plain("points/pgr_bunny_20000.npz"),
    "ipsr bimba": lambda: _plain("points/ipsr_bimba.npz"),
    "nnvipss helmet": lambda: _plain("nnvipss/helmet_50k.npz"),
    "lordquas": lambda: _scanned("lordquas", "scan", LORDQUAS, True),
    "anchor": lambda: _scanned("anchor", "scan_other_source", "", False),
}


def aligned(points: np.ndarray, truth) -> np.ndarray:
    """Points moved by the similarity that brings them nearest to a mesh: iterated closest points, from the best of the
    turns that the principal axes suggest."""
    import trimesh

    places = trimesh.sample.sample_surface(truth, _SAMPLES, seed=3)[0]
    tree, some = cKDTree(places), points[:: max(len(points) // _SAMPLES, 1)].astype(float)
    frames = [np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2] for X in (some, places)]
    spread = [np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()) for X in (some, places)]
    flips = [np.diag(signs) for signs in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))]
    handed = np.diag([1.0, 1.0, np.linalg.det(frames[0]) * np.linalg.det(frames[1])])
    turns = [np.eye(3), *(frames[0].T @ flip @ handed @ frames[1] for flip in flips)]
    starts = [spread[1] / spread[0] * turn for turn in turns]
    starts.append(np.eye(3))  # in place already, up to a shift
    best = np.inf, points
    for linear in starts:
        shift = places.mean(axis=0) - some.mean(axis=0) @ linear
        for _ in range(_ROUNDS):
            moved = some @ linear + shift
            near, back = tree.query(moved)[1], cKDTree(moved).query(places)[1]  # one way alone would shrink the points
            linear, shift = _similarity(np.concatenate([some, some[back]]), np.concatenate([places[near], places]))
        moved = some @ linear + shift
        distance = float(tree.query(moved)[0].mean() + cKDTree(moved).query(places)[0].mean())
        best = min(best, (distance, points @ linear + shift), key=lambda one: one[0])
    feet = Nearest(truth)(best[1][:1000])[0]
    print(f"aligned: mean distance of the points from the surface {feet.mean():.4g}", flush=True)
    return best[1]


def _similarity(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix and the shift of the similarity that brings rows of X nearest to those of Y [Umeyama 1991]."""
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, s, Vt = np.linalg.svd(A.T @ B)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
    linear = (s * signs).sum() / (A**2).sum() * (U * signs) @ Vt
    return linear, Y.mean(axis=0) - X.mean(axis=0) @ linear
