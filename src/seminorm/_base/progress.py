"""Progress of training, for those who ask for it by ``verbose``."""

from types import TracebackType
from typing import Self

from tqdm import tqdm


class Progress:
    """A bar that counts the alphas tried and shows the last one; silent unless wanted."""

    def __init__(self, wanted: bool, what: str):
        self._last = ""
        self._bar = tqdm(desc=what, unit=" alphas", disable=not wanted, leave=False)

    def step(self, alpha: float) -> None:
        """One more alpha was tried."""
        self._bar.update()
        self._last = f"alpha={alpha:.2g}"
        self._bar.set_postfix_str(self._last, refresh=False)

    def rows(self, done: int, total: int) -> None:
        """So many of the rows of one pass over many points were summed up."""
        self._bar.set_postfix_str(f"{self._last}, rows {100 * done // total} %".lstrip(", "), refresh=False)
        self._bar.update(0)

    def say(self, text: str) -> None:
        """A line above the bar."""
        if not self._bar.disable:
            self._bar.write(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
