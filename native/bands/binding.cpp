// Band matrices: what LAPACK leaves out.
#include "binding.hpp"

namespace seminorm {
namespace {
// Z = (L L')^-1 within the band of L, from the last column to the first [Takahashi et al. 1973]:
// Z_ij = [i = j] / L_jj^2 - sum_k L_kj Z_ki / L_jj over k = j + 1 .. j + p, for i = j .. j + p.
void band_inverse(In<double, 2> factor, Out<double, 2> inverse) {
    const i64 n = length(factor), width = length(factor, 1);
    need(length(inverse) == n && length(inverse, 1) == width, "inverse must have the shape of factor");
    const double* l = factor.data();
    double* z = inverse.data();
    nb::gil_scoped_release release;
    for (i64 j = n - 1; j >= 0; --j) {
        const i64 last = least(j + width, n) - 1;
        const double *column = l + j * width, scale = 1.0 / column[0];
        for (i64 i = last; i >= j; --i) {
            double total = i == j ? scale : 0.0;
            for (i64 k = j + 1; k <= last; ++k) {
                const i64 low = least(k, i), high = most(k, i);
                total -= column[k - j] * z[low * width + high - low];
            }
            z[j * width + i - j] = total * scale;
        }
        for (i64 i = last + 1; i < j + width; ++i) z[j * width + i - j] = 0.0;
    }
}
}  // namespace

void bind_bands(nb::module_& m) {
    m.def("band_inverse", &band_inverse, array("factor"), array("inverse"),
          "The inverse of L L' within the band of L; entry k of row j is that at (j + k, j), of L and of the result.");
}
}  // namespace seminorm
