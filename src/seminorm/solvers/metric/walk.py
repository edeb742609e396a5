"""The minimum of a function of log10(alpha): a walk downhill in decades, then in half decades."""

from collections.abc import Callable

LOWEST, HIGHEST = -7.0, 3.0
START = -2.0


def walk(score: Callable[[float], float], start: float | None = None) -> float:
    """The exponent at which the walk ends; with a start only half decades are tried. Ties keep the larger exponent."""
    known: dict[float, float] = {}

    def at(exponent: float) -> float:
        if not LOWEST <= exponent <= HIGHEST:
            return float("inf")
        if exponent not in known:
            known[exponent] = score(exponent)
        return known[exponent]

    here = START if start is None else start
    for step in (1.0, 0.5) if start is None else (0.5,):
        moved = True
        while moved:
            moved = False
            for there in (here + step, here - step):
                while at(there) < at(here):
                    here, there, moved = there, there + (there - here), True
    return here
