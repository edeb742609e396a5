"""Docstrings as Sphinx reads them."""

from __future__ import annotations

import re


def escaped(lines: list[str]) -> list[str]:
    """A docstring in which bars and trailing underscores mean what they say, outside of code and examples."""
    result, in_example = [], False
    for line in lines:
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        pieces = [line] if in_example else re.split(r"(``.+?``|`[^`]+`)", line)
        plain = [piece if piece.startswith("`") or in_example else _escaped(piece) for piece in pieces]
        result.append("".join(plain))
    return result


def _escaped(text: str) -> str:
    text = re.sub(r"(?<!\\)\|", r"\\|", text)
    return re.sub(r"(?<![\w*`])([A-Za-z]\w*)_(?![\w`*])", r"\1\\_", text)
