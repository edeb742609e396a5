"""Pictures of alignments: one line for each pair that is drawn, between the right samples."""

import numpy as np
import pytest

from seminorm.invariance import DTW, ERP
from seminorm.plotting import plot_alignment

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402


@pytest.mark.parametrize("distance", [None, DTW(window=5), ERP()])
def test_lines_join_matched_samples(distance, rng):
    x, y = rng.standard_normal((30, 2)), rng.standard_normal((27, 2))
    ax = plot_alignment(x, y, distance, Figure().subplots(), channel=1)
    *lines, above, below = ax.lines
    offset = above.get_ydata()[0] - x[0, 1]
    assert offset > y[:, 1].max() - x[:, 1].min()
    path = (distance or DTW()).path(x, y)
    drawn = np.array([line.get_xdata() for line in lines], dtype=int)
    np.testing.assert_array_equal(drawn, path)
    for line, (i, j) in zip(lines, path, strict=True):
        np.testing.assert_allclose(line.get_ydata(), [x[i, 1] + offset, y[j, 1]])
    np.testing.assert_allclose(below.get_ydata(), y[:, 1])
    with pytest.raises(ValueError, match="channel must be one of 0 to 1, got 2"):
        plot_alignment(x, y, channel=2)
