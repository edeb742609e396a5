"""Saving to one npz file that is safe to load: arrays and a JSON description, no pickle.

The description names public classes through their registries, ``{"kernel": "Gaussian", "parameters": ...}``, so files
do not depend on where the code of a class stands. It carries the number of the format and the version that wrote it.
"""

import importlib
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .patterns import PatternTable
from .registry import Registry
from .saving_format1 import upgraded
from .version import __version__

FORMAT = 2
_PACKAGE = __package__.partition(".")[0]
_DESCRIPTION = "description"
# kinds of objects that files may hold, and where their registries are; imported when a file holds such objects
_REGISTRIES = {
    "kernel": "kernels.registry:all_kernels",
    "vector kernel": "kernels.registry:all_vector_kernels",
    "null space": "nullspace.registry:all_null_spaces",
    "vector null space": "nullspace.registry:all_vector_null_spaces",
    "twin": "nullspace.registry:all_twins",
    "operator": "operators.registry:all_operators",
    "operator kernel": "operators.registry:all_operator_kernels",
    "features": "operators.registry:all_features",
    "transformation": "invariance.transformations.registry:all_transformations",
    "curve": "invariance.transformations.registry:all_curves",
    "distance": "invariance.distances.registry:all_distances",
    "invariant kernel": "invariance.registry:all_invariant_kernels",
    "transformer": "invariance.registry:all_transformers",
    "estimator": "estimators.registry:all_estimators",
}


def save_npz(path, content: Mapping[str, Any]) -> Path:
    """Write nested dicts, lists, numbers, strings, arrays and objects of registered classes, whole or not at all."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    arrays: dict[str, np.ndarray] = {}
    described = {"format": FORMAT, "version": __version__, "content": _describe(dict(content), arrays)}
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **{_DESCRIPTION: np.array(json.dumps(described))}, **arrays)  # type: ignore[arg-type]
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


def load_npz(path, kind: str | None = None) -> dict[str, Any]:
    """Read what :func:`save_npz` wrote, of the type ``kind`` if one is given; no code of the file is run."""
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} was not written by {_PACKAGE}: it is not an npz file.")
    with np.load(path, allow_pickle=False) as file:
        if _DESCRIPTION not in file:
            raise ValueError(f"{path} was not written by {_PACKAGE}: it holds no description.")
        try:
            content = _build(_content(json.loads(str(file[_DESCRIPTION])), path), file)
        except (KeyError, TypeError, AttributeError, StopIteration) as error:
            raise ValueError(f"{path} cannot be read, it may be damaged or forged: {error!r}.") from error
    if kind is not None and content.get("type") != kind:
        raise ValueError(f"{path} holds {content.get('type', 'something else')}, not {kind}.")
    return content


def saved_type(path) -> str | None:
    """What a file of :func:`save_npz` says that it holds; nothing else of it is read."""
    with np.load(path, allow_pickle=False) as file:
        try:
            return _content(json.loads(str(file[_DESCRIPTION])), path)["dict"].get("type")
        except (KeyError, TypeError, AttributeError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} cannot be read, it may be damaged or forged: {error}.") from error


def _content(described: dict, path) -> dict:
    """The content of a description in the present format."""
    if "format" not in described:
        return upgraded(described, _kind_named)
    if described["format"] != FORMAT:
        raise ValueError(
            f"{path} has format {described['format']}, and was written by {_PACKAGE} {described.get('version')}. This "
            f"is {_PACKAGE} {__version__}, which reads formats 1 and {FORMAT}: install {_PACKAGE} "
            f"{described.get('version')} or newer to read it."
        )
    return described["content"]


def _describe(value, arrays: dict[str, np.ndarray]):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUS":
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).str}
    if sparse.issparse(value):
        value = sparse.csr_array(value)
        return {"sparse": _described((value.data, value.indices, value.indptr, np.array(value.shape)), arrays)}
    if isinstance(value, PatternTable):
        return {"patterns": _describe(value.packed(), arrays)}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: _described(value, arrays)}
    if isinstance(value, dict):
        return {"dict": {key: _describe(item, arrays) for key, item in value.items()}}
    kind = _kind_of(type(value))
    if kind is None:
        raise ValueError(
            f"{value!r} cannot be saved without pickle (Python functions and foreign objects cannot): use pickle, or "
            f"kernels, null spaces, transformations and distances of {_PACKAGE} without functions of your own. "
            "Register classes of your own to save their objects."
        )
    state = getattr(value, "_state", ())
    fitted = {key: item for key, item in vars(value).items() if key.endswith("_") or key in state}
    return {
        kind: type(value).__name__,
        "parameters": _describe(value.get_params(deep=False), arrays),
        "fitted": _describe(fitted, arrays),
    }


def _described(values, arrays: dict[str, np.ndarray]) -> list:
    return [_describe(value, arrays) for value in values]


def _build(value, arrays):
    if not isinstance(value, dict):
        return value
    kind, item = next(iter(value.items()))
    if kind == "array":
        return arrays[item]
    if kind == "dtype":
        return np.dtype(item).type
    if kind == "sparse":
        *parts, shape = (_build(part, arrays) for part in item)
        return sparse.csr_array(tuple(parts), shape=tuple(shape))
    if kind == "patterns":
        return PatternTable.unpacked(_build(item, arrays))
    if kind in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[kind](_build(part, arrays) for part in item)
    if kind == "dict":
        return {key: _build(part, arrays) for key, part in item.items()}
    built = _registered(kind, item)(**_build(value["parameters"], arrays))
    for key, part in _build(value["fitted"], arrays).items():
        setattr(built, key, part)
    return built


def _registered(kind: str, name: str) -> type:
    """The class of a kind with that name."""
    if kind not in _REGISTRIES:
        raise ValueError(
            f"the file holds a {kind!r}, and this version of {_PACKAGE} has no such kind: it may be damaged."
        )
    registry = _registry(kind)
    if name not in registry:
        raise ValueError(
            f"the file names the {kind} {name}, which this version of {_PACKAGE} does not have. If it is one of "
            "your own, import the module that registers it first."
        )
    return registry[name]


def _registry(kind: str) -> Registry:
    module, _, name = _REGISTRIES[kind].partition(":")
    return getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)


def _kind_of(cls: type) -> str | None:
    """The kind under whose registry a class stands; None if it is not registered."""
    for kind, place in _REGISTRIES.items():
        module = f"{_PACKAGE}.{place.partition(':')[0]}"
        room = ".".join(module.split(".")[:2])
        # a class of the user can only be in a registry that is loaded
        if (cls.__module__.startswith(f"{room}.") or module in sys.modules) and _is_in(_registry(kind), cls):
            return kind
    return None


def _kind_named(name: str) -> str:
    """The kind under whose registry the name stands."""
    for kind in _REGISTRIES:
        if name in _registry(kind):
            return kind
    raise ValueError(
        f"the file names {name}, which this version of {_PACKAGE} does not have: it may be damaged or forged."
    )


def _is_in(registry: Registry, cls: type) -> bool:
    return cls.__name__ in registry and registry[cls.__name__] is cls
