// Loops on several threads with results that do not depend on their number.
#pragma once

#include <cstdint>
#include <functional>

#include "basics.hpp"

namespace seminorm {
// Calls work(begin, end) for consecutive ranges of `grain` of the numbers 0 .. count - 1. The ranges are the same for
// any number of threads: work that writes only what belongs to its range gives the same bits on any.
//
// interrupted(), called now and then on the calling thread, ends the loop early; parallel_for then returns false. The
// first exception that work throws ends the loop and is thrown again. A loop inside a loop runs on its own thread.
bool parallel_for(i64 count, i64 grain, int threads, const std::function<void(i64, i64)>& work,
                  const std::function<bool()>& interrupted);

// The same for groups of numbers, starts[g] .. starts[g + 1] - 1 for g = 0 .. groups - 1, one group after the other: no
// number is begun before all numbers of the groups before its own are done.
bool parallel_groups(const i64* starts, i64 groups, i64 grain, int threads, const std::function<void(i64, i64)>& work,
                     const std::function<bool()>& interrupted);

// The number of threads of loops started from this thread: its own limit, or that of the process, which OMP_NUM_THREADS
// sets at the start (otherwise the number of processors this process may use).
int thread_count();
int process_thread_count();
void set_process_threads(int number);  // 0: as at the start
int own_thread_limit();
void set_own_thread_limit(int number);  // 0: none
}  // namespace seminorm
