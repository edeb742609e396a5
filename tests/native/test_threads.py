"""The pool of threads: same bits, exceptions, forks, interruptions, limits."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from seminorm import _native
from seminorm._base.threads import limited_threads, thread_count


def busy(threads=2, n=64, work=20_000, grain=3):
    out = np.empty(n)
    with limited_threads(threads):
        _native.busy_loop(out, work, grain)
    return out


def owners(threads, n=64, work=20_000):
    out = np.empty(n, dtype=np.int64)
    with limited_threads(threads):
        _native.owners(out, work)
    return len(np.unique(out))


def in_child(check):
    """Whether the check holds in a forked child."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        os._exit(0 if check() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_same_bits_for_any_number_of_threads():
    alone = busy(1)
    for threads in (2, 3, 4):
        np.testing.assert_array_equal(busy(threads), alone)


def test_helpers_take_part():
    """Without this the other tests would pass on one thread."""
    assert owners(1) == 1
    assert max(owners(2) for _ in range(20)) == 2
    assert max(owners(4) for _ in range(20)) >= 3


def test_the_first_exception_arrives_and_the_pool_lives_on():
    for _ in range(50):
        with limited_threads(4), pytest.raises(IndexError, match="item 3"):
            _native.failing_loop(20, 3)
    np.testing.assert_array_equal(busy(4), busy(1))


def test_loops_of_several_python_threads_at_once():
    expected, results = busy(1), [None] * 6

    def work(k):
        for _ in range(5):
            results[k] = busy(4)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_the_interpreter_is_free_meanwhile():
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    busy(1, work=200_000)
    after = len(ticks)
    stop.set()
    thread.join()
    assert after - before > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_loops_in_a_forked_child():
    expected = busy(4)
    for _ in range(5):
        assert in_child(lambda: (busy(4) == expected).all())
    assert in_child(lambda: max(owners(4) for _ in range(20)) >= 2)
    np.testing.assert_array_equal(busy(4), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_another_thread_is_in_a_loop():
    thread = threading.Thread(target=lambda: busy(4, n=400, work=100_000, grain=1))
    thread.start()
    time.sleep(0.1)
    assert in_child(lambda: len(busy(4)) == 64)
    thread.join()


@pytest.mark.parametrize("threads", [1, 4])
def test_ctrl_c_is_heard_within_a_second(threads):
    code = f"""
import signal
import numpy as np
from seminorm import _native
from seminorm._base.threads import limited_threads
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may have been told to ignore it
with limited_threads({threads}):
    print("go", flush=True)
    try:
        _native.busy_loop(np.empty(100_000), 100_000, 4)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    out = np.empty(64)
    _native.busy_loop(out, 10, 3)
    print("again", out[3] > 0)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.perf_counter() - start < 1.0
    assert process.stdout.readline() == "again True\n"
    assert process.wait(10) == 0


def test_limits_belong_to_the_thread_that_sets_them():
    everything, seen = thread_count(), []
    with limited_threads(1):
        thread = threading.Thread(target=lambda: seen.append(thread_count()))
        thread.start()
        thread.join()
        assert thread_count() == 1
        with limited_threads(None):
            assert thread_count() == 1
    assert seen == [everything] == [thread_count()]


def test_threadpoolctl_limits_the_loops():
    assert any(info["user_api"] == "seminorm" for info in threadpool_info())
    before = thread_count()
    with threadpool_limits(3, user_api="seminorm"):
        assert thread_count() == 3
    assert thread_count() == before


def test_threadpoolctl_leaves_the_limit_of_a_thread_to_it():
    before = thread_count()
    with limited_threads(3), threadpool_limits(1):
        assert thread_count() == 3
    assert thread_count() == before


def test_omp_num_threads_is_honoured():
    code = "from seminorm._base.threads import thread_count; print(thread_count())"
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "3"
