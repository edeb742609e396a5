"""Names that are imported when they are first asked for (PEP 562), so that importing a package costs nothing.

A package lists its public names once, in its stub ``__init__.pyi``, as explicit re-exports
(``from .home import Name as Name``). Editors and type checkers read that stub; so does the package itself.
"""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the stub beside its ``__file__``."""
    homes = _exports(Path(file).with_suffix(".pyi"))

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = importlib.import_module(f".{home or name}", package)
        return getattr(module, name) if home else module

    return get, lambda: sorted(homes), sorted(homes)


def _exports(stub: Path) -> dict[str, str]:
    """Where each name of a stub lives; "" for the modules of the package itself."""
    lines = ast.parse(stub.read_text(encoding="utf-8")).body
    imports = (line for line in lines if isinstance(line, ast.ImportFrom))
    return {alias.name: line.module or "" for line in imports for alias in line.names}
