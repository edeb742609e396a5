"""The folder that Sphinx reads: pages of the repository with their links turned, pages that are generated."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"^(```|~~~)", flags=re.MULTILINE)
_LANGUAGES = {
    ".py": "python",
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".toml": "toml",
    ".cff": "yaml",
    ".sh": "bash",
    ".yml": "yaml",
}
# where pages that do not lie in docs/ lie on the site, and the other way round for two that do
_PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "native/README.md": "native.md",
    "docs/index.md": "overview.md",
}


class Stage:
    """A folder whose files are rewritten only if their content changes, so that Sphinx reads only what is new."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._written: set[Path] = set()
        self._sources: dict[str, set[str]] = {}

    def write(self, place: str, content: str | bytes) -> None:
        """Write one file, by its path in the folder."""
        path = self.folder / place
        data = content.encode() if isinstance(content, str) else content
        if path not in self._written or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
        self._written.add(path)

    def page(self, original: str, ending: str = "", place: str | None = None) -> None:
        """Copy a page of the repository, with its links turned, and with something at its end."""
        text = (ROOT / original).read_text(encoding="utf-8")
        if not text.startswith(("# ", "---", "(")):
            text = f"# {Path(original).stem.replace('_', ' ').capitalize()}\n\n{text}"
        place = place or staged(original)
        self.write(place, self.turned(text, original, place) + ending)

    def turned(self, text: str, original: str, place: str) -> str:
        """The text with links that lead, from its place on the site, to where they led in the repository."""
        here = PurePosixPath(original).parent

        def turn(match: re.Match) -> str:
            target, _, anchor = match[2].partition("#")
            if "://" in match[2] or not target or target.startswith("mailto:"):
                return match[0]
            path = os.path.normpath(here / target)
            return (
                f"{match[1]}{_relative(self._destination(path, anchor), place)}{'#' * bool(anchor)}{anchor}{match[3]}"
            )

        parts = re.split(r"(^```.*?^```[^\S\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
        return "".join(part if part.startswith("```") else _LINK.sub(turn, part) for part in parts)

    def _destination(self, path: str, anchor: str) -> str:
        """Where a file of the repository lies on the site."""
        file = ROOT / path
        if not file.exists() and path.startswith("docs/") and not (ROOT / path).suffix:
            return path.removeprefix("docs/")
        if file.suffix == ".md":
            return staged(path)
        if path.startswith("docs/images/"):
            return path.removeprefix("docs/")
        if file.is_dir():
            return staged(f"{path}/README.md") if (file / "README.md").exists() else path
        if path.startswith("gallery/sections/") and not anchor:
            return f"gallery/{file.stem}.md"
        wanted = self._sources.setdefault(path, set())
        if anchor:
            wanted.add(anchor)
        return _source_place(path)

    def finish(self) -> None:
        """Write the sources that pages point to, and remove what earlier runs have left."""
        for path, names in sorted(self._sources.items()):
            self.write(_source_place(path), _source_page(path, names))
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self._written:
                path.unlink()


def staged(original: str) -> str:
    """Where a page of the repository lies on the site."""
    return _PLACES.get(original, original.removeprefix("docs/"))


def _relative(target: str, place: str) -> str:
    return os.path.relpath(target, PurePosixPath(place).parent).replace(os.sep, "/")


def _source_place(path: str) -> str:
    return f"source/{path}.md"


def _source_page(path: str, names: set[str]) -> str:
    """A file of the repository as a page; the functions that others point to stand first, each under its name."""
    text = (ROOT / path).read_text(encoding="utf-8")
    language = _LANGUAGES.get(Path(path).suffix, "text")
    parts = ["---\norphan: true\n---", f"# `{path}`"]
    if names:
        tree = ast.parse(text)
        found = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        lines = text.splitlines()
        for name in sorted(names):
            if name not in found:
                raise ValueError(f"a page points to {path}#{name}, but there is no such function: correct the link.")
            node = found[name]
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            parts += [f"## {name}", _code("\n".join(lines[first - 1 : node.end_lineno]), language)]
        parts.append("## The whole file")
    return "\n\n".join([*parts, _code(text, language)]) + "\n"


def _code(text: str, language: str) -> str:
    fence = "`" * (2 + max(2, *(len(run) for run in re.findall(r"`+", text)), 2))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
