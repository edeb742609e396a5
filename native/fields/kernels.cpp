// Compiled once for each instruction set; see native/README.md.
#include "fields/kernels.hpp"

#include "fields/assembly.hpp"
#include "fields/energy.hpp"
#include "fields/evaluation.hpp"
#include "fields/level.hpp"
#include "fields/points.hpp"
#include "fields/stencils.hpp"
#include "fields/transfer.hpp"
#include "fields/vectors.hpp"

#define SEMINORM_DEGREES(loop, ...) {loop<__VA_ARGS__, 1>, loop<__VA_ARGS__, 2>, loop<__VA_ARGS__, 3>}
#define SEMINORM_SHAPES(loop)                                                                                          \
    {                                                                                                                  \
        {                                                                                                              \
            SEMINORM_DEGREES(loop, 1), SEMINORM_DEGREES(loop, 2), SEMINORM_DEGREES(loop, 3), SEMINORM_DEGREES(loop, 4) \
        }                                                                                                              \
    }
#define SEMINORM_TYPED_SHAPES(loop, T)                                                                \
    {                                                                                                 \
        {                                                                                             \
            SEMINORM_DEGREES(loop, T, 1), SEMINORM_DEGREES(loop, T, 2), SEMINORM_DEGREES(loop, T, 3), \
                SEMINORM_DEGREES(loop, T, 4)                                                          \
        }                                                                                             \
    }

namespace seminorm::SEMINORM_ISA {
namespace {
template <class T> constexpr FieldLoops<T> field_loops() {
    return {SEMINORM_TYPED_SHAPES(prolong_add, T),
            SEMINORM_TYPED_SHAPES(restrict_add, T),
            SEMINORM_TYPED_SHAPES(add_energy, T),
            SEMINORM_TYPED_SHAPES(add_point_data, T),
            SEMINORM_TYPED_SHAPES(read_points, T),
            SEMINORM_TYPED_SHAPES(read_jets, T),
            SEMINORM_TYPED_SHAPES(read_derivatives, T),
            SEMINORM_TYPED_SHAPES(sample_blocks, T),
            SEMINORM_TYPED_SHAPES(apply_level, T),
            partial_dots<T>,
            combine<T>};
}
}  // namespace
extern const FieldKernels field_kernels;
const FieldKernels field_kernels = {field_loops<float>(), field_loops<double>(), SEMINORM_SHAPES(apply_stencils),
                                    SEMINORM_SHAPES(edge_stencils), SEMINORM_SHAPES(assemble)};
}  // namespace seminorm::SEMINORM_ISA
