// Compiled once for each instruction set; see native/README.md.
#include "distances/kernels.hpp"
#include "distances/distortion.hpp"
#include "distances/elastic.hpp"
#include "distances/tangent.hpp"

namespace seminorm::SEMINORM_ISA {
extern const DistanceKernels distance_kernels;
const DistanceKernels distance_kernels = {elastic<double>, elastic<float>, elastic_table, tangent_planes, distort};
}  // namespace seminorm::SEMINORM_ISA
