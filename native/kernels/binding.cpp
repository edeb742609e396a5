// Values of kernels that are tabulated.
#include "binding.hpp"
#include "kernels/pieces.hpp"

namespace seminorm {
namespace {
void read_pieces(In<double, 2> pieces, i64 first, In<double, 1> numbers, Out<double, 1> values) {
    need(length(pieces, 1) == piece_terms, "pieces must have " + std::to_string(piece_terms) + " columns");
    need(length(values) == length(numbers), "values must have as many entries as numbers");
    const double *from = pieces.data(), *at = numbers.data();
    double* to = values.data();
    const i64 cells = length(pieces);
    run(length(numbers), 2048, [=](i64 begin, i64 end) {
        for (i64 k = begin; k < end; ++k) to[k] = read_piece(from, first, cells, at[k]);
    });
}
}  // namespace

void bind_kernels(nb::module_& m) {
    m.def("read_pieces", &read_pieces, array("pieces"), nb::arg("first"), array("numbers"), array("values"),
          "Values of a function of positive numbers that is given by polynomials on quarters of octaves; NaN beyond.");
}
}  // namespace seminorm
