// Compiled once for each instruction set; see native/README.md.
#include "search/kernels.hpp"
#include "search/bounds.hpp"

namespace seminorm::SEMINORM_ISA {
extern const SearchKernels search_kernels;
const SearchKernels search_kernels = {units, bounds};
}  // namespace seminorm::SEMINORM_ISA
