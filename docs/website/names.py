"""Public names: found in the packages and their registries, and found again where pages mention them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import seminorm
from seminorm._base.registry import Registry

from .docstrings import escaped

_MENTION = re.compile(r"(?:seminorm\.)?((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\(.*\))?", flags=re.DOTALL)
# public names that are also ordinary words of Python or of the pages: they are linked only with their package
_WORDS = {"fit", "bases", "files", "fields", "functions", "losses", "render", "shapes", "Scaling", "Box", "Linear"}


@dataclass(frozen=True)
class Name:
    """A public name: its shortest path, what it is, and the other packages that export it."""

    path: str
    thing: Any
    others: tuple[str, ...]

    @property
    def page(self) -> str:
        """The page of the site, without its ending."""
        return f"reference/{self.path}"

    @property
    def short(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """The first sentence of its description."""
        if isinstance(self.thing, Registry):
            return f"Registry of the classes of the kind “{self.thing.kind}”."
        if not (inspect.isclass(self.thing) or inspect.isroutine(self.thing)):
            return f"``{self.thing!r}``" if isinstance(self.thing, str | int | float) else "A type, for annotations."
        return first_paragraph(self.thing)


def first_paragraph(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(" ".join(escaped((inspect.getdoc(thing) or "").partition("\n\n")[0].splitlines())).split())


@cache
def packages() -> tuple[str, ...]:
    """Packages and modules that list public names, those of the top level first."""
    top = [f"seminorm.{name}" for name in seminorm.__all__ if inspect.ismodule(getattr(seminorm, name))]
    below = [m.name for m in pkgutil.walk_packages(seminorm.__path__, "seminorm.") if m.ispkg and "._" not in m.name]
    found = dict.fromkeys(["seminorm", *top, *below])
    return tuple(name for name in found if hasattr(importlib.import_module(name), "__all__"))


@cache
def public_names() -> tuple[Name, ...]:
    """All public names, each once, in the order of the packages."""
    paths: dict[Any, list[str]] = {}
    things: dict[Any, Any] = {}
    for package in packages():
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, ModuleType) or name.startswith("__"):
                continue
            unique = inspect.isclass(thing) or inspect.isfunction(thing) or isinstance(thing, Registry)
            key = id(thing) if unique else f"{package}.{name}"
            things[key] = thing
            paths.setdefault(key, []).append(f"{package}.{name}")
    for registry in [thing for thing in things.values() if isinstance(thing, Registry)]:
        for name in registry:
            cls = registry[name]
            if id(cls) not in things and cls.__module__.startswith("seminorm"):
                things[id(cls)], paths[id(cls)] = cls, [f"{cls.__module__}.{cls.__qualname__}"]
    names = []
    for key, found in paths.items():
        shortest, *others = sorted(found, key=lambda path: path.count("."))
        names.append(Name(shortest, things[key], tuple(others)))
    return tuple(names)


class Index:
    """The public names, by all the ways in which pages write them."""

    def __init__(self) -> None:
        self._names: dict[str, Name] = {}
        for name in public_names():
            for path in (name.path, *name.others):
                self._names[path.removeprefix("seminorm.")] = name
            self._names.setdefault(name.path.rpartition(".")[2], name)

    def find(self, mention: str) -> Name | None:
        """The name that code such as ``SVC(alpha=1)`` or ``seminorm.kernels.ThinPlate`` mentions, if any."""
        match = _MENTION.fullmatch(mention)
        if match is None or (match[1] in _WORDS and not mention.startswith("seminorm.")):
            return None
        return self._names.get(match[1])
