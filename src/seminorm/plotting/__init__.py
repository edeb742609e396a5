"""Pictures: how alpha was chosen, functions of the line and of the plane, cells of a field, decision boundaries,
kernels and their spectra.

They need matplotlib: ``pip install 'seminorm[plot]'``. Every function draws into the ``ax`` it is given, or into a new
figure, and returns the axes.
"""

from .boundaries import plot_decision
from .fields import plot_field, plot_levels
from .kernels import plot_kernels
from .line import plot_band, plot_samples
from .paths import plot_alpha_path
from .spectra import plot_filters, plot_impulse, plot_regressions, plot_spectrum

__all__ = [
    "plot_alpha_path",
    "plot_band",
    "plot_decision",
    "plot_field",
    "plot_filters",
    "plot_impulse",
    "plot_kernels",
    "plot_levels",
    "plot_regressions",
    "plot_samples",
    "plot_spectrum",
]
