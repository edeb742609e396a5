"""Saved files: everything the library makes, files of earlier formats, and files that are not what they seem."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import case_id
from sklearn.base import BaseEstimator

import seminorm
from seminorm import SVC, Expansion, Field, Surface
from seminorm._base import saving
from seminorm._base.saving import load_npz, save_npz
from seminorm.functions import Functional
from seminorm.kernels import Gaussian, Kernel, Polyharmonic, Radial, all_kernels
from seminorm.nullspace import Features, Polynomials

OLD = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def expected():
    return np.load(OLD / "format1_expected.npz")


def describe(path) -> dict:
    return json.loads(str(np.load(path)["description"]))


def rewritten(path, target, change):
    """A file whose description is another one."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["description"] = np.array(json.dumps(change(json.loads(str(arrays["description"])))))
    np.savez(target, **arrays)
    return target


@pytest.mark.parametrize("kind", ["machine", "function", "field", "surface"])
def test_files_of_format_1_load(kind, expected, tmp_path):
    read = {"machine": SVC.load, "function": Expansion.load, "field": Field.load, "surface": Surface.load}[kind]
    points = expected["points3" if kind == "surface" else "points"]

    def values(thing):
        return thing.decision_function(points) if kind == "machine" else thing(points)

    old = read(OLD / f"format1_{kind}.npz")
    np.testing.assert_allclose(values(old), expected[kind], rtol=1e-9, atol=1e-12)
    new = read(old.save(tmp_path / "new.npz"))
    np.testing.assert_array_equal(values(new), values(old))
    assert describe(tmp_path / "new.npz")["format"] == 2


def test_files_name_public_classes_and_their_version(tmp_path):
    path = save_npz(tmp_path / "a.npz", {"type": "test", "kernel": Gaussian(0.5)})
    described = describe(path)
    assert (described["format"], described["version"]) == (2, seminorm.__version__)
    kernel = described["content"]["dict"]["kernel"]
    assert kernel == {"kernel": "Gaussian", "parameters": {"dict": {"scale": 0.5}}, "fitted": {"dict": {}}}
    assert load_npz(path)["kernel"] == Gaussian(0.5)


def examples():
    return [(kind, example) for kind in saving._REGISTRIES for example in saving._registry(kind)()]


@pytest.mark.parametrize(("kind", "example"), examples(), ids=lambda value: case_id(value)[:80])
def test_everything_that_is_registered_can_be_saved(kind, example, tmp_path):
    try:
        path = save_npz(tmp_path / "a.npz", {"it": example})
    except ValueError as error:  # only functions written in Python cannot be
        assert "cannot be saved without pickle" in str(error)
        assert "<function" in repr(example) or "<lambda" in repr(example) or "object at" in repr(example)
        return
    again = load_npz(path)["it"]
    assert type(again) is type(example)
    if isinstance(example, Kernel):
        X = np.random.default_rng(0).uniform(0.1, 0.9, (7, 2))
        try:
            matrix = example(X)
        except ValueError:  # made for another number of columns
            return
        np.testing.assert_array_equal(again(X), matrix)
    else:
        assert repr(again) == repr(example)


def test_an_unknown_format_says_which_version_is_needed(tmp_path):
    path = save_npz(tmp_path / "a.npz", {"type": "test"})
    later = rewritten(path, tmp_path / "b.npz", lambda described: {**described, "format": 7, "version": "3.1"})
    with pytest.raises(ValueError, match=r"has format 7.*written by seminorm 3\.1.*install seminorm 3\.1 or newer"):
        load_npz(later)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ({"kernel": "Nonsense", "parameters": {"dict": {}}, "fitted": {"dict": {}}}, "names the kernel Nonsense"),
        ({"os": "system", "parameters": {"dict": {}}, "fitted": {"dict": {}}}, "no such kind"),
    ],
)
def test_forged_names_are_refused(kernel, message, tmp_path):
    path = save_npz(tmp_path / "a.npz", {"type": "test", "kernel": Gaussian()})

    def change(described):
        described["content"]["dict"]["kernel"] = kernel
        return described

    with pytest.raises(ValueError, match=message):
        load_npz(rewritten(path, tmp_path / "b.npz", change))


def test_another_type_of_file_is_named(tmp_path):
    path = save_npz(tmp_path / "a.npz", {"type": "Field"})
    with pytest.raises(ValueError, match="holds Field, not Surface"):
        load_npz(path, "Surface")


class _Foreign(BaseEstimator):
    pass


class Bump(Radial):
    """A kernel of a user."""

    cpd_order = 0

    def __init__(self, width=1.0):
        self.width = width

    def _h(self, s, k):
        return (-0.5 / self.width**2) ** k * np.exp(-0.5 * s / self.width**2)


def test_foreign_objects_are_refused_and_nothing_is_written(tmp_path):
    for foreign in (_Foreign(), Features(lambda X: X), Bump()):
        with pytest.raises(ValueError, match="cannot be saved without pickle"):
            save_npz(tmp_path / "a.npz", {"it": foreign})
    assert list(tmp_path.iterdir()) == []


def test_registered_classes_of_the_user_can_be_saved(tmp_path):
    all_kernels.register(Bump, lambda: [Bump(0.5)])
    try:
        X = np.random.default_rng(0).standard_normal((8, 2))
        space = Polynomials(0).fit(X)
        function = Expansion(Bump(0.3), [Functional(X)], np.arange(8.0), space, np.ones(1))
        path = function.save(tmp_path / "a.npz")
        np.testing.assert_array_equal(Expansion.load(path)(X), function(X))
        assert any(isinstance(kernel, Bump) for kernel in all_kernels())
    finally:
        all_kernels.unregister("Bump")
    with pytest.raises(ValueError, match="import the module that registers it"):
        Expansion.load(path)


def test_kernels_of_operators_survive(tmp_path):
    from seminorm.operators import derivatives

    operator = derivatives(2) + 3.0 * derivatives(1)
    kernel = operator.kernel(2)
    assert isinstance(kernel, Kernel)
    X = np.random.default_rng(0).standard_normal((9, 2))
    again = load_npz(save_npz(tmp_path / "a.npz", {"kernel": kernel}))["kernel"]
    np.testing.assert_array_equal(again(X), kernel(X))
    assert again.cpd_order == kernel.cpd_order
    assert load_npz(save_npz(tmp_path / "b.npz", {"it": Polyharmonic(3)}))["it"] == Polyharmonic(3)
