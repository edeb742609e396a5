"""What the surface figures share: options, models sampled with normals, tight cameras, pictures side by side."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import _data
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import cKDTree
from walder_chapelle_figure1 import DEFAULT_OUTPUT, save

from seminorm.fields.tree import Tree
from seminorm.files import read_mesh
from seminorm.rendering import Orthographic, Picture, render_mesh, render_points
from seminorm.shapes import Mesh

WHITE = (1.0, 1.0, 1.0)
CLAY, STEEL, ROSE, SAGE = (0.90, 0.68, 0.48), (0.48, 0.68, 0.84), (0.80, 0.48, 0.52), (0.56, 0.72, 0.47)
_CREASE = 0.8  # cosine of the angle
_DPI = 150  # of walder_chapelle_figure1.save


@dataclass(frozen=True)
class Model:
    """A mesh to sample from, and how to look at it.

    Attributes
    ----------
    file : str
        In the folder of the data.
    direction, up : 3 numbers
        Where the camera looks, and what is up.
    """

    file: str
    direction: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)

    @property
    def path(self) -> str:
        """The file, relative to the folder of the data."""
        return f"surfaces/meshes/{self.file}.ply"

    def mesh(self) -> Mesh:
        """The triangles, seen from outside; stops the script if the file is not there."""
        _data.require(self.path)
        mesh = read_mesh(_data.folder() / self.path)
        return mesh if mesh.volume > 0 else Mesh(mesh.vertices, mesh.faces[:, ::-1])

    def sample(self, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Points of the surface and their normals."""
        return sample_mesh(self.mesh(), n, np.random.default_rng(seed))


MODELS = {
    "bunny": Model("bunny_hr_odedstein", (0.25, -0.15, -1.0)),
    "stanford bunny": Model("stanford-bunny_vtk", (0.25, -0.15, -1.0)),
    "armadillo": Model("armadillo_43k", (-0.25, -0.1, -1.0)),
    "dragon": Model("dragon_vrip_full", (0.25, -0.2, -1.0)),
    "lucy": Model("lucy100k", (-0.25, -1.0, -0.05), (0.0, 0.0, 1.0)),
    "buddha": Model("buddha_gina", (0.25, 1.0, -0.05), (0.0, 0.0, 1.0)),
    "horse": Model("horse", (1.0, 0.3, -0.15), (0.0, 0.0, 1.0)),
    "fandisk": Model("fandisk", (-1.0, -0.5, 1.0)),
    "fertility": Model("fertility", (0.2, -0.1, -1.0)),
    "mask": Model("mask", (0.2, -0.05, -1.0)),
}


def options(description: str | None, figures: Sequence[str] = ()) -> argparse.Namespace:
    """The command line: ``quick``, ``output`` (a folder that exists), and the ``figures`` wanted if there are some."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer points and smaller pictures")
    parser.add_argument(
        "--output", metavar="FOLDER", type=Path, default=DEFAULT_OUTPUT, help="for pictures (default: pictures here)"
    )
    if figures:
        parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"of {', '.join(figures)} (default: all)")
    chosen = parser.parse_args()
    if figures:
        chosen.figures = chosen.figures or list(figures)
        unknown = set(chosen.figures) - set(figures)
        if unknown:
            parser.error(f"no such figure: {', '.join(sorted(unknown))}; there are {', '.join(figures)}.")
    chosen.output.mkdir(parents=True, exist_ok=True)
    return chosen


def sample_mesh(mesh: Mesh, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points drawn evenly from the area of a triangle mesh, with normals interpolated between its vertices.

    At a crease, where the normal of a vertex turns far away from that of the triangle, the triangle's own is taken.
    """
    corners = mesh.vertices[mesh.faces]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(flat, axis=1)
    chosen = rng.choice(len(areas), n, p=areas / areas.sum())
    root, share = np.sqrt(rng.random(n)), rng.random(n)
    weights = np.stack([1.0 - root, root * (1.0 - share), root * share], axis=1)
    own = (flat[chosen] / areas[chosen, None])[:, None]
    normals = mesh.vertex_normals()[mesh.faces[chosen]]
    normals = np.where((normals * own).sum(axis=2, keepdims=True) > _CREASE, normals, own)
    points, normals = (np.einsum("nk,nkd->nd", weights, of) for of in (corners[chosen], normals))
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def centers(tree: Tree, level: int) -> np.ndarray:
    """Where the active functions of a level are centred."""
    own = tree.blocks(level)
    block, node = np.nonzero(tree.active[own])
    place = tree.coords[own][block] * tree.layout.side + tree.layout.node_coords[node]
    return tree.box.low + (place + 0.5 * (1 - tree.degree)) * tree.spacing(level) * tree.box.scale


