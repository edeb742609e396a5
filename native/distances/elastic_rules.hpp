// Rules of elastic distances: how a cell of the table follows from the cells above it, to its left and between these.
//
// value(place, up, left, diagonal) is D(i, j) from D(i-1, j), D(i, j-1), D(i-1, j-1). kBorder: row and column 0 hold
// the sums of gap(), the price of samples without a partner; without it they are infinite but for D(0, 0) = 0.
#pragma once

#include "distances/kernels.hpp"
#include "lanes_math.hpp"

namespace seminorm {
namespace {
// A sample x of one series and the samples y of N others, side by side, with those before them in time (zeros before
// the first). Channels: 1, or 0 for a number known only at run time.
template <class T, int Channels> struct Place {
    static constexpr int kN = kSeriesSideBySide<T>;
    using L = Lanes<T, kN>;
    const T *x, *x_before;  // (channels,)
    L head, head_before;    // their first channel
    L mark;                 // and the number that belongs to x
    const T *y, *y_before;  // (channels, N)
    const T* marks;         // (N,)
    const ElasticTerms<T>& terms;
    T weight;  // the number of the table that belongs to their distance in time

    SEMINORM_INLINE L other_mark() const { return L::load(marks); }
    SEMINORM_INLINE L other(i64 c = 0) const { return L::load(y + c * kN); }
    SEMINORM_INLINE L other_before(i64 c = 0) const { return L::load(y_before + c * kN); }
    SEMINORM_INLINE L own(i64 c) const { return L::all(x[c]); }
    SEMINORM_INLINE L own_before(i64 c) const { return L::all(x_before[c]); }
    SEMINORM_INLINE L squares() const {
        L sum = square(head - other());
        if constexpr (Channels != 1)
            for (i64 c = 1; c < terms.channels; ++c) sum = sum + square(own(c) - other(c));
        return sum;
    }
    SEMINORM_INLINE L length() const {
        if constexpr (Channels == 1) return absolute(head - other());
        return root(squares());
    }
    SEMINORM_INLINE L length_before() const {
        if constexpr (Channels == 1) return absolute(head_before - other_before());
        L sum = square(head_before - other_before());
        for (i64 c = 1; c < terms.channels; ++c) sum = sum + square(own_before(c) - other_before(c));
        return root(sum);
    }
    static SEMINORM_INLINE L square(L a) { return a * a; }
};

template <class T, int Channels> struct RuleBase {
    using Number = T;
    using At = Place<T, Channels>;
    using L = typename At::L;
    using State = L;  // what a cell holds
    static constexpr int kNumbers = 1;
    static constexpr bool kBorder = false, kWeights = false, kMarks = false;
    static SEMINORM_INLINE L start() { return L::all(0); }
    static SEMINORM_INLINE L nothing() { return L::all(__builtin_inf()); }
    static SEMINORM_INLINE L gap(L) { return L::all(0); }
    // of one of the numbers side by side in a cell: the result, and what paths are compared by
    static SEMINORM_INLINE T result(const T* cell) { return *cell; }
    static SEMINORM_INLINE T rank(const T* cell) { return *cell; }
};

// DTW: |x - y|^2 + min(up, left, diagonal)
template <class T, int C> struct Warping : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        return at.squares() + lesser(left, lesser(up, diagonal));
    }
};

// weighted DTW: w(|i - j|) |x - y|^2
template <class T, int C> struct Weighted : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kWeights = true;
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        return at.squares() * L::all(at.weight) + lesser(left, lesser(up, diagonal));
    }
};

// ADTW: steps off the diagonal cost `first`
template <class T, int C> struct Penalized : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        return at.squares() + lesser(lesser(left, up) + L::all(at.terms.first), diagonal);
    }
};

// Frechet: the largest difference along the path
template <class T, int C> struct Largest : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        return greater(at.squares(), lesser(left, lesser(up, diagonal)));
    }
};

