"""Compiled loops over blocks of B-splines; see layout.py for the tables they share.

Each output entry is summed by one thread in a fixed order, so results do not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

LANES = 4096  # length of the partial sums of a dot product
_POINTS = 1024  # points that share scratch memory


@njit(cache=True, parallel=True)
def locate(points, links, root_lookup, root_cells, side, block, cell):
    """The leaf cell of each point: descend while the block that holds it has a child there."""
    d = points.shape[1]
    flat_root = root_lookup.reshape(-1)
    for i in prange(points.shape[0]):
        position = 0
        for a in range(d):
            c = min(max(int(np.floor(points[i, a])), 0), root_cells[a] - 1)
            position = position * root_lookup.shape[a] + c // side
        current = flat_root[position]
        factor = 1
        while True:
            half = 0
            for a in range(d):
                c = int(np.floor(points[i, a] * 2 * factor))
                c = min(max(c, 0), root_cells[a] * 2 * factor - 1)
                half = half * 2 + (c // side) % 2
            child = links.children[current, half]
            if child < 0:
                break
            current = child
            factor *= 2
        inside = 0
        for a in range(d):
            c = min(max(int(np.floor(points[i, a] * factor)), 0), root_cells[a] * factor - 1)
            inside = inside * side + c % side
        block[i] = current
        cell[i] = inside


@njit(cache=True, parallel=True)
def mark_cells(links, tables, region, leaf):
    """Cells that belong to the region of their level, and those of them that no child covers."""
    d = links.coords.shape[1]
    for b in prange(links.coords.shape[0]):
        if not links.is_cell[b]:
            continue
        for node in range(tables.node_coords.shape[0]):
            inside = True
            half = 0
            for a in range(d):
                if links.coords[b, a] * tables.side + tables.node_coords[node, a] >= links.limits[links.level_of[b], a]:
                    inside = False
                half = half * 2 + (2 * tables.node_coords[node, a]) // tables.side
            region[b, node] = inside
            leaf[b, node] = inside and links.children[b, half] < 0


@njit(cache=True, inline="always")
def _outside(links, tables, block, position):
    """Whether a cell of the padded block lies outside the box."""
    width = tables.side + 2 * tables.degree
    rest = position
    for a in range(links.coords.shape[1] - 1, -1, -1):
        c = links.coords[block, a] * tables.side + rest % width - tables.degree
        rest //= width
        if c < 0 or c >= links.limits[links.level_of[block], a]:
            return True
    return False


@njit(cache=True, inline="always")
def _at_border(links, tables, block):
    """Whether functions of a block reach to the border of the box or beyond."""
    for a in range(links.coords.shape[1]):
        first = links.coords[block, a] * tables.side
        if first < tables.degree or first + tables.side > links.limits[links.level_of[block], a]:
            return True
    return False


@njit(cache=True, inline="always")
def _sum_under(padded, width, degree, d):
    """Replace each cell of a padded block by the sum over the cells under the function of its number."""
    stride = 1
    for _ in range(d):
        for start in range(padded.size - 1, -1, -1):
            place = start // stride % width
            for k in range(1, min(degree, place) + 1):
                padded[start] += padded[start - k * stride]
        stride *= width


@njit(cache=True, parallel=True)
def mark_functions(links, tables, region, leaf, active, covered):
    """Functions whose support inside the box lies in the region, and the number of leaf cells each one covers."""
    d = links.coords.shape[1]
    width = tables.side + 2 * tables.degree
    for b in prange(links.coords.shape[0]):
        missing = np.zeros(tables.pad_slot.size, dtype=np.int16)
        within = np.ones(tables.pad_slot.size, dtype=np.int16)
        leaves = np.zeros(tables.pad_slot.size, dtype=np.int16)
        border = _at_border(links, tables, b)
        for p in range(tables.pad_slot.size):
            source = links.neighbors[b, tables.pad_slot[p]]
            if border and _outside(links, tables, b, p):
                within[p] = 0
            elif source >= 0:
                missing[p] = not region[source, tables.pad_node[p]]
                leaves[p] = leaf[source, tables.pad_node[p]]
            else:
                missing[p] = 1
        _sum_under(missing, width, tables.degree, d)
        _sum_under(leaves, width, tables.degree, d)
        if border:
            _sum_under(within, width, tables.degree, d)
        for node in range(tables.center.size):
            position = tables.center[node]
            active[b, node] = missing[position] == 0 and within[position] > 0
            covered[b, node] = leaves[position]


@njit(cache=True, parallel=True)
def flag_children(marked, coords, limits, tables, flags):
    """Child blocks, -1 .. 2 an axis relative to twice the block, that hold the functions alive on marked cells,
    refined.
    """
    d = coords.shape[1]
    for b in prange(marked.shape[0]):
        low, high = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
        for cell in range(marked.shape[1]):
            if not marked[b, cell]:
                continue
            inside = True
            number = 1
            for a in range(d):
                if coords[b, a] * tables.side + tables.node_coords[cell, a] >= limits[a]:
                    inside = False
                low[a] = (2 * tables.node_coords[cell, a] - tables.degree) // tables.side + 1
                high[a] = (2 * tables.node_coords[cell, a] + 1 + tables.degree) // tables.side + 1
                number *= high[a] - low[a] + 1
            if not inside:
                continue
            for n in range(number):
                rest, flag, stride = n, 0, 1
                for a in range(d - 1, -1, -1):
                    extent = high[a] - low[a] + 1
                    flag += (low[a] + rest % extent) * stride
                    rest //= extent
                    stride *= 4
                flags[b, flag] = True


@njit(cache=True, parallel=True)
def edge_stencils(blocks, lines, links, tables, leaf, energy, stencils):
    """Energy stencils of lines of functions that are only partly on leaf cells, summed over these."""
    for r in prange(blocks.size):
        b = blocks[r]
        for j in range(tables.side):
            for k in range(tables.digits.shape[0]):
                position = tables.center[lines[r] * tables.side + j] - tables.cell_offset[k]
                source = links.neighbors[b, tables.pad_slot[position]]
                if source >= 0 and leaf[source, tables.pad_node[position]]:
                    for other in range(tables.digits.shape[0]):
                        stencils[r, tables.pairs[k, other], j] += energy[k, other]


@njit(cache=True, parallel=True)
def apply(x, factors, links, tables, kind, edge, inner, data_line, data, use_data, y):
    """y = factors[level] * energy x + data x, on the leaves.

    Functions come in lines of ``tables.side`` along the last axis. kind of a line: 0 on no leaf, 1 all on leaves, 2 +
    r the edge stencil r. data_line: the line's place in data, -1 for none.
    """
    pad_slot, pad_node, offset, side = tables.pad_slot, tables.pad_node, tables.offset, tables.side
    neighbors, center = links.neighbors, tables.center
    lines = center.size // side
    for b in prange(x.shape[0]):
        some = False
        for line in range(lines):
            some = some or kind[b, line] > 0
        if not some:
            y[b] = 0.0
            continue
        padded = np.empty(pad_slot.size)
        for p in range(pad_slot.size):
            source = neighbors[b, pad_slot[p]]
            padded[p] = x[source, pad_node[p]] if source >= 0 else 0.0
        factor = factors[links.level_of[b]]
        total = np.empty(side)
        for line in range(lines):
            base = center[line * side]
            what = kind[b, line]
            total[:] = 0.0
            if what == 1 and factor != 0.0:
                for k in range(offset.size):
                    weight = inner[k]
                    place = base + offset[k]
                    for j in range(side):
                        total[j] += weight * padded[place + j]
                for j in range(side):
                    total[j] *= factor
            elif what > 1 and factor != 0.0:
                for k in range(offset.size):
                    place = base + offset[k]
                    for j in range(side):
                        total[j] += edge[what - 2, k, j] * padded[place + j]
                for j in range(side):
                    total[j] *= factor
            if use_data and data_line[b, line] >= 0:
                row = data_line[b, line]
                for k in range(offset.size):
                    place = base + offset[k]
                    for j in range(side):
                        total[j] += data[row, k, j] * padded[place + j]
            for j in range(side):
                y[b, line * side + j] = total[j]


@njit(cache=True, inline="always")
def read_patch(x, around, tables, patch):
    """Coefficients of the functions alive on the cells of a block."""
    for p in range(patch.size):
        source = around[tables.patch_slot[p]]
        patch[p] = x[source, tables.patch_node[p]] if source >= 0 else 0.0


@njit(cache=True, inline="always")
def add_patch(patch, around, tables, y):
    """The transpose of reading."""
    for p in range(patch.size):
        source = around[tables.patch_slot[p]]
        if source >= 0:
            y[source, tables.patch_node[p]] += patch[p]


@njit(cache=True, inline="always")
def rows_of_box(low, width, whole, rows):
    """Where the rows (along the last axis) of a box of functions begin in the patch; returns their number."""
    d = low.size
    number = 1
    for a in range(d - 1):
        number *= width[a]
    for r in range(number):
        rest, position, stride = r, low[d - 1], whole
        for a in range(d - 2, -1, -1):
            position += (low[a] + rest % width[a]) * stride
            rest //= width[a]
            stride *= whole
        rows[r] = position
    return number


@njit(cache=True)
def _along_axes(matrix, d, before, after):
    """Multiply each axis of a cube by the transposed matrix; returns the buffer that holds the result."""
    n, m = matrix.shape
    size = n**d
    for _ in range(d):
        rest = size // n
        np.dot(before[:size].reshape(n, rest).T, matrix, after[: rest * m].reshape(rest, m))
        size = rest * m
        before, after = after, before
    return before


@njit(cache=True, parallel=True)
def prolong_add(x, parents, links, tables, refinement):
    """Add to the coefficients of the blocks inside the given ones those of the given ones, refined."""
    d = links.coords.shape[1]
    side = tables.side
    reach = refinement.shape[0]
    whole = side + tables.degree
    for n in prange(parents.size):
        b = parents[n]
        patch = np.empty(tables.patch_slot.size, dtype=x.dtype)
        read_patch(x, links.neighbors[b], tables, patch)
        buffers = np.empty((2, max(reach, side) ** d), dtype=x.dtype)
        low, width = np.empty(d, dtype=np.int64), np.full(d, reach)
        rows = np.empty(reach ** (d - 1), dtype=np.int64)
        for h in range(2**d):
            child = links.finer[b, h]
            if child < 0:
                continue
            for a in range(d):
                low[a] = ((h >> (d - 1 - a)) & 1) * (side // 2)
            for r in range(rows_of_box(low, width, whole, rows)):
                buffers[0, r * reach : (r + 1) * reach] = patch[rows[r] : rows[r] + reach]
            fine = _along_axes(refinement, d, buffers[0], buffers[1])
            for node in range(side**d):
                x[child, node] += fine[node]


@njit(cache=True, parallel=True)
def restrict_add(x, parents, links, tables, refinement):
    """The transpose: add to the functions of the given blocks, no two of which share one, what the finer functions in
    them have; ``refinement`` is transposed.
    """
    d = links.coords.shape[1]
    side = tables.side
    reach = refinement.shape[1]
    whole = side + tables.degree
    for n in prange(parents.size):
        b = parents[n]
        patch = np.zeros(tables.patch_slot.size, dtype=x.dtype)
        buffers = np.empty((2, max(reach, side) ** d), dtype=x.dtype)
        low, width = np.empty(d, dtype=np.int64), np.full(d, reach)
        rows = np.empty(reach ** (d - 1), dtype=np.int64)
        for h in range(2**d):
            child = links.finer[b, h]
            if child < 0:
                continue
            for a in range(d):
                low[a] = ((h >> (d - 1 - a)) & 1) * (side // 2)
            buffers[0, : side**d] = x[child]
            coarse = _along_axes(refinement, d, buffers[0], buffers[1])
            for r in range(rows_of_box(low, width, whole, rows)):
                for k in range(reach):
                    patch[rows[r] + k] += coarse[r * reach + k]
        add_patch(patch, links.neighbors[b], tables, x)


@njit(cache=True, inline="always")
def _axis_values(pieces, t, values):
    """Values (pieces is a table of polynomials) of the B-splines alive on a cell at t in [0, 1], along one axis."""
    for a in range(pieces.shape[0]):
        total = pieces[a, pieces.shape[1] - 1]
        for k in range(pieces.shape[1] - 2, -1, -1):
            total = total * t + pieces[a, k]
        values[a] = total


@njit(cache=True, inline="always")
def _tensor(axis, start, basis):
    """Products of the values along the axes, times start, for all functions alive on a cell, the last axis fastest."""
    d, q1 = axis.shape
    basis[0] = start
    size = 1
    for a in range(d):
        for k in range(size - 1, -1, -1):
            value = basis[k]
            for j in range(q1 - 1, -1, -1):
                basis[k * q1 + j] = value * axis[a, j]
        size *= q1


@njit(cache=True, inline="always")
def cell_place(point, factor, block_coords, cell, side, d, place, t):
    """Positions in the block of a cell, and of a point in the cell, along each axis."""
    rest = cell
    for a in range(d - 1, -1, -1):
        place[a] = rest % side
        rest //= side
        t[a] = point[a] * factor - (block_coords[a] * side + place[a])


@njit(cache=True, inline="always")
def alive(neighbors_of, place, digits, side, d, blocks, nodes):
    """Blocks and positions of the functions alive on a cell."""
    for k in range(digits.shape[0]):
        slot, node = 0, 0
        for a in range(d):
            c = place[a] + digits[k, a]
            slot = slot * 3 + 1 + c // side
            node = node * side + c % side
        blocks[k] = neighbors_of[slot]
        nodes[k] = node


@njit(cache=True)
def sort_by_block(block, number):
    """Counting sort: order of the points, and where each block's begin; stable."""
    start = np.zeros(number + 1, dtype=np.int64)
    for i in range(block.size):
        start[block[i] + 1] += 1
    for b in range(number):
        start[b + 1] += start[b]
    fill = start[:-1].copy()
    order = np.empty(block.size, dtype=np.int64)
    for i in range(block.size):
        order[fill[block[i]]] = i
        fill[block[i]] += 1
    return order, start


