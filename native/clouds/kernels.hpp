// Arguments of the loops over points of a cloud, and the table of those that vector instructions speed up.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
// Surfaces through the k nearest points of `queries` (m, 3): neighbors (m, columns) are rows of points (n, 3), nearest
// first. sides (n, 3) and query_sides (m, 3), unit vectors that look outwards roughly, may be missing (null).
struct NeighborhoodFits {
    const double* points;
    const double* mass;  // (n,)
    const double* sides;
    const double* queries;
    const double* query_sides;
    i64 count;  // m
    const i64* neighbors;
    i64 columns;
    i64 k;
    bool quadric;
    i64 rounds;
    double outlying;         // standard deviations beyond which a point has no weight
    double least_deviation;  // in radii of the neighbourhood
    double ridge;            // on the curvatures, per unit of mass, in radii
    double same_side;        // neighbours whose sides have a larger dot product agree;
    double least_agreeing;   // with fewer of them sides are ignored
    double* normals;         // (m, 3)
    double* height;          // (m,) of the fitted surface over the query, along the normal
    double* deviation;       // (m,) standard deviation of the points from the surface
    double* slope;           // (m,) variance of the slope, for heights of unit variance
    double* width;           // (m,) 1 if the points extend evenly in the plane, 0 if they lie on a line
};

// A binary tree over points (n, 3): node v holds the points spans[2 v] .. spans[2 v + 1] - 1 around centers (nodes, 3).
// Leaf a sees the nodes far[far_from[a]] .. from afar, and the leaves near[near_from[a]] .. are beside it.
struct TreeSums {
    const double* points;
    const double* widths;  // (n,) distances below which the kernel is that of this distance, roughly
    const i64* spans;
    const double* centers;
    const i64* leaves;
    const i64* far_from;
    const i32* far;
    const i64* near_from;
    const i32* near;
    const double* moments;  // (n, 3); null for squared_rows
    const double* sums;     // (nodes, 12); null for squared_rows
    double* result;         // (n,)
};

// agreement (n, columns) of points (n, 3) with their neighbors (n, columns).
template <class Index> struct EdgeAgreement {
    const double* points;
    const double* normals;  // (n, 3)
    const double* trust;    // (n,)
    const Index* neighbors;
    i64 columns;
    double least_flat;  // weight of edges along the normals
    double* agreement;
};

struct CloudKernels {
    Loop<NeighborhoodFits> fit_neighborhoods;  // items: queries
    Loop<EdgeAgreement<i32>> edge_agreement;   // items: points
    Loop<EdgeAgreement<i64>> long_edge_agreement;
    Loop<TreeSums> squared_rows;    // items: leaves
    Loop<TreeSums> winding_values;  // items: leaves
};
}  // namespace seminorm

SEMINORM_KERNELS(CloudKernels, cloud_kernels)
