// What every loop uses. Kernels that are compiled once for each instruction set include this and no header of the
// standard library: the linker keeps one copy of equal templates, and that copy might not run on this machine.
#pragma once

#define SEMINORM_INLINE inline __attribute__((always_inline))

extern "C" void* malloc(__SIZE_TYPE__);
extern "C" void free(void*);

namespace seminorm {
using i64 = long long;
using i32 = int;
static_assert(sizeof(i64) == 8 && sizeof(i32) == 4);

// A loop over the items begin .. end - 1 of what its arguments describe.
template <class Arguments> using Loop = void (*)(const Arguments&, i64 begin, i64 end);

namespace {
constexpr i64 power(i64 base, int exponent) {
    i64 result = 1;
    for (int k = 0; k < exponent; ++k) result *= base;
    return result;
}
template <class T> constexpr T least(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T most(T a, T b) { return a < b ? b : a; }

// floor(a / b) and the remainder in 0 .. b - 1, for b > 0
constexpr i64 floor_divide(i64 a, i64 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
constexpr i64 floor_remainder(i64 a, i64 b) { return a - b * floor_divide(a, b); }

// Room for n numbers, uninitialised, freed at the end of the block; aligned for the widest vectors.
template <class T> class Scratch {
  public:
    explicit Scratch(i64 n) : whole_(malloc(sizeof(T) * static_cast<__SIZE_TYPE__>(n) + 128)) {
        if (!whole_) __builtin_trap();
        const auto address = reinterpret_cast<__UINTPTR_TYPE__>(whole_);
        data_ = reinterpret_cast<T*>((address + 63) & ~static_cast<__UINTPTR_TYPE__>(63));
    }
    Scratch(i64 n, T value) : Scratch(n) {
        for (i64 k = 0; k < n; ++k) data_[k] = value;
    }
    ~Scratch() { free(whole_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T& operator[](i64 k) { return data_[k]; }
    const T& operator[](i64 k) const { return data_[k]; }
    T* data() { return data_; }

  private:
    void* whole_;
    T* data_;
};
}  // namespace
}  // namespace seminorm