@njit(cache=True)
def new_lines(block, cell, links, tables, data_line, used):
    """Give a place to every line with a function alive on a cell that holds a point; returns the number of places."""
    d = tables.digits.shape[1]
    cells = tables.side**d
    place = np.empty(d, dtype=np.int64)
    blocks = np.empty(tables.digits.shape[0], dtype=np.int64)
    nodes = np.empty(tables.digits.shape[0], dtype=np.int64)
    seen = np.zeros((links.neighbors.shape[0], cells), dtype=np.bool_)
    for i in range(block.size):
        if seen[block[i], cell[i]]:
            continue
        seen[block[i], cell[i]] = True
        rest = cell[i]
        for a in range(d - 1, -1, -1):
            place[a] = rest % tables.side
            rest //= tables.side
        alive(links.neighbors[block[i]], place, tables.digits, tables.side, d, blocks, nodes)
        for k in range(tables.digits.shape[0]):
            if data_line[blocks[k], nodes[k] // tables.side] < 0:
                data_line[blocks[k], nodes[k] // tables.side] = used
                used += 1
    return used


@njit(cache=True, parallel=True)
def add_data(
    points, observations, weights, order, start, chosen, cell, spacings, links, tables, pieces, slopes, first,
    data_line, data, right
):  # fmt: skip
    """Add the normal equations of points, sorted by block, for the chosen blocks, no two of which share a function.

    observations and weights have a column for each number observed: the value at column values_first, the gradient at
    the columns from gradients_first (-1: none). observations has a last axis for several right-hand sides with the
    same weights.
    """
    values_first, gradients_first = first
    digits, pairs, side = tables.digits, tables.pairs, tables.side
    coords, level_of, neighbors = links.coords, links.level_of, links.neighbors
    d = points.shape[1]
    size = digits.shape[0]
    q1 = pieces.shape[0]
    sides = observations.shape[2]
    for c in prange(chosen.size):
        b = chosen[c]
        place, t = np.empty(d, dtype=np.int64), np.empty(d)
        blocks, nodes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        axis = np.empty((d, q1))
        basis = np.empty(size)
        matrix, vector = np.empty((size, size)), np.empty((sides, size))
        factor = links.factors[level_of[b]]
        inverse = 1.0 / spacings[level_of[b]]
        number = start[b + 1] - start[b]
        by_cell = _sorted_by_cell(order[start[b] : start[b + 1]], cell, side**d)
        position = 0
        while position < number:
            here = cell[by_cell[position]]
            matrix[:, :] = 0.0
            vector[:, :] = 0.0
            while position < number and cell[by_cell[position]] == here:
                i = by_cell[position]
                position += 1
                cell_place(points[i], factor, coords[b], here, side, d, place, t)
                for a in range(d):
                    _axis_values(pieces, t[a], axis[a])
                if values_first >= 0 and weights[i, values_first] > 0.0:
                    _tensor(axis, 1.0, basis)
                    _add_outer(basis, weights[i, values_first], observations[i, values_first], matrix, vector)
                if gradients_first >= 0:
                    for direction in range(d):
                        column = gradients_first + direction
                        if weights[i, column] > 0.0:
                            _axis_values(slopes, t[direction], axis[direction])
                            _tensor(axis, inverse, basis)
                            _add_outer(basis, weights[i, column], observations[i, column], matrix, vector)
                            _axis_values(pieces, t[direction], axis[direction])
            alive(neighbors[b], place, digits, side, d, blocks, nodes)
            for k in range(size):
                line = data_line[blocks[k], nodes[k] // side]
                j = nodes[k] % side
                for s in range(sides):
                    right[s, blocks[k], nodes[k]] += vector[s, k]
                for other in range(k):
                    data[line, pairs[k, other], j] += matrix[other, k]
                for other in range(k, size):
                    data[line, pairs[k, other], j] += matrix[k, other]


@njit(cache=True, inline="always")
def _add_outer(basis, weight, observed, matrix, vector):
    """Upper triangle of the outer product, and the right-hand sides."""
    size = basis.size
    for k in range(size):
        scaled = weight * basis[k]
        for s in range(observed.size):
            vector[s, k] += scaled * observed[s]
        for other in range(k, size):
            matrix[k, other] += scaled * basis[other]


@njit(cache=True, inline="always")
def _sorted_by_cell(points, cell, cells):
    """Counting sort of a block's points by cell, stable."""
    first = np.zeros(cells + 1, dtype=np.int64)
    for i in points:
        first[cell[i] + 1] += 1
    for c in range(cells):
        first[c + 1] += first[c]
    result = np.empty(points.size, dtype=np.int64)
    fill = first.copy()
    for i in points:
        result[fill[cell[i]]] = i
        fill[cell[i]] += 1
    return result


@njit(cache=True, parallel=True)
def add_cell_weights(weights, order, start, cell, first, value_weight, gradient_weight):
    """Sums of the weights of values and of gradients in each cell."""
    values_first, gradients_first = first
    for b in prange(start.size - 1):
        for position in range(start[b], start[b + 1]):
            i = order[position]
            if values_first >= 0:
                value_weight[b, cell[i]] += weights[i, values_first]
            if gradients_first >= 0:
                total = 0.0
                for column in range(gradients_first, weights.shape[1]):
                    total += weights[i, column]
                gradient_weight[b, cell[i]] += total


@njit(cache=True, parallel=True)
def add_to_parents(sums, first, last, links, tables):
    """Add to the cells of a level the sums of the cells of the next level that they hold."""
    d = tables.node_coords.shape[1]
    for b in prange(first, last):
        for node in range(tables.node_coords.shape[0]):
            half = 0
            for a in range(d):
                half = half * 2 + (2 * tables.node_coords[node, a]) // tables.side
            child = links.children[b, half]
            if child < 0:
                continue
            for corner in range(2**d):
                position = 0
                for a in range(d):
                    bit = (corner >> (d - 1 - a)) & 1
                    position = position * tables.side + (2 * tables.node_coords[node, a] + bit) % tables.side
                sums[b, node] += sums[child, position]


@njit(cache=True, parallel=True)
def add_diagonal(
    links, tables, leaf, energy, energy_factors, spacings, means, value_weight, gradient_weight, out
):  # fmt: skip
    """Complete the diagonal of the normal equations of all levels, given that of the data on the level's own leaves:
    add the energy, and data on finer leaves from averages over cells.
    """
    d = links.coords.shape[1]
    inner = 0.0
    for k in range(tables.digits.shape[0]):
        inner += energy[k, k]
    for b in prange(links.coords.shape[0]):
        inverse_square = 1.0 / spacings[links.level_of[b]] ** 2 / d
        factor = energy_factors[links.level_of[b]]
        border = _at_border(links, tables, b)
        values, slopes = np.zeros(tables.pad_slot.size), np.zeros(tables.pad_slot.size)
        some = False
        for p in range(tables.pad_slot.size):
            source = links.neighbors[b, tables.pad_slot[p]]
            if source >= 0 and not leaf[source, tables.pad_node[p]]:
                values[p] = value_weight[source, tables.pad_node[p]]
                slopes[p] = gradient_weight[source, tables.pad_node[p]] * inverse_square
                some = some or values[p] > 0.0 or slopes[p] > 0.0
        for node in range(tables.center.size):
            total = 0.0 if border else factor * inner
            if border or some:
                for k in range(tables.digits.shape[0]):
                    position = tables.center[node] - tables.cell_offset[k]
                    if border and not _outside(links, tables, b, position):
                        total += factor * energy[k, k]
                    total += means[0, k] * values[position] + means[1, k] * slopes[position]
            out[b, node] += total


@njit(cache=True, parallel=True)
def evaluate(points, block, cell, links, tables, derivatives, orders, x, out):
    """Products of derivatives along the axes: out[i, c] with the orders orders[c, a], in units of the cell."""
    digits, side, factors = tables.digits, tables.side, links.factors
    coords, level_of, neighbors = links.coords, links.level_of, links.neighbors
    d = points.shape[1]
    size = digits.shape[0]
    q1 = derivatives.shape[1]
    number = points.shape[0]
    for part in prange((number + _POINTS - 1) // _POINTS):
        place, t = np.empty(d, dtype=np.int64), np.empty(d)
        blocks, nodes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        axis, basis, local = np.empty((d, q1)), np.empty(size), np.empty(size)
        for i in range(part * _POINTS, min((part + 1) * _POINTS, number)):
            b = block[i]
            cell_place(points[i], factors[level_of[b]], coords[b], cell[i], side, d, place, t)
            alive(neighbors[b], place, digits, side, d, blocks, nodes)
            for k in range(size):
                local[k] = x[blocks[k], nodes[k]]
            for c in range(orders.shape[0]):
                for a in range(d):
                    _axis_values(derivatives[orders[c, a]], t[a], axis[a])
                _tensor(axis, 1.0, basis)
                total = 0.0
                for k in range(size):
                    total += basis[k] * local[k]
                out[i, c] = total


@njit(cache=True)
def spread(points, block, cell, links, tables, pieces, coefficients, out):
    """The transpose of evaluating values: add the coefficient of each point times the functions alive there."""
    d = points.shape[1]
    size = tables.digits.shape[0]
    place, t = np.empty(d, dtype=np.int64), np.empty(d)
    blocks, nodes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    axis, basis = np.empty((d, pieces.shape[0])), np.empty(size)
    for i in range(points.shape[0]):
        b = block[i]
        cell_place(points[i], links.factors[links.level_of[b]], links.coords[b], cell[i], tables.side, d, place, t)
        alive(links.neighbors[b], place, tables.digits, tables.side, d, blocks, nodes)
        for a in range(d):
            _axis_values(pieces, t[a], axis[a])
        _tensor(axis, coefficients[i], basis)
        for k in range(size):
            out[blocks[k], nodes[k]] += basis[k]


@njit(cache=True)
def spread_cells(leaf, roots, links, tables, factor, numbers, out):
    """Add factor * numbers, a vector for each leaf cell, to the functions alive on the cell."""
    d = tables.digits.shape[1]
    size = tables.digits.shape[0]
    blocks, nodes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    used = 0
    for b in range(leaf.shape[0]):
        for c in range(leaf.shape[1]):
            if not leaf[b, c]:
                continue
            alive(links.neighbors[b], tables.node_coords[c], tables.digits, tables.side, d, blocks, nodes)
            for k in range(size):
                total = 0.0
                for r in range(factor.shape[1]):
                    total += factor[k, r] * numbers[used, r]
                out[blocks[k], nodes[k]] += roots[links.level_of[b]] * total
            used += 1


@njit(cache=True, parallel=True)
def add_residuals(residuals, points, order, start, first, cell, links, side, number, squares, jumps, pairs):
    """Sums over the blocks from ``first`` on: of squared residuals, and of half the squared differences of residuals
    that are neighbours along a curve through the block (Morton order); the number of these pairs, and of distinct
    points by cell. Points with the same coordinates are no pair.
    """
    d = points.shape[1]
    for b in prange(squares.size):
        here = order[start[first + b] : start[first + b + 1]]
        keys, digits = np.empty(here.size, dtype=np.int64), np.empty(d, dtype=np.int64)
        scale = links.factors[links.level_of[first + b]] / side
        for n in range(here.size):
            keys[n] = _morton(points[here[n]], links.coords[first + b], scale, d, digits)
        curve = here[np.argsort(keys, kind="mergesort")]
        for n in range(curve.size):
            i = curve[n]
            last = curve[n - 1] if n > 0 else -1
            same = last >= 0
            for a in range(d):
                same = same and points[i, a] == points[last, a]
            for column in range(residuals.shape[1]):
                squares[b] += residuals[i, column] ** 2
                if n > 0 and not same:
                    jumps[b] += 0.5 * (residuals[i, column] - residuals[last, column]) ** 2
            if not same:
                number[b, cell[i]] += 1
                pairs[b] += 1 if n > 0 else 0


@njit(cache=True, inline="always")
def _morton(point, block_coords, scale, d, digits):
    """Position along a curve through a block: the leading bits of the coordinates in the block, interleaved."""
    bits = 40 // d
    for a in range(d):
        t = min(max(point[a] * scale - block_coords[a], 0.0), 1.0 - 1e-15)
        digits[a] = int(t * 2.0**bits)
    key = 0
    for bit in range(bits - 1, -1, -1):
        for a in range(d):
            key = 2 * key + ((digits[a] >> bit) & 1)
    return key


@njit(cache=True, parallel=True)
def partial_dots(x, y, partial):
    """Sums over stretches of fixed length, whatever the number of threads."""
    for c in prange(partial.size):
        total = 0.0
        for i in range(c * LANES, min((c + 1) * LANES, x.size)):
            total += x[i] * y[i]
        partial[c] = total
