"""Decision pictures: a table of docs/choose.md as a tree, drawn in SVG, each of whose leaves is a link."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

_ROW, _TOP = 34, 20
_COLUMNS = 0, 190, 470, 780  # left edges of question, first answers, second answers, leaves
_WIDTHS = 150, 220, 280, 250
_MARKER = re.compile(r"<!-- picture: (.+?) -->\n\n((?:\|.*\n)+)")
Rows = list[tuple[str, str, str]]


def with_pictures(text: str, link: Callable[[str], str | None]) -> str:
    """The page with a picture in front of each marked table; `link` finds the address of a leaf."""

    def draw(match: re.Match) -> str:
        lines = match[2].strip().splitlines()[2:]
        rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
        drawn = f'<div class="decision" tabindex="0">{picture(match[1], rows, link)}</div>'
        return f"```{{raw}} html\n{drawn}\n```\n\n{match[2]}"

    return _MARKER.sub(draw, text)


def picture(question: str, rows: Rows, link: Callable[[str], str | None]) -> str:
    """The tree of a table: question, groups of the first column, conditions, leaves."""
    height = _ROW * len(rows) + _TOP
    width = _COLUMNS[3] + _WIDTHS[3]
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(row[0], []).append(i)
    middle = _TOP / 2 + _ROW * len(rows) / 2
    parts = [_box(0, middle, question, "question")]
    for name, members in groups.items():
        center = sum(_line(i) for i in members) / len(members)
        parts += [_edge(0, middle, 1, center), _text(1, center, name)]
        for i in members:
            condition = rows[i][1]
            parts.append(_edge(1, center, 2 if condition else 3, _line(i)))
            if condition:
                parts += [_text(2, _line(i), condition), _edge(2, _line(i), 3, _line(i))]
            target, box = link(rows[i][2]), _box(3, _line(i), _plain(rows[i][2]), "leaf")
            parts.append(f'<a href="{escape(target)}">{box}</a>' if target else box)
    title = f"<title>{escape(question)} A tree of answers; the table below says the same.</title>"
    style = (
        "<style>.decision text{font:14px system-ui,sans-serif;fill:currentColor}"
        ".decision path{fill:none;stroke:currentColor;opacity:.35;stroke-width:1.4}"
        ".decision rect{fill:none;stroke:currentColor;opacity:.45}.decision a{color:var(--pst-color-link)}"
        ".decision a rect{opacity:1}.decision a:hover rect,.decision a:focus rect{stroke-width:3}</style>"
    )
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    return f"{frame}{title}{style}{''.join(parts)}</svg>"


def _line(i: int) -> float:
    return _TOP / 2 + _ROW * (i + 0.5)


def _text(column: int, y: float, text: str) -> str:
    return f'<text x="{_COLUMNS[column]}" y="{y + 5:g}">{escape(_plain(text))}</text>'


def _plain(text: str) -> str:
    return re.sub(r"\[(.+)\]\([^)]+\)$", r"\1", text).replace("`", "")


def _box(column: int, y: float, text: str, kind: str) -> str:
    x, width = _COLUMNS[column], _WIDTHS[column]
    lines = _wrapped(text) if kind == "question" else [text]
    tall = 18 * len(lines) + 10
    words = "".join(
        f'<text x="{x + 10}" y="{y + 5 - 9 * (len(lines) - 1) + 18 * i:g}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return f'<rect x="{x + 1}" y="{y - tall / 2:g}" width="{width - 2}" height="{tall}" rx="6"/>{words}'


def _wrapped(text: str, most: int = 17) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _edge(start: int, y0: float, end: int, y1: float) -> str:
    x0, x1 = _COLUMNS[start] + _WIDTHS[start], _COLUMNS[end] - 8
    bend = (x0 + x1) / 2
    return f'<path d="M{x0} {y0:g}C{bend:g} {y0:g} {bend:g} {y1:g} {x1} {y1:g}"/>'
