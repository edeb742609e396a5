// Arguments of the loops of fast summation, and the table of those that vector instructions speed up.
#pragma once

#include "basics.hpp"
#include "dispatch.hpp"

namespace seminorm {
// A profile of a radial kernel; summation/profiles.hpp says what the numbers mean.
enum Form : i64 { kPower, kLog, kRoot, kGauss, kDecay, kTruncated, kTable, kForms };
constexpr i64 kNumbers = 12, kTableTerms = 8;

struct Profile {
    Form form;
    i64 n, q;
    double b;
    double c[8];
    // cells (kTableTerms, cells), the coefficients of 1, t, t^2, ... with t from -1 to 1; the leading bits of a number
    // less `first` are its cell. c0 is the value at 0.
    const double* table;
    i64 first, cells;
};

// Targets (3, stride), a coordinate after the other; leaf t has the targets spans[t][0] .. spans[t][1] - 1 and meets
// the sources of the ranges range_from[t] .. range_from[t + 1] - 1. Loads reach up to a vector beyond the last target.
// Parts: 1 for values, 3 for gradients; coefficients (n, columns, source_parts), out (m, columns, target_parts).
struct NearSums {
    const double* targets;
    i64 stride;
    const i64* spans;
    const i64* range_from;
    const i64* ranges;      // (ranges, 2)
    const double* sources;  // (n, 3)
    const double* coefficients;
    i64 columns, source_parts, target_parts;
    Profile profiles[3];  // h, h', h''
    double* out;
};

struct ProfileValues {
    Profile profile;
    const double* squares;
    double* values;
};

// Boxes with the points spans[b][0] .. spans[b][1] - 1 of points (n, 3), around centers (boxes, 3) with half the width
// halves (boxes); series (rows, columns, width), of which the first `terms` are those of total degree <= degree.
struct SeriesSums {
    const double* points;
    const i64* spans;
    const double* centers;
    const double* halves;
    const i64* rows;  // (boxes,) in series
    i64 dimension, degree, terms, width, columns, parts;
    const double* coefficients;  // (n, columns, parts), for moments
    double* series;
    double* out;  // (n, columns, parts), for reading
};

// in (rows, columns, in_width), out (rows, columns, out_width), matrices (., in_width, out_width); out_width is a
// multiple of 8. Chunk c has the triples chunk_from[c] .. chunk_from[c + 1] - 1, those with one matrix in a row.
struct Translations {
    const double* in;
    double* out;
    const double* matrices;
    i64 in_width, out_width, columns;
    const i64* chunk_from;
    const i32* matrix;
    const i32* from;
    const i32* to;
};

struct SummationKernels {
    Loop<NearSums> sum_near;           // items: leaves
    Loop<ProfileValues> read_profile;  // items: numbers
    Loop<SeriesSums> add_moments;      // items: boxes
    Loop<SeriesSums> read_series;      // items: boxes
    Loop<Translations> translate;      // items: chunks
};
}  // namespace seminorm

SEMINORM_KERNELS(SummationKernels, summation_kernels)
