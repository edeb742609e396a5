// For bindings: arrays as arguments, checks with messages, loops without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

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

// All whole numbers of an array must lie in low .. high - 1.
template <class Array> void need_range(const Array& array, i64 low, i64 high, const char* name) {
    const auto* numbers = array.data();
    using Number = std::remove_cvref_t<decltype(*numbers)>;
    static_assert(std::is_integral_v<Number>);
    using Wide = std::conditional_t<std::is_signed_v<Number> && sizeof(Number) <= 4, i32, i64>;
    using Word = std::make_unsigned_t<Wide>;
    const i64 count = static_cast<i64>(array.size());
    const Word first = static_cast<Word>(low);
    const Word last = static_cast<Word>(least<i64>(high - 1, std::numeric_limits<Wide>::max()));
    Word outside = 0;  // its first bit: one of the differences was negative; comparisons would not be vectorised
    for (i64 k = 0; k < count; ++k) {
        const Word number = static_cast<Word>(static_cast<Wide>(numbers[k]));
        outside |= (number - first) | (last - number);
    }
    need(static_cast<std::make_signed_t<Word>>(outside) >= 0,
         std::string(name) + " must lie between " + std::to_string(low) + " and " + std::to_string(high - 1));
}

// parallel_groups without the interpreter's lock. Ctrl-C ends it with what the signal's handler raised.
template <class Work> void run_groups(const i64* starts, i64 groups, i64 grain, const Work& work) {
    bool whole;
    {
        nb::gil_scoped_release release;
        whole = parallel_groups(starts, groups, grain, thread_count(), work, [] {
            nb::gil_scoped_acquire hold;
            return PyErr_CheckSignals() != 0;
        });
    }
    if (!whole) throw nb::python_error();
}

// parallel_for, likewise.
template <class Work> void run(i64 count, i64 grain, const Work& work) {
    const i64 starts[] = {0, count};
    run_groups(starts, 1, grain, work);
}
}  // namespace seminorm
