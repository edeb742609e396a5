"""Estimates before allocation: how much memory there is, and an error that names the alternative."""

import os
from pathlib import Path


class NotEnoughMemoryError(MemoryError, ValueError):
    """A computation would not fit into memory; raised before anything is allocated.

    See Also
    --------
    FieldSmoother : Needs far less memory than dense solutions.
    """


def available_bytes() -> int | None:
    """Memory that can still be allocated: of the machine or of the container, whichever is less. None if unknown."""
    return min((limit for limit in (_from_meminfo(), _from_cgroup()) if limit is not None), default=None)


def require_memory(needed: int, purpose: str, advice: str) -> None:
    """Raise NotEnoughMemoryError if ``needed`` bytes are not available."""
    available = available_bytes()
    if available is not None and needed > available:
        sizes = f"{needed / 2**30:.1f} GiB of memory, and {available / 2**30:.1f} GiB are available"
        raise NotEnoughMemoryError(f"{purpose} needs about {sizes}: {advice}")


def _from_meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _from_cgroup() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        details = dict(line.split() for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines())
        return int(limit) - used + int(details.get("inactive_file", 0))  # cached files can be given back
    except (OSError, ValueError):
        return None
