// The image distortion distance: one image against sixteen others side by side.
//
// A pixel and its context, 2 context + 1 pixels square, look for the most similar place within `reach` in the other
// image: the cost of pixel q of image a is
//
//     min_d sum_k |a(q + k) - b(q + k + d)|^2,   max |d| <= reach,   max |k| <= context,
//
// where q + d is inside the image. The costs of all pixels of a and those of all pixels of b are added and halved.
// Pixels of the sixteen lie next to each other: pixel (k, r, c) at ((k height + r) width + c) 16.
#pragma once

#include "distances/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kImages = kImagesSideBySide;
using Pixels = Lanes<float, kImages>;

// Context: of a pixel, or -1 for one known only at run time.
template <int Context> class DistortionBlock {
  public:
    explicit DistortionBlock(const Distortion& a)
        : a_(a),
          context_(Context < 0 ? a.context : Context),
          h_(a.height - 2 * (a.reach + context_)),
          w_(a.width - 2 * (a.reach + context_)),
          row_(w_ + 2 * context_),
          others_(a.channels * a.height * a.width * kImages),
          points_((h_ + 2 * context_) * row_ * kImages),
          column_(row_ * kImages),
          forth_(h_ * w_ * kImages),
          back_(h_ * w_ * kImages) {}

    // Takes sixteen other images, with zeros where there are fewer.
    void load(i64 block) {
        const i64 size = a_.channels * a_.height * a_.width, first = block * kImages;
        const i64 number = least<i64>(kImages, a_.m - first);
        for (i64 j = 0; j < kImages; ++j)
            for (i64 q = 0; q < size; ++q)
                others_[q * kImages + j] = j < number ? a_.others[(first + j) * size + q] : 0.0f;
    }

    // Half the sum of both costs of an image and each of the sixteen.
    void compare(const float* image, double (&costs)[kImages]) {
        for (i64 q = 0; q < h_ * w_ * kImages; ++q) forth_[q] = back_[q] = __builtin_inff();
        for (i64 dy = -a_.reach; dy <= a_.reach; ++dy)
            for (i64 dx = -a_.reach; dx <= a_.reach; ++dx) displace(image, dy, dx);
        for (int j = 0; j < kImages; ++j) costs[j] = 0.0;
        for (i64 q = 0; q < h_ * w_; ++q)
            for (int j = 0; j < kImages; ++j)
                costs[j] += double(forth_[q * kImages + j]) + double(back_[q * kImages + j]);
        for (int j = 0; j < kImages; ++j) costs[j] *= 0.5;
    }

  private:
    // One displacement: pixels (r, c) that stay inside the other image, as pixel (r + dy, c + dx).
    SEMINORM_INLINE void displace(const float* image, i64 dy, i64 dx) {
        const i64 top = most<i64>(0, -dy), bottom = least(h_, h_ - dy);
        const i64 left = most<i64>(0, -dx), right = least(w_, w_ - dx), wide = 2 * context_;
        for (i64 r = top; r < bottom + wide; ++r) differences(image, r, dy, dx, left, right + wide);
        for (i64 r = top; r < bottom; ++r) {
            for (i64 c = left; c < right + wide; ++c) {
                const float* point = points_.data() + (r * row_ + c) * kImages;
                Pixels sum = Pixels::load(point);
                for (i64 k = 1; k <= wide; ++k) sum = sum + Pixels::load(point + k * row_ * kImages);
                sum.store(column_.data() + c * kImages);
            }
            float* forth = forth_.data() + r * w_ * kImages;
            float* back = back_.data() + ((r + dy) * w_ + dx) * kImages;
            for (i64 c = left; c < right; ++c) {
                Pixels sum = Pixels::load(column_.data() + c * kImages);
                for (i64 k = 1; k <= wide; ++k) sum = sum + Pixels::load(column_.data() + (c + k) * kImages);
                smaller(sum, Pixels::load(forth + c * kImages)).store(forth + c * kImages);
                smaller(sum, Pixels::load(back + c * kImages)).store(back + c * kImages);
            }
        }
    }

    // Squared differences of the points first .. last - 1 of row r, summed over the channels.
    SEMINORM_INLINE void differences(const float* image, i64 r, i64 dy, i64 dx, i64 first, i64 last) {
        const i64 here = (r + a_.reach) * a_.width + a_.reach, there = here + dy * a_.width + dx;
        const i64 plane = a_.height * a_.width;
        for (i64 c = first; c < last; ++c) {
            Pixels sum = Pixels::all(0.0f);
            for (i64 k = 0; k < a_.channels; ++k) {
                const Pixels one = Pixels::all(image[k * plane + here + c]);
                const Pixels apart = one - Pixels::load(others_.data() + (k * plane + there + c) * kImages);
                sum = sum + apart * apart;
            }
            sum.store(points_.data() + (r * row_ + c) * kImages);
        }
    }

    const Distortion& a_;
    i64 context_, h_, w_, row_;
    Scratch<float> others_, points_, column_, forth_, back_;
};

template <int Context> void distort_pairs(const Distortion& a, i64 begin, i64 end) {
    DistortionBlock<Context> block(a);
    i64 loaded = -1;
    for (i64 item = begin; item < end; ++item) {
        const i64 i = item % a.n, number = item / a.n;
        const i64 first = most(number * kImages, a.upper ? i + 1 : 0), last = least(a.m, (number + 1) * kImages);
        if (first >= last) continue;
        if (number != loaded) block.load(loaded = number);
        double costs[kImages];
        block.compare(a.images + i * a.channels * a.height * a.width, costs);
        for (i64 j = first; j < last; ++j) a.out[i * a.m + j] = costs[j - number * kImages];
    }
}

void distort(const Distortion& a, i64 begin, i64 end) {
    switch (a.context) {
        case 0:
            return distort_pairs<0>(a, begin, end);
        case 1:
            return distort_pairs<1>(a, begin, end);
        case 2:
            return distort_pairs<2>(a, begin, end);
        default:
            return distort_pairs<-1>(a, begin, end);
    }
}
}  // namespace
}  // namespace seminorm
