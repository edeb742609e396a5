"""Functions of the line: fits with their uncertainty, and draws of a Gaussian process."""

import numpy as np

from ._style import BLUE, INK, Axes, axes_or_new, line_points


def plot_band(
    smoother, x, ax: Axes | None = None, y=None, deviations: float = 2.0, color: str = BLUE, label: str = "fit", X=None
) -> Axes:
    """A fit on the line with the band f(x) +- deviations * std(x) of its posterior.

    The band is about the function; new observations scatter more, by the noise.

    Parameters
    ----------
    smoother : Smoother or FieldSmoother
        Fitted to one output of one variable.
    x : array (m,) or (m, 1)
        Where to draw the function.
    ax : Axes, optional; a new figure if left out
    y, X : arrays (n,), and (n,) or (n, 1), optional
        Data, drawn as dots; X may be left out where the smoother keeps its points (a FieldSmoother keeps none).
    deviations : float
        Half the width of the band in standard deviations; 2 covers some 95 %.
    color, label : str
        Of the line.

    Returns
    -------
    Axes with the band, the line and the data

    See Also
    --------
    plot_samples

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.plotting import plot_band
    >>> x = np.linspace(0, 1, 30)
    >>> ax = plot_band(Smoother().fit(x[:, None], np.sin(9 * x)), np.linspace(-0.2, 1.2, 100), y=np.sin(9 * x))
    """
    x = np.sort(line_points(x))
    if y is not None and X is None:
        if not hasattr(smoother, "X_fit_"):
            raise ValueError(f"{type(smoother).__name__} does not keep its data: give X, the points of y.")
        X = smoother.X_fit_
    mean, std = smoother.predict(x[:, None], return_std=True)
    if mean.ndim != 1:
        raise ValueError(f"plot_band draws one output, and the smoother has {mean.shape[1]}: fit one column of y.")
    ax = axes_or_new(ax)
    low, high, name = mean - deviations * std, mean + deviations * std, f"± {deviations:g} standard deviations"
    ax.fill_between(x, low, high, color=color, alpha=0.22, linewidth=0, label=name)
    ax.plot(x, mean, color=color, label=label)
    if y is not None:
        ax.plot(line_points(X, "X"), line_points(y, "y"), "o", color=INK, markersize=3.5, label="data")
    ax.legend()
    return ax


def plot_samples(X, draws, ax: Axes | None = None, color: str = BLUE, label: str = "draws") -> Axes:
    """Functions of the line drawn from a posterior or a prior, one thin line each.

    Parameters
    ----------
    X, draws : arrays (n,) or (n, 1)
        And (n,) or (n, n_samples), as :meth:`seminorm.Smoother.sample` returns them.
    ax : Axes, optional; a new figure if left out
    color, label : str
        Of the lines; the label names them together.

    Returns
    -------
    Axes with one line per draw

    See Also
    --------
    plot_band

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.plotting import plot_samples
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> ax = plot_samples(X, Smoother().fit(X, np.sin(9 * X[:, 0])).sample(X, 5, random_state=0))
    """
    x = line_points(X, "X")
    draws = np.asarray(draws, dtype=float)
    draws = draws[:, None] if draws.ndim == 1 else draws
    if draws.ndim != 2 or len(draws) != len(x):
        raise ValueError(f"draws must have shape ({len(x)}, n_samples), one row per point of X, got {draws.shape}.")
    ax = axes_or_new(ax)
    order = np.argsort(x)
    lines = ax.plot(x[order], draws[order], color=color, linewidth=0.9, alpha=0.6)
    if lines:
        lines[0].set_label(label)
    return ax
