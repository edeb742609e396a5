"""Documentation: code blocks and examples run, links lead somewhere, citations are listed."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import seminorm

ROOT = Path(__file__).parents[1]
SLOW = {"README.md", "fields.md", "invariance.md", "machines.md", "operators.md", "points_alone.md", "surfaces.md"}


def pages():
    folders = [ROOT / "docs", ROOT / "docs" / "start", ROOT / "docs" / "theory"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for f in folders for page in sorted(f.glob("*.md")))]


def marked(page: Path):
    return pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in SLOW))


@pytest.mark.slow
@pytest.mark.parametrize("page", [marked(page) for page in pages()])
def test_code_in_the_documentation_runs(page, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
    assert "```python" not in page.read_text() or blocks


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.name)
def test_links_and_pictures_of_the_documentation_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}, which is not there"


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(script, tmp_path):
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, capture_output=True)


def citations(text: str) -> set[str]:
    """Works cited as [Name 2007, 4.2], [Name and Name 2007] or [Name et al. 2007; ...], without the place in them."""
    inside = re.findall(r"\[([A-Z][^\[\]]*\b(?:18|19|20)\d\d[a-z]?\b[^\[\]]*)\]", re.sub(r"\s+", " ", text))
    works = (
        re.match(r"([A-Z][\w.\- ]*? (?:18|19|20)\d\d[a-z]?)\b", part.strip())
        for group in inside
        for part in group.split(";")
    )
    return {work[1] for work in works if work}


def test_citations_are_recognised():
    text = "see [Walder 2008, 4.2], [Walder and Chapelle 2007, 6.1;\n Li et al. 2007, (23)], [a link](b.md), X[1, 2000]"
    assert citations(text) == {"Walder 2008", "Walder and Chapelle 2007", "Li et al. 2007"}


def test_citations_have_references():
    listed = set(re.findall(r"^- \*\*\[(.+?)\]\*\*", (ROOT / "docs" / "references.md").read_text(), flags=re.MULTILINE))
    assert len(listed) > 5
    folders = ("src", "docs", "gallery", "reproduce", "benchmarks", "examples")
    files = [path for folder in folders for kind in ("py", "md") for path in (ROOT / folder).rglob(f"*.{kind}")]
    cited = {work: path for path in files for work in citations(path.read_text(encoding="utf-8"))}
    missing = {work: str(path.relative_to(ROOT)) for work, path in cited.items() if work not in listed}
    assert not missing, f"docs/references.md lacks {missing}"


def public_names():
    """Functions and classes of the public packages, by their public paths."""
    found = {}
    for room in ("", *(f".{name}" for name in seminorm.__all__ if inspect.ismodule(getattr(seminorm, name)))):
        package = importlib.import_module(f"seminorm{room}")
        for name in getattr(package, "__all__", ()):
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(thing, f"seminorm{room}.{name}")
    return {path: thing for thing, path in found.items()}


def lacks(thing, names) -> list[str]:
    """Sections that are missing. What a function returns may leave the example to the function it names."""
    text = inspect.getdoc(thing) or ""
    sections = set(re.findall(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE))
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return [] if text else ["everything"]
    takes = [name for name in inspect.signature(thing).parameters if name not in ("self", "args", "kwargs")]
    missing = []
    if takes and not sections & {"Parameters", "Attributes"} and not dataclasses.is_dataclass(thing):
        missing.append("Parameters")
    if inspect.isfunction(thing) and not sections & {"Returns", "Yields"}:
        missing.append("Returns")
    if "See Also" not in sections:
        missing.append("See Also")
    related = re.findall(r"[\w.]+", text.partition("See Also\n")[2].partition("\n\n")[0])
    shown = [thing, *(names[name] for name in (word.rpartition(".")[2] for word in related) if name in names)]
    if not any(">>>" in (inspect.getdoc(one) or "") for one in shown):
        missing.append("Examples")
    return missing


def test_public_names_are_documented():
    paths = public_names()
    assert len(paths) > 200
    by_name = {path.rpartition(".")[2]: thing for path, thing in paths.items()}
    assert {path: missing for path, thing in paths.items() if (missing := lacks(thing, by_name))} == {}
