"""Small tools that several test files share."""

import _thread
import re
import signal
import threading
import time

import numpy as np
import pytest


def case_id(value) -> str:
    """A stable name for a kernel or a dimension in the list of tests (no addresses of functions)."""
    if isinstance(value, int):
        return f"d={value}"
    return re.sub(r"<function (\w+) at [^>]*>|\s+", r"\1", repr(value))


def central_difference(function, X, step=1e-5):
    """Derivatives of a function of points X (n, d) along the coordinates, as a new last axis."""
    shifts = step * np.eye(X.shape[1])
    return np.stack([(function(X + shift) - function(X - shift)) / (2 * step) for shift in shifts], axis=-1)


def interrupted(task, seconds=0.2):
    """Repeat a task until Ctrl-C, which comes after some time, ends it; within a minute, or the test fails."""
    known = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background may ignore it
    timer = threading.Timer(seconds, _thread.interrupt_main)
    end = time.monotonic() + 60.0
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < end:
                task()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, known)
