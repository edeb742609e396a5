"""Ctrl-C that is always heard, and ends the process with an exit status of its own."""

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PAUSE = 0.05  # seconds until foreign code that swallowed an interrupt has probably returned


class Interrupted(KeyboardInterrupt):
    """Raised where the program was at Ctrl-C: a plain KeyboardInterrupt may end ``python -m`` by a signal."""


@contextmanager
def heard_interrupts() -> Iterator[None]:
    """Raise :class:`Interrupted` when Ctrl-C is pressed; again, if it came in a callback of a compiler, which loses it.

    Does nothing where interrupts are ignored or handled already, and in other threads than the main one.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    timers: list[threading.Timer] = []
    show = sys.unraisablehook

    def interrupt(number, frame):
        raise Interrupted

    def repeat_or_show(lost):
        if lost.exc_type is not Interrupted:
            show(lost)
            return
        timers.append(threading.Timer(_PAUSE, _thread.interrupt_main))
        timers[-1].daemon = True
        timers[-1].start()

    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = repeat_or_show
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        sys.unraisablehook = show
        signal.signal(signal.SIGINT, signal.default_int_handler)
