"""Command lines for tests, run in this process."""

import numpy as np
import pytest

from seminorm import cli

SETTINGS = {"depth": 3, "smoothness": 0.05, "tolerance": 0.05, "order": 2}
FAST = ("--depth", "3", "--smoothness", "0.05", "--tolerance", "0.05", "--order", "2")


def sphere_points(n=400, seed=0):
    """Points on the unit sphere, which are their own normals."""
    points = np.random.default_rng(seed).standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def run(verb, *arguments):
    """The exit status of a command."""
    return cli.main([verb, *map(str, arguments)])


def failed(capsys, verb, *arguments):
    """The one line of a command that must fail."""
    assert run(verb, *arguments) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"seminorm {verb}: ") and message.count("\n") == 1
    return message


def misused(capsys, verb, *arguments):
    """The last line of a command that the parser must refuse."""
    with pytest.raises(SystemExit) as stopped:
        run(verb, *arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]
