// The observations of a neighbourhood and their covariances.
//
// With u = x - y and s = |u|^2, observations (c, g) at x and (b, e) at y have the covariance
// c b h(s) + 2 h'(s) (b g . u - c e . u - g . e) - 4 h''(s) (g . u) (e . u).
#pragma once

#include "contrasts/kernels.hpp"

namespace seminorm {
namespace {
class Neighborhood {
  public:
    explicit Neighborhood(const Contrasts& a)
        : a_(a),
          stride_(a.most),
          covariances_(stride_ * stride_),
          along_(stride_),
          difference_(most<i64>(a.d, 1)),
          observations_(stride_),
          members_(a.m + 1),
          numbers_(a.m + 1),
          starts_(a.m + 2) {}

    // The neighbours that there are, then the group itself.
    void gather(i64 k) {
        count_ = size_ = 0;
        const i32* near = a_.neighbors + k * a_.m;
        while (count_ < a_.m && near[count_] >= 0) add(near[count_], count_);
        add(a_.groups[k], a_.m);
        starts_[count_] = size_;
        const double* profiles = a_.profiles + k * a_.orders * pairs();
        if (!a_.jets) return covariances_of_values(profiles);
        measure();
        covariances_of_jets(profiles);
    }

    i64 size() const { return size_; }
    i64 own() const { return size_ - starts_[count_ - 1]; }
    i64 observation(i64 j) const { return observations_[j]; }
    double covariance(i64 i, i64 j) const { return covariances_[i * stride_ + j]; }  // i <= j

    // What gives an observation the size of a value.
    double unit(i64 j) const {
        if (!a_.jets) return 1.0;
        const double* slope = jet(j) + 1;
        return 1.0 / (__builtin_fabs(slope[-1]) + __builtin_sqrt(dot(slope, slope)) / radius_);
    }

  private:
    i64 pairs() const { return (a_.m + 1) * (a_.m + 2) / 2; }
    const double* place(i64 p) const { return a_.places + members_[p] * a_.d; }
    const double* jet(i64 j) const { return a_.jets + observations_[j] * (1 + a_.d); }

    double dot(const double* x, const double* y) const {
        double total = 0.0;
        for (i64 c = 0; c < a_.d; ++c) total += x[c] * y[c];
        return total;
    }

    void add(i64 group, i64 number) {
        members_[count_] = group;
        numbers_[count_] = number;
        starts_[count_++] = size_;
        for (i64 j = a_.first[group]; j < a_.first[group + 1]; ++j) observations_[size_++] = j;
    }

    // Where a pair of places is in the triangles of the profiles.
    i64 pair(i64 one, i64 other) const {
        const i64 p = numbers_[one], q = numbers_[other];
        return p * (a_.m + 1) - p * (p - 1) / 2 + q - p;
    }

    void subtract(i64 p, i64 q) {
        for (i64 c = 0; c < a_.d; ++c) difference_[c] = place(p)[c] - place(q)[c];
    }

    // The largest distance of a neighbour from the group.
    void measure() {
        double largest = 0.0;
        for (i64 p = 0; p + 1 < count_; ++p) {
            subtract(p, count_ - 1);
            largest = most(largest, dot(difference_.data(), difference_.data()));
        }
        radius_ = largest > 0.0 ? __builtin_sqrt(largest) : 1.0;
    }

    void covariances_of_values(const double* h) {
        for (i64 p = 0; p < count_; ++p)
            for (i64 q = p; q < count_; ++q)
                for (i64 i = starts_[p]; i < starts_[p + 1]; ++i)
                    for (i64 j = most(i, starts_[q]); j < starts_[q + 1]; ++j)
                        covariances_[i * stride_ + j] = h[pair(p, q)];
    }

    void covariances_of_jets(const double* profiles) {
        for (i64 p = 0; p < count_; ++p)
            for (i64 q = p; q < count_; ++q) {
                const double* h = profiles + pair(p, q);
                const double value = h[0], slope = 2.0 * h[pairs()], bend = 4.0 * h[2 * pairs()];
                subtract(p, q);
                for (i64 j = starts_[q]; j < starts_[q + 1]; ++j) along_[j] = dot(jet(j) + 1, difference_.data());
                for (i64 i = starts_[p]; i < starts_[p + 1]; ++i) {
                    const double *one = jet(i), own = dot(one + 1, difference_.data());
                    for (i64 j = most(i, starts_[q]); j < starts_[q + 1]; ++j) {
                        const double *other = jet(j), both = own * along_[j];
                        double total = one[0] * other[0] * value;
                        total += slope * (other[0] * own - one[0] * along_[j] - dot(one + 1, other + 1));
                        if (both != 0.0) total -= bend * both;  // h'' may be infinite where both places are one
                        covariances_[i * stride_ + j] = total;
                    }
                }
            }
    }

    const Contrasts& a_;
    i64 stride_, count_ = 0, size_ = 0;
    double radius_ = 1.0;
    Scratch<double> covariances_, along_, difference_;
    Scratch<i64> observations_, members_, numbers_, starts_;
};
}  // namespace
}  // namespace seminorm