// ERP: a sample without a partner costs its mark, the distance from the gap value
template <class T, int C> struct Gaps : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kBorder = true, kMarks = true;
    static SEMINORM_INLINE L gap(L mark) { return mark; }
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        return lesser(lesser(up + at.mark, left + at.other_mark()), diagonal + at.length());
    }
};

// EDR: partners farther apart than both marks cost 1, and so do samples without one
template <class T, int C> struct Edits : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kBorder = true, kMarks = true;
    static SEMINORM_INLINE L gap(L) { return L::all(1); }
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        const L cost = if_less(at.length(), larger(at.mark, at.other_mark()), L::all(0), L::all(1));
        return lesser(lesser(up, left) + L::all(1), diagonal + cost);
    }
};

// LCSS, with its sign changed: partners at most `first` apart count
template <class T, int C> struct Common : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kBorder = true;
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        const L match = if_less(L::all(at.terms.first), at.length(), L::all(0), L::all(1));
        return smaller(diagonal - match, smaller(up, left));
    }
};

// TWE: marks are the prices of deletions, weights 2 nu |i - j|
template <class T, int C> struct Twists : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kWeights = true, kMarks = true;
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        const L match = diagonal + ((at.length() + at.length_before()) + L::all(at.weight));
        return lesser(lesser(up + at.mark, left + at.other_mark()), match);
    }
};

// MSM: a split or merge costs `first`, and more where the sample is not between its two neighbours. One channel: marks
// are differences of the sample before and the sample.
template <class T, int C> struct Splits : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kMarks = true;
    // how far a sample is outside the interval between the one before it and another one; the signs of both differences
    static SEMINORM_INLINE L outside(L mark, L ahead) {
        return lesser(absolute(mark), larger(with_sign(ahead, mark), L::all(0)));
    }
    // squares, of x to the nearer of a and b, unless it is in the ball between them
    static SEMINORM_INLINE L outside_ball(L to_a, L to_b, L to_middle, L diameter) {
        return if_less(diameter * L::all(T(0.25)), to_middle, lesser(to_a, to_b), L::all(0));
    }
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        const L price = L::all(at.terms.first);
        if constexpr (C == 1) {
            const L apart = at.head - at.other();
            const L down = up + (price + outside(L::all(0) - at.mark, apart));
            const L on = left + (price + outside(at.other_mark(), apart));
            return lesser(lesser(down, on), diagonal + absolute(apart));
        }
        const L zero = L::all(0), half = L::all(T(0.5));
        L apart = zero, x_step = zero, y_step = zero, ahead = zero, behind = zero, x_middle = zero, y_middle = zero;
        for (i64 c = 0; c < at.terms.channels; ++c) {
            const L x = at.own(c), y = at.other(c), x0 = at.own_before(c), y0 = at.other_before(c);
            apart = apart + At::square(x - y);
            x_step = x_step + At::square(x - x0);
            y_step = y_step + At::square(y - y0);
            ahead = ahead + At::square(x0 - y);
            behind = behind + At::square(x - y0);
            x_middle = x_middle + At::square((x0 + y) * half - x);
            y_middle = y_middle + At::square((x + y0) * half - y);
        }
        const L down = up + (price + outside_ball(x_step, apart, x_middle, ahead));
        const L on = left + (price + outside_ball(apart, y_step, y_middle, behind));
        return lesser(lesser(down, on), diagonal + apart);
    }
};

// Rules that sum e^-cost over all paths; their cells hold the sums, the results are minus the logarithms.
template <class T, int C> struct SumOfPaths : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr int kN = At::kN, kNumbers = 2;
    using State = Scaled<T, kN>;
    static SEMINORM_INLINE State start() { return {L::all(1), L::all(0)}; }
    static SEMINORM_INLINE State nothing() { return {L::all(0), L::all(sizeof(T) == 8 ? T(-1e300) : T(-1e30))}; }
    static SEMINORM_INLINE T result(const T* cell) {
        return T(-(__builtin_log(double(cell[0])) + double(cell[kN]) * 0.6931471805599453));
    }
    static SEMINORM_INLINE T rank(const T* cell) { return result(cell); }
};

