#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace seminorm {
namespace {
using Clock = std::chrono::steady_clock;
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

thread_local bool inside_loop = false;
thread_local int own_limit = 0;
std::atomic<int> process_threads{0};

// A range of numbers, and how many chunks before it must be done when it begins.
struct Chunk {
    i64 begin, end, after;
};

struct Job {
    std::vector<Chunk> list;
    const std::function<void(i64, i64)>& work;
    int wanted = 0;            // helpers that may still join; like busy and error under the pool's mutex
    int busy = 0;              // helpers at work
    std::exception_ptr error;  // the first
    std::atomic<i64> next{0}, done{0};
    std::atomic<bool> stop{false};

    i64 chunks() const { return static_cast<i64>(list.size()); }
    bool open() const { return wanted > 0 && !stop.load() && next.load() < chunks(); }

    // Takes one chunk; false if none is left.
    bool step() {
        const i64 number = next.fetch_add(1, std::memory_order_relaxed);
        if (number >= chunks() || stop.load(std::memory_order_relaxed)) return false;
        const Chunk& chunk = list[static_cast<size_t>(number)];
        if (!wait_for(chunk.after)) return false;
        work(chunk.begin, chunk.end);
        done.fetch_add(1);
        done.notify_all();
        return true;
    }

    // Chunks are taken in order, so those before are at work: a short look first, then sleep. False if all is over.
    bool wait_for(i64 number) {
        constexpr int kLooks = 10000;
        for (int look = 0; done.load() < number && !stop.load(); ++look)
            if (look >= kLooks)
                if (const i64 now = done.load(); now < number && !stop.load()) done.wait(now);
        return !stop.load();
    }

    void end() {
        stop = true;
        done.fetch_add(chunks());  // wakes those that wait
        done.notify_all();
    }

    // Works until nothing is left; returns the exception that ended it, if any.
    template <class AfterStep> std::exception_ptr finish(const AfterStep& after_step) {
        try {
            while (step()) after_step();
        } catch (...) {
            end();
            return std::current_exception();
        }
        return nullptr;
    }
};

class Pool {
  public:
    void enter(Job& job, int helpers) {
        std::lock_guard lock(mutex_);
        job.wanted = helpers;
        jobs_.push_back(&job);
        try {
            for (; threads_ < helpers; ++threads_) std::thread([this] { help(); }).detach();
        } catch (const std::system_error&) {
            // the system gives no more threads: fewer helpers
        }
        for (int k = 0; k < helpers; ++k) wake_.notify_one();
    }

    // Waits for the helpers of a job, with a look for interruptions now and then; returns their first exception.
    template <class Look> std::exception_ptr leave(Job& job, const Look& look) {
        std::unique_lock lock(mutex_);
        jobs_.remove(&job);
        while (job.busy > 0) {
            if (done_.wait_for(lock, kBetweenLooks) != std::cv_status::timeout) continue;
            lock.unlock();
            look();
            lock.lock();
        }
        return job.error;
    }

  private:
    void help() {
        inside_loop = true;
        std::unique_lock lock(mutex_);
        for (;;) {
            const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) { return job->open(); });
            if (found == jobs_.end()) {
                wake_.wait(lock);
                continue;
            }
            Job& job = **found;
            --job.wanted;
            ++job.busy;
            lock.unlock();
            const std::exception_ptr error = job.finish([] {});
            lock.lock();
            if (error && !job.error) job.error = error;
            if (--job.busy == 0) done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::list<Job*> jobs_;
    int threads_ = 0;
};

std::atomic<Pool*> shared_pool{nullptr};

// Never deleted: its threads wait in it until the process ends. A forked child has none of them: it leaves the pool of
// its parent alone and makes its own.
Pool& pool() {
#if !defined(_WIN32)
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork(nullptr, nullptr, [] {
            shared_pool = nullptr;
            inside_loop = false;
        });
    });
#endif
    Pool* now = shared_pool;
    if (!now) {
        Pool* fresh = new Pool;
        if (shared_pool.compare_exchange_strong(now, fresh)) return *fresh;
        delete fresh;
    }
    return *now;
}

int threads_at_start() {
    if (const char* text = std::getenv("OMP_NUM_THREADS"))
        if (const int number = std::atoi(text); number > 0) return number;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
}  // namespace

int process_thread_count() {
    const int number = process_threads;
    static const int at_start = threads_at_start();
    return number > 0 ? number : at_start;
}
int thread_count() { return own_limit > 0 ? own_limit : process_thread_count(); }
void set_process_threads(int number) { process_threads = std::max(0, number); }
int own_thread_limit() { return own_limit; }
void set_own_thread_limit(int number) { own_limit = std::max(0, number); }

namespace {
i64 add_chunks(i64 begin, i64 end, i64 grain, std::vector<Chunk>& list) {
    const i64 before = static_cast<i64>(list.size());
    for (; begin < end; begin += grain) list.push_back({begin, std::min(begin + grain, end), before});
    return static_cast<i64>(list.size()) - before;
}

bool run_job(Job& job, i64 threads, const std::function<bool()>& interrupted) {
    bool ended = false;
    auto last = Clock::now();
    const auto look = [&] {
        const auto now = Clock::now();
        if (ended || now - last < kBetweenLooks) return;
        last = now;
        if (interrupted && interrupted()) {
            ended = true;
            job.end();
        }
    };
    const i64 helpers = inside_loop ? 0 : threads - 1;
    Pool* const shared = helpers > 0 ? &pool() : nullptr;
    if (shared) shared->enter(job, static_cast<int>(helpers));
    const bool before = inside_loop;
    inside_loop = true;
    std::exception_ptr error = job.finish(look);
    inside_loop = before;
    if (shared) {
        const std::exception_ptr theirs = shared->leave(job, look);
        if (!error) error = theirs;
    }
    if (error) std::rethrow_exception(error);
    return !ended;
}
}  // namespace

bool parallel_for(i64 count, i64 grain, int threads, const std::function<void(i64, i64)>& work,
                  const std::function<bool()>& interrupted) {
    const i64 starts[] = {0, count};
    return parallel_groups(starts, 1, grain, threads, work, interrupted);
}

bool parallel_groups(const i64* starts, i64 groups, i64 grain, int threads, const std::function<void(i64, i64)>& work,
                     const std::function<bool()>& interrupted) {
    Job job{{}, work};
    i64 most_at_once = 1;
    for (i64 g = 0; g < groups; ++g)
        most_at_once = std::max(most_at_once, add_chunks(starts[g], starts[g + 1], grain, job.list));
    return run_job(job, std::min<i64>(threads, most_at_once), interrupted);
}
}  // namespace seminorm

// for threadpoolctl, which calls plain C functions
#if defined(_WIN32)
#define SEMINORM_EXPORT extern "C" __declspec(dllexport)
#else
#define SEMINORM_EXPORT extern "C" __attribute__((visibility("default")))
#endif
SEMINORM_EXPORT int seminorm_get_num_threads() { return seminorm::process_thread_count(); }
SEMINORM_EXPORT void seminorm_set_num_threads(int number) { seminorm::set_process_threads(number); }
