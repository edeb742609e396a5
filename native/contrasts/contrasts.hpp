// The contrasts of one group: eliminate the null space with as many observations of the neighbours as it has
// dimensions, then factorise.
//
// With pivots t_1 .. t_q chosen among the neighbours, e_j - sum_t l_jt e_t vanishes on the null space for every other
// j; these combinations have the covariance matrix A = U'U, the own ones last, and c = U^-1 e_j in them.
#pragma once

#include "contrasts/covariances.hpp"

namespace seminorm {
namespace {
class LocalContrast {
  public:
    explicit LocalContrast(const Contrasts& a)
        : a_(a),
          stride_(a.most),
          neighborhood_(a),
          matrix_(stride_ * stride_),
          null_(stride_ * most<i64>(a.r, 1)),
          factors_(stride_ * most<i64>(a.r, 1)),
          units_(stride_),
          change_(stride_),
          variance_(stride_),
          contrast_(stride_),
          order_(stride_) {}

    void find(i64 k) {
        neighborhood_.gather(k);
        size_ = neighborhood_.size();
        tail_ = size_ - neighborhood_.own();
        gather_null_space();
        const bool possible = choose_pivots();
        a_.found[k] = possible;
        if (possible) {
            gather_covariances();
            for (i64 t = 0; t < pivots_; ++t) eliminate(t);
            factorize();
        }
        for (i64 own = 0; own < size_ - tail_; ++own) {
            const i64 begin = a_.begins[k] + own * size_;
            double* out = a_.values + begin;
            for (i64 j = 0; j < size_; ++j) out[j] = 0.0;
            for (i64 j = 0; j < size_; ++j) a_.columns[begin + j] = a_.index[neighborhood_.observation(j)];
            if (!possible) continue;
            solve(tail_ + own);
            for (i64 j = 0; j <= tail_ + own; ++j) out[order_[j]] = contrast_[j];
        }
    }

  private:
    double* row(i64 i) { return matrix_.data() + i * stride_; }
    double* factors(i64 t) { return factors_.data() + t * stride_; }
    double* null(i64 column) { return null_.data() + column * stride_; }

    // The null space column by column; slopes are compared with values by the extent of the neighbourhood.
    void gather_null_space() {
        for (i64 j = 0; j < size_; ++j) {
            order_[j] = j;
            units_[j] = neighborhood_.unit(j);
            const double* from = a_.null + neighborhood_.observation(j) * a_.r;
            for (i64 c = 0; c < a_.r; ++c) null(c)[j] = from[c];
        }
    }

    // Gaussian elimination with the largest of the neighbours as pivot, which moves to the front. A function that
    // vanishes on all neighbours, or nearly, must do so on the group.
    bool choose_pivots() {
        pivots_ = 0;
        for (i64 column = 0; column < a_.r; ++column) {
            const double* here = null(column);
            double largest = 0.0, own = 0.0;
            i64 pivot = tail_;
            for (i64 j = pivots_; j < tail_; ++j) {
                const double size = __builtin_fabs(here[j]) * units_[j];
                if (!(size > largest)) continue;
                largest = size;
                pivot = j;
            }
            for (i64 j = tail_; j < size_; ++j) own = most(own, __builtin_fabs(here[j]) * units_[j]);
            const double lost = a_.negligible * a_.sizes[column];
            if (own > a_.remote * largest && own > lost) return false;
            if (largest <= lost) continue;
            move_to_front(pivot);
            double* l = factors(pivots_);
            for (i64 j = pivots_ + 1; j < size_; ++j) l[j] = here[j] / here[pivots_];
            for (i64 c = column + 1; c < a_.r; ++c) {
                double* values = null(c);
                const double above = values[pivots_];
                for (i64 j = pivots_ + 1; j < size_; ++j) values[j] -= l[j] * above;
            }
            ++pivots_;
        }
        return true;
    }

    void move_to_front(i64 pivot) {
        swap(order_[pivot], order_[pivots_]);
        swap(units_[pivot], units_[pivots_]);
        for (i64 c = 0; c < a_.r; ++c) swap(null(c)[pivot], null(c)[pivots_]);
        for (i64 t = 0; t < pivots_; ++t) swap(factors(t)[pivot], factors(t)[pivots_]);
    }

    template <class T> static void swap(T& a, T& b) {
        const T kept = a;
        a = b;
        b = kept;
    }

    // The upper triangle of kernel and noise in the new order.
    void gather_covariances() {
        for (i64 i = 0; i < size_; ++i) {
            double* to = row(i);
            for (i64 j = i; j < size_; ++j)
                to[j] = neighborhood_.covariance(least(order_[i], order_[j]), most(order_[i], order_[j]));
            to[i] += a_.noise[neighborhood_.observation(order_[i])];
        }
    }

    // Rows and columns i, j after the pivot: A_ij - l_i A_tj - l_j A_it + l_i l_j A_tt.
    void eliminate(i64 t) {
        const double *l = factors(t), *pivot = row(t);
        for (i64 j = t + 1; j < size_; ++j) change_[j] = pivot[j] - 0.5 * l[j] * pivot[t];
        const double* g = change_.data();
        for (i64 i = t + 1; i < size_; ++i) {
            double* to = row(i);
            const double li = l[i], gi = g[i];
            for (i64 j = i; j < size_; ++j) to[j] -= li * g[j] + gi * l[j];
        }
    }

    // A = U'U beside the pivots. Where rounding leaves nothing of the variance of a combination it is left out; those
    // of the group are kept above the rounding errors.
    void factorize() {
        for (i64 i = pivots_; i < size_; ++i) variance_[i] = row(i)[i];
        for (i64 k = pivots_; k < size_; ++k) {
            double* here = row(k);
            const double floor = a_.negligible * variance_[k];
            const bool is_own = k >= tail_;
            if (!(here[k] > floor)) {
                here[k] = is_own && floor > 0.0 ? floor : 0.0;
                if (!is_own) continue;
            }
            if (!(here[k] > 0.0)) continue;
            const double scale = 1.0 / __builtin_sqrt(here[k]);
            for (i64 j = k; j < size_; ++j) here[j] *= scale;
            for (i64 i = k + 1; i < size_; ++i) {
                double* to = row(i);
                const double factor = here[i];
                for (i64 j = i; j < size_; ++j) to[j] -= factor * here[j];
            }
        }
    }

    // c = U^-1 e_last, then the pivots, the last one first.
    void solve(i64 last) {
        const double own = row(last)[last];
        contrast_[last] = own > 0.0 ? 1.0 / own : 0.0;
        for (i64 i = last - 1; i >= pivots_; --i) {
            const double* here = row(i);
            double sum = 0.0;
            for (i64 j = i + 1; j <= last; ++j) sum += here[j] * contrast_[j];
            contrast_[i] = here[i] > 0.0 ? -sum / here[i] : 0.0;
        }
        for (i64 t = pivots_ - 1; t >= 0; --t) {
            const double* l = factors(t);
            double sum = 0.0;
            for (i64 j = t + 1; j <= last; ++j) sum += l[j] * contrast_[j];
            contrast_[t] = -sum;
        }
    }

    const Contrasts& a_;
    i64 stride_, size_ = 0, tail_ = 0, pivots_ = 0;
    Neighborhood neighborhood_;
    Scratch<double> matrix_, null_, factors_, units_, change_, variance_, contrast_;
    Scratch<i64> order_;
};

void contrasts(const Contrasts& a, i64 begin, i64 end) {
    LocalContrast local(a);
    for (i64 k = begin; k < end; ++k) local.find(k);
}
}  // namespace
}  // namespace seminorm
