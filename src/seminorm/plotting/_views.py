"""Kernels and their spectra as pictures see them: where there is something to see, and how finely to look."""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..kernels import Kernel, SpectralMixture
from ..operators.circle import fourier_coefficients
from ..operators.kernel_operators import profile_of
from ..operators.spectra import is_radial, operator_of, spectrum

LEAST_POINTS = 400
_MOST_POINTS = 1500
_THIRD_OCTAVES = 2.0 ** np.arange(-40.0, 40.0, 1.0 / 3.0)
_NEAR_THIRD_OCTAVES = _THIRD_OCTAVES[np.abs(np.log2(_THIRD_OCTAVES)) < 16]
_ONE_OCTAVE = 2.0 ** np.arange(0.0, 1.0, 1.0 / 16.0)
_MOST_OCTAVES = 100
_SEEN_DISTANCE, _SEEN_FREQUENCY = 0.05, 0.01  # of the largest value
_MARGIN = 1.3
_HARMONICS, _MOST_STEMS = 512, 64


class LineView:
    """A kernel of R^d, its spectrum, and the ranges in which they can be seen."""

    on_circle = False

    def __init__(self, kernel: Kernel, dimension: int):
        self.radial = is_radial(kernel, dimension)
        self._spectrum = operator_of(kernel, dimension).spectrum if self.radial else self._along_first_axis
        self.kernel, self.dimension = kernel.for_dimension(dimension), dimension
        self.profile: Callable = profile_of(self.kernel, dimension)
        self.singular = self.kernel.cpd_order > 0 or not np.isfinite(self.filter(np.zeros(1))[0])

    def filter(self, omega: np.ndarray) -> np.ndarray:
        """The spectrum."""
        return self._spectrum(np.abs(omega))

    def _along_first_axis(self, omega: np.ndarray) -> np.ndarray:
        vectors = np.zeros((len(omega), self.dimension))
        vectors[:, 0] = omega
        return spectrum(self.kernel, vectors, self.dimension)

    @cached_property
    def reach(self) -> float:
        """Distance up to which there is something to see; for kernels that grow, a few of their typical lengths."""
        if self.kernel.cpd_order > 0:
            return 3.0 * self._length
        height = float(self.profile(np.zeros(1))[0])
        return _MARGIN * _last_seen(lambda r: np.abs(self.profile(r)) > _SEEN_DISTANCE * height)

    def band(self, level: float) -> tuple[float, float]:
        """The lowest and the highest frequency at which there is something to see."""
        if self.singular:
            return 0.01 / self._length, 10.0 / self._length
        probes, values = self._probed
        first_unseen = np.flatnonzero(values > level * values.max())[-1] + 1
        return 0.0, float(probes[min(first_unseen, len(probes) - 1)])

    def distances(self) -> np.ndarray:
        """Distances to draw the kernel at."""
        return np.linspace(0.0, self.reach, self.resolution)

    def frequencies(self) -> np.ndarray:
        """Frequencies to draw the spectrum at."""
        low, high = self.band(_SEEN_FREQUENCY)
        if self.singular:
            return np.geomspace(low, high, 241)
        peaks = _shells(self.kernel)
        return np.union1d(np.linspace(0.0, high, self.resolution), peaks[peaks < high])

    @property
    def resolution(self) -> int:
        """Points that show every wave of the kernel or of its spectrum."""
        waves = self.reach * self.band(_SEEN_FREQUENCY)[1] / (2.0 * math.pi)
        return int(np.clip(24 * waves, LEAST_POINTS, _MOST_POINTS)) + 1

    @cached_property
    def _length(self) -> float:
        """The inverse of the frequency at which a singular spectrum leaves its power near 0; 1 if it never does."""
        probes, values = self._probed
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.diff(np.log(values)) / np.diff(np.log(probes))
        left = np.flatnonzero(~(np.abs(slopes - slopes[0]) < 0.5))
        return float(1.0 / probes[left[0]]) if len(left) else 1.0

    @cached_property
    def _probed(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies and the spectrum there: no peak is much narrower than 1 / reach."""
        if self.kernel.cpd_order > 0:
            return _THIRD_OCTAVES, self.filter(_THIRD_OCTAVES)
        even = np.arange(1.0, 151.0)
        probes = np.unique(np.concatenate([_NEAR_THIRD_OCTAVES / self.reach, even / self.reach, _shells(self.kernel)]))
        return probes, self.filter(probes)


class CircleView:
    """A kernel on the circle and its Fourier coefficients."""

    on_circle, singular, radial = True, False, True

    def __init__(self, kernel: Kernel, dimension: int):
        spectrum(kernel, np.zeros(1), dimension)  # refuses other dimensions
        period = kernel.period
        if period is None:
            raise ValueError(f"{kernel!r} is no kernel on the circle.")
        self.kernel, self.profile, self.period = kernel, profile_of(kernel, 1), period

    def filter(self, omega: np.ndarray) -> np.ndarray:
        """The coefficients of exp(i l t)."""
        return np.where(omega == 0, 1.0, 0.5) * spectrum(self.kernel, omega)

    def highest(self, level: float) -> int:
        """The last whole frequency at which there is something to see."""
        values = fourier_coefficients(self.kernel, _HARMONICS)
        return int(np.flatnonzero(values > level * values.max())[-1])

    def band(self, level: float) -> tuple[float, float]:
        """In angular frequencies."""
        return 0.0, _MARGIN * max(self.highest(level), 1) * self.spacing

    def frequencies(self) -> np.ndarray:
        """Whole frequencies to draw the coefficients at."""
        return np.arange(min(self.highest(1e-3) + 3, _MOST_STEMS))

    def distances(self) -> np.ndarray:
        """Differences to draw the kernel at."""
        half = 0.5 * self.period
        return np.linspace(-half, half, int(np.clip(48 * self.highest(1e-3), LEAST_POINTS, _MOST_POINTS)) + 1)

    @property
    def spacing(self) -> float:
        """Of the angular frequencies."""
        return 2.0 * math.pi / self.period


def view_of(kernel: Kernel, dimension: int) -> LineView | CircleView:
    """The view of a kernel, by where it lives."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel of seminorm such as Gaussian(), got {kernel!r}.")
    return LineView(kernel, dimension) if kernel.period is None else CircleView(kernel, dimension)


def _last_seen(seen: Callable) -> float:
    """The largest visible distance: by octaves outwards from 1 until three are empty, or inwards until one is not."""
    last, empty = 0.0, 0
    for k in range(_MOST_OCTAVES):
        octave = 2.0**k * _ONE_OCTAVE
        visible = octave[seen(octave)]
        last, empty = (float(visible[-1]), 0) if len(visible) else (last, empty + 1)
        if empty == 3:
            break
    for k in range(1, _MOST_OCTAVES if last == 0 else 0):
        octave = 2.0**-k * _ONE_OCTAVE
        visible = octave[seen(octave)]
        if len(visible):
            return float(visible[-1])
    return last or 1.0


def _shells(kernel: Kernel) -> np.ndarray:
    """Frequencies around narrow peaks that equal steps would miss."""
    parts = [part for part in (kernel, *kernel.get_params().values()) if isinstance(part, SpectralMixture)]
    peaks = [np.asarray(part.frequencies) + np.outer(np.linspace(-3.0, 3.0, 13), part.widths) for part in parts]
    return np.abs(np.concatenate([peak.ravel() for peak in peaks])) if peaks else np.empty(0)
