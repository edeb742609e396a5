"""Waiting for the compiler is announced, once, and only if it is ahead."""

import importlib.util

import pytest

from seminorm._base.compilation import MESSAGE, announce_compilation

SOURCE = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x

@njit(cache=True)
def thrice(x):
    return 3 * x
"""


@pytest.fixture
def fresh(tmp_path):
    """Functions as a new process would find them: nothing in memory, whatever the cache beside their file has."""
    path = tmp_path / "loops.py"
    path.write_text(SOURCE)

    def load():
        spec = importlib.util.spec_from_file_location("loops", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    load.path = path
    return load


def said(*functions):
    messages = []
    assert announce_compilation(functions, messages.append) == bool(messages)
    return messages


def test_only_what_is_still_to_be_compiled_is_announced(fresh):
    loops = fresh()
    assert said(loops.twice, loops.thrice) == [MESSAGE]
    assert loops.twice(2) == 4
    assert said(loops.twice) == []
    assert said(loops.twice, loops.thrice) == [MESSAGE]  # one of them is missing


def test_a_later_process_finds_the_cache(fresh):
    fresh().twice(2)
    later = fresh()
    assert not later.twice.signatures
    assert said(later.twice) == []
    assert said(later.thrice) == [MESSAGE]


def test_a_cache_of_an_older_source_or_another_processor_does_not_count(fresh, monkeypatch):
    fresh().twice(2)
    later = fresh()
    codegen = type(later.twice.targetctx.codegen())
    with monkeypatch.context() as patch:
        patch.setattr(codegen, "magic_tuple", lambda self: ("another", "processor", ""))
        assert said(later.twice) == [MESSAGE]
    assert said(later.twice) == []
    fresh.path.write_text(SOURCE + "\n# changed\n")
    assert said(fresh().twice) == [MESSAGE]


def test_functions_of_python_need_no_compiler(fresh):
    assert said(len, fresh().twice.py_func) == []
