// For bindings: arrays as arguments, checks with messages, loops without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "basics.hpp"
#include "parallel.hpp"

namespace seminorm {
namespace nb = nanobind;

// Arrays of N axes in row-major order, to be read (In) or written (Out). Bind every one of them with array("name"):
// otherwise a wrong type would be converted, and results written into the copy.
template <class T, int N> using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N> using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
inline auto array(const char* name) { return nb::arg(name).noconvert(); }

inline void need(bool fulfilled, const std::string& message) {
    if (!fulfilled) throw std::invalid_argument(message);
}

template <class Array> i64 length(const Array& array, int axis = 0) {
    return static_cast<i64>(array.shape(static_cast<size_t>(axis)));
}

// All numbers of an array must lie in low .. high - 1.
template <class Array> void need_range(const Array& array, i64 low, i64 high, const char* name) {
    const auto* numbers = array.data();
    const i64 count = static_cast<i64>(array.size());
    bool fine = true;
    for (i64 k = 0; k < count; ++k) fine &= (numbers[k] >= low) & (numbers[k] < high);  // without branches: in vectors
    need(fine, std::string(name) + " must lie between " + std::to_string(low) + " and " + std::to_string(high - 1));
}

// parallel_for without the interpreter's lock. Ctrl-C ends it with what the signal's handler raised.
template <class Work> void run(i64 count, i64 grain, const Work& work) {
    bool whole;
    {
        nb::gil_scoped_release release;
        whole = parallel_for(count, grain, thread_count(), work, [] {
            nb::gil_scoped_acquire hold;
            return PyErr_CheckSignals() != 0;
        });
    }
    if (!whole) throw nb::python_error();
}
}  // namespace seminorm
