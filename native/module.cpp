// seminorm._native: one bind_... for each folder, which lists its loops.
#include "binding.hpp"

namespace seminorm {
void bind_threads(nb::module_&);
void bind_distances(nb::module_&);
void bind_field_tree(nb::module_&);
void bind_field_equations(nb::module_&);
void bind_field_points(nb::module_&);
void bind_shapes(nb::module_&);
void bind_rendering(nb::module_&);
void bind_files(nb::module_&);
void bind_clouds(nb::module_&);
void bind_search(nb::module_&);
void bind_margin(nb::module_&);
void bind_kernels(nb::module_&);
void bind_contrasts(nb::module_&);
void bind_bands(nb::module_&);
void bind_summation(nb::module_&);
}  // namespace seminorm

NB_MODULE(_native, m) {
    using namespace seminorm;
    m.doc() = "The compiled loops of seminorm: arrays in, arrays out.";
    bind_threads(m);
    bind_distances(m);
    bind_field_tree(m);
    bind_field_equations(m);
    bind_field_points(m);
    bind_shapes(m);
    bind_rendering(m);
    bind_files(m);
    bind_clouds(m);
    bind_search(m);
    bind_margin(m);
    bind_kernels(m);
    bind_contrasts(m);
    bind_bands(m);
    bind_summation(m);
}
