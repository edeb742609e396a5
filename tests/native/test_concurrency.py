"""Whole fits at the same time, and in forked children: results are those of one fit alone."""

import os
import signal
import threading

import numpy as np
import pytest

from seminorm import FieldSmoother, reconstruct
from seminorm.invariance import DTW

rng = np.random.default_rng(0)
PLANE = rng.random((2000, 2))
VALUES = np.sin(6 * PLANE[:, 0]) + 0.1 * rng.standard_normal(2000)
SPHERE = rng.standard_normal((400, 3))
SPHERE /= np.linalg.norm(SPHERE, axis=1, keepdims=True)
SERIES = rng.standard_normal((40, 30))


def field():
    return FieldSmoother(depth=3).fit(PLANE, VALUES).predict(PLANE)


def surface():
    return reconstruct(SPHERE, SPHERE, depth=4, smoothness=0.05, tolerance=0.1).mesh().vertices


def distances():
    return DTW().pairwise(SERIES)


fits = pytest.mark.parametrize("fit", [field, surface, distances])


@fits
def test_fits_in_several_threads_at_once(fit):
    expected, results = fit(), [None] * 4

    def work(k):
        results[k] = fit()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@fits
def test_fits_in_a_forked_child(fit):
    expected = fit()  # the parent's threads are there, and the child has none of them
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(0 if np.array_equal(fit(), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
