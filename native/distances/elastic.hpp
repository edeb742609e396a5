// Elastic distances of series: one series against several others side by side, four of its samples at a time.
//
// The table of the recursion has a row for each sample of the one series and a column for each sample of the others. A
// cell needs only cells to its left and above, so shorter series among the others are filled up at their ends and read
// at their own last column. Which of two series has the rows makes no difference to any bit.
#pragma once

#include "distances/elastic_rules.hpp"

namespace seminorm {
namespace {
// The table of a rule. others (1 + length, channels, N) and marks (1 + length, N) begin with zeros; above (1 + length,
// kNumbers, N) is the row above, one column further right.
template <class Rule> class ElasticTable {
  public:
    using T = typename Rule::Number;
    using At = typename Rule::At;
    using L = typename Rule::L;
    using State = typename Rule::State;
    static constexpr int kN = At::kN, kWidth = kN * Rule::kNumbers;

    // table: the number for the distance k in time is table[k * stride]
    ElasticTable(const ElasticTerms<T>& terms, const T* others, const T* marks, T* above, i64 length, i64 window,
                 const T* table)
        : terms_(terms),
          others_(others + terms.channels * kN),
          marks_(marks + kN),
          above_(above),
          length_(length),
          window_(window),
          table_(table),
          zeros_(terms.channels, T(0)),
          nothing_before_(zeros_.data()) {}

    // Row 0, the border.
    void begin() {
        Rule::start().store(above_);
        L sum = L::all(0);
        for (i64 j = 1; j <= length_; ++j) {
            Rule::nothing().store(above_ + j * kWidth);
            if constexpr (Rule::kBorder) {
                sum = sum + Rule::gap(other_mark(j - 1));
                if (j <= window_) sum.store(above_ + j * kWidth);
            }
        }
        margin_ = L::all(0);
    }

    // After this, above has the last row of the table for the series x (rows, channels).
    void fill(const T* x, const T* marks, i64 rows) {
        begin();
        i64 row = 0;
        for (; row + 4 <= rows; row += 4) four_rows(x, marks, row);
        for (; row < rows; ++row) one_row<false>(x, marks, row, nullptr, nullptr);
    }

    // One row; Traced: of the first of the others write the values and the steps that lead to them.
    template <bool Traced> void one_row(const T* x, const T* marks, i64 row, T* values, char* steps) {
        const i64 begin = most<i64>(0, row - window_), end = least(length_, row + window_ + 1);
        const State nothing = Rule::nothing();
        const Row here = row_of(x, marks, row);
        State diagonal = State::load(above_ + begin * kWidth), left = next_margin(here, row);
        left.store(above_);
        if (begin > 0) left = nothing;
        for (i64 j = begin; j < end; ++j) {
            const State up = State::load(above_ + (j + 1) * kWidth);
            const At at = place(here, j);
            if constexpr (Traced) {
                const T both = rank_of(Rule::value(at, nothing, nothing, diagonal));
                const T down = rank_of(Rule::value(at, up, nothing, nothing));
                const T on = rank_of(Rule::value(at, nothing, left, nothing));
                steps[j] = both <= down && both <= on ? 0 : down <= on ? 1 : 2;
            }
            left = Rule::value(at, up, left, diagonal);
            left.store(above_ + (j + 1) * kWidth);
            if constexpr (Traced) values[j] = Rule::result(above_ + (j + 1) * kWidth);
            diagonal = up;
        }
    }

  private:
    struct Row {
        const T *x, *before;
        L head, head_before, mark;
        i64 index;
    };

    SEMINORM_INLINE Row row_of(const T* x, const T* marks, i64 row) const {
        const T *here = x + row * terms_.channels, *before = row ? here - terms_.channels : nothing_before_;
        return {here, before, L::all(*here), L::all(*before), L::all(Rule::kMarks ? marks[row] : T(0)), row};
    }

    SEMINORM_INLINE L other_mark(i64 j) const { return Rule::kMarks ? L::load(marks_ + j * kN) : L::all(0); }

    SEMINORM_INLINE At place(const Row& row, i64 j) const {
        const T* y = others_ + j * terms_.channels * kN;
        T weight = 0;
        if constexpr (Rule::kWeights) weight = table_[(row.index < j ? j - row.index : row.index - j) * terms_.stride];
        return {row.x,           row.before, row.head, row.head_before, row.mark, y, y - terms_.channels * kN,
                marks_ + j * kN, terms_,     weight};
    }

    static SEMINORM_INLINE T rank_of(State state) {
        T numbers[kWidth];
        state.store(numbers);
        return Rule::rank(numbers);
    }

    // The cell of column 0 in this row.
    SEMINORM_INLINE State next_margin(const Row& row, i64 index) {
        if constexpr (Rule::kBorder) {
            margin_ = margin_ + Rule::gap(row.mark);
            if (index < window_) return margin_;
        }
        return Rule::nothing();
    }

    struct Column {
        State diagonal, left0, left1, left2, left3;
    };

    // Columns first .. last - 1 of four rows; unless they are Whole, one column of those rows that are inside.
    template <bool Whole> SEMINORM_INLINE void stretch(const Row& row0, const Row& row1, const Row& row2,
                                                       const Row& row3, Column& column, i64 first, i64 last) {
        State diagonal = column.diagonal, left0 = column.left0, left1 = column.left1;
        State left2 = column.left2, left3 = column.left3;
        for (i64 j = first; j < last; ++j) {
            const State up = State::load(above_ + (j + 1) * kWidth);
            const State value0 = cell<Whole>(row0, j, up, left0, diagonal);
            const State value1 = cell<Whole>(row1, j, value0, left1, left0);
            const State value2 = cell<Whole>(row2, j, value1, left2, left1);
            const State value3 = cell<Whole>(row3, j, value2, left3, left2);
            value3.store(above_ + (j + 1) * kWidth);
            diagonal = up;
            left0 = value0;
            left1 = value1;
            left2 = value2;
            left3 = value3;
        }
        column = {diagonal, left0, left1, left2, left3};
    }

    template <bool Whole>
    SEMINORM_INLINE State cell(const Row& row, i64 j, State up, State left, State diagonal) const {
        if constexpr (!Whole) {
            const i64 apart = row.index - j;
            if (apart > window_ || -apart > window_) return Rule::nothing();
        }
        return Rule::value(place(row, j), up, left, diagonal);
    }

    // Rows row .. row + 3: the columns that all of them have at once, those at the ends one by one.
    void four_rows(const T* x, const T* marks, i64 row) {
        const i64 begin = most<i64>(0, row - window_), end = least(length_, row + window_ + 4);
        const i64 whole_begin = least(most(begin, row + 3 - window_), end);
        const i64 whole_end = most(whole_begin, least(end, row + window_ + 1));
        const Row row0 = row_of(x, marks, row), row1 = row_of(x, marks, row + 1);
        const Row row2 = row_of(x, marks, row + 2), row3 = row_of(x, marks, row + 3);
        Column column = {State::load(above_ + begin * kWidth), next_margin(row0, row), next_margin(row1, row + 1),
                         next_margin(row2, row + 2), next_margin(row3, row + 3)};
        column.left3.store(above_);
        const State nothing = Rule::nothing();
        if (begin > 0) column.left0 = column.left1 = column.left2 = column.left3 = nothing;
        for (i64 j = begin; j < whole_begin; ++j) stretch<false>(row0, row1, row2, row3, column, j, j + 1);
        stretch<true>(row0, row1, row2, row3, column, whole_begin, whole_end);
        for (i64 j = whole_end; j < end; ++j) stretch<false>(row0, row1, row2, row3, column, j, j + 1);
    }

    const ElasticTerms<T>& terms_;
    const T* others_;
    const T* marks_;
    T* above_;
    i64 length_, window_;
    const T* table_;
    Scratch<T> zeros_;
    const T* nothing_before_;
    L margin_;
};

template <class T> SEMINORM_INLINE i64 half_width(const ElasticTerms<T>& terms, i64 longer) {
    return terms.share >= 0 ? static_cast<i64>(__builtin_rint(terms.share * double(longer))) : terms.window;
}

template <class T> SEMINORM_INLINE const T* numbers_of(const ElasticTerms<T>& terms, i64 longer) {
    return terms.middle >= 0 ? terms.table + (terms.middle - longer) : terms.table;
}

// N series side by side, with zeros before the first samples and where a series has ended.
template <class Rule> struct SideBySide {
    using T = typename Rule::Number;
    static constexpr int kN = Rule::At::kN;

    SideBySide(const SeriesList<T>& list, i64 channels, i64 first)
        : number(least<i64>(kN, list.count - first)),
          series(list.order + first),
          longest(longest_of(list)),
          values((longest + 1) * channels * kN, T(0)),
          marks(Rule::kMarks ? (longest + 1) * kN : kN, T(0)) {
        for (i64 k = 0; k < number; ++k) {
            const i64 start = list.starts[series[k]];
            const T* from = list.values + start * channels;
            T* to = values.data() + channels * kN + k;
            for (i64 j = 0; j < lengths[k] * channels; ++j) to[j * kN] = from[j];
            if constexpr (Rule::kMarks)
                for (i64 j = 0; j < lengths[k]; ++j) marks[(j + 1) * kN + k] = list.marks[start + j];
        }
    }

    i64 longest_of(const SeriesList<T>& list) {
        i64 result = 0;
        for (i64 k = 0; k < number; ++k) result = most(result, lengths[k] = list.length(series[k]));
        return result;
    }

    i64 lengths[kN] = {};
    i64 number;
    const i64* series;
    i64 longest;
    Scratch<T> values, marks;
};

// One of `parts` parts of the series against one block of others.
template <class Rule> void elastic_part(const Elastic<typename Rule::Number>& a, i64 block, i64 part) {
    using T = typename Rule::Number;
    using Table = ElasticTable<Rule>;
    constexpr int kN = Table::kN;
    const i64 first = block * kN, partners = a.symmetric ? least(first + kN, a.others.count) : a.rows.count;
    const i64 from = partners * part / a.parts, to = partners * (part + 1) / a.parts;
    if (from == to) return;
    SideBySide<Rule> others(a.others, a.terms.channels, first);
    Scratch<T> above((others.longest + 1) * Table::kWidth);
    for (i64 p = from; p < to; ++p) {
        const i64 i = a.rows.order[p], start = a.rows.starts[i], rows = a.rows.length(i);
        bool done[kN] = {};
        for (i64 k = 0; k < others.number; ++k) {
            if (done[k]) continue;
            const i64 longer = most(rows, others.lengths[k]), width = half_width(a.terms, longer);
            const T* table = numbers_of(a.terms, longer);
            Table filled(a.terms, others.values.data(), others.marks.data(), above.data(), others.longest, width,
                         table);
            filled.fill(a.rows.values + start * a.terms.channels, a.rows.marks + start, rows);
            for (i64 q = k; q < others.number; ++q) {
                const i64 other = most(rows, others.lengths[q]);
                if (done[q] || half_width(a.terms, other) != width || numbers_of(a.terms, other) != table) continue;
                done[q] = true;
                const T result = Rule::result(above.data() + others.lengths[q] * Table::kWidth + q);
                a.out[i * a.others.count + others.series[q]] = result;
                if (a.symmetric) a.out[others.series[q] * a.others.count + i] = result;
            }
        }
    }
}

template <class Rule> void elastic_items(const Elastic<typename Rule::Number>& a, i64 begin, i64 end) {
    for (i64 item = begin; item < end; ++item) elastic_part<Rule>(a, a.blocks() - 1 - item / a.parts, item % a.parts);
}

// The whole table of two series.
template <class Rule> void fill_table(const ElasticTableOf& a, i64, i64) {
    SideBySide<Rule> others(a.others, a.terms.channels, 0);
    Scratch<double> above((others.longest + 1) * ElasticTable<Rule>::kWidth);
    const i64 rows = a.rows.length(0), columns = others.longest, longer = most(rows, columns);
    ElasticTable<Rule> table(a.terms, others.values.data(), others.marks.data(), above.data(), columns,
                             half_width(a.terms, longer), numbers_of(a.terms, longer));
    table.begin();
    for (i64 row = 0; row < rows; ++row)
        table.template one_row<true>(a.rows.values, a.rows.marks, row, a.out + row * columns, a.steps + row * columns);
}

// Calls run.template operator()<Rule>() for the rule and the number of channels.
template <class T, template <class, int> class Rule, class Run> void by_channels(i64 channels, const Run& run) {
    channels == 1 ? run.template operator()<Rule<T, 1>>() : run.template operator()<Rule<T, 0>>();
}

template <class T, class Run> void by_rule(ElasticRule rule, i64 channels, const Run& run) {
    switch (rule) {
        case ElasticRule::warping:
            return by_channels<T, Warping>(channels, run);
        case ElasticRule::weighted:
            return by_channels<T, Weighted>(channels, run);
        case ElasticRule::penalized:
            return by_channels<T, Penalized>(channels, run);
        case ElasticRule::largest:
            return by_channels<T, Largest>(channels, run);
        case ElasticRule::gaps:
            return by_channels<T, Gaps>(channels, run);
        case ElasticRule::edits:
            return by_channels<T, Edits>(channels, run);
        case ElasticRule::common:
            return by_channels<T, Common>(channels, run);
        case ElasticRule::twists:
            return by_channels<T, Twists>(channels, run);
        case ElasticRule::splits:
            return by_channels<T, Splits>(channels, run);
        case ElasticRule::soft:
            return by_channels<T, Soft>(channels, run);
        case ElasticRule::alignments:
            return by_channels<T, Alignments>(channels, run);
        case ElasticRule::shapes:
            return run.template operator()<Shapes<T, 0>>();
        default:
            return run.template operator()<Symbols<T, 1>>();
    }
}

template <class T> void elastic(const Elastic<T>& a, i64 begin, i64 end) {
    by_rule<T>(a.rule, a.terms.channels, [&]<class Rule>() { elastic_items<Rule>(a, begin, end); });
}

void elastic_table(const ElasticTableOf& a, i64 begin, i64 end) {
    by_rule<double>(a.rule, a.terms.channels, [&]<class Rule>() { fill_table<Rule>(a, begin, end); });
}
}  // namespace
}  // namespace seminorm
