// The squared semi-norm of order m of a field, applied block by block: adds alpha times half its gradient.
//
// On a box of w_1 x .. x w_D functions the energy is the multinomial sum over derivatives of total order m of products
// of one-dimensional forms. It is applied one axis after the other; after each, part s of a buffer holds the sum over
// all derivatives of total order s along the axes so far. forms (whole + 1, m + 1, whole, whole): for w functions in a
// row, integrals of products of k-th derivatives over their w - Q cells, divided by the factorial of k; banded.
#pragma once

#include "fields/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
constexpr int kEnergyLanes = 8;
constexpr int filled_up(int width) { return (width + kEnergyLanes - 1) / kEnergyLanes * kEnergyLanes; }

// Applies the energy to a box of functions, the last axis filled up with zeros. Width: of all axes where it is known
// when this is compiled, otherwise 0.
template <class T, int D, int Q, int Width> class BoxEnergy {
  public:
    BoxEnergy(const EnergyForms<T>& forms, const int* widths) : forms_(forms) {
        for (int axis = 0; axis < D; ++axis) width_[axis] = Width ? Width : widths[axis];
        size_ = filled_up(width(D - 1));
        for (int axis = 0; axis < D - 1; ++axis) size_ *= width(axis);
    }

    // Overwrites both buffers, (m + 1) * size each; returns the one that holds the image.
    T* apply(T* before, T* after) const {
        i64 outer = 1, inner = size_;
        for (int axis = 0; axis < D - 1; ++axis) {
            inner /= width(axis);
            inner_axis(axis == 0, width(axis), outer, inner, before, after);
            outer *= width(axis);
            T* const swap = before;
            before = after;
            after = swap;
        }
        last_axis(outer, before, after);
        return after;
    }

  private:
    SEMINORM_INLINE int width(int axis) const { return Width ? Width : width_[axis]; }

    SEMINORM_INLINE void inner_axis(bool first, int w, i64 outer, i64 inner, const T* before, T* after) const {
        constexpr int lanes = Width && filled_up(Width) % 16 == 0 ? 16 : kEnergyLanes;
        using L = Lanes<T, lanes>;
        for (int t = 0; t <= forms_.order; ++t)
            for (i64 o = 0; o < outer; ++o)
                for (int n = 0; n < w; ++n) {
                    const int low = most(0, n - Q), high = least(w - 1, n + Q);
                    T* to = after + t * size_ + (o * w + n) * inner;
                    for (i64 i = 0; i < inner; i += lanes) {
                        L sum = L::all(T(0));
                        for (int s = 0; s <= (first ? 0 : t); ++s) {
                            const T* from = before + s * size_ + o * w * inner + i;
                            const T* row = forms_.row(w, t - s, n);
                            for (int k = low; k <= high; ++k) sum = sum + L::all(row[k]) * L::load(from + k * inner);
                        }
                        sum.store(to + i);
                    }
                }
    }

    SEMINORM_INLINE void last_axis(i64 outer, const T* before, T* after) const {
        using L = Lanes<T, kEnergyLanes>;
        const int w = width(D - 1), filled = filled_up(w);
        for (i64 o = 0; o < outer; ++o)
            for (int n = 0; n < filled; n += kEnergyLanes) {
                const int low = most(0, n - Q), high = least(w - 1, n + kEnergyLanes - 1 + Q);
                L sum = L::all(T(0));
                for (int s = 0; s <= (D == 1 ? 0 : forms_.order); ++s) {
                    const T* from = before + s * size_ + o * filled;
                    for (int k = low; k <= high; ++k)
                        sum = sum + L::all(from[k]) * L::load(forms_.row(w, forms_.order - s, k) + n);
                }
                sum.store(after + o * filled + n);
            }
    }

    const EnergyForms<T>& forms_;
    int width_[D];
    i64 size_;
};

