// Compiled once for each instruction set; see native/README.md.
#include "summation/kernels.hpp"
#include "summation/near.hpp"
#include "summation/series.hpp"
#include "summation/translations.hpp"

namespace seminorm::SEMINORM_ISA {
extern const SummationKernels summation_kernels;
const SummationKernels summation_kernels = {sum_near, read_profile, add_moments, read_series, translate};
}  // namespace seminorm::SEMINORM_ISA
