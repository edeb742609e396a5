// Warping distances of time series: one series against eight others side by side, four of its samples at a time.
//
// The table of the recursion D(i, j) = cost(i, j) + min(D(i-1, j), D(i, j-1), D(i-1, j-1)) (for the discrete Frechet
// distance: max instead of +) has a row for each sample of the one series and a column for each sample of the others.
// A cell needs only cells to its left and above, so shorter series among the eight are filled up at their ends and read
// at their own last column. Which of two series has the rows makes no difference to any bit.
#pragma once

#include "distances/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kEight = kSeriesSideBySide;
using Eight = Lanes<double, kEight>;

SEMINORM_INLINE Eight square(Eight a) { return a * a; }

// Channels: 1, or 0 for a number known only at run time.
template <int Channels, bool Largest> class WarpingTable {
  public:
    // others (length, channels, 8); above (length + 1, 8) is the row above, one column further right.
    WarpingTable(const double* others, double* above, i64 channels, i64 length, i64 window)
        : others_(others), above_(above), channels_(Channels ? Channels : channels), length_(length), window_(window) {}

    // After this, above has the last row of the table for the series x (rows, channels).
    void fill(const double* x, i64 rows) {
        for (i64 k = 0; k < (length_ + 1) * kEight; ++k) above_[k] = k < kEight ? 0.0 : kInfinity;
        i64 row = 0;
        for (; row + 4 <= rows; row += 4) four_rows(x + row * channels_, row);
        for (; row < rows; ++row) one_row(x + row * channels_, row);
    }

  private:
    static constexpr double kInfinity = __builtin_inf();
    struct Column {
        Eight diagonal, left[4];
    };

    static SEMINORM_INLINE Eight cell(Eight cost, Eight above, Eight left, Eight diagonal) {
        const Eight best = smaller(left, smaller(above, diagonal));
        if constexpr (Largest) return larger(cost, best);
        return cost + best;
    }

    // Columns first .. last - 1 of four rows; heads: their first channel, or infinity outside the window.
    SEMINORM_INLINE void stretch(const double* x, const double (&heads)[4], Column& column, i64 first, i64 last) {
        const Eight head0 = Eight::all(heads[0]), head1 = Eight::all(heads[1]);
        const Eight head2 = Eight::all(heads[2]), head3 = Eight::all(heads[3]);
        Eight diagonal = column.diagonal, left0 = column.left[0], left1 = column.left[1];
        Eight left2 = column.left[2], left3 = column.left[3];
        for (i64 j = first; j < last; ++j) {
            const double* there = others_ + j * channels_ * kEight;
            Eight other = Eight::load(there);
            Eight cost0 = square(head0 - other), cost1 = square(head1 - other);
            Eight cost2 = square(head2 - other), cost3 = square(head3 - other);
            for (i64 c = 1; c < channels_; ++c) {
                other = Eight::load(there + c * kEight);
                cost0 = cost0 + square(Eight::all(x[c]) - other);
                cost1 = cost1 + square(Eight::all(x[channels_ + c]) - other);
                cost2 = cost2 + square(Eight::all(x[2 * channels_ + c]) - other);
                cost3 = cost3 + square(Eight::all(x[3 * channels_ + c]) - other);
            }
            const Eight up = Eight::load(above_ + (j + 1) * kEight);
            const Eight value0 = cell(cost0, up, left0, diagonal), value1 = cell(cost1, value0, left1, left0);
            const Eight value2 = cell(cost2, value1, left2, left1), value3 = cell(cost3, value2, left3, left2);
            value3.store(above_ + (j + 1) * kEight);
            diagonal = up;
            left0 = value0;
            left1 = value1;
            left2 = value2;
            left3 = value3;
        }
        column = {diagonal, {left0, left1, left2, left3}};
    }

    // Rows row .. row + 3: the columns that all of them have at once, those at the ends one by one.
    void four_rows(const double* x, i64 row) {
        const i64 begin = most<i64>(0, row - window_), end = least(length_, row + window_ + 4);
        const i64 whole_begin = least(most(begin, row + 3 - window_), end);
        const i64 whole_end = most(whole_begin, least(end, row + window_ + 1));
        const Eight nothing = Eight::all(kInfinity);
        Column column = {Eight::load(above_ + begin * kEight), {nothing, nothing, nothing, nothing}};
        nothing.store(above_);
        for (i64 j = begin; j < end;) {
            const bool whole = j == whole_begin && whole_end > whole_begin;
            const i64 stop = whole ? whole_end : j + 1;
            double heads[4];
            for (int r = 0; r < 4; ++r) {
                const i64 apart = row + r - j;
                heads[r] = whole || (apart <= window_ && -apart <= window_) ? x[r * channels_] : kInfinity;
            }
            stretch(x, heads, column, j, stop);
            j = stop;
        }
    }

    void one_row(const double* x, i64 row) {
        const i64 begin = most<i64>(0, row - window_), end = least(length_, row + window_ + 1);
        Eight left = Eight::all(kInfinity), diagonal = Eight::load(above_ + begin * kEight);
        left.store(above_);
        for (i64 j = begin; j < end; ++j) {
            const double* there = others_ + j * channels_ * kEight;
            Eight cost = square(Eight::all(x[0]) - Eight::load(there));
            for (i64 c = 1; c < channels_; ++c)
                cost = cost + square(Eight::all(x[c]) - Eight::load(there + c * kEight));
            const Eight up = Eight::load(above_ + (j + 1) * kEight);
            left = cell(cost, up, left, diagonal);
            left.store(above_ + (j + 1) * kEight);
            diagonal = up;
        }
    }

    const double* others_;
    double* above_;
    i64 channels_, length_, window_;
};