// The cells of a leaf, or of the leaves among the halves of a block: first cell and number of functions of each box.
template <int D, int Q> struct LeafBoxes {
    int count = 0, low[1 << D][D], width[1 << D][D];

    LeafBoxes(const Links& links, i64 b) {
        constexpr int halves = 1 << D, side = kSides[D];
        int leaves = 0;
        for (int h = 0; h < halves; ++h) leaves += links.children[b * halves + h] < 0;
        const bool entire = leaves == halves;
        for (int h = 0; links.is_cell[b] && leaves > 0 && h < (entire ? 1 : halves); ++h) {
            if (links.children[b * halves + h] >= 0) continue;
            bool some = true;
            for (int axis = 0; axis < D; ++axis) {
                const i64 limit = links.limits[links.level_of[b] * D + axis] - links.coords[b * D + axis] * side;
                low[count][axis] = entire ? 0 : (h >> (D - 1 - axis) & 1) * (side / 2);
                const i64 high = least<i64>(limit, entire ? side : low[count][axis] + side / 2);
                width[count][axis] = int(high) - low[count][axis] + Q;
                some = some && high > low[count][axis];
            }
            count += some;
        }
    }
    bool all(int box, int wanted) const {
        bool result = true;
        for (int axis = 0; axis < D; ++axis) result = result && width[box][axis] == wanted;
        return result;
    }
};

// Position in the patch of row r (along the last axis) of a box.
template <int D, int Q> SEMINORM_INLINE int row_of_box(const int* low, const int* width, i64 r) {
    int position = low[D - 1], stride = Block<D, Q>::whole;
    for (int axis = D - 2; axis >= 0; --axis) {
        position += (low[axis] + int(r % width[axis])) * stride;
        r /= width[axis];
        stride *= Block<D, Q>::whole;
    }
    return position;
}

// Adds factors[level] times the energy on the leaf cells of the chosen blocks, no two of which share a function.
template <class T, int D, int Q> void add_energy(const EnergyApplication<T>& a, i64 begin, i64 end) {
    using B = Block<D, Q>;
    const i64 room = power(B::whole, D - 1) * filled_up(B::whole) * (a.forms.order + 1) + kEnergyLanes;
    Scratch<T> patch(B::patch), image(B::patch), first(room, T(0)), second(room, T(0));
    for (i64 c = begin; c < end; ++c) {
        const i64 b = a.chosen[c];
        const LeafBoxes<D, Q> boxes(a.links, b);
        if (!boxes.count) continue;
        const i32* near = a.links.neighbors + b * B::around;
        const T factor = a.factors[a.links.level_of[b]];
        read_patch<D, Q>(a.x, near, patch.data());
        for (int k = 0; k < B::patch; ++k) image[k] = T(0);
        for (int box = 0; box < boxes.count; ++box) {
            const int *low = boxes.low[box], *width = boxes.width[box], last = width[D - 1], filled = filled_up(last);
            i64 rows = 1;
            for (int axis = 0; axis < D - 1; ++axis) rows *= width[axis];
            for (i64 r = 0; r < rows; ++r) {
                const T* from = patch.data() + row_of_box<D, Q>(low, width, r);
                for (int n = 0; n < filled; ++n) first[r * filled + n] = n < last ? from[n] : T(0);
            }
            constexpr int half = B::side / 2 + Q;
            const T* result = boxes.all(box, B::whole)
                                  ? BoxEnergy<T, D, Q, B::whole>(a.forms, width).apply(first.data(), second.data())
                              : boxes.all(box, half)
                                  ? BoxEnergy<T, D, Q, half>(a.forms, width).apply(first.data(), second.data())
                                  : BoxEnergy<T, D, Q, 0>(a.forms, width).apply(first.data(), second.data());
            for (i64 r = 0; r < rows; ++r) {
                T* to = image.data() + row_of_box<D, Q>(low, width, r);
                for (int n = 0; n < last; ++n) to[n] += factor * result[r * filled + n];
            }
        }
        add_patch<D, Q>(image.data(), near, a.y);
    }
}
}  // namespace
}  // namespace seminorm
