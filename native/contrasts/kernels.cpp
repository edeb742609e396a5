// Compiled once for each instruction set; see native/README.md.
#include "contrasts/kernels.hpp"
#include "contrasts/contrasts.hpp"

namespace seminorm::SEMINORM_ISA {
extern const ContrastKernels contrast_kernels;
const ContrastKernels contrast_kernels = {contrasts};
}  // namespace seminorm::SEMINORM_ISA