// soft DTW, in units of gamma: costs `first` |x - y|^2
template <class T, int C> struct Soft : SumOfPaths<T, C> {
    using typename SumOfPaths<T, C>::L, typename SumOfPaths<T, C>::At, typename SumOfPaths<T, C>::State;
    static SEMINORM_INLINE State value(const At& at, State up, State left, State diagonal) {
        const State local = State::exponential(at.squares() * L::all(at.terms.first));
        return (local * State::sum(up, left, diagonal)).normalized();
    }
};

// the global alignment kernel: k / (2 - k), k = exp(-first |x - y|^2 - weight), in the place of e^-cost
template <class T, int C> struct Alignments : SumOfPaths<T, C> {
    using typename SumOfPaths<T, C>::L, typename SumOfPaths<T, C>::At, typename SumOfPaths<T, C>::State;
    static constexpr bool kWeights = true;
    static SEMINORM_INLINE State value(const At& at, State up, State left, State diagonal) {
        const State k = State::exponential(at.squares() * L::all(at.terms.first) + L::all(at.weight));
        const State local = {k.mantissa / (L::all(2) - k.mantissa * power_of_two(k.exponent)), k.exponent};
        return (local * State::sum(up, left, diagonal)).normalized();
    }
};

// shape DTW: the path of least cost between descriptors of `first` numbers a channel; the sum of |x - y|^2 along it, of
// their middle numbers. Of paths of the same cost, the one with the smaller sum.
template <class T, int C> struct Shapes : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr int kNumbers = 2;
    struct State {
        L cost, sum;
        static SEMINORM_INLINE State load(const T* from) { return {L::load(from), L::load(from + At::kN)}; }
        SEMINORM_INLINE void store(T* to) const {
            cost.store(to);
            sum.store(to + At::kN);
        }
        friend SEMINORM_INLINE State better(State a, State b) {
            const L tie = smaller(a.sum, b.sum);
            const L sum = if_less(a.cost, b.cost, a.sum, if_less(b.cost, a.cost, b.sum, tie));
            return {smaller(a.cost, b.cost), sum};
        }
    };
    static SEMINORM_INLINE State start() { return {L::all(0), L::all(0)}; }
    static SEMINORM_INLINE State nothing() { return {L::all(__builtin_inf()), L::all(__builtin_inf())}; }
    static SEMINORM_INLINE T result(const T* cell) { return cell[At::kN]; }
    static SEMINORM_INLINE State value(const At& at, State up, State left, State diagonal) {
        const i64 numbers = static_cast<i64>(at.terms.first);
        L sum = L::all(0);
        for (i64 c = numbers / 2; c < at.terms.channels; c += numbers) sum = sum + At::square(at.own(c) - at.other(c));
        const State best = better(diagonal, better(up, left));
        return {at.squares() + best.cost, sum + best.sum};
    }
};

// symbols 0, 1, ...: table (symbols, stride) are the prices of substitutions, marks those of insertions and deletions
template <class T, int C> struct Symbols : RuleBase<T, C> {
    using typename RuleBase<T, C>::L, typename RuleBase<T, C>::At;
    static constexpr bool kBorder = true, kMarks = true;
    static SEMINORM_INLINE L gap(L mark) { return mark; }
    static SEMINORM_INLINE L value(const At& at, L up, L left, L diagonal) {
        const T* prices = at.terms.table + at.terms.stride * static_cast<i64>(*at.x);
        T costs[At::kN];
        for (int k = 0; k < At::kN; ++k) costs[k] = prices[static_cast<i64>(at.y[k])];
        return lesser(lesser(up + at.mark, left + at.other_mark()), diagonal + L::load(costs));
    }
};
}  // namespace
}  // namespace seminorm
