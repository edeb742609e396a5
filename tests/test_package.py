"""The package as a whole: instant import, layers, documentation that runs."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import seminorm

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "seminorm"
# a module imports only from entries before its own; the first line holds the tools that know nothing of the mathematics
LAYERS = [
    *("_lazy", "_version", "_warnings", "_equality", "memory", "_extras", "_threads", "_compilation"),
    *("serialization", "tables"),
    *("kernels", "nullspace", "operators", "losses", "solvers", "functions", "invariance", "fields", "surfaces"),
    *("estimators", "plotting", "demo", "cli", "__main__"),
]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_instant_and_lazy():
    code = """
import sys, time
start = time.perf_counter()
import seminorm
print(time.perf_counter() - start, "numpy" in sys.modules, "sklearn" in sys.modules, "numba" in sys.modules)
"""
    seconds, *heavy = run(code).split()
    assert float(seconds) < 0.5
    assert heavy == ["False"] * 3


def test_public_names():
    assert set(dir(seminorm)) >= {"Smoother", "kernels", "nullspace", "functions", "__version__"}
    for name in seminorm.__all__:
        assert getattr(seminorm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = seminorm.nonsense


def test_kernels_do_not_need_matplotlib():
    code = "import sys; import seminorm.estimators, seminorm.plotting; print('matplotlib' in sys.modules)"
    assert run(code).strip() == "False"


def imported_layers(path: Path) -> set[str]:
    """First-level modules of the package that a file imports."""
    layer_of_file = path.relative_to(SOURCE).parts
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(layer_of_file[: len(layer_of_file) - node.level])
            target = base + (node.module.split(".") if node.module else [])
            names |= {target[0]} if target else {seminorm._HOMES.get(alias.name, alias.name) for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_layers_are_kept(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    assert own in LAYERS, f"{own} is not one of the layers: add it where it belongs"
    for name in imported_layers(path) - {own, "__version__"}:
        assert LAYERS.index(name) < LAYERS.index(own), f"{own} imports {name}, which lies above it"


def test_extras_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {
        "plot",
        "surface",
        "las",
        "viewers",
        "grid",
        "distributed",
        "docs",
        "dev",
    }
    core = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert core == {"numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl", "tqdm"}


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.name)
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


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(script, tmp_path):
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, capture_output=True)
