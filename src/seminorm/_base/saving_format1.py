"""Descriptions of format 1, which named classes by their modules, in the words of the present format."""

from collections.abc import Callable
from typing import Any

_CLASSES = {"Union": "UnionSpace"}
# parameters, fitted values and entries of files that have another name now, by class or type of file
_NAMES = {
    "Polyharmonic": {"m": "order"},
    "MinimumDistance": {"regularisation": "regularization", "n_jobs": "threads"},
    "DistanceKernel": {"regularisation": "regularization"},
    "JitteringKernel": {"regularisation": "regularization"},
    "LogPolar": {"centre": "center"},
    "KernelPerceptron": {"max_epochs": "max_iter", "n_epochs_": "n_iter_"},
    "BasisField": {"centres": "centers"},
}


def upgraded(described: dict[str, Any], kind_of: Callable[[str], str]) -> dict[str, Any]:
    """A whole description of format 1 as one of format 2; ``kind_of`` a class's present name is its registry's kind."""
    content = _value(described, kind_of)
    items = content["dict"]
    names = _NAMES.get(items.get("type"), {})
    content["dict"] = _renamed(items, names)
    for part in ("parameters", "fitted"):  # of estimators
        if part in items:
            items[part]["dict"] = _renamed(items[part]["dict"], names)
    parameters = items.get("parameters", {}).get("dict", {})
    if parameters.get("alpha") == "cv":
        parameters |= {"alpha": "auto", "criterion": "cv"}
    for functional in items.get("functionals", {}).get("list", []):
        functional["dict"]["derivative"] = functional["dict"].pop("order")
    return content


def _value(value: Any, kind_of: Callable[[str], str]) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "array":
        return {"array": value["name"]}
    if kind == "dict":
        return {"dict": {key: _value(item, kind_of) for key, item in value["items"].items()}}
    if kind != "object":
        return {kind: [_value(item, kind_of) for item in value["items"]]}
    name: str = value["class"]
    name = _CLASSES.get(name, name)
    names = _NAMES.get(name, {})
    parts = {}
    for part in ("parameters", "fitted"):
        parts[part] = {"dict": _renamed(_value(value[part], kind_of)["dict"], names)}
    return {kind_of(name): name, **parts}


def _renamed(items: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): item for name, item in items.items()}
