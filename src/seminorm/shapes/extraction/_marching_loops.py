"""Compiled loops of marching cubes over blocks of cells.

A block has ``side`` cells along each axis, fewer at the upper end of the grid. The signs of its corners are kept as
rows of bits: bit k of ``rows[b, i * (side + 1) + j]`` is set where corner (i, j, k) of block b is inside. An edge with
a change of sign carries one vertex. It belongs to the block that has its lower corner among its lower ``side**3``
corners; the last block along an axis also owns the border of the grid. Vertices are numbered block by block, in a
block row by row, in a row those on edges along x, y, z in this order, by k.

Only the faces are worth several threads: the other loops are short, and parallel loops take long to compile.
Each block's faces are written by one thread, so results do not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

MARGIN = 1e-3  # crossings keep this distance, in cells, from the ends of their edge


@njit(cache=True)
def _extent(blocks, cells, side, b, axis):
    """Number of cells of a block along an axis, and of the corners it owns there."""
    left = cells[axis] - side * blocks[b, axis]
    if left > side:
        return side, side
    return left, left + 1


@njit(cache=True)
def _extents(blocks, cells, side, b):
    """Number of cells of a block along x, y, z, and of the corners it owns there."""
    cx, nx = _extent(blocks, cells, side, b, 0)
    cy, ny = _extent(blocks, cells, side, b, 1)
    cz, nz = _extent(blocks, cells, side, b, 2)
    return cx, cy, cz, nx, ny, nz


@njit(cache=True)
def _low_bits(n):
    return (np.int64(1) << n) - 1


@njit(cache=True)
def _count_bits(x):
    """Number of bits set among the lower 32."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return ((x * 0x01010101) & 0xFFFFFFFF) >> 24


@njit(cache=True)
def _crossings(rows, b, i, j, width, cx, cy, cz, nx, ny, nz):
    """Edges along x, y, z with a vertex of the block, as bits over k; c.. cells and n.. owned corners of the block."""
    row = i * width + j
    here = np.int64(rows[b, row])
    along_x = along_y = along_z = np.int64(0)
    if i < cx and j < ny:
        along_x = (here ^ np.int64(rows[b, row + width])) & _low_bits(nz)
    if j < cy and i < nx:
        along_y = (here ^ np.int64(rows[b, row + 1])) & _low_bits(nz)
    if i < nx and j < ny:
        along_z = (here ^ (here >> 1)) & _low_bits(cz)
    return along_x, along_y, along_z


@njit(cache=True)
def sign_rows(values, blocks, cells, side, closed, rows):
    """Signs of the corners; with ``closed`` those on the border of the grid are outside."""
    width = side + 1
    for b in range(blocks.shape[0]):
        cx, cy, cz, _, _, _ = _extents(blocks, cells, side, b)
        x, y, z = side * blocks[b, 0], side * blocks[b, 1], side * blocks[b, 2]
        free = _low_bits(cz + 1)
        if closed and z == 0:
            free &= ~np.int64(1)
        if closed and z + cz == cells[2]:
            free &= _low_bits(cz)
        for i in range(width):
            for j in range(width):
                bits = np.int64(0)
                for k in range(width):
                    if values[b, i, j, k] < 0:
                        bits |= np.int64(1) << k
                bits &= free
                if i > cx or j > cy:
                    bits = np.int64(0)
                if closed and (x + i == 0 or y + j == 0 or x + i == cells[0] or y + j == cells[1]):
                    bits = np.int64(0)
                rows[b, i * width + j] = bits


@njit(cache=True)
def face_changes(rows, blocks, cells, side, changes):
    """Whether the sign changes on the faces -x, +x, -y, +y, -z, +z of each block."""
    width = side + 1
    for b in range(blocks.shape[0]):
        cx, cy, cz, _, _, _ = _extents(blocks, cells, side, b)
        whole = _low_bits(cz + 1)
        some = np.zeros(6, dtype=np.int64)
        every = np.full(6, -1, dtype=np.int64)
        for i in range(cx + 1):
            for j in range(cy + 1):
                bits = np.int64(rows[b, i * width + j])
                full = -1 if bits == whole else 0
                for end in range(2):
                    if i == end * cx:
                        some[end] |= bits
                        every[end] &= full
                    if j == end * cy:
                        some[2 + end] |= bits
                        every[2 + end] &= full
                some[4] |= bits & 1
                every[4] &= -(bits & 1)
                some[5] |= (bits >> cz) & 1
                every[5] &= -((bits >> cz) & 1)
        for face in range(6):
            changes[b, face] = some[face] != 0 and every[face] == 0


