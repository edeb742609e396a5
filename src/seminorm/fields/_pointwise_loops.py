"""Compiled loops for normal equations that are applied, never stored: block by block, point by point.

A block works on a *patch*: the coefficients of the (side + degree)**d functions alive on its cells. Blocks of one
colour (parity of their coordinates) share no function, so their patches are added without conflict, in a fixed order.
"""

import numpy as np
from numba import njit, prange

from ._loops import add_patch, alive, cell_place, read_patch, rows_of_box

OBSERVED, APPLIED, SQUARED = 0, 1, 2  # what add_data sums
_POINTS = 1024  # points that share scratch memory


@njit(cache=True)
def _energy(matrices, width, size, before, after):
    """The energy over a box of functions, applied to before[:size], as the multinomial sum over derivatives; returns
    which of the two buffers holds the image.

    One axis after the other is brought to the end. After each, part s of a buffer holds the sum over all derivatives of
    total order s along the axes so far. matrices[w][t] stacks the transposed matrices of the orders t, ..., 0.
    """
    order = matrices.shape[1] - 1
    for axis in range(width.size):
        w = width[axis]
        rest = size // w
        last = axis == width.size - 1
        for t in range(order if last else 0, order + 1):
            if axis == 0:
                source = before[:size].reshape(w, rest)
                matrix = matrices[w, t, :w, :w].copy()
            else:
                source = before[: (t + 1) * size].reshape((t + 1) * w, rest)
                matrix = matrices[w, t, : (t + 1) * w, :w].copy()
            to = 0 if last else t * size
            np.dot(source.T, matrix, after[to : to + size].reshape(rest, w))
        before, after = after, before
    return before


