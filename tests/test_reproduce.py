"""The quick mode of every script in reproduce/ whose data are there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "reproduce").glob("[a-z]*.py"))
PARTS = {"walder_moving": ["shapes"]}  # of scripts whose quick mode takes more than a minute


def arguments(script: Path) -> list[str]:
    """Options of a quick run: scripts without any are quick."""
    source = script.read_text(encoding="utf-8")
    takes = any(word in source for word in ("--quick", "options(", "arguments(", "chosen.quick"))
    return (["--quick"] if takes else []) + PARTS.get(script.stem, [])


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_quick_run(script, tmp_path):
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, str(script), *arguments(script)],
        cwd=tmp_path, env={**os.environ, **one_thread}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    if done.stdout.startswith("Skipped: "):
        pytest.skip(done.stdout.strip())
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert done.stdout.strip() or written
    assert "Traceback" not in done.stderr