def camera(points: np.ndarray, model: Model, size: tuple[int, int], margin: float = 0.03) -> Orthographic:
    """A camera from the model's direction that shows the points, and no more than a margin around them."""
    view = Orthographic.looking_at(points.mean(axis=0), direction=model.direction, up=model.up)
    seen = points @ view.frame.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    room = np.array(size) / min(size) * (1.0 - 2.0 * margin)
    middle = (low + high) / 2
    middle[2] = high[2] + (high - low).max()
    return Orthographic(middle @ view.frame, view.direction, view.up, span=float(((high - low)[:2] / room).max()))


def shape_of(points: np.ndarray, model: Model, height: int) -> tuple[int, int]:
    """The (width, height) of a picture that the model fills."""
    view = Orthographic.looking_at(points.mean(axis=0), direction=model.direction, up=model.up)
    width, tall = np.ptp(points @ view.frame[:2].T, axis=0)
    return round(height * width / tall), height


def draw_mesh(mesh: Mesh, view: Orthographic, size: tuple[int, int], color=CLAY) -> np.ndarray:
    """A mesh on white."""
    picture = Picture(size, view, background=WHITE, samples=3)
    return render_mesh(mesh.vertices, mesh.faces, picture, colors=color, normals=mesh.normals)


def draw_points(
    points, view: Orthographic, size: tuple[int, int], color=STEEL, background=WHITE, **given
) -> np.ndarray:
    """Points on white, or on nothing (``background=None``); ``given`` are options of :func:`render_points`."""
    picture = Picture(size, view, background=background, samples=3)
    return render_points(points, picture, colors=color, **given)


def distances(mesh: Mesh, points: np.ndarray, n: int = 200_000) -> np.ndarray:
    """From points to a mesh: to the nearest of n points drawn from it, less what lies along the surface."""
    drawn, normals = sample_mesh(mesh, n, np.random.default_rng(1))
    nearest = cKDTree(drawn).query(points)[1]
    return np.abs(((points - drawn[nearest]) * normals[nearest]).sum(axis=1))


def side_by_side(images: Sequence[np.ndarray], titles: Sequence[str], path: Path, columns: int | None = None) -> None:
    """Pictures of one size in rows, with a title above each, pixel by pixel."""
    columns = len(images) if columns is None else columns
    rows = -(-len(images) // columns)
    height, width = (max(image.shape[axis] for image in images) / _DPI for axis in (0, 1))
    gap, head = 0.12, 0.36
    font = min(9.0, 110.0 * width / max(1, *map(len, titles)))  # letters are about 0.6 of their size wide
    figure = Figure(figsize=(columns * width + (columns + 1) * gap, rows * (height + head) + gap))
    across, tall = figure.get_size_inches()
    for number, (image, title) in enumerate(zip(images, titles, strict=True)):
        row, column = divmod(number, columns)
        left, bottom = gap + column * (width + gap), tall - (row + 1) * (height + head)
        ax = figure.add_axes((left / across, bottom / tall, width / across, height / tall))
        ax.imshow(image, interpolation="none")
        ax.set_title(title, fontsize=font, pad=4)
        ax.axis("off")
    save(figure, path)
