"""Compiled loops that fill pictures with triangles and discs. One thread, in the order given: the nearest wins, the
first of equals.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def fill_triangles(pixels, nearness, faces, owner, front):
    """Write the number of the nearest face into ``owner`` at the pixel centres that it covers.

    ``nearness`` of the vertices is linear on the picture, smaller in front; ``front`` holds the least so far.
    """
    height, width = owner.shape
    for face in range(faces.shape[0]):
        a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
        ax, ay, bx, by, cx, cy = pixels[a, 0], pixels[a, 1], pixels[b, 0], pixels[b, 1], pixels[c, 0], pixels[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not np.abs(area) > 0.0:  # edge-on, or a vertex that cannot be seen (NaN)
            continue
        left, right = max(min(ax, bx, cx), 0.0), min(max(ax, bx, cx), float(width))
        top, bottom = max(min(ay, by, cy), 0.0), min(max(ay, by, cy), float(height))
        first_x, last_x = int(np.ceil(left - 0.5)), int(np.floor(right - 0.5))
        first_y, last_y = int(np.ceil(top - 0.5)), int(np.floor(bottom - 0.5))
        za, zb, zc = nearness[a], nearness[b], nearness[c]
        for row in range(first_y, last_y + 1):
            y = row + 0.5
            for column in range(first_x, last_x + 1):
                x = column + 0.5
                u = ((cx - bx) * (y - by) - (cy - by) * (x - bx)) / area
                v = ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) / area
                w = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                z = u * za + v * zb + w * zc
                if z < front[row, column]:
                    front[row, column] = z
                    owner[row, column] = face


@njit(cache=True)
def fill_discs(pixels, depth, radius, pixel_radius, owner, front):
    """Write the number of the nearest point, drawn as a ball of the given radius, into ``owner``.

    ``front`` holds the least depth so far. Every point in the picture covers at least the pixel it lies in.
    """
    height, width = owner.shape
    for point in range(pixels.shape[0]):
        x, y, reach = pixels[point, 0], pixels[point, 1], pixel_radius[point]
        if not (x + reach >= 0.0 and x - reach < width and y + reach >= 0.0 and y - reach < height):
            continue
        first_x, last_x = max(int(np.floor(x - reach)), 0), min(int(np.floor(x + reach)), width - 1)
        first_y, last_y = max(int(np.floor(y - reach)), 0), min(int(np.floor(y + reach)), height - 1)
        for row in range(first_y, last_y + 1):
            for column in range(first_x, last_x + 1):
                dx, dy = column + 0.5 - x, row + 0.5 - y
                rest = 1.0 - (dx * dx + dy * dy) / (reach * reach)
                own = column == int(np.floor(x)) and row == int(np.floor(y))
                if rest < 0.0 and not own:
                    continue
                z = depth[point] - radius * np.sqrt(max(rest, 0.0))
                if z < front[row, column]:
                    front[row, column] = z
                    owner[row, column] = point
