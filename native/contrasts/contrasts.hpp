// One contrast: eliminate the null space with as many of the neighbours as it has dimensions, then factorise.
//
// With pivots t_1 .. t_q chosen among the neighbours, e_j - sum_t l_jt e_t vanishes on the null space for every other
// j; these combinations have the covariance matrix A = U'U, the point last, and c = U^-1 e_last in them.
#pragma once

#include "contrasts/kernels.hpp"

namespace seminorm {
namespace {
class LocalContrast {
  public:
    explicit LocalContrast(const Contrasts& a)
        : a_(a),
          stride_(a.m + 1),
          matrix_(stride_ * stride_),
          null_(stride_ * most<i64>(a.r, 1)),
          factors_(stride_ * most<i64>(a.r, 1)),
          change_(stride_),
          variance_(stride_),
          contrast_(stride_),
          order_(stride_) {}

    void find(i64 k) {
        double* out = a_.out + k * stride_;
        for (i64 j = 0; j < stride_; ++j) out[j] = 0.0;
        gather_null_space(k);
        const bool possible = choose_pivots();
        a_.found[k] = possible;
        if (!possible) return;
        gather_covariances(k);
        for (i64 t = 0; t < pivots_; ++t) eliminate(t);
        factorize();
        solve();
        for (i64 j = 0; j < size_; ++j) out[order_[j]] = contrast_[j];
    }

  private:
    double* row(i64 i) { return matrix_.data() + i * stride_; }
    double* factors(i64 t) { return factors_.data() + t * stride_; }
    double* null(i64 column) { return null_.data() + column * stride_; }

    i64 point(i64 k, i64 place) const { return place == a_.m ? a_.points[k] : i64(a_.neighbors[k * a_.m + place]); }

    // The neighbours that there are, then the point; the null space column by column.
    void gather_null_space(i64 k) {
        size_ = 0;
        while (size_ < a_.m && a_.neighbors[k * a_.m + size_] >= 0) {
            order_[size_] = size_;
            ++size_;
        }
        order_[size_++] = a_.m;
        for (i64 j = 0; j < size_; ++j)
            for (i64 c = 0; c < a_.r; ++c) null(c)[j] = a_.null[point(k, order_[j]) * a_.r + c];
    }

    // Gaussian elimination with the largest neighbour as pivot, which moves to the front. A function that vanishes on
    // all neighbours, or nearly, must do so at the point.
    bool choose_pivots() {
        pivots_ = 0;
        const i64 last = size_ - 1;
        for (i64 column = 0; column < a_.r; ++column) {
            const double* here = null(column);
            double largest = 0.0;
            i64 pivot = last;
            for (i64 j = pivots_; j < last; ++j) {
                if (!(__builtin_fabs(here[j]) > largest)) continue;
                largest = __builtin_fabs(here[j]);
                pivot = j;
            }
            const double own = __builtin_fabs(here[last]), lost = a_.negligible * a_.sizes[column];
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
        return pivots_ < size_;
    }

    void move_to_front(i64 pivot) {
        swap(order_[pivot], order_[pivots_]);
        for (i64 c = 0; c < a_.r; ++c) swap(null(c)[pivot], null(c)[pivots_]);
        for (i64 t = 0; t < pivots_; ++t) swap(factors(t)[pivot], factors(t)[pivots_]);
    }

    template <class T> static void swap(T& a, T& b) {
        const T kept = a;
        a = b;
        b = kept;
    }

    // The upper triangle of kernel and noise in the new order.
    void gather_covariances(i64 k) {
        const double* kernel = a_.kernel + k * (stride_ * (stride_ + 1) / 2);
        for (i64 i = 0; i < size_; ++i) {
            double* to = row(i);
            for (i64 j = i; j < size_; ++j) {
                const i64 p = least(order_[i], order_[j]), q = most(order_[i], order_[j]);
                to[j] = kernel[p * stride_ - p * (p - 1) / 2 + q - p];
            }
            to[i] += a_.noise[point(k, order_[i])];
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

    // A = U'U beside the pivots. Where rounding leaves nothing of the variance of a combination it is left out; that of
    // the point is kept above the rounding errors.
    void factorize() {
        for (i64 i = pivots_; i < size_; ++i) variance_[i] = row(i)[i];
        for (i64 k = pivots_; k < size_; ++k) {
            double* here = row(k);
            const double floor = a_.negligible * variance_[k];
            const bool is_last = k + 1 == size_;
            if (!(here[k] > floor)) {
                here[k] = is_last && floor > 0.0 ? floor : 0.0;
                if (!is_last) continue;
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
    void solve() {
        const i64 last = size_ - 1;
        const double own = row(last)[last];
        contrast_[last] = own > 0.0 ? 1.0 / own : 0.0;
        for (i64 i = last - 1; i >= pivots_; --i) {
            const double* here = row(i);
            double sum = 0.0;
            for (i64 j = i + 1; j < size_; ++j) sum += here[j] * contrast_[j];
            contrast_[i] = here[i] > 0.0 ? -sum / here[i] : 0.0;
        }
        for (i64 t = pivots_ - 1; t >= 0; --t) {
            const double* l = factors(t);
            double sum = 0.0;
            for (i64 j = t + 1; j < size_; ++j) sum += l[j] * contrast_[j];
            contrast_[t] = -sum;
        }
    }

    const Contrasts& a_;
    i64 stride_, size_ = 0, pivots_ = 0;
    Scratch<double> matrix_, null_, factors_, change_, variance_, contrast_;
    Scratch<i64> order_;
};

void contrasts(const Contrasts& a, i64 begin, i64 end) {
    LocalContrast local(a);
    for (i64 k = begin; k < end; ++k) local.find(k);
}
}  // namespace
}  // namespace seminorm