SEMINORM_INLINE i64 half_width(const Warping& a, i64 length, i64 other) {
    return a.share >= 0 ? static_cast<i64>(__builtin_rint(a.share * double(most(length, other)))) : a.window;
}

// One of `parts` parts of the series against eight others.
template <int Channels, bool Largest> void warp_part(const Warping& a, i64 block, i64 part) {
    const i64 first = block * kEight, number = least<i64>(kEight, a.others - first);
    const i64 partners = a.symmetric ? first + number : a.series;
    const i64 from = partners * part / a.parts, to = partners * (part + 1) / a.parts;
    if (from == to) return;
    const i64* others = a.other_order + first;
    i64 lengths[kEight] = {}, longest = 0;
    for (i64 k = 0; k < number; ++k) {
        lengths[k] = a.other_starts[others[k] + 1] - a.other_starts[others[k]];
        longest = most(longest, lengths[k]);
    }
    Scratch<double> side_by_side(longest * a.channels * kEight, 0.0), above((longest + 1) * kEight);
    for (i64 k = 0; k < number; ++k) {
        const double* values = a.other_values + a.other_starts[others[k]] * a.channels;
        for (i64 j = 0; j < lengths[k] * a.channels; ++j) side_by_side[j * kEight + k] = values[j];
    }
    for (i64 p = from; p < to; ++p) {
        const i64 i = a.order[p], rows = a.starts[i + 1] - a.starts[i];
        bool done[kEight] = {};
        for (i64 k = 0; k < number; ++k) {
            if (done[k]) continue;
            const i64 width = half_width(a, rows, lengths[k]);
            WarpingTable<Channels, Largest> table(side_by_side.data(), above.data(), a.channels, longest, width);
            table.fill(a.values + a.starts[i] * a.channels, rows);
            for (i64 q = k; q < number; ++q) {
                if (done[q] || half_width(a, rows, lengths[q]) != width) continue;
                done[q] = true;
                const double square = above[lengths[q] * kEight + q];
                a.out[i * a.others + others[q]] = square;
                if (a.symmetric) a.out[others[q] * a.others + i] = square;
            }
        }
    }
}

template <int Channels, bool Largest> void warp_items(const Warping& a, i64 begin, i64 end) {
    for (i64 item = begin; item < end; ++item)
        warp_part<Channels, Largest>(a, a.blocks() - 1 - item / a.parts, item % a.parts);
}

void warp(const Warping& a, i64 begin, i64 end) {
    if (a.largest)
        a.channels == 1 ? warp_items<1, true>(a, begin, end) : warp_items<0, true>(a, begin, end);
    else
        a.channels == 1 ? warp_items<1, false>(a, begin, end) : warp_items<0, false>(a, begin, end);
}
}  // namespace
}  // namespace seminorm
