"""A wheel is built, installed into an environment of its own, and runs the first example of the README."""

import importlib.util
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OFFLINE = ("No matching distribution", "Could not find a version", "Connection", "Temporary failure", "timed out")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def installed(python, *arguments, **options):
    """Run pip; without a network there is nothing to test."""
    result = run(python, "-m", "pip", "--disable-pip-version-check", *arguments, **options)
    if result.returncode and any(sign in result.stderr for sign in OFFLINE):
        pytest.skip("no network: pip cannot get what the package needs.")
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.slow
def test_a_wheel_runs_the_first_example_of_the_readme(tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    built = ["wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path / "dist", ROOT]
    if importlib.util.find_spec("scikit_build_core") and importlib.util.find_spec("nanobind"):
        installed(sys.executable, *built, "--no-build-isolation", env=surroundings)  # with what make has compiled
    else:
        installed(python, *built, env=surroundings)
    (wheel,) = (tmp_path / "dist").glob("seminorm-*.whl")
    installed(python, "install", "--quiet", wheel, env=surroundings)
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)[1]
    check = "\nimport seminorm\nprint(seminorm.__file__, mean.shape, slope.shape, bool((std > 0).all()))\n"
    result = run(python, "-c", example + check, cwd=tmp_path, env=surroundings)
    assert result.returncode == 0, result.stderr
    assert str(tmp_path / "clean") in result.stdout and result.stdout.endswith("(300,) (300, 2) True\n")
