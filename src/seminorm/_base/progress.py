"""Progress of training, for those who ask for it by ``verbose``."""

from types import TracebackType
from typing import Self

from tqdm import tqdm


class Progress:
    """A bar that counts the alphas tried and shows the last one; silent unless wanted."""

    def __init__(self, wanted: bool, what: str):
        self._bar = tqdm(desc=what, unit=" alphas", disable=not wanted, leave=False)

    def step(self, alpha: float) -> None:
        """One more alpha was tried."""
        self._bar.update()
        self._bar.set_postfix_str(f"alpha={alpha:.2g}", refresh=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
