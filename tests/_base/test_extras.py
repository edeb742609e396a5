"""Optional dependencies."""

import sys

import pytest

from seminorm._base import extras as _extras


def test_require_returns_the_module():
    assert _extras.require("json.decoder", "plot") is sys.modules["json.decoder"]


def test_require_names_the_command_for_a_loaded_submodule_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "json", None)
    with pytest.raises(
        ImportError,
        match=r"exchanging meshes with trimesh needs json, which is not installed: pip install 'seminorm\[surface\]'",
    ):
        _extras.require("json.decoder", "surface")


def test_require_tells_a_broken_package_from_a_missing_one(monkeypatch, tmp_path):
    (tmp_path / "brokenpackage.py").write_text("import surely_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        ImportError, match=r"needs brokenpackage, which cannot be imported \(No module named 'surely_not_there'\)"
    ):
        _extras.require("brokenpackage", "grid")
