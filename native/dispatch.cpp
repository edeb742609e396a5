#include "dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#if defined(SEMINORM_X86)
#include <cpuid.h>
#endif

namespace seminorm {
namespace {
constexpr const char* kNames[] = {"base", "avx2", "avx512"};

#if defined(SEMINORM_X86)
constexpr bool has_all(unsigned word, unsigned bits) { return (word & bits) == bits; }

// By cpuid and xgetbv: __builtin_cpu_supports needs a support library that not every compiler links.
InstructionSet best_of_machine() {
    unsigned a, b, c, d, low, high;
    constexpr unsigned kFma = 1u << 12, kSavedByOs = 1u << 27, kAvx = 1u << 28;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all(c, kFma | kSavedByOs | kAvx)) return InstructionSet::base;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return InstructionSet::base;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    constexpr unsigned kAvx2 = 1u << 3 | 1u << 5 | 1u << 8;                  // BMI, AVX2, BMI2
    constexpr unsigned kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
    if (!has_all(low, 0x06) || !has_all(b, kAvx2)) return InstructionSet::base;
    return has_all(low, 0xe6) && has_all(b, kAvx512) ? InstructionSet::avx512 : InstructionSet::avx2;
}
#else
InstructionSet best_of_machine() { return InstructionSet::base; }
#endif

constexpr int kUnset = -1;
std::atomic<int> chosen{kUnset};

int number_of(const char* name) {
    for (int k = 0; k <= static_cast<int>(best_of_machine()); ++k)
        if (!std::strcmp(name, kNames[k])) return k;
    return kUnset;
}
}  // namespace

bool select_instruction_set(const char* name) {
    const int number = number_of(name);
    if (number != kUnset) chosen = number;
    return number != kUnset;
}

InstructionSet instruction_set() {
    if (chosen == kUnset) {
        const char* wanted = std::getenv("SEMINORM_ISA");
        const int number = wanted ? number_of(wanted) : kUnset;
        chosen = number != kUnset ? number : static_cast<int>(best_of_machine());
    }
    return static_cast<InstructionSet>(chosen.load());
}

const char* instruction_set_name() { return kNames[static_cast<int>(instruction_set())]; }
}  // namespace seminorm
