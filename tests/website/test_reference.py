"""The pages of the site before Sphinx reads them: names, links, decisions, and what makes a second build quick."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import seminorm
from seminorm._base.registry import Registry

pytest.importorskip("docutils", reason="the site needs pip install 'seminorm[docs]'")
pytest.importorskip("PIL", reason="the site needs pip install 'seminorm[docs]'")

from docs.website import pages, reference
from docs.website.decisions import picture, with_pictures
from docs.website.docstrings import escaped
from docs.website.galleries import mentions
from docs.website.links import check
from docs.website.names import Index, public_names
from docs.website.staging import ROOT, Stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """The folder that Sphinx reads, without the gallery."""
    result = Stage(tmp_path_factory.mktemp("source"))
    reference.write(result, {})
    pages.write(result)
    result.finish()
    return result


def stubs():
    """Names of every `__all__` of the package and of every stub, as (package, name), read from the files."""
    source = Path(seminorm.__file__).parent
    for file in sorted([*source.rglob("__init__.pyi"), *source.rglob("__init__.py")]):
        package = ".".join(("seminorm", *file.relative_to(source).parts[:-1]))
        if "._" in package:
            continue
        if file.suffix == ".pyi":
            imported = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ImportFrom)]
            yield from ((package, alias.asname) for node in imported for alias in node.names)
        else:
            yield from ((package, name) for name in getattr(importlib.import_module(package), "__all__", ()))


def is_module(package, name):
    return inspect.ismodule(getattr(importlib.import_module(package), name))


def test_every_public_name_is_in_the_index(stage):
    index = (stage.folder / "reference" / "index.rst").read_text()
    linked = set(re.findall(r":doc:`(\w+) </reference/([\w.]+)>`", index))
    shown = {name: page for name, page in linked}
    names = [pair for pair in stubs() if not pair[1].startswith("__") and not is_module(*pair)]
    assert len(names) > 300
    assert [pair for pair in names if pair[1] not in shown] == []
    for page in {page for _, page in linked}:
        assert (stage.folder / "reference" / f"{page}.rst").exists()


def test_every_registered_class_has_a_page(stage):
    registries = [name.thing for name in public_names() if isinstance(name.thing, Registry)]
    kinds = {registry.kind for registry in registries}
    assert {"kernel", "distance", "transformation", "loss", "estimator"} <= kinds
    by_thing = {id(name.thing): name for name in public_names()}
    for registry in registries:
        for key in registry:
            if registry[key].__module__.startswith("seminorm"):
                assert (stage.folder / f"{by_thing[id(registry[key])].page}.rst").exists(), (registry.kind, key)


def test_names_are_found_as_pages_write_them():
    index = Index()
    for mention in ("SVC", "SVC(alpha=1)", "seminorm.SVC", "seminorm.estimators.SVC", "estimators.SVC"):
        assert index.find(mention).path == "seminorm.SVC"
    assert index.find("kernels.ThinPlate()").path == "seminorm.kernels.ThinPlate"
    for mention in ("alpha", "fit", "numpy.array", "a + b", "Box", ""):
        assert index.find(mention) is None


def test_mentions_are_what_a_script_uses():
    source = (
        "from seminorm import SVC, rendering as r\nfrom seminorm.kernels import Gaussian as G\nr.Picture(); SVC(G())"
    )
    assert mentions(source) >= {"seminorm.SVC", "seminorm.kernels.Gaussian", "seminorm.rendering.Picture"}


def test_docstrings_say_what_they_said():
    lines = ["alpha |f|^2 + loss, and alpha_ is ``|x|_``", ">>> a | b_", "{'x_': 1}", "", "|g|"]
    expected = [r"alpha \|f\|^2 + loss, and alpha\_ is ``|x|_``", ">>> a | b_", "{'x_': 1}", "", r"\|g\|"]
    assert escaped(lines) == expected


def test_links_of_staged_pages_lead_somewhere(stage):
    for page in stage.folder.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
            if "://" in target or "gallery/" in target:
                continue
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_functions_that_pages_point_to_stand_first_on_the_page_of_their_file(stage):
    text = (stage.folder / "source/tests/estimators/test_smoother.py.md").read_text()
    assert "\n## test_leave_one_out_equals_brute_force\n" in text
    first = text.index("def test_leave_one_out_equals_brute_force")
    assert first < text.index("## The whole file") < text.rindex("def test_leave_one_out_equals_brute_force")


def test_a_link_to_a_function_that_is_not_there_is_an_error(tmp_path):
    stage = Stage(tmp_path)
    stage.turned("[a](../tests/test_package.py#test_no_such_thing)", "docs/a.md", "a.md")
    with pytest.raises(ValueError, match="test_no_such_thing"):
        stage.finish()


def test_a_second_stage_touches_nothing_and_forgets_what_is_gone(tmp_path):
    for content in ("old", "same"):
        stage = Stage(tmp_path)
        stage.write("a.md", "same")
        if content == "old":
            stage.write("b.md", content)
            before = (tmp_path / "a.md").stat().st_mtime_ns
        stage.finish()
    assert (tmp_path / "a.md").stat().st_mtime_ns == before and not (tmp_path / "b.md").exists()


def test_decisions_are_drawn_from_their_tables():
    drawn = picture(
        "What?", [("a", "b", "`SVC`"), ("a", "", "[c<d](e.md)")], lambda leaf: "x.html" if "`" in leaf else None
    )
    assert drawn.count("<a href=") == 1 and "c&lt;d" in drawn and drawn.count("<path") == 4
    page = (ROOT / "docs" / "choose.md").read_text()
    assert with_pictures(page, lambda leaf: "x.html").count("<svg") == page.count("<!-- picture: ") == 4
    for leaf in re.findall(r"^\|.*\| (\S[^|]*) \|$", page.split("\n## ", 1)[1], flags=re.MULTILINE):
        if leaf not in ("take", "---"):
            assert pages._address(leaf), leaf


def test_broken_links_and_foreign_resources_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="x"></p><a href="b.html#y">b</a><a href="#x">x</a><a href="https://e.org">e</a>'
    )
    (tmp_path / "b.html").write_text('<script src="https://cdn.example.org/x.js"></script><img src="no.png">')
    broken = {("a.html", "b.html#y"), ("b.html", "https://cdn.example.org/x.js"), ("b.html", "no.png")}
    assert set(check(tmp_path)) == broken


def test_the_pages_of_results_are_listed_with_their_commands(stage):
    text = (stage.folder / "results.md").read_text()
    for file in (ROOT / "docs" / "results").glob("*.md"):
        assert f"](results/{file.name})" in text and (stage.folder / "results" / file.name).exists()
    scripts = re.findall(r"`python ((?:benchmarks|reproduce)/\w+\.py)`", text)
    assert len(scripts) > 8 and all((ROOT / script).exists() for script in scripts)
