// The number of threads, the instruction set, and loops that tests of both use.
#include <cmath>
#include <functional>
#include <thread>

#include "binding.hpp"
#include "dispatch.hpp"

namespace seminorm {
namespace {
double busy(i64 number, i64 work) {
    double value = static_cast<double>(number);
    for (i64 k = 0; k < work; ++k) value = std::sin(value) + 1.0;
    return value;
}

void busy_loop(Out<double, 1> out, i64 work, i64 grain) {
    need(grain > 0, "grain must be positive");
    run(length(out), grain, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) out.data()[i] = busy(i, work);
    });
}

void owners(Out<i64, 1> out, i64 work) {
    run(length(out), 1, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
            volatile double keep = busy(i, work);
            (void)keep;
            out.data()[i] = static_cast<i64>(std::hash<std::thread::id>{}(std::this_thread::get_id()) >> 1);
        }
    });
}

void failing_loop(i64 count, i64 at) {
    run(count, 1, [&](i64 begin, i64) {
        if (begin == at) throw std::out_of_range("item " + std::to_string(at));
    });
}
}  // namespace

void bind_threads(nb::module_& m) {
    m.def("thread_count", &thread_count, "Number of threads of a loop started from this thread.");
    m.def("own_thread_limit", &own_thread_limit, "Limit of this thread alone, 0 for none.");
    m.def("set_own_thread_limit", &set_own_thread_limit, nb::arg("number"));
    m.def("instruction_set", [] { return std::string(instruction_set_name()); });
    m.def(
        "select_instruction_set",
        [](const std::string& name) {
            need(select_instruction_set(name.c_str()), "this machine has no instruction set '" + name + "'");
        },
        nb::arg("name"));
    m.def("busy_loop", &busy_loop, array("out"), nb::arg("work"), nb::arg("grain"));
    m.def("owners", &owners, array("out"), nb::arg("work"));
    m.def("failing_loop", &failing_loop, nb::arg("count"), nb::arg("at"));
}
}  // namespace seminorm
