// Arguments of the loops over the blocks of a tree, and the table of these loops.
#pragma once

#include "dispatch.hpp"
#include "fields/links.hpp"

namespace seminorm {
// y = factors[level] energy x + data x on the leaves, all arrays (blocks, side**D); see stencils.hpp.
struct StencilApplication {
    Links links;
    i64 sides;              // several x, one after the other: stencils are read once for all of them
    const double* x;        // (sides, blocks, side**D)
    const double* factors;  // (levels,)
    const i32* kind;        // (blocks, lines): 0 on no leaf, 1 all on leaves, 2 + r the edge stencil r
    const double* edge;     // (r, stencil, side)
    const double* inner;    // (levels, stencil)
    const i32* data_line;   // (blocks, lines): the line's place in data, -1 for none; or no array at all
    const double* data;     // (places, stencil, side)
    double* y;              // (sides, blocks, side**D)
};

struct EdgeStencils {
    Links links;
    const i64 *blocks, *lines;  // the items
    const bool* leaf;           // (blocks, side**D)
    const double* energy;       // (levels, alive, alive)
    double* stencils;           // (items, stencil, side)
};

template <class T> struct Transfer {
    Links links;
    T* x;                // (blocks, side**D)
    const i64* parents;  // the items: blocks
};

template <class T> struct EnergyForms {
    const T* forms;  // (whole + 1, order + 1, whole, filled): see energy.hpp
    int order, whole, filled;
    const T* row(int width, int derivative, int n) const {
        return forms + ((i64(width) * (order + 1) + derivative) * whole + n) * filled;
    }
};
template <class T> struct EnergyApplication {
    Links links;
    const T* x;
    const i64* chosen;  // the items: blocks
    const T* factors;   // (levels,)
    EnergyForms<T> forms;
    T* y;
};

enum class PointSum { observed, applied, squared };
template <class T> struct PointData {
    Links links;
    const T* x;
    const i64* chosen;  // the items: blocks
    const i64* start;   // (blocks + 1,)
    const i32* corner;  // (n,)
    const float *t, *weights, *observed;
    const double *axis_weights, *spacings;
    PointSum what;
    T* y;
};
template <class T> struct PointReading {
    Links links;
    const T* x;
    const i64* start;
    const i32* corner;
    const float* t;
    const double* spacings;
    float* out;
};

template <class T> struct Points {
    Links links;
    const T* x;
    const double* points;  // (n, D), in cells of level 0
    const i32 *block, *cell;
    const double* spacings;
    double* out;
};
template <class T> struct Derivatives {
    Points<T> points;
    const double* pieces;
    const i64* orders;  // (columns, D)
    i64 columns;
};
template <class T> struct Sampling {
    Links links;
    const T* x;
    const i64* blocks;  // (n, D)
    i64 finest;
    const i32* roots;
    const i64* root_blocks;  // (D,)
    T offset;
    T* out;
};

struct Assembly {
    Links links;
    const double *points, *observations, *weights;  // (n, D), (n, columns, sides), (n, columns)
    i64 columns, sides, values_first, gradients_first;
    const i64 *order, *start, *chosen;
    const i32* cell;
    const double* spacings;
    const i32* data_line;
    double *data, *right;
};

// y = factor S x on the blocks of one level, the items, from number `first` on; see level.hpp.
template <class T> struct LevelEnergy {
    Links links;
    const T* x;
    i64 first;
    const T* stencil;  // ((2 Q + 1)**D,)
    T factor;
    const bool* wanted;  // (blocks, lines): whether a line is needed
    T* y;
};

constexpr i64 kStretch = 4096;
template <class T> struct DotProduct {
    const T *x, *y;
    i64 size;
    double* partial;
};

template <class T> struct Combination {
    const T* x;
    T* y;
    i64 size;
    T factor, share;
};

// A loop for each dimension and degree.
template <class Arguments> struct LoopTable {
    Loop<Arguments> of[kDimensions][kDegrees];
    Loop<Arguments> at(const Links& links) const { return of[links.dimension - 1][links.degree - 1]; }
};
template <class T> struct FieldLoops {
    LoopTable<Transfer<T>> prolong_add, restrict_add;
    LoopTable<EnergyApplication<T>> add_energy;
    LoopTable<PointData<T>> add_point_data;
    LoopTable<PointReading<T>> read_points;
    LoopTable<Points<T>> read_jets;
    LoopTable<Derivatives<T>> read_derivatives;
    LoopTable<Sampling<T>> sample_blocks;
    LoopTable<LevelEnergy<T>> apply_level;
    Loop<DotProduct<T>> partial_dots;
    Loop<Combination<T>> combine;
};
struct FieldKernels {
    FieldLoops<float> in_float;
    FieldLoops<double> in_double;
    LoopTable<StencilApplication> apply_stencils;
    LoopTable<EdgeStencils> edge_stencils;
    LoopTable<Assembly> assemble;
    template <class T> const FieldLoops<T>& in() const {
        if constexpr (sizeof(T) == sizeof(float))
            return in_float;
        else
            return in_double;
    }
};
}  // namespace seminorm

SEMINORM_KERNELS(FieldKernels, field_kernels)
