"""Pictures: how alpha was chosen, functions of the line and of the plane, kernels.

They need matplotlib: ``pip install 'seminorm[plot]'``. Every function draws into the ``ax`` it is given, or into a new
figure, and returns the axes.
"""

from .fields import plot_field
from .kernels import plot_kernels
from .line import plot_band, plot_samples
from .paths import plot_alpha_path

__all__ = ["plot_alpha_path", "plot_band", "plot_field", "plot_kernels", "plot_samples"]
