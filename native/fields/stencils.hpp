// Normal equations as stencils: y = factor energy x + data x, on the leaves, for one x or several.
//
// Functions come in lines of `side` along the last axis. A line that lies wholly on leaf cells of its level has the
// energy stencil of the level; one that does so in part has an edge stencil of its own (stencil, side); others have
// none. Data are stencils of lines (stencil, side), too. Entry number (2 Q + 1)-ary of a stencil is the offset of the
// other.
#pragma once

#include "fields/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
// Offsets in the padded copy of the entries of a stencil, from the function itself.
template <int D, int Q> struct StencilOffsets {
    int of[Block<D, Q>::stencil] = {};
    constexpr StencilOffsets() {
        for (int k = 0; k < Block<D, Q>::stencil; ++k) {
            int rest = k, stride = 1;
            for (int axis = D - 1; axis >= 0; --axis) {
                of[k] += (rest % (2 * Q + 1) - Q) * stride;
                rest /= 2 * Q + 1;
                stride *= Block<D, Q>::width;
            }
        }
    }
};
template <int D, int Q> constexpr StencilOffsets<D, Q> kStencilOffsets;

// Sums of `Together` lines with the constant stencil, chunks of C of their functions; more lines hide latencies.
template <int D, int Q, int C, int Together>
SEMINORM_INLINE void constant_lines(const double* padded, const int (&bases)[Together], const double* stencil,
                                    double factor, double (*totals)[Block<D, Q>::side]) {
    using L = Lanes<double, C>;
    for (int first = 0; first < Block<D, Q>::side; first += C) {
        L sum[Together];
        for (int t = 0; t < Together; ++t) sum[t] = L::all(0.0);
        for (int k = 0; k < Block<D, Q>::stencil; ++k) {
            const L weight = L::all(stencil[k]);
            for (int t = 0; t < Together; ++t)
                sum[t] = sum[t] + weight * L::load(padded + bases[t] + kStencilOffsets<D, Q>.of[k] + first);
        }
        for (int t = 0; t < Together; ++t) (L::all(factor) * sum[t]).store(totals[t] + first);
    }
}

// Adds factor times the sum of a line with stencils of its own, entries (stencil, side).
template <int D, int Q, int C>
SEMINORM_INLINE void own_line(const double* padded, int base, const double* entries, double factor, double* total) {
    using L = Lanes<double, C>;
    for (int first = 0; first < Block<D, Q>::side; first += C) {
        L sum = L::all(0.0);
        for (int k = 0; k < Block<D, Q>::stencil; ++k) {
            const L weight = L::load(entries + k * Block<D, Q>::side + first);
            sum = sum + weight * L::load(padded + base + kStencilOffsets<D, Q>.of[k] + first);
        }
        (L::load(total + first) + L::all(factor) * sum).store(total + first);
    }
}

// One block: image from the padded copy of x.
template <int D, int Q>
SEMINORM_INLINE void apply_to_block(const StencilApplication& a, i64 b, const double* padded, double* image) {
    using B = Block<D, Q>;
    constexpr int chunk = least(B::side, 8), together = B::lines % 4 ? 1 : 4;
    constexpr i64 entries = i64(B::stencil) * B::side;
    const i32* kinds = a.kind + b * B::lines;
    const i64 level = a.links.level_of[b];
    const double factor = a.factors[level], *inner = a.inner + level * B::stencil;
    double totals[together][B::side];
    for (int line = 0; line < B::lines; line += together) {
        int bases[together];
        bool constant = factor != 0.0;
        for (int t = 0; t < together; ++t) {
            bases[t] = line_in_padded<D, Q>(line + t);
            constant = constant && kinds[line + t] == 1;
            for (int j = 0; j < B::side; ++j) totals[t][j] = 0.0;
        }
        if (constant) constant_lines<D, Q, chunk>(padded, bases, inner, factor, totals);
        for (int t = 0; t < together; ++t) {
            const i32 kind = kinds[line + t];
            if (!constant && kind == 1 && factor != 0.0) {
                const int base[1] = {bases[t]};
                constant_lines<D, Q, chunk>(padded, base, inner, factor, totals + t);
            } else if (kind > 1 && factor != 0.0) {
                own_line<D, Q, chunk>(padded, bases[t], a.edge + (kind - 2) * entries, factor, totals[t]);
            }
            if (const i32 row = a.data_line ? a.data_line[b * B::lines + line + t] : -1; row >= 0)
                own_line<D, Q, chunk>(padded, bases[t], a.data + row * entries, 1.0, totals[t]);
            for (int j = 0; j < B::side; ++j) image[(line + t) * B::side + j] = totals[t][j];
        }
    }
}

template <int D, int Q> void apply_stencils(const StencilApplication& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    Scratch<double> padded(B::padded + 8, 0.0);
    const i64 size = a.links.blocks * B::nodes;
    for (i64 b = begin; b < end; ++b) {
        const i32* kinds = a.kind + b * B::lines;
        bool some = false;
        for (int line = 0; line < B::lines; ++line) some = some || kinds[line] > 0;
        for (i64 s = 0; s < a.sides; ++s) {
            double* image = a.y + s * size + b * B::nodes;
            if (!some) {
                for (int node = 0; node < B::nodes; ++node) image[node] = 0.0;
                continue;
            }
            read_padded<D, Q>(a.x + s * size, a.links.neighbors + b * B::around, padded.data());
            apply_to_block<D, Q>(a, b, padded.data(), image);
        }
    }
}

// Energy stencils of the given lines, summed over the leaf cells under their functions; energy (levels, alive, alive)
// is that of one cell, stencils (lines, stencil, side) starts at zero.
template <int D, int Q> void edge_stencils(const EdgeStencils& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    constexpr auto& codes = kAliveOffsets<D, Q, 2 * Q + 1>;
    constexpr auto& offsets = kAliveOffsets<D, Q, B::width>;
    Scratch<bool> leaf(B::padded);
    i64 last = -1;
    for (i64 r = begin; r < end; ++r) {
        if (a.blocks[r] != last) read_padded<D, Q>(a.leaf, a.links.neighbors + a.blocks[r] * B::around, leaf.data());
        last = a.blocks[r];
        const double* energy = a.energy + a.links.level_of[last] * B::alive * B::alive;
        const int base = line_in_padded<D, Q>(int(a.lines[r]));
        double* stencil = a.stencils + r * i64(B::stencil) * B::side + B::stencil / 2 * B::side;
        for (int j = 0; j < B::side; ++j)
            for (int k = 0; k < B::alive; ++k) {
                if (!leaf[base + j - offsets.of[k]]) continue;
                for (int other = 0; other < B::alive; ++other)
                    stencil[(codes.of[other] - codes.of[k]) * B::side + j] += energy[k * B::alive + other];
            }
    }
}
}  // namespace
}  // namespace seminorm
