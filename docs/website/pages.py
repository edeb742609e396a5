"""The pages of the repository on the site, and the lists that lead to them."""

from __future__ import annotations

import re
from pathlib import Path

from .decisions import with_pictures
from .names import Index
from .staging import ROOT, Stage

_PAGES = Path(__file__).parent / "pages"
_GUIDE = [
    *("smoother", "fields", "large_fits", "machines", "invariance", "surfaces", "points_alone"),
    *("kernels", "nullspace", "operators", "functions", "summation", "conventions"),
]
_ABOUT = ["contributing", "decisions", "references", "changelog", "native"]


def write(stage: Stage) -> None:
    """Write all of them; a page of docs/ that no list names goes to the end of the guide."""
    for image in sorted((ROOT / "docs" / "images").iterdir()):
        stage.write(f"images/{image.name}", image.read_bytes())
    folders = {folder: sorted((ROOT / "docs" / folder).glob("*.md")) for folder in ("start", "theory", "results")}
    singles = [page for page in ("choose", "coming_from") if (ROOT / "docs" / f"{page}.md").exists()]
    named = {*_GUIDE, "decisions", "references", "index", "results", *singles}
    others = sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem not in named)
    stage.page("docs/index.md", _list([*_GUIDE, *others]))
    for page in [*_GUIDE, *others, *singles, "decisions", "references"]:
        stage.page(f"docs/{page}.md")
    if "choose" in singles:
        path = stage.folder / "choose.md"
        stage.write("choose.md", with_pictures(path.read_text(encoding="utf-8"), _address))
    for original in ("CONTRIBUTING.md", "CHANGELOG.md", "native/README.md"):
        stage.page(original)
    for folder, files in folders.items():
        for file in files:
            if file.stem == "index":
                rest = [other.stem for other in files if other.stem != "index"]
                stage.page(f"docs/{folder}/index.md", _list(rest))
            else:
                stage.page(f"docs/{folder}/{file.name}")
    tables = [file.stem for file in folders["results"]]
    stage.page("docs/results.md", _tables(tables) + _list([f"results/{name}" for name in tables]))
    stage.write("about.md", (_PAGES / "about.md").read_text(encoding="utf-8") + _list(_ABOUT))
    top = [*(["start/index"] * bool(folders["start"])), "overview", "gallery/index", "reference/index", *singles]
    top += [*(["theory/index"] * bool(folders["theory"])), "results", "about"]
    stage.write("index.md", (_PAGES / "index.md").read_text(encoding="utf-8") + _list(top, _TITLES))


def _address(leaf: str) -> str | None:
    """The address of a leaf of a decision: its link, or the page of the name that it is."""
    match = re.search(r"\]\((.+?)\)$", leaf)
    if match:
        return re.sub(r"\.md\b", ".html", match[1])
    name = Index().find(leaf.strip("`"))
    return f"{name.page}.html" if name else None


_TITLES = {
    "start/index": "Getting started",
    "overview": "User guide",
    "reference/index": "API",
    "choose": "How to choose",
    "coming_from": "Coming from",
    "theory/index": "Theory",
    "results": "Results",
    "about": "About",
}


def _list(pages: list[str], titles: dict[str, str] | None = None) -> str:
    entries = "\n".join(f"{titles[page]} <{page}>" if titles and page in titles else page for page in pages)
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{entries}\n```\n"


def _tables(names: list[str]) -> str:
    """A list of the pages of docs/results, each with the commands that it names."""
    rows = ["| page | made by |", "|---|---|"]
    for name in names:
        text = (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")
        heading = re.match(r"# (.+)", text)
        title = heading[1] if heading else name.replace("_", " ").capitalize()
        scripts = sorted(set(re.findall(r"(?:benchmarks|reproduce)/\w+\.py", text)))
        guess = f"reproduce/{name}.py"
        scripts = scripts or [guess] * (ROOT / guess).exists()
        rows.append(f"| [{title}](results/{name}.md) | {', '.join(f'`python {script}`' for script in scripts)} |")
    return "\n\n## All tables\n\n" + "\n".join(rows) + "\n"
