// For bindings: the links of a tree, checked once, and what every loop over its blocks checks.
#pragma once

#include <nanobind/stl/optional.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "fields/kernels.hpp"

namespace seminorm {
// The links of a tree. It keeps the arrays alive.
class TreeLinks {
  public:
    TreeLinks(int degree, In<i64, 2> coords, In<bool, 1> is_cell, In<i64, 1> level_of, In<i64, 2> limits,
              In<bool, 1> wraps, In<double, 1> factors, In<i32, 2> neighbors, In<i32, 2> finer, In<i32, 2> children)
        : coords_(coords),
          is_cell_(is_cell),
          level_of_(level_of),
          limits_(limits),
          wraps_(wraps),
          factors_(factors),
          neighbors_(neighbors),
          finer_(finer),
          children_(children) {
        const i64 d = length(coords, 1), blocks = length(coords);
        need(d >= 1 && d <= kDimensions, "coords must have 1 to 4 columns");
        need(degree >= 1 && degree <= kDegrees, "degree must be 1, 2 or 3");
        need(length(is_cell) == blocks && length(level_of) == blocks, "is_cell and level_of need one entry per block");
        need(length(limits) == length(factors) && length(limits, 1) == d, "limits must be (levels, dimensions)");
        need(length(wraps) == d, "wraps needs one entry per dimension");
        need(length(neighbors) == blocks && length(neighbors, 1) == power(3, int(d)),
             "neighbors must be (blocks, 3**d)");
        for (const auto& inside : {finer, children})
            need(length(inside) == blocks && length(inside, 1) == i64(1) << d,
                 "finer, children must be (blocks, 2**d)");
        need_range(level_of, 0, length(factors), "level_of");
        need_range(neighbors, -1, blocks, "neighbors");
        need_range(finer, -1, blocks, "finer");
        need_range(children, -1, blocks, "children");
        view_ = {int(d),           degree,          blocks,         length(factors), coords.data(),
                 is_cell.data(),   level_of.data(), limits.data(),  wraps.data(),    factors.data(),
                 neighbors.data(), finer.data(),    children.data()};
        need_next_blocks();
    }
    const Links& view() const { return view_; }
    i64 nodes() const { return power(kSides[view_.dimension], view_.dimension); }
    i64 lines() const { return nodes() / kSides[view_.dimension]; }
    i64 alive() const { return power(view_.degree + 1, view_.dimension); }
    i64 stencil() const { return power(2 * view_.degree + 1, view_.dimension); }
    i64 side() const { return kSides[view_.dimension]; }

    template <class Array> void need_coefficients(const Array& x, const char* name) const {
        need(length(x) == view_.blocks && length(x, 1) == nodes(), std::string(name) + " must be (blocks, side**d)");
    }

  private:
    // Every function alive on a cell of the region must have its block, so that loops over points find it.
    void need_next_blocks() const {
        const int d = view_.dimension, side = kSides[d];
        for (i64 b = 0; b < view_.blocks; ++b)
            for (int step = 0; view_.is_cell[b] && step < 1 << d; ++step) {
                i64 slot = 0;
                bool reached = true;
                for (int axis = 0; axis < d; ++axis) {
                    const int bit = step >> (d - 1 - axis) & 1;
                    const i64 limit = view_.limits[view_.level_of[b] * d + axis] + view_.degree;
                    slot = slot * 3 + 1 + bit;
                    reached = reached && (view_.coords[b * d + axis] + bit) * side < limit;
                }
                need(!reached || view_.neighbors[b * power(3, d) + slot] >= 0, "a block of cells lacks the next block");
            }
    }
    In<i64, 2> coords_;
    In<bool, 1> is_cell_;
    In<i64, 1> level_of_;
    In<i64, 2> limits_;
    In<bool, 1> wraps_;
    In<double, 1> factors_;
    In<i32, 2> neighbors_, finer_, children_;
    Links view_;
};

namespace {
// Numbers of items per chunk: some ten microseconds of work or more.
constexpr i64 kPointGrain = 1024, kBlockGrain = 4, kManyBlocks = 16, kWeightGrain = 64, kStretchGrain = 16;

template <int N> using Number = std::integral_constant<int, N>;

template <class Work> void with_dimension(const Links& links, const Work& work) {
    switch (links.dimension) {
        case 1:
            return work(Number<1>{});
        case 2:
            return work(Number<2>{});
        case 3:
            return work(Number<3>{});
        default:
            return work(Number<4>{});
    }
}
template <class Work> void with_shape(const Links& links, const Work& work) {
    with_dimension(links, [&](auto d) {
        switch (links.degree) {
            case 1:
                return work(d, Number<1>{});
            case 2:
                return work(d, Number<2>{});
            default:
                return work(d, Number<3>{});
        }
    });
}

// Blocks in groups that share no function, one group after the other: those of group g stand at starts[g] ..
template <class Work> void run_blocks(const TreeLinks& links, const In<i64, 1>& blocks, const In<i64, 1>& starts,
                                      i64 grain, const Work& work) {
    need_range(blocks, 0, links.view().blocks, "blocks");
    need(length(starts) > 0 && starts(0) == 0 && starts(length(starts) - 1) == length(blocks),
         "starts must span blocks");
    for (i64 g = 0; g + 1 < length(starts); ++g) need(starts(g) <= starts(g + 1), "starts must not decrease");
    run_groups(starts.data(), length(starts) - 1, grain, work);
}

void need_located(const TreeLinks& links, const In<double, 2>& points, const In<i32, 1>& block,
                  const In<i32, 1>& cell) {
    need(length(points, 1) == links.view().dimension, "points must be (n, d)");
    need(length(block) == length(points) && length(cell) == length(points), "block and cell need one entry per point");
    need_range(block, 0, links.view().blocks, "block");
    need_range(cell, 0, links.nodes(), "cell");
    for (i64 i = 0; i < length(block); ++i) need(links.view().is_cell[block(i)], "points must lie in blocks of cells");
}

void need_sorted(const TreeLinks& links, const In<i64, 1>& start, i64 number) {
    need(length(start) == links.view().blocks + 1 && start(0) == 0, "start must have one entry more than blocks");
    for (i64 b = 0; b + 1 < length(start); ++b) need(start(b) <= start(b + 1), "start must not decrease");
    need(start(length(start) - 1) == number, "start must end with the number of points");
}
}  // namespace
}  // namespace seminorm
