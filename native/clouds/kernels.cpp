// Compiled once for each instruction set; see native/README.md.
#include "clouds/kernels.hpp"
#include "clouds/edges.hpp"
#include "clouds/neighborhoods.hpp"
#include "clouds/winding.hpp"

namespace seminorm::SEMINORM_ISA {
extern const CloudKernels cloud_kernels;
const CloudKernels cloud_kernels = {fit_neighborhoods, edge_agreement<i32>, edge_agreement<i64>, squared_rows,
                                    winding_values};
}  // namespace seminorm::SEMINORM_ISA
