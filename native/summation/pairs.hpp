// Which boxes of a tree see which from afar, and whose points are summed directly.
//
// From the root downwards: a pair of boxes of one level is dropped, or far, or near, as `status` of its level says for
// the distance of the boxes along each axis. The children of near boxes are compared in turn; where one of the two is
// a leaf, its points meet all points of the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "basics.hpp"

namespace seminorm {
// Boxes of a level are consecutive, those of finer levels come later; the spans are those of the sources and of the
// targets in the box. status of level l: status + status_from[l], (size, size, size) with size = sizes[l], by the
// absolute differences of the coordinates: 0 dropped, 1 far, 2 near. Beyond `reach` the kernel is zero.
struct BoxTree {
    i64 levels, boxes;
    const i64* level_from;
    const i32* coords;    // (boxes, 3)
    const i32* parents;   // (boxes,)
    const i32* children;  // (boxes, 8), -1 where there is none
    const i64* source_spans;
    const i64* target_spans;
    const double* centers;  // (boxes, 3)
    const double* halves;   // (boxes,)
    const signed char* status;
    const i64* status_from;
    const i64* sizes;
    double reach;
};

// Pairs of boxes that see each other from afar, sorted by the code of their direction within chunks of `rows` targets
// of one level, and the ranges of sources that each leaf meets directly.
struct BoxPairs {
    std::vector<i32> codes, from, to;
    std::vector<i64> chunk_from{0}, level_chunks{0};  // level l has the chunks level_chunks[l] .. - 1
    std::vector<i64> leaves, range_from{0}, ranges;
};

class PairFinder {
  public:
    PairFinder(const BoxTree& tree, i64 rows, BoxPairs& pairs)
        : tree_(tree), rows_(rows), out_(pairs), near_(at(tree.boxes)), met_(at(tree.boxes)) {}

    void level(i64 number) {
        const i64 begin = tree_.level_from[number], end = tree_.level_from[number + 1];
        for (i64 first = begin; first < end; first += rows_) {
            found_.clear();
            for (i64 box = first; box < std::min(end, first + rows_); ++box) visit(number, static_cast<i32>(box));
            std::stable_sort(found_.begin(), found_.end(), [](const Far& a, const Far& b) { return a.code < b.code; });
            for (const Far& pair : found_) {
                out_.codes.push_back(pair.code);
                out_.from.push_back(pair.from);
                out_.to.push_back(pair.to);
            }
            out_.chunk_from.push_back(static_cast<i64>(out_.codes.size()));
        }
        out_.level_chunks.push_back(static_cast<i64>(out_.chunk_from.size()) - 1);
        if (number > 0)  // their lists have been passed on
            for (i64 box = tree_.level_from[number - 1]; box < begin; ++box) {
                std::vector<i32>().swap(near_[at(box)]);
                std::vector<i32>().swap(met_[at(box)]);
            }
    }

  private:
    struct Far {
        i32 code, from, to;
    };
    static size_t at(i64 number) { return static_cast<size_t>(number); }
    bool is_leaf(i32 box) const {
        const i32* children = tree_.children + 8 * box;
        return std::all_of(children, children + 8, [](i32 child) { return child < 0; });
    }
    bool is_empty(const i64* spans, i32 box) const { return spans[2 * box] == spans[2 * box + 1]; }

    void visit(i64 number, i32 box) {
        if (is_empty(tree_.target_spans, box)) return;
        const i32 parent = tree_.parents[box];
        if (parent < 0)
            compare(number, box, box);
        else {
            for (const i32 other : near_[at(parent)])
                for (const i32* child = tree_.children + 8 * other; child < tree_.children + 8 * (other + 1); ++child)
                    if (*child >= 0 && !is_empty(tree_.source_spans, *child)) compare(number, box, *child);
            for (const i32 other : met_[at(parent)]) meet(box, other);
        }
        if (is_leaf(box)) close(box);
    }

    void compare(i64 number, i32 box, i32 other) {
        const i64 size = tree_.sizes[number];
        i64 place = 0, code = 0;
        for (int axis = 0; axis < 3; ++axis) {
            const i64 apart = i64(tree_.coords[3 * other + axis]) - tree_.coords[3 * box + axis];
            if (apart >= size || -apart >= size) return;  // beyond the table all is dropped
            place = place * size + (apart < 0 ? -apart : apart);
            code = code * (2 * size - 1) + apart + size - 1;
        }
        const auto status = tree_.status[tree_.status_from[number] + place];
        if (status == 1)
            found_.push_back({static_cast<i32>(code), other, box});
        else if (status == 2 && (is_leaf(box) || is_leaf(other)))
            meet(box, other);
        else if (status == 2)
            near_[at(box)].push_back(other);
    }

    // All points of one box meet those of another; where the kernel ends, only its parts that are near enough.
    void meet(i32 box, i32 other) {
        if (tree_.reach < std::numeric_limits<double>::infinity()) {
            double square = 0.0;
            for (int axis = 0; axis < 3; ++axis) {
                const double apart = std::abs(tree_.centers[3 * box + axis] - tree_.centers[3 * other + axis]);
                const double gap = std::max(0.0, apart - tree_.halves[box] - tree_.halves[other]);
                square += gap * gap;
            }
            if (square > tree_.reach * tree_.reach) return;
            if (is_leaf(box) && !is_leaf(other)) {
                for (const i32* child = tree_.children + 8 * other; child < tree_.children + 8 * (other + 1); ++child)
                    if (*child >= 0 && !is_empty(tree_.source_spans, *child)) meet(box, *child);
                return;
            }
        }
        met_[at(box)].push_back(other);
    }

    // The ranges that a leaf meets, in increasing order, those that follow each other as one.
    void close(i32 leaf) {
        auto& met = met_[at(leaf)];
        const auto begin_of = [&](i32 box) { return tree_.source_spans[2 * box]; };
        std::sort(met.begin(), met.end(), [&](i32 a, i32 b) { return begin_of(a) < begin_of(b); });
        const size_t first = out_.ranges.size();
        for (const i32 box : met) {
            const i64 begin = begin_of(box), end = tree_.source_spans[2 * box + 1];
            if (out_.ranges.size() > first && out_.ranges.back() == begin)
                out_.ranges.back() = end;
            else
                out_.ranges.insert(out_.ranges.end(), {begin, end});
        }
        out_.leaves.push_back(leaf);
        out_.range_from.push_back(static_cast<i64>(out_.ranges.size() / 2));
    }

    const BoxTree& tree_;
    const i64 rows_;
    BoxPairs& out_;
    std::vector<std::vector<i32>> near_, met_;
    std::vector<Far> found_;
};
}  // namespace seminorm