@njit(cache=True)
def agree_on_signs(rows, blocks, cells, side, neighbors, agreed):
    """Give a corner of several blocks the sign it has in the first of them, in lexicographic order."""
    width = side + 1
    for b in range(blocks.shape[0]):
        extent = np.empty(3, dtype=np.int64)
        for axis in range(3):
            extent[axis], _ = _extent(blocks, cells, side, b, axis)
        for row in range(width * width):
            agreed[b, row] = rows[b, row]
        for slot in range(12, -1, -1):  # the neighbours before b; the first of them has the last word
            other = neighbors[b, slot]
            if other < 0:
                continue
            dx, dy, dz = slot // 9 - 1, slot // 3 % 3 - 1, slot % 3 - 1
            for i in range(extent[0] + 1 if dx == 0 else 1):
                for j in range(extent[1] + 1 if dy == 0 else 1):
                    own = (i + max(dx, 0) * side) * width + j + max(dy, 0) * side
                    theirs = (i + max(-dx, 0) * side) * width + j + max(-dy, 0) * side
                    bits = np.int64(rows[other, theirs])
                    if dz < 0:
                        bits = (np.int64(agreed[b, own]) & ~np.int64(1)) | ((bits >> side) & 1)
                    elif dz > 0:
                        bits = (np.int64(agreed[b, own]) & ~(np.int64(1) << side)) | ((bits & 1) << side)
                    agreed[b, own] = bits


@njit(cache=True)
def count_vertices(rows, blocks, cells, side, ranks, counts):
    """Vertices of each block, and in each block those before every row."""
    width = side + 1
    for b in range(blocks.shape[0]):
        cx, cy, cz, nx, ny, nz = _extents(blocks, cells, side, b)
        total = 0
        for i in range(nx):
            for j in range(ny):
                ranks[b, i * width + j] = total
                for mask in _crossings(rows, b, i, j, width, cx, cy, cz, nx, ny, nz):
                    total += _count_bits(mask)
        counts[b] = total


@njit(cache=True)
def _crossing(start, end, start_inside):
    """Where a value changes sign on an edge, 0 to 1; at its outside end if that is inside by value, but not by rule."""
    if start < 0 and end < 0:
        return 1.0 if start_inside else 0.0
    t = start / (start - end)
    if not np.isfinite(t):
        return 0.5
    return min(max(t, MARGIN), 1.0 - MARGIN)


@njit(cache=True)
def place_crossings(values, rows, blocks, cells, side, first, crossings):
    """Position along its edge of every vertex, by linear interpolation of the samples."""
    width = side + 1
    for b in range(blocks.shape[0]):
        cx, cy, cz, nx, ny, nz = _extents(blocks, cells, side, b)
        v = first[b]
        for i in range(nx):
            for j in range(ny):
                inside = np.int64(rows[b, i * width + j])
                masks = _crossings(rows, b, i, j, width, cx, cy, cz, nx, ny, nz)
                for axis in range(3):
                    mask = masks[axis]
                    k = 0
                    while mask != 0:
                        if mask & 1:
                            start = np.float64(values[b, i, j, k])
                            end = np.float64(values[b, i + (axis == 0), j + (axis == 1), k + (axis == 2)])
                            crossings[v] = _crossing(start, end, (inside >> k) & 1 != 0)
                            v += 1
                        mask >>= 1
                        k += 1


@njit(cache=True)
def write_vertices(signs, rows, blocks, cells, side, first_crossing, crossings, first, vertices):
    """Vertices in cells from the corner of the grid.

    ``signs`` are the agreed ones. Where an edge had no crossing by the block's own signs, ``rows``, its vertex lies
    next to the corner whose sign was overruled.
    """
    width = side + 1
    for b in range(blocks.shape[0]):
        cx, cy, cz, nx, ny, nz = _extents(blocks, cells, side, b)
        v, c = first[b], first_crossing[b]
        for i in range(nx):
            for j in range(ny):
                overruled = np.int64(signs[b, i * width + j]) ^ np.int64(rows[b, i * width + j])
                masks = _crossings(signs, b, i, j, width, cx, cy, cz, nx, ny, nz)
                own_masks = _crossings(rows, b, i, j, width, cx, cy, cz, nx, ny, nz)
                for axis in range(3):
                    mask, own = masks[axis], own_masks[axis]
                    k = 0
                    while mask | own != 0:
                        if mask & 1:
                            t = MARGIN if (overruled >> k) & 1 else 1.0 - MARGIN
                            if own & 1:
                                t = np.float64(crossings[c])
                            vertices[v, 0] = side * blocks[b, 0] + i
                            vertices[v, 1] = side * blocks[b, 1] + j
                            vertices[v, 2] = side * blocks[b, 2] + k
                            vertices[v, axis] += t
                            v += 1
                        if own & 1:
                            c += 1
                        mask >>= 1
                        own >>= 1
                        k += 1


