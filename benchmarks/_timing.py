"""Timing two things alternately in one process, so that a noisy machine disturbs both alike."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_times(functions: dict[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """The shortest time of each function in seconds; they take turns."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def report(times: dict[str, float], ours: str, peer: str, bar: float) -> None:
    """Print both times, their ratio, and the bar it should stay under."""
    ratio = times[ours] / times[peer]
    print(f"{ours:>28}: {times[ours]:8.3f} s\n{peer:>28}: {times[peer]:8.3f} s")
    print(f"{'ratio':>28}: {ratio:8.2f}   (at most {bar:g}: {'met' if ratio <= bar else 'MISSED'})")
