"""Public data that benchmarks and reproduction scripts read, and where to get them.

The data are no part of the project. They are looked for in the folder that the environment variable SEMINORM_DATA
names, or else in ``data`` at the root of the project. A script that finds none says in one sentence what is missing
and where it can be had, and ends without an error.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_UCR = "the UCR archive of time series, https://www.timeseriesclassification.com"
_STANFORD = "the Stanford 3D Scanning Repository, http://graphics.stanford.edu/data/3Dscanrep/"
_MODELS = "https://github.com/alecjacobson/common-3d-test-models"
#: where the files come from: the first prefix that fits
SOURCES = {
    "ida/": "the IDA benchmark repository of G. Rätsch, https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets",
    "usps/": "the USPS digits, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html",
    "mnist/": "MNIST, https://www.openml.org/d/554",
    "ssl/": "the benchmark of the book Semi-Supervised Learning, http://olivier.chapelle.cc/ssl-book/benchmarks.html",
    "coil20/": "COIL-20, https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
    "newsgroups/": "20 Newsgroups, http://qwone.com/~jason/20Newsgroups/",
    "timeseries/ucr/": _UCR,
    "timeseries/": "the UCI repository, https://archive.ics.uci.edu",
    "spectra/ucr_": _UCR,
    "spectra/tecator": "StatLib, http://lib.stat.cmu.edu/datasets/tecator",
    "spectra/": "the data sets of Eigenvector Research, https://eigenvector.com/resources/data-sets/",
    "scattered/jacksboro": "the sample data of Matplotlib (jacksboro_fault_dem.npz), https://matplotlib.org",
    "scattered/autzen": "the sample data of PDAL (autzen), https://pdal.io",
    "scattered/": "the sample data of Verde, https://www.fatiando.org/verde",
    "4d/cat": "the data of Sumner and Popović 2004, https://people.csail.mit.edu/sumner/research/deftransfer/data.html",
    "4d/": "a short sequence of any depth camera",
    "surfaces/meshes/": f"{_STANFORD}, and {_MODELS}",
    "surfaces/vipss/": "https://github.com/adshhzy/VIPSS",
    "surfaces/points/ipsr": "https://github.com/houfei0801/ipsr",
    "surfaces/points/pgr": "https://github.com/jsnln/ParametricGaussRecon",
    "surfaces/points/gcno": "https://github.com/Xrvitd/GCNO",
    "surfaces/points/cgal": "the sample data of CGAL, https://www.cgal.org",
    "surfaces/points/laurana": "the sample data of MeshLab, https://www.meshlab.net",
    "surfaces/points/": _STANFORD,
}


def folder() -> Path:
    """The folder of the data, whether it exists or not."""
    return Path(os.environ.get("SEMINORM_DATA") or ROOT / "data")


def exists(file: str) -> bool:
    """Whether a file is there; its path is relative to the folder of the data."""
    return (folder() / file).is_file()


def missing(*files: str) -> str:
    """One sentence: which files are missing, and where they come from."""
    found = dict.fromkeys(next(s for prefix, s in SOURCES.items() if file.startswith(prefix)) for file in files)
    names = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    sources = (
        f"the public source is {next(iter(found))}" if len(found) == 1 else f"the public sources are {'; '.join(found)}"
    )
    return f"Skipped: {names} not found in {folder()} (set SEMINORM_DATA); {sources}."


def require(*files: str) -> None:
    """End the script with one sentence and without an error, unless at least one of the files is there."""
    if not any(map(exists, files)):
        print(missing(*files))
        sys.exit(0)


def arrays(file: str) -> dict[str, np.ndarray]:
    """The arrays of a file; ends the script, as :func:`require` does, if it is not there."""
    require(file)
    with np.load(folder() / file) as content:
        return dict(content)


def harness(path: Path | None) -> Path:
    """The program that measures meshes; ends the script with one sentence if it is not there."""
    path = path or Path(os.environ.get("SEMINORM_SURFBENCH") or ROOT / "data" / "surfbench.py")
    if not path.is_file():
        print(
            f"Skipped: the program that samples and measures meshes, {path}, is not here (name it by --harness or "
            f"SEMINORM_SURFBENCH); the public source of its meshes is {SOURCES['surfaces/meshes/']}."
        )
        sys.exit(0)
    return path


def has_package(name: str, python: str | None = None) -> bool:
    """Whether this interpreter, or another one, can import a package."""
    if python in (None, sys.executable):
        return importlib.util.find_spec(name) is not None
    words = [python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"]
    try:
        return subprocess.run(words, capture_output=True).returncode == 0
    except OSError:
        return False


def without_peer(name: str, python: str | None = None) -> str:
    """One sentence for a peer that is not installed."""
    return f"Skipped: {python or sys.executable} has no {name}; it is public, pip install {name}."
