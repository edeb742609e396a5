"""The reference: a page for every public name, found in the packages and in their registries."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from seminorm._base.registry import Registry
from seminorm.cli import make_parser

from .docstrings import escaped
from .galleries import Script
from .names import Name, first_paragraph, packages, public_names
from .staging import Stage

_FOREIGN = "BaseEstimator, RegressorMixin, ClassifierMixin, TransformerMixin, ClusterMixin, OutlierMixin, Protocol"
_FOREIGN += ", tuple, list, dict, ABC, Generic, NamedTuple, Exception, ValueError, ImportError, MemoryError"


def write(stage: Stage, uses: Mapping[str, Sequence[Script]]) -> None:
    """Write the index, a page per package, and a page per name with the scripts of the gallery that use it."""
    by_package = {package: list(_names_of(package)) for package in packages()}
    own = {name.path: package for package, names in reversed(by_package.items()) for name in names}
    for name in public_names():
        stage.write(f"{name.page}.rst", _name_page(name, uses.get(name.path, ())))
    for package, names in by_package.items():
        children = [name.path for name in names if own[name.path] == package]
        stage.write(f"reference/{package}.rst", _package_page(package, names, children))
    for name in public_names():
        if name.path not in own:
            own[name.path] = name.path.rpartition(".")[0]
    stage.write("reference/command_line.md", _command_line())
    stage.write("reference/index.rst", _index(by_package))


def _names_of(package: str) -> Iterator[Name]:
    for name in public_names():
        if any(path.rpartition(".")[0] == package for path in (name.path, *name.others)):
            yield name


def _heading(title: str, line: str = "=") -> str:
    return f"{title}\n{line * len(title)}\n"


def _name_page(name: Name, scripts: Sequence[Script]) -> str:
    where = name.path.rpartition(".")[0]
    parts = [_heading(name.short), f".. currentmodule:: {where}\n"]
    if name.others:
        others = ", ".join(f"``{path}``" for path in name.others)
        parts.append(f"Also exported as {others}.\n")
    parts.append(_description(name))
    if scripts:
        parts += [_heading("In the gallery", "-"), ".. raw:: html\n", *_indented(cards(scripts, "../gallery/"))]
    if not _is_listed(name):
        parts.insert(0, ":orphan:\n")
    return "\n".join(parts) + "\n"


def _is_listed(name: Name) -> bool:
    return any(path.rpartition(".")[0] in packages() for path in (name.path, *name.others))


def _description(name: Name) -> str:
    if inspect.isclass(name.thing):
        lines = [f".. autoclass:: {name.path}", "   :members:", f"   :inherited-members: {_FOREIGN}"]
        return "\n".join([*lines, "   :special-members: __call__", ""])
    if inspect.isroutine(name.thing):
        return f".. autofunction:: {name.path}\n"
    if isinstance(name.thing, Registry):
        known = {id(other.thing): other for other in public_names()}
        rows = [(known[id(name.thing[key])], key) for key in name.thing if id(name.thing[key]) in known]
        entries = [f"* :doc:`{key} </{other.page}>`: {other.summary}" for other, key in rows]
        text = f".. py:data:: {name.path}\n\n   {name.summary} Calling it gives instances of all of them.\n"
        return "\n".join([text, _heading("What is in it", "-"), *entries, ""])
    return f".. py:data:: {name.path}\n\n   {name.summary}\n"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"   {line}" for line in lines] + [""]


def cards(scripts: Sequence[Script], folder: str) -> list[str]:
    """Lines of HTML: a card with picture and title for each script, by the folder that the gallery lies in."""
    items = [
        f'<a class="card-link" href="{folder}{script.name}.html"><img src="{folder}files/{script.thumbnail}" alt="" '
        f'loading="lazy"><span>{escape(script.title)}</span></a>'
        for script in scripts
    ]
    return ['<div class="cards">', *items, "</div>"]


def _package_page(package: str, names: Sequence[Name], children: Sequence[str]) -> str:
    module = importlib.import_module(package)
    parts = [
        _heading(package),
        f".. py:module:: {package}\n",
        "\n".join(escaped((inspect.getdoc(module) or "").splitlines())),
        "",
    ]
    return "\n".join([*parts, *_table(names), *_contents(children)])


def _table(names: Sequence[Name]) -> list[str]:
    rows = [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
    for name in names:
        rows += [f"   * - :doc:`{name.short} </{name.page}>`", f"     - {name.summary}"]
    return [*rows, ""]


def _contents(children: Sequence[str]) -> list[str]:
    if not children:
        return []
    return [".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *(f"   {child}" for child in children), ""]


def _index(by_package: Mapping[str, Sequence[Name]]) -> str:
    lead = (
        "Every public name, by the package it lies in. What the top level exports stands first. Registries list the\n"
        "classes of one kind, and yours, once you register them (:doc:`/contributing`). The command line has a page\n"
        "of its own: :doc:`command_line`.\n"
    )
    parts = [_heading("API reference"), lead]
    for package, names in by_package.items():
        module = importlib.import_module(package)
        parts += [_heading(package, "-"), f"{first_paragraph(module)} More: :doc:`{package}`.", "", *_table(names)]
    return "\n".join([*parts, *_contents([*by_package, "command_line"])])


def _command_line() -> str:
    parser = make_parser()
    parts = ["# Command line", "What `seminorm` and its verbs take. Every verb has a section."]
    for name, verb in {"seminorm": parser, **{f"seminorm {verb}": p for verb, p in parser.verbs.items()}}.items():
        text = re.sub(r"\x1b\[[\d;]*m", "", verb.format_help())
        parts.append(f"## {name}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