@njit(cache=True)
def _cell_row(rows, b, i, j, width, cz):
    """The four rows of corners around a row of cells, and the cells with corners of both signs as bits."""
    row = i * width + j
    r00, r01 = np.int64(rows[b, row]), np.int64(rows[b, row + 1])
    r10, r11 = np.int64(rows[b, row + width]), np.int64(rows[b, row + width + 1])
    some, every = r00 | r01 | r10 | r11, r00 & r01 & r10 & r11
    mixed = (some | (some >> 1)) & ~(every & (every >> 1)) & _low_bits(cz)
    return r00, r01, r10, r11, mixed


@njit(cache=True)
def _case(r00, r01, r10, r11, k):
    """Case of a cell of the table: corner (i, j, k) is bit 4 i + 2 j + k."""
    return ((r00 >> k) & 3) | ((r01 >> k) & 3) << 2 | ((r10 >> k) & 3) << 4 | ((r11 >> k) & 3) << 6


@njit(cache=True)
def count_faces(signs, blocks, cells, side, table, counts):
    """Triangles of each block."""
    width = side + 1
    for b in range(blocks.shape[0]):
        cx, cy, cz, _, _, _ = _extents(blocks, cells, side, b)
        total = 0
        for i in range(cx):
            for j in range(cy):
                r00, r01, r10, r11, mixed = _cell_row(signs, b, i, j, width, cz)
                k = 0
                while mixed != 0:
                    if mixed & 1:
                        total += table.counts[_case(r00, r01, r10, r11, k)]
                    mixed >>= 1
                    k += 1
        counts[b] = total


@njit(cache=True)
def _vertex(signs, ranks, first, blocks, cells, side, neighbors, b, i, j, k, axis):
    """Number of the vertex on the edge along an axis from corner (i, j, k) of block b; -1 if no block owns it."""
    width = side + 1
    slot = 13
    if i == side and side * (blocks[b, 0] + 1) < cells[0]:
        slot += 9
        i = 0
    if j == side and side * (blocks[b, 1] + 1) < cells[1]:
        slot += 3
        j = 0
    if k == side and side * (blocks[b, 2] + 1) < cells[2]:
        slot += 1
        k = 0
    owner = neighbors[b, slot]
    if owner < 0:
        return np.int64(-1)
    cx, cy, cz, nx, ny, nz = _extents(blocks, cells, side, owner)
    masks = _crossings(signs, owner, i, j, width, cx, cy, cz, nx, ny, nz)
    v = first[owner] + np.int64(ranks[owner, i * width + j])
    for before in range(axis):
        v += _count_bits(masks[before])
    return v + _count_bits(masks[axis] & _low_bits(k))


@njit(cache=True, parallel=True)
def write_faces(signs, ranks, first, blocks, cells, side, neighbors, table, first_face, faces):
    """Triangles of all blocks as vertex numbers."""
    width = side + 1
    for b in prange(blocks.shape[0]):
        cx, cy, cz, _, _, _ = _extents(blocks, cells, side, b)
        vertex = np.empty(12, dtype=np.int64)
        face = first_face[b]
        for i in range(cx):
            for j in range(cy):
                r00, r01, r10, r11, mixed = _cell_row(signs, b, i, j, width, cz)
                k = 0
                while mixed != 0:
                    if mixed & 1:
                        case = _case(r00, r01, r10, r11, k)
                        vertex[:] = -1
                        for n in range(table.counts[case]):
                            for corner in range(3):
                                edge = table.triangles[case, n, corner]
                                if vertex[edge] < 0:
                                    vertex[edge] = _vertex(
                                        signs,
                                        ranks,
                                        first,
                                        blocks,
                                        cells,
                                        side,
                                        neighbors,
                                        b,
                                        i + table.edge_corner[edge, 0],
                                        j + table.edge_corner[edge, 1],
                                        k + table.edge_corner[edge, 2],
                                        table.edge_axis[edge],
                                    )
                                faces[face, corner] = vertex[edge]
                            face += 1
                    mixed >>= 1
                    k += 1


@njit(cache=True)
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@njit(cache=True)
def connected_labels(faces, labels):
    """Number the components of the vertices, in the order of their first vertices; returns their number."""
    for v in range(labels.size):
        labels[v] = v
    for f in range(faces.shape[0]):
        a = _root(labels, faces[f, 0])
        for corner in range(1, 3):
            b = _root(labels, faces[f, corner])
            if b < a:
                labels[a] = b
                a = b
            else:
                labels[b] = a
    # a root is the smallest vertex of its component, so parents come before their children
    count = 0
    for v in range(labels.size):
        if labels[v] == v:
            labels[v] = count
            count += 1
        else:
            labels[v] = labels[labels[v]]
    return count
