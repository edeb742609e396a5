"""Saving kernels, null spaces, invariances and functions to one npz file that is safe to load: arrays and a JSON
description, no pickle.
"""

from __future__ import annotations

import importlib
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from scipy import sparse

_PACKAGE = __package__
_DESCRIPTION = "description"
_MODULES = ("kernels", "nullspace", "invariance")


def save_npz(path, content: dict) -> Path:
    """Write nested dicts, lists, numbers, strings, arrays, kernels, null spaces, transformations and distances; the
    file appears whole or not at all.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    arrays: dict[str, np.ndarray] = {}
    description = json.dumps(_describe(content, arrays))
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **{_DESCRIPTION: np.array(description)}, **arrays)
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file that takes the place of ``path`` when all is written, and vanishes when something fails."""
    temporary = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_npz(path) -> dict:
    """Read what :func:`save_npz` wrote."""
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} was not written by {_PACKAGE}: it is not an npz file.")
    with np.load(path, allow_pickle=False) as file:
        if _DESCRIPTION not in file:
            raise ValueError(f"{path} was not written by {_PACKAGE}: it holds no description.")
        return _build(json.loads(str(file[_DESCRIPTION])), file)


def _describe(value, arrays: dict):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUS":
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"kind": "array", "name": name}
    if sparse.issparse(value):
        value = sparse.csr_array(value)
        return {
            "kind": "sparse",
            "items": [
                _describe(item, arrays) for item in (value.data, value.indices, value.indptr, np.array(value.shape))
            ],
        }
    if isinstance(value, (list, tuple)):
        return {"kind": type(value).__name__, "items": [_describe(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: _describe(item, arrays) for key, item in value.items()}}
    module = type(value).__module__
    if _is_kind(type(value)) and module.split(".")[:2] in [[_PACKAGE, allowed] for allowed in _MODULES]:
        fitted = {key: item for key, item in vars(value).items() if key.endswith("_")}
        return {
            "kind": "object",
            "module": module.removeprefix(_PACKAGE + "."),
            "class": type(value).__name__,
            "parameters": _describe(value.get_params(deep=False), arrays),
            "fitted": _describe(fitted, arrays),
        }
    raise ValueError(
        f"{value!r} cannot be saved without pickle (Python functions and foreign objects cannot): use pickle, or "
        f"kernels, null spaces, transformations and distances of {_PACKAGE} without functions of your own."
    )


def _build(value, arrays):
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "array":
        return arrays[value["name"]]
    if kind == "sparse":
        *parts, shape = (_build(item, arrays) for item in value["items"])
        return sparse.csr_array(tuple(parts), shape=tuple(shape))
    if kind in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[kind](_build(item, arrays) for item in value["items"])
    if kind == "dict":
        return {key: _build(item, arrays) for key, item in value["items"].items()}
    built = _class(value["module"], value["class"])(**_build(value["parameters"], arrays))
    for key, item in _build(value["fitted"], arrays).items():
        setattr(built, key, item)
    return built


def _class(module: str, name: str) -> type:
    if module.split(".")[0] not in _MODULES or name.startswith("_"):
        raise ValueError(
            f"the file names {module}.{name}, which is not a kernel, null space, transformation or distance of "
            f"{_PACKAGE}: it may be damaged or forged."
        )
    found = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name, None)
    if not (isinstance(found, type) and _is_kind(found)):
        raise ValueError(f"the file names {module}.{name}, which this version of {_PACKAGE} does not have.")
    return found


def _is_kind(kind: type) -> bool:
    """Whether a class is one of scikit-learn's, which takes long to import: only when a file holds such objects."""
    from sklearn.base import BaseEstimator

    return issubclass(kind, BaseEstimator)
