"""Names that are imported when they are first asked for (PEP 562), so that importing a package costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package whose public names live in the given modules of it.

    A name whose home is the name itself is that module.
    """

    def get(name: str):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f".{homes[name]}", package)
        return module if homes[name] == name else getattr(module, name)

    return get, lambda: sorted(homes)
