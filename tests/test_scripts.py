"""Scripts outside the package: their imports and keywords exist, and without data they say so in one sentence."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "reproduce", "examples", "gallery", "docs")
    for path in (ROOT / folder).rglob("*.py")
)
# without data these have nothing to do; the others have parts that need none, and take long
NEED_DATA = [
    *("benchmarks/scattered_data.py", "benchmarks/svc_memory.py", "benchmarks/svc_tuning.py"),
    *("benchmarks/surfaces.py", "benchmarks/points_alone.py", "benchmarks/robustness.py"),
    "benchmarks/few_points.py",
    *("reproduce/haasdonk_burkhardt_series.py", "reproduce/haasdonk_burkhardt_table3.py"),
    *("reproduce/haasdonk_burkhardt_usps.py", "reproduce/li_coil.py", "reproduce/li_newsgroups.py"),
    *("reproduce/li_stability.py", "reproduce/unoriented_scans.py", "reproduce/walder_chapelle_breast.py"),
    *("reproduce/walder_chapelle_table1.py", "reproduce/walder_chapelle_usps.py", "reproduce/walder_figure34.py"),
    *("reproduce/walder_table41.py", "reproduce/walder_table51.py"),
]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(tree: ast.AST) -> dict[str, object]:
    """What a script imports from the package, by the names it gives them; fails where something does not exist."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "seminorm":
                    found[alias.asname or alias.name] = importlib.import_module(alias.name)
        if isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] == "seminorm":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
                found[alias.asname or alias.name] = getattr(module, alias.name)
    return found


def unknown_keywords(call: ast.Call, function: object) -> set[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return set()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return set()
    return {keyword.arg for keyword in call.keywords if keyword.arg} - {parameter.name for parameter in parameters}


@pytest.mark.parametrize("script", SCRIPTS, ids=named)
def test_names_and_keywords_of_scripts_exist(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    names = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            unknown = unknown_keywords(node, names[node.func.id])
            assert not unknown, f"line {node.lineno}: {node.func.id} has no {', '.join(sorted(unknown))}"


def has_options(script: Path) -> bool:
    return any(word in script.read_text() for word in ("argparse", "options(", "arguments(", "output_folder("))


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [path for folder in ("benchmarks", "reproduce") for path in (ROOT / folder).glob("[a-z]*.py") if has_options(path)],
    ids=named,
)
def test_scripts_explain_themselves(script, tmp_path):
    done = subprocess.run([sys.executable, str(script), "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


@pytest.mark.slow
@pytest.mark.parametrize("script", NEED_DATA)
def test_scripts_without_data_say_what_is_missing(script, tmp_path):
    nothing = {"SEMINORM_DATA": str(tmp_path / "none"), "SEMINORM_SURFBENCH": str(tmp_path / "none.py")}
    command = [sys.executable, str(ROOT / script)]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **nothing}, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Skipped: ") and done.stdout.count("\n") == 1
    assert "https://" in done.stdout or "http://" in done.stdout
