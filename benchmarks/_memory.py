"""The largest resident size of a process (Linux)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def resident(field: str) -> int:
    """Current (VmRSS) or largest (VmHWM) resident size of this process in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak_of(task: Callable[[], object]) -> int:
    """Growth of the resident size at its peak while the task runs, in bytes."""
    if not Path("/proc/self/clear_refs").exists():
        print("Memory is not measured: this needs Linux and its folder /proc.")
        task()
        return 0
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
    before = resident("VmRSS")
    task()
    return resident("VmHWM") - before


def report_peak(name: str, growth: int, n: int, bar: float) -> None:
    matrices = growth / (8 * n**2)
    verdict = "met" if matrices <= bar else "MISSED"
    print(f"{'peak memory, ' + name:>28}: {matrices:8.2f} n x n matrices   (at most {bar:g}: {verdict})", flush=True)
