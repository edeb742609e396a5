"""What distances of images share: patterns with a shape."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array

from .base import Distance


class ImageDistance(Distance):
    """A distance of images of one ``shape`` (height, width)."""

    def patterns(self, X, name: str = "X") -> np.ndarray:
        X = check_array(X, dtype=np.float64, allow_nd=True, input_name=name)
        shape = self.shape
        if shape is None:
            if X.ndim != 3:
                raise ValueError(
                    f"{name} has flat rows of {X.shape[1]} numbers, and the shape of the images is not known: give "
                    f"shape=(height, width) to {type(self).__name__}, or images as (n, height, width)."
                )
            raise ValueError(
                f"shape is missing: the images in {name} are of shape {X.shape[1:]}, give shape={X.shape[1:]} to "
                f"{type(self).__name__}."
            )
        if len(shape) != 2 or any(not isinstance(side, (int, np.integer)) or side < 1 for side in shape):
            raise ValueError(f"shape must be (height, width) in pixels, got {shape!r}.")
        if X.shape[1:] not in (tuple(shape), (shape[0] * shape[1],)):
            raise ValueError(f"{name} must hold images of shape {tuple(shape)}, flat or not, got shape {X.shape}.")
        return X.reshape(len(X), -1)
