// Compiled once for each instruction set; see native/README.md.
#include "distances/kernels.hpp"
#include "distances/warping.hpp"

namespace seminorm::SEMINORM_ISA {
extern const DistanceKernels distance_kernels;
const DistanceKernels distance_kernels = {warp};
}  // namespace seminorm::SEMINORM_ISA
