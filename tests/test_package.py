"""The package as a whole: instant import, layers, no cycles, names, types."""

import ast
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import pytest

import seminorm

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "seminorm"
# a module imports only from entries before its own
LAYERS = [
    *("_base", "kernels", "nullspace", "operators", "losses", "deviances", "solvers", "functions", "invariance"),
    *("bases", "fields"),
    *("clouds", "shapes", "rendering", "files", "surfaces", "estimators", "plotting", "cli", "__main__"),
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


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def is_for_types(node: ast.AST) -> bool:
    """Whether a statement is ``if TYPE_CHECKING:``, whose imports never run."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(tree: ast.AST, inside: bool = False):
    """Imports of a file, each with whether it stands inside a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, inside
        elif is_for_types(node):
            yield from (found for other in node.orelse for found in imports(other, inside))
        else:
            yield from imports(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def targets(module: str, node: ast.Import | ast.ImportFrom) -> set[str]:
    """Our own modules that an import runs, without the packages around them."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names if alias.name in MODULES}
    base = node.module or ""
    if node.level:
        package = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *base.split(".")]).rstrip(".")
    if base not in MODULES:
        return set()
    return {home for alias in node.names for home in homes(base, alias.name)}


def homes(base: str, name: str) -> set[str]:
    """The modules that ``from base import name`` runs: a module, or where a lazy package finds the name."""
    if f"{base}.{name}" in MODULES:
        return {f"{base}.{name}"}
    stub = MODULES[base].with_suffix(".pyi")
    if stub.exists():
        for node in ast.parse(stub.read_text()).body:
            if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
                return {base} | homes(f"{base}.{node.module}" if node.module else base, name)
    return {base}


def packages_around(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:k]) for k in range(1, len(parts))}


def module_graph() -> dict[str, set[str]]:
    """Which modules each module imports, at any time; entering a package runs its ``__init__.py``."""
    graph = {}
    for module, path in MODULES.items():
        around = packages_around(module) | {module}
        found = {target for node, _ in imports(ast.parse(path.read_text())) for target in targets(module, node)}
        graph[module] = found | {package for target in found for package in packages_around(target) - around}
        graph[module] -= {module}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in turn, the first one repeated at the end; empty if there are none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph[module]):
            if cycle := visit(other, [*path, module]):
                return cycle
        done.add(module)
        return []

    return next(filter(None, (visit(module, []) for module in graph)), [])


def test_cycles_are_found():
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert find_cycle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}}) == ["b", "d", "b"]


def test_no_module_imports_itself_through_others():
    cycle = find_cycle(module_graph())
    assert not cycle, f"modules import each other: {' -> '.join(cycle)}"


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_layers_are_kept(path):
    module = module_name(path)
    if module == "seminorm":
        return
    own = module.split(".")[1]
    assert own in LAYERS, f"{own} is not one of the layers: add it where it belongs"
    for target in module_graph_of(path):
        name = target.split(".")[1]
        assert LAYERS.index(name) <= LAYERS.index(own), f"{own} imports {target}, which lies above it"


def module_graph_of(path: Path) -> set[str]:
    module = module_name(path)
    found = {target for node, _ in imports(ast.parse(path.read_text())) for target in targets(module, node)}
    return {target for target in found if target != "seminorm"}


DEFERRED: set[str] = set()  # modules, such as "seminorm.some.module", that may import our own inside functions


def test_imports_inside_functions_are_of_other_packages():
    """Such an import defers an optional or heavy dependency; for our own modules it would hide a cycle."""
    hidden = [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module, path in MODULES.items()
        if not module.startswith("seminorm.cli") and module not in DEFERRED  # the command line starts at once
        for node, inside in imports(ast.parse(path.read_text()))
        if inside and targets(module, node)
    ]
    assert not hidden, f"imports of our own modules inside functions (besides {DEFERRED}):\n" + "\n".join(hidden)


def definitions(kind) -> dict[str, list[str]]:
    """Where each class or function of the package is defined, by name."""
    found: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kind):
                found.setdefault(node.name, []).append(f"{module}:{node.lineno}")
    return found


def test_class_names_are_unique():
    repeated = {name: places for name, places in definitions(ast.ClassDef).items() if len(places) > 1}
    assert not repeated, f"classes of the same name: {repeated}"


def test_there_is_one_conjugate_gradient_solver():
    assert len(definitions(ast.FunctionDef)["conjugate_gradients"]) == 1


def test_surfaces_keep_what_reconstructs():
    lines = sum(len(path.read_text().splitlines()) for path in (SOURCE / "surfaces").rglob("*.py"))
    assert lines < 3700, f"surfaces/ has {lines} lines: move what does not reconstruct to its own room"


BRITISH = re.compile(r"neighbour|colour|centre|behaviour|favour|(?P<stem>.+)is(e|ed|es|er|ers|ing|ation|ations)$")
WITH_S = re.compile(r"(no|ra|w|prec|conc|prom|prem|v|pr|^a?r)$")  # noise, raise, pairwise, precise, advise, ...


def is_british(identifier: str) -> bool:
    words = (word.lower() for word in re.findall(r"[A-Z]?[a-z]{4,}", identifier))
    return any((found := BRITISH.search(word)) and not WITH_S.search(found["stem"] or "") for word in words)


def test_spelling_of_identifiers_is_american():
    for identifier in (
        "n_neighbours",
        "colour_of",
        "centre",
        "normalise",
        "Regulariser",
        "initialisation",
        "optimised",
    ):
        assert is_british(identifier), identifier
    for identifier in (
        "noise",
        "denoised",
        "raises",
        "Rise",
        "arises",
        "pairwise",
        "precision",
        "distance",
        "raised",
        "basis",
        "rising",
    ):
        assert not is_british(identifier), identifier
    found = set()
    for path in [*MODULES.values(), *(ROOT / "gallery").rglob("*.py"), *(ROOT / "examples").glob("*.py")]:
        with path.open("rb") as file:
            names = (token for token in tokenize.tokenize(file.readline) if token.type == tokenize.NAME)
            found |= {f"{path.relative_to(ROOT)}:{t.start[0]} {t.string}" for t in names if is_british(t.string)}
    assert not found, "\n".join(sorted(found))


def test_public_names_do_not_hide_modules():
    """A module that is imported becomes an attribute of its package, in the place of a lazy name like its own."""
    for stub in SOURCE.rglob("__init__.pyi"):
        package = module_name(stub)
        lines = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom) and node.module]
        hidden = {alias.name for line in lines for alias in line.names if f"{package}.{alias.name}" in MODULES}
        assert not hidden, f"{package} has modules with the names of its functions: {hidden}. Rename the modules."


def test_types_are_shipped():
    assert (SOURCE / "py.typed").exists()
    lazy = [path for path in MODULES.values() if path.name == "__init__.py" and "lazy_exports(" in path.read_text()]
    assert lazy and all(path.with_suffix(".pyi").exists() for path in lazy)


USER = """
import numpy as np
import seminorm
from seminorm.kernels import Gaussian

X, y = np.random.rand(20, 2), np.random.rand(20)
reveal_type(seminorm.Smoother)
reveal_type(seminorm.SVC)
reveal_type(seminorm.reconstruct)
reveal_type(seminorm.FieldSmoother)
reveal_type(Gaussian)
reveal_type(seminorm.Mesh)
reveal_type(seminorm.read_points)
reveal_type(seminorm.Field)
reveal_type(seminorm.Expansion)
reveal_type(seminorm.PointCloud)
reveal_type(seminorm.Smoother(Gaussian(0.3)).fit(X, y))
reveal_type(seminorm.reconstruct(X, X))
"""


@pytest.mark.slow
def test_public_names_are_typed(tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "user.py"
    file.write_text(USER)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--follow-imports", "silent", str(file)]
    environment = {**os.environ, "MYPYPATH": str(SOURCE.parent)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(revealed) == USER.count("reveal_type")
    for line, shown in zip(re.findall(r"reveal_type\((.*)\)", USER), revealed, strict=True):
        assert "seminorm." in shown and not re.match(r"Any|Module|types\.ModuleType", shown), f"{line} is {shown}"


def test_extras_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {
        "plot",
        "surface",
        "las",
        "e57",
        "viewers",
        "grid",
        "distributed",
        "numba",
        "docs",
        "dev",
    }
    core = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}
    assert core == {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "tqdm"}
