// The energy of the functions of one level whose supports lie wholly on the leaves of that level: y = factor S x.
//
// Every row of it is the same symmetric stencil S of (2 Q + 1)**D entries. It is folded: sums of the neighbours at
// equal distances along the axes before the last come first, so an entry is used once for all of them,
//     y_k = sum_c sum_ab S[a, b, c] (H_ab[k - c] + H_ab[k + c]),   H_ab the sum over the four rows (+-a, +-b),
// with a, b, c = 0 .. Q. Rows are padded to N numbers and kept in vectors; c comes last.
#pragma once

#include "fields/kernels.hpp"
#include "lanes.hpp"

namespace seminorm {
namespace {
template <class T, int D, int Q> class FoldedStencil {
    static_assert(D == 2 || D == 3);
    using B = Block<D, Q>;
    static constexpr int N = (B::width + 15) / 16 * 16, planes = D == 3 ? Q + 1 : 1;
    using Row = Lanes<T, N>;

  public:
    // stencil ((2 Q + 1)**D,), in the order of kStencilOffsets
    FoldedStencil(const T* stencil, T factor) {
        constexpr int n = 2 * Q + 1;
        for (int a = 0; a < planes; ++a)
            for (int b = 0; b <= Q; ++b)
                for (int c = 0; c <= Q; ++c)
                    entries_[a][b][c] = factor * stencil[((D == 3 ? (Q + a) * n : 0) + Q + b) * n + Q + c];
    }

    // padded: rows of N; wanted: for each line of the block, whether it is needed; y: the block, other lines untouched
    void apply(const T* padded, const bool* wanted, T* y) {
        constexpr int outer = D == 3 ? B::side : 1;
        for (int i = 0; i < outer; ++i) {
            const bool* lines = wanted + i * B::side;
            bool some = false;
            for (int j = 0; j < B::side; ++j) some = some || lines[j];
            if (!some) continue;
            const T* folded = D == 3 ? fold_planes(padded + (i + Q) * B::width * N) : padded;
            for (int j = 0; j < B::side; ++j)
                if (lines[j]) line(folded + (j + Q) * N, y + (i * B::side + j) * B::side);
        }
    }

  private:
    static constexpr int plane = B::width * N;

    const T* fold_planes(const T* middle) {
        for (int r = 0; r < B::width; ++r) {
            Row::load(middle + r * N).store(folded_ + r * N);
            for (int a = 1; a < planes; ++a)
                (Row::load(middle + r * N - a * plane) + Row::load(middle + r * N + a * plane))
                    .store(folded_ + a * plane + r * N);
        }
        return folded_;
    }

    // rows: the row of the line in the first folded plane
    SEMINORM_INLINE void line(const T* rows, T* out) const {
        Row sums[Q + 1];
        for (int c = 0; c <= Q; ++c) sums[c] = Row::all(T(0));
        for (int a = 0; a < planes; ++a)
            for (int b = 0; b <= Q; ++b) {
                const T* at = rows + a * plane;
                Row both = Row::load(at - b * N);
                if (b > 0) both = both + Row::load(at + b * N);
                for (int c = 0; c <= Q; ++c) sums[c] = sums[c] + Row::all(entries_[a][b][c]) * both;
            }
        T parts[Q + 1][N];
        for (int c = 0; c <= Q; ++c) sums[c].store(parts[c]);
        for (int k = 0; k < B::side; ++k) {
            T total = parts[0][k + Q];
            for (int c = 1; c <= Q; ++c) total += parts[c][k + Q - c] + parts[c][k + Q + c];
            out[k] = total;
        }
    }

    T entries_[planes][Q + 1][Q + 1];
    alignas(64) T folded_[planes * plane];
};

template <class T, int D, int Q> void apply_level(const LevelEnergy<T>& a, i64 begin, i64 end) {
    if constexpr (D == 2 || D == 3) {
        using B = Block<D, Q>;
        constexpr int row = (B::width + 15) / 16 * 16, rows = int(power(B::width, D - 1));
        FoldedStencil<T, D, Q> stencil(a.stencil, a.factor);
        Scratch<T> tight(B::padded), padded(i64(rows) * row, T(0));
        for (i64 b = a.first + begin; b < a.first + end; ++b) {
            T* y = a.y + b * B::nodes;
            for (int k = 0; k < B::nodes; ++k) y[k] = T(0);
            read_padded<D, Q>(a.x, a.links.neighbors + b * B::around, tight.data());
            for (int r = 0; r < rows; ++r)
                for (int k = 0; k < B::width; ++k) padded[r * row + k] = tight[r * B::width + k];
            stencil.apply(padded.data(), a.wanted + b * B::lines, y);
        }
    }
}
}  // namespace
}  // namespace seminorm
