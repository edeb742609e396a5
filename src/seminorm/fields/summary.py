"""What is known of observations after they were read once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions.functionals import ObservedFunctionals
from .functional_rows import of_constant
from .sources import Observations, Source, joined, outputs_of, require_outputs, scrambled, take, weights_of

_ROUNDING = 1e-14


class Summary:
    """Extent ``low`` to ``high``, mean, sum of squares and a sample of observations with weight, number of all; an
    accumulator. ``outputs`` is the axis of several outputs (k,), which have a mean and a sum of squares each, or ().
    """

    def __init__(self, sample_size: int):
        self.low: np.ndarray | None = None
        self.high: np.ndarray | None = None
        self.n_points = 0
        self.functionals: ObservedFunctionals | None = None
        self.outputs: tuple[int, ...] | None = None
        self._weight_sum, self._value_sum, self.square_sum = 0.0, np.zeros(()), np.zeros(())
        self._kept: list[tuple[np.ndarray, Observations]] = []
        self._size, self._threshold = sample_size, np.uint64(2**64 - 1)

    def add(self, chunk: Observations, first: int) -> None:
        self._take_outputs(chunk)
        self.n_points += len(chunk.X)
        weight, slope_weight = weights_of(chunk)
        used = (weight > 0) | (slope_weight > 0).any(axis=1)
        if not used.any():
            return
        X = chunk.X if used.all() else chunk.X[used]
        self._extend(X.min(axis=0), X.max(axis=0))
        if chunk.y is not None:
            self._weight_sum += float(weight.sum())
            values = np.where(weight > 0, chunk.y.T, 0.0)
            with np.errstate(over="ignore"):
                self._value_sum = self._value_sum + (weight * values).sum(axis=-1)
                self.square_sum = self.square_sum + (weight * values**2).sum(axis=-1)
        draw = scrambled(np.arange(first, first + len(chunk.X), dtype=np.uint64))
        chosen = used & (draw <= self._threshold)
        self._kept.append((draw[chosen], take(chunk, chosen)))
        self._thin()

    def _take_outputs(self, chunk: Observations) -> None:
        if self.outputs is None:
            self.outputs = outputs_of(chunk)
        require_outputs(chunk, self.outputs)

    def merge(self, other: Summary) -> None:
        for _, chunk in other._kept[:1]:
            self._take_outputs(chunk)
        if other.low is not None and other.high is not None:
            self._extend(other.low, other.high)
        for name in ("n_points", "_weight_sum", "_value_sum", "square_sum"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._threshold = min(self._threshold, other._threshold)
        self._kept += other._kept
        self._thin()

    def add_functionals(self, observed: ObservedFunctionals) -> None:
        """Add functionals, after all chunks: to the extent, and to the mean, which is the constant nearest to all."""
        if self.low is not None and len(self.low) != observed.functional.dimension:
            d = observed.functional.dimension
            raise ValueError(f"functionals: points must have {len(self.low)} coordinates as X has, got {d}.")
        if self.outputs is None:
            self.outputs = observed.targets.shape[1:] if observed.targets.shape[1] > 1 else ()
        wanted = self.outputs[0] if self.outputs else 1
        if observed.targets.shape[1] != wanted:
            raise ValueError(
                f"functionals: targets must have {wanted} columns, one for each output of y, got "
                f"{observed.targets.shape[1]}."
            )
        self.functionals = observed
        self.n_points += observed.functional.size
        points, ones = observed.functional.points, of_constant(observed.functional)
        self._extend(points.min(axis=0), points.max(axis=0))
        self._weight_sum += float((observed.weights * ones**2).sum())
        moments = (observed.weights * ones * observed.targets.T).sum(axis=1)
        self._value_sum = self._value_sum + (moments if self.outputs else moments[0])

    @property
    def bounds(self) -> np.ndarray:
        """Extent of the points with weight (2, d)."""
        return np.array([self.low, self.high])

    @property
    def mean(self) -> Any:
        """Weighted mean of the values, 0 without values: a number, or (k,)."""
        if self._weight_sum > 0:
            return self._value_sum / self._weight_sum
        return np.zeros(self.outputs or ())[()]

    @property
    def units(self) -> np.ndarray:
        """What makes several outputs comparable (k,): the deviations of their values, or sizes of their gradients or
        functionals; 1 for what does not vary.
        """
        sample = self.sample(self.n_sample) if self.n_sample else None
        if sample is not None and sample.y is not None:
            units = sample.y[weights_of(sample)[0] > 0].std(axis=0)
        elif sample is not None and sample.gradients is not None:
            units = np.sqrt(np.nanmean(sample.gradients**2, axis=(0, 2)))
        else:
            assert self.functionals is not None
            units = self.functionals.targets.std(axis=0)
        return np.where(units > _ROUNDING * np.abs(self.mean), units, 1.0)

    @property
    def n_functionals(self) -> int:
        """Number of functionals."""
        return 0 if self.functionals is None else self.functionals.functional.size

    @property
    def n_known(self) -> int:
        """Number of points in the sample and of functionals: 0 if nothing has weight."""
        return self.n_sample + self.n_functionals

    @property
    def n_sample(self) -> int:
        """Number of points in the sample."""
        return sum(len(draw) for draw, _ in self._kept)

    def sample(self, number: int) -> Observations:
        """Some of the points in pseudo-random order, whatever the chunks were: the first ``number`` of the sample."""
        if not hasattr(self, "_sample"):
            order = np.argsort(np.concatenate([draw for draw, _ in self._kept]), kind="stable")
            self._sample = take(joined([part for _, part in self._kept]), order)
        return take(self._sample, slice(0, number))

    def source(self, number: int) -> Source:
        """The sample, its first ``number`` points, and all functionals."""
        sample = self.sample(number)
        return Source(lambda: [sample], self.functionals)

    def split(self, share: float) -> tuple[Source, Source]:
        """The sample and the functionals in two parts, for training and for testing, of the given share."""
        training, test = [], []
        if self.n_sample:
            sample = self.sample(self.n_sample)
            held = max(1, int(share * self.n_sample))
            training.append(take(sample, slice(held, None)))
            test.append(take(sample, slice(0, held)))
        parts: list[ObservedFunctionals | None] = [None, None]
        if self.functionals is not None:
            functional, targets, weights = self.functionals
            held = int(share * functional.size)
            if not held and not test:
                raise ValueError(
                    f'criterion="holdout" needs at least {int(np.ceil(1 / share))} functionals, got '
                    f"{functional.size}: give alpha a number."
                )
            order = np.argsort(scrambled(np.arange(functional.size)), kind="stable")
            for k, rows in enumerate((order[held:], order[:held])):
                if len(rows):
                    parts[k] = ObservedFunctionals(functional[rows], targets[rows], weights[rows])
        return Source(lambda: training, parts[0]), Source(lambda: test, parts[1])

    def _extend(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low = np.array(low if self.low is None else np.minimum(self.low, low))
        self.high = np.array(high if self.high is None else np.maximum(self.high, high))

    def _thin(self) -> None:
        while self.n_sample > self._size:
            self._threshold //= np.uint64(2)
            below = ((draw <= self._threshold, draw, part) for draw, part in self._kept)
            self._kept = [(draw[kept], take(part, kept)) for kept, draw, part in below]
