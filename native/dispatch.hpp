// Which of the instruction sets, for each of which the kernels were compiled, the loops use.
#pragma once

namespace seminorm {
enum class InstructionSet { base, avx2, avx512 };

InstructionSet instruction_set();  // the best of this machine, or the one chosen by SEMINORM_ISA or select_...
const char* instruction_set_name();
bool select_instruction_set(const char* name);  // false if the name is unknown or the machine has it not
}  // namespace seminorm

// SEMINORM_KERNELS(Table, name): declares the table `name` of each instruction set and defines name_here(), which
// returns that of the instruction set in use.
#if defined(SEMINORM_X86)
#define SEMINORM_KERNELS(Table, name)    \
    namespace seminorm::base {           \
    extern const Table name;             \
    }                                    \
    namespace seminorm::avx2 {           \
    extern const Table name;             \
    }                                    \
    namespace seminorm::avx512 {         \
    extern const Table name;             \
    }                                    \
    namespace seminorm {                 \
    inline const Table& name##_here() {  \
        switch (instruction_set()) {     \
            case InstructionSet::avx512: \
                return avx512::name;     \
            case InstructionSet::avx2:   \
                return avx2::name;       \
            default:                     \
                return base::name;       \
        }                                \
    }                                    \
    }
#else
#define SEMINORM_KERNELS(Table, name)                        \
    namespace seminorm::base {                               \
    extern const Table name;                                 \
    }                                                        \
    namespace seminorm {                                     \
    inline const Table& name##_here() { return base::name; } \
    }
#endif