@njit(cache=True, parallel=True)
def add_energy(x, chosen, factors, matrices, links, tables, y):
    """Add the energy on the leaf cells of the chosen blocks, no two of which share a function.

    matrices[w, t]: for w functions in a row, integrals of the products of k-th derivatives, divided by the factorial of
    k, for k = t, ..., 0, below each other.
    """
    d = links.coords.shape[1]
    side, degree = tables.side, tables.degree
    whole = side + degree
    halves = 2**d
    for c in prange(chosen.size):
        b = chosen[c]
        leaves = 0
        for h in range(halves):
            leaves += links.children[b, h] < 0
        if leaves == 0 or not links.is_cell[b]:
            continue
        factor = factors[links.level_of[b]]
        patch = np.empty(tables.patch_slot.size, dtype=x.dtype)
        read_patch(x, links.neighbors[b], tables, patch)
        image = np.zeros_like(patch)
        buffers = np.empty((2, matrices.shape[1] * patch.size), dtype=x.dtype)
        low, width = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
        rows = np.empty(whole ** (d - 1), dtype=np.int64)
        for h in range(1 if leaves == halves else halves):
            if leaves < halves and links.children[b, h] >= 0:
                continue
            some = True
            for a in range(d):
                bit = (h >> (d - 1 - a)) & 1
                low[a] = 0 if leaves == halves else bit * (side // 2)
                high = side if leaves == halves else low[a] + side // 2
                high = min(high, links.limits[links.level_of[b], a] - links.coords[b, a] * side)
                width[a] = high - low[a] + degree
                some = some and high > low[a]
            if some:
                number, long = rows_of_box(low, width, whole, rows), width[d - 1]
                for r in range(number):
                    buffers[0, r * long : (r + 1) * long] = patch[rows[r] : rows[r] + long]
                result = _energy(matrices, width, number * long, buffers[0], buffers[1])
                for r in range(number):
                    for n in range(long):
                        image[rows[r] + n] += factor * result[r * long + n]
        add_patch(image, links.neighbors[b], tables, y)


@njit(cache=True, inline="always")
def _axis_tables(pieces, slopes, inverse, t, values, gradients):
    """Values and slopes of the functions alive on a cell along each axis."""
    for a in range(values.shape[0]):
        for j in range(values.shape[1]):
            v, g = pieces[j, pieces.shape[1] - 1], slopes[j, pieces.shape[1] - 1]
            for k in range(pieces.shape[1] - 2, -1, -1):
                v = v * t[a] + pieces[j, k]
                g = g * t[a] + slopes[j, k]
            values[a, j] = v
            gradients[a, j] = g * inverse


@njit(cache=True, inline="always")
def _contract(local, values, gradients, work, result):
    """Value and gradient (result[0], result[1:]) of the function with the given coefficients on a cell; work is
    overwritten.
    """
    d, q1 = values.shape
    size = local.size // q1
    for r in range(size):
        v, g = 0.0, 0.0
        for j in range(q1):
            v += local[r * q1 + j] * values[d - 1, j]
            g += local[r * q1 + j] * gradients[d - 1, j]
        work[0, r] = v
        work[d, r] = g
    for axis in range(d - 2, -1, -1):
        size //= q1
        for r in range(size):
            v, g = 0.0, 0.0
            for j in range(q1):
                v += work[0, r * q1 + j] * values[axis, j]
                g += work[0, r * q1 + j] * gradients[axis, j]
            for later in range(axis + 2, d + 1):
                total = 0.0
                for j in range(q1):
                    total += work[later, r * q1 + j] * values[axis, j]
                work[later, r] = total
            work[0, r] = v
            work[axis + 1, r] = g
    for k in range(d + 1):
        result[k] = work[k, 0]


@njit(cache=True, inline="always")
def _expand(result, values, gradients, work, local):
    """The transpose of :func:`_contract`: coefficients of the functional with the given weights."""
    d, q1 = values.shape
    for k in range(d + 1):
        work[k, 0] = result[k]
    size = 1
    for axis in range(d - 1):
        for r in range(size - 1, -1, -1):
            v, g = work[0, r], work[axis + 1, r]
            for j in range(q1):
                work[0, r * q1 + j] = v * values[axis, j] + g * gradients[axis, j]
            for later in range(axis + 2, d + 1):
                total = work[later, r]
                for j in range(q1):
                    work[later, r * q1 + j] = total * values[axis, j]
        size *= q1
    for r in range(size):
        v, g = work[0, r], work[d, r]
        for j in range(q1):
            local[r * q1 + j] = v * values[d - 1, j] + g * gradients[d - 1, j]


@njit(cache=True, parallel=True)
def add_data(
    x, chosen, start, corner, t, weights, axis_weights, observed, spacings, links, tables, pieces, slopes, what, y
):  # fmt: skip
    """Add over the points of the chosen blocks: L_i' w_i observed_i (OBSERVED), L_i' w_i L_i x (APPLIED), or the
    diagonal of the latter's matrix (SQUARED).

    Points are sorted by block. corner: position in the patch of the first function alive on the point's cell; t: the
    point in its cell; weights (n, 2): of the value and of the gradient; axis_weights (d,): factors of the latter for
    each component; observed (n, 1 + d).
    """
    d = t.shape[1]
    q1 = pieces.shape[0]
    size = tables.patch_offset.size
    for c in prange(chosen.size):
        b = chosen[c]
        if start[b + 1] == start[b]:
            continue
        inverse = 1.0 / spacings[links.level_of[b]]
        patch = np.empty(tables.patch_slot.size, dtype=x.dtype)
        if what == APPLIED:
            read_patch(x, links.neighbors[b], tables, patch)
        image = np.zeros_like(patch)
        values, gradients = np.empty((d, q1)), np.empty((d, q1))
        work, local, result = np.empty((d + 1, size)), np.empty(size), np.empty(d + 1)
        for i in range(start[b], start[b + 1]):
            _axis_tables(pieces, slopes, inverse, t[i], values, gradients)
            if what == APPLIED:
                for k in range(size):
                    local[k] = patch[corner[i] + tables.patch_offset[k]]
                _contract(local, values, gradients, work, result)
            else:
                for k in range(d + 1):
                    result[k] = observed[i, k] if what == OBSERVED else 1.0
            if what == SQUARED:
                values *= values
                gradients *= gradients
            result[0] *= weights[i, 0]
            for k in range(1, d + 1):
                result[k] *= weights[i, 1] * axis_weights[k - 1]
            _expand(result, values, gradients, work, local)
            for k in range(size):
                image[corner[i] + tables.patch_offset[k]] += local[k]
        add_patch(image, links.neighbors[b], tables, y)


@njit(cache=True, inline="always")
def _read_cube(patch, corner, whole, values, gradients, planes, q1, result):
    """:func:`_contract` in three dimensions, straight from the patch; q1 is known when this is compiled.

    planes receives the products of values and slopes along the first two axes, for :func:`_write_cube`.
    """
    v, gx, gy, gz = result[0] * 0, result[0] * 0, result[0] * 0, result[0] * 0
    for i in range(q1):
        for j in range(q1):
            row = corner + (i * whole + j) * whole
            along, across = v * 0, v * 0
            for k in range(q1):
                along += patch[row + k] * values[2, k]
                across += patch[row + k] * gradients[2, k]
            both = values[0, i] * values[1, j]
            first = gradients[0, i] * values[1, j]
            second = values[0, i] * gradients[1, j]
            planes[0, i * q1 + j] = both
            planes[1, i * q1 + j] = first
            planes[2, i * q1 + j] = second
            v += both * along
            gx += first * along
            gy += second * along
            gz += both * across
    result[0] = v
    result[1] = gx
    result[2] = gy
    result[3] = gz


@njit(cache=True, inline="always")
def _write_cube(result, corner, whole, values, gradients, planes, q1, image):
    """The transpose of :func:`_read_cube`, added to the image."""
    v, gx, gy, gz = result[0], result[1], result[2], result[3]
    for i in range(q1):
        for j in range(q1):
            row = corner + (i * whole + j) * whole
            along = v * planes[0, i * q1 + j] + gx * planes[1, i * q1 + j] + gy * planes[2, i * q1 + j]
            across = gz * planes[0, i * q1 + j]
            for k in range(q1):
                image[row + k] += along * values[2, k] + across * gradients[2, k]


@njit(cache=True, inline="always")
def _cube_tables(pieces, slopes, inverse, t, values, gradients, q1):
    """:func:`_axis_tables` in three dimensions; q1 is known when this is compiled."""
    for a in range(3):
        for j in range(q1):
            v, g = pieces[j, q1 - 1], slopes[j, q1 - 2]
            for k in range(q1 - 2, -1, -1):
                v = v * t[a] + pieces[j, k]
            for k in range(q1 - 3, -1, -1):
                g = g * t[a] + slopes[j, k]
            values[a, j] = v
            gradients[a, j] = g * inverse


@njit(cache=True, parallel=True)
def add_cube_data(x, chosen, start, corner, t, weights, inverses, links, tables, pieces, slopes, y):
    """:func:`add_data`, APPLIED, in three dimensions, for degrees 2 and 3; inverses (of the spacings), pieces and
    slopes have the type of x.
    """
    q1 = pieces.shape[0]
    whole = tables.side + tables.degree
    for c in prange(chosen.size):
        b = chosen[c]
        inverse = inverses[links.level_of[b]]
        patch = np.empty(tables.patch_slot.size, dtype=x.dtype)
        read_patch(x, links.neighbors[b], tables, patch)
        image = np.zeros_like(patch)
        values, gradients = np.empty((3, 4), dtype=x.dtype), np.empty((3, 4), dtype=x.dtype)
        planes, result = np.empty((3, 16), dtype=x.dtype), np.zeros(4, dtype=x.dtype)
        for i in range(start[b], start[b + 1]):
            if q1 == 3:
                _cube_tables(pieces, slopes, inverse, t[i], values, gradients, 3)
                _read_cube(patch, corner[i], whole, values, gradients, planes, 3, result)
            else:
                _cube_tables(pieces, slopes, inverse, t[i], values, gradients, 4)
                _read_cube(patch, corner[i], whole, values, gradients, planes, 4, result)
            result[0] *= weights[i, 0]
            for k in range(1, 4):
                result[k] *= weights[i, 1]
            if q1 == 3:
                _write_cube(result, corner[i], whole, values, gradients, planes, 3, image)
            else:
                _write_cube(result, corner[i], whole, values, gradients, planes, 4, image)
        add_patch(image, links.neighbors[b], tables, y)


@njit(cache=True, parallel=True)
def evaluate(x, start, corner, t, spacings, links, tables, pieces, slopes, out):
    """Value and gradient of the field at the points, out (n, 1 + d)."""
    d = t.shape[1]
    q1 = pieces.shape[0]
    size = tables.patch_offset.size
    for b in prange(start.size - 1):
        if start[b + 1] == start[b]:
            continue
        inverse = 1.0 / spacings[links.level_of[b]]
        patch = np.empty(tables.patch_slot.size, dtype=x.dtype)
        read_patch(x, links.neighbors[b], tables, patch)
        values, gradients = np.empty((d, q1)), np.empty((d, q1))
        work, local, result = np.empty((d + 1, size)), np.empty(size), np.empty(d + 1)
        for i in range(start[b], start[b + 1]):
            _axis_tables(pieces, slopes, inverse, t[i], values, gradients)
            for k in range(size):
                local[k] = patch[corner[i] + tables.patch_offset[k]]
            _contract(local, values, gradients, work, result)
            for k in range(d + 1):
                out[i, k] = result[k]


@njit(cache=True, parallel=True)
def cell_weights(start, corner, weights, axes, links, tables, value_weight, gradient_weight):
    """Sums of the weights in each cell (gradients: times the number of their components)."""
    d = links.coords.shape[1]
    width = tables.side + tables.degree
    for b in prange(start.size - 1):
        for i in range(start[b], start[b + 1]):
            rest, cell, stride = corner[i], 0, 1
            for _ in range(d):
                cell += rest % width * stride
                rest //= width
                stride *= tables.side
            value_weight[b, cell] += weights[i, 0]
            gradient_weight[b, cell] += axes * weights[i, 1]


@njit(cache=True, parallel=True)
def place(points, block, cell, order, links, tables, corner, t):
    """For points in the given order: the first function alive on the point's cell, in the patch, and the point in the
    cell.
    """
    d = points.shape[1]
    width = tables.side + tables.degree
    for n in prange(order.size):
        i = order[n]
        rest, stride, first = cell[i], 1, 0
        for a in range(d - 1, -1, -1):
            c = rest % tables.side
            rest //= tables.side
            first += c * stride
            stride *= width
            t[n, a] = points[i, a] * links.factors[links.level_of[block[i]]] - (
                links.coords[block[i], a] * tables.side + c
            )
        corner[n] = first


@njit(cache=True)
def _from_patch(patch, first, whole, basis, samples, buffers, out):
    """Samples on a grid of a function given on a patch: one axis after the other.

    first[a, i], basis[a, i]: for sample i along axis a the first function alive there, and the values of those alive.
    """
    d = first.shape[0]
    q1 = basis.shape[2]
    buffers[0, : patch.size] = patch
    size = patch.size
    for axis in range(d):
        rest = size // whole
        source, target = buffers[axis % 2], buffers[1 - axis % 2]
        for i in range(samples):
            for n in range(rest):
                target[n * samples + i] = 0.0
            for j in range(q1):
                factor = basis[axis, i, j]
                row = source[(first[axis, i] + j) * rest : (first[axis, i] + j + 1) * rest]
                for n in range(rest):
                    target[n * samples + i] += factor * row[n]
        size = rest * samples
    for p in range(size):
        out[p] = buffers[d % 2, p]


@njit(cache=True, parallel=True)
def sample(x, blocks, finest, links, tables, root_lookup, pieces, offset, out):
    """Values on the corners of the cells of blocks of a grid whose cells are 2**finest times narrower than those of
    level 0, and that is at least as fine as the tree there.
    """
    d = blocks.shape[1]
    side, degree = tables.side, tables.degree
    whole, samples = side + degree, side + 1
    flat_root = root_lookup.reshape(-1)
    room = whole**d
    for a in range(d + 1):
        room = max(room, whole ** (d - a) * samples**a)
    for n in prange(blocks.shape[0]):
        position = 0
        for a in range(d):
            position = position * root_lookup.shape[a] + (blocks[n, a] >> finest)
        current = flat_root[position]
        level = 0
        while level < finest:
            half = 0
            for a in range(d):
                half = half * 2 + ((blocks[n, a] >> (finest - level - 1)) & 1)
            child = links.children[current, half]
            if child < 0:
                break
            current = child
            level += 1
        patch = np.empty(tables.patch_slot.size, dtype=x.dtype)
        read_patch(x, links.neighbors[current], tables, patch)
        first = np.empty((d, samples), dtype=np.int64)
        basis = np.empty((d, samples, degree + 1), dtype=x.dtype)
        shrink = finest - level
        for a in range(d):
            begin = (blocks[n, a] - ((blocks[n, a] >> shrink) << shrink)) * side
            for i in range(samples):
                place = (begin + i) / 2.0**shrink
                cell = min(int(place), side - 1)
                first[a, i] = cell
                for j in range(degree + 1):
                    value = pieces[j, degree]
                    for k in range(degree - 1, -1, -1):
                        value = value * (place - cell) + pieces[j, k]
                    basis[a, i, j] = value
        buffers = np.empty((2, room), dtype=x.dtype)
        _from_patch(patch, first, whole, basis, samples, buffers, out[n])
        for p in range(out.shape[1]):
            out[n, p] += offset


@njit(cache=True, parallel=True)
def jets(points, block, cell, spacings, links, tables, pieces, slopes, x, out):
    """Value and gradient of a field at any points of the box, given in cells of level 0, out (n, 1 + d)."""
    d = points.shape[1]
    q1 = pieces.shape[0]
    size = tables.digits.shape[0]
    for part in prange((points.shape[0] + _POINTS - 1) // _POINTS):
        place, t = np.empty(d, dtype=np.int64), np.empty(d)
        blocks, nodes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        values, gradients = np.empty((d, q1)), np.empty((d, q1))
        work, local, result = np.empty((d + 1, size)), np.empty(size), np.empty(d + 1)
        for i in range(part * _POINTS, min((part + 1) * _POINTS, points.shape[0])):
            b = block[i]
            level = links.level_of[b]
            cell_place(points[i], links.factors[level], links.coords[b], cell[i], tables.side, d, place, t)
            alive(links.neighbors[b], place, tables.digits, tables.side, d, blocks, nodes)
            for k in range(size):
                local[k] = x[blocks[k], nodes[k]]
            _axis_tables(pieces, slopes, 1.0 / spacings[level], t, values, gradients)
            _contract(local, values, gradients, work, result)
            for k in range(d + 1):
                out[i, k] = result[k]
