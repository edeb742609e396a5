"""Optional dependencies: imported when they are needed, with an error that says how to install them."""

import importlib
from types import ModuleType

_PURPOSES = {
    "plot": "plotting",
    "surface": "exchanging meshes with trimesh",
    "las": "reading LAS and LAZ files",
    "e57": "reading E57 files",
    "viewers": "showing meshes in another program",
    "grid": "labelled grids",
    "distributed": "distributed computation",
    "numba": "compiling a Python function",
}


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message names the pip command.

    See Also
    --------
    NotEnoughMemoryError
    """


def require(module: str, extra: str) -> ModuleType:
    """Import and return a module that ``pip install 'seminorm[extra]'`` installs, for instance "matplotlib.pyplot"."""
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)  # first: a submodule that is loaded already would be found without it
        return importlib.import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == package
        state = "is not installed" if missing else f"cannot be imported ({error})"
        raise MissingExtraError(
            f"{_PURPOSES.get(extra, extra)} needs {package}, which {state}: pip install 'seminorm[{extra}]'",
            name=package,
        ) from error
