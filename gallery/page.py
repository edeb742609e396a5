"""A page of sections as one self-contained HTML file, or in Markdown for the site; the pictures lie beside it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

_STATIC = Path(__file__).parent / "static"
_STYLE = """
:root { --ink: #1f2933; --soft: #5b6773; --line: #dfe4ea; --accent: #0b5c8f; --paper: #ffffff; --tint: #f5f7f9; }
@media (prefers-color-scheme: dark) {
:root { --ink: #dde3e9; --soft: #a3afba; --line: #3a444e; --accent: #6db8ea; --paper: #14181c; --tint: #1f252b; }
:root { color-scheme: dark; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); }
body { font: 17px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header, footer { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3rem; }
h1 { font-size: 2.4rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em; }
h2 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 .75rem; }
p { margin: 0 0 1rem; max-width: 46rem; }
.lead { font-size: 1.15rem; color: var(--soft); }
nav ul { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; margin: 1.25rem 0 0; }
nav a { display: block; padding: .25rem .8rem; border: 1px solid var(--line); border-radius: 1rem; }
nav a { color: var(--accent); text-decoration: none; font-size: .92rem; }
nav a:hover, nav a:focus { background: var(--tint); }
section { padding: 2.5rem 0 1.5rem; border-bottom: 1px solid var(--line); }
figure { margin: 1.5rem 0; }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption, caption { color: var(--soft); font-size: .92rem; line-height: 1.5; text-align: left; max-width: 46rem; }
figcaption { margin-top: .6rem; }
figure a { color: var(--accent); }
caption { caption-side: bottom; padding-top: .6rem; }
.scroll { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; font-size: .95rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem 1.1rem .4rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
pre { background: var(--tint); border-left: 3px solid var(--accent); padding: .8rem 1rem; overflow-x: auto; }
pre { font-size: .88rem; line-height: 1.5; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .92em; }
footer { color: var(--soft); font-size: .88rem; padding-top: 1.5rem; padding-bottom: 3rem; }
"""


@dataclass(frozen=True)
class Paragraph:
    """Plain text; text between backquotes is set as code."""

    text: str

    def html(self) -> str:
        return f"<p>{inline(self.text)}</p>"

    def markdown(self, folder: str) -> str:
        return marked(self.text)


@dataclass(frozen=True)
class Picture:
    """A file beside the page, what it shows in a few words (for those who cannot see it), and its caption."""

    file: str
    alternative: str
    caption: str

    def html(self) -> str:
        image = f'<img src="{escape(self.file)}" alt="{escape(self.alternative)}" loading="lazy">'
        return f"<figure>{image}<figcaption>{inline(self.caption)}</figcaption></figure>"

    def markdown(self, folder: str) -> str:
        return f":::{{figure}} {folder}{self.file}\n:alt: {self.alternative}\n\n{marked(self.caption)}\n:::"


@dataclass(frozen=True)
class Viewer:
    """A page beside this one with a scene to turn: it takes the place of a still picture when that is clicked. There is
    a link to open it alone, and a caption.
    """

    file: str
    title: str
    caption: str
    still: str

    def html(self, folder: str = "") -> str:
        scene, still = escape(folder + self.file), escape(folder + self.still)
        image = f'<img src="{still}" alt="{escape(self.title)}" loading="lazy"><span>Turn it</span>'
        button = f'<button type="button" data-scene="{scene}" data-title="{escape(self.title)}">{image}</button>'
        caption = f'<figcaption>{inline(self.caption)} <a href="{scene}">Open it alone.</a></figcaption>'
        return f'<figure class="scene">{button}{caption}</figure>'

    def markdown(self, folder: str) -> str:
        return f"```{{raw}} html\n{self.html(folder)}\n```"


@dataclass(frozen=True)
class Table:
    """Rows of text; the first column is set to the left, the others to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str

    def html(self) -> str:
        head = "".join(f'<th scope="col">{inline(cell)}</th>' for cell in self.header)
        body = "".join("<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        table = f"<caption>{inline(self.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        return f'<div class="scroll" tabindex="0"><table>{table}</table></div>'

    def markdown(self, folder: str) -> str:
        rows = [self.header, [":--", *["--:"] * (len(self.header) - 1)], *self.rows]
        cells = [[marked(cell) if i != 1 else cell for cell in row] for i, row in enumerate(rows)]
        return "\n".join("| " + " | ".join(row) + " |" for row in cells) + f"\n\n{marked(self.caption)}"


@dataclass(frozen=True)
class Code:
    """Lines of Python."""

    text: str

    @classmethod
    def of(cls, *functions: Callable) -> Code:
        """The source of functions: the page shows what it ran."""
        return cls("\n\n".join(textwrap.dedent(inspect.getsource(function)).strip() for function in functions))

    def html(self) -> str:
        return f'<pre tabindex="0"><code>{escape(self.text)}</code></pre>'

    def markdown(self, folder: str) -> str:
        return f"```python\n{self.text}\n```"


@dataclass(frozen=True)
class Section:
    """A title and what stands below it."""

    title: str
    blocks: Sequence[Paragraph | Picture | Viewer | Table | Code]

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def html(self) -> str:
        return (
            f'<section id="{self.anchor}"><h2>{inline(self.title)}</h2>\n'
            + "\n".join(block.html() for block in self.blocks)
            + "\n</section>"
        )

    def markdown(self, folder: str) -> str:
        """What stands below the title, with the files in a folder."""
        return "\n\n".join(block.markdown(folder) for block in self.blocks)


def marked(text: str) -> str:
    """Text as Markdown: what is not code means what it says."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<>\[\]$|#~{}])", r"\\\1", part) for part in parts)


def inline(text: str) -> str:
    """Escaped text with `code` between backquotes."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def number(value: float, digits: int = 3) -> str:
    """A number for a table: a few significant digits."""
    return f"{float(value):.{digits}g}"


def page(title: str, lead: str, sections: Sequence[Section], footer: str) -> str:
    """The whole HTML document."""
    links = "".join(f'<li><a href="#{section.anchor}">{inline(section.title)}</a></li>' for section in sections)
    body = "\n".join(section.html() for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}{(_STATIC / "scene.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{inline(title)}</h1><p class="lead">{inline(lead)}</p>
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
<footer>{inline(footer)}</footer>
<script>{(_STATIC / "scene.js").read_text(encoding="utf-8")}</script>
</body>
</html>
"""
