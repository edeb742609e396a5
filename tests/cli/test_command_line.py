"""The command line as a whole."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import seminorm
from seminorm import cli
from seminorm.cli.parsing import parsed


def test_help_lists_the_verbs(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--help"])
    text = capsys.readouterr().out
    assert stopped.value.code == 0
    assert all(re.search(rf"^\s+{name}\s+{verb.HELP[:20]}", text, re.MULTILINE) for name, verb in cli.VERBS.items())


def test_every_verb_has_help(capsys):
    for name in cli.VERBS:
        with pytest.raises(SystemExit) as stopped:
            cli.main([name, "--help"])
        assert stopped.value.code == 0 and f"seminorm {name}" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0 and capsys.readouterr().out.strip() == f"seminorm {seminorm.__version__}"


def test_without_a_verb_it_shows_the_help_and_fails(capsys):
    assert cli.main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "reconstruct" in captured.err


def test_unknown_verb_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["dance"])
    assert stopped.value.code == 2 and "dance" in capsys.readouterr().err


def written_commands():
    """The commands in the README and the documentation."""
    root = Path(__file__).parents[2]
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        text = re.sub(r"```python.*?```", "", page.read_text(), flags=re.DOTALL)
        lines = re.findall(r"^(?: {4})?((?:cat .*\| )?seminorm .*)$", text, flags=re.MULTILINE)
        for line in lines + re.findall(r"`(seminorm \w+ [^`]+)`", text):
            for command in re.split(r" \| | > ", line):
                words = shlex.split(command, comments=True)
                if words[0] == "seminorm" and len(words) > 2 and words[1].islower() and "--help" not in words:
                    yield words[1:]


def test_commands_in_the_documentation_are_understood():
    commands = list(written_commands())
    assert len(commands) > 15
    for words in commands:
        assert parsed(cli.make_parser(), words).verb == words[0]


def test_importing_the_command_line_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "sklearn", "numba", "matplotlib")
    code = f"import sys, seminorm.cli; print([name for name in {heavy} if name in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
