"""The compiled loops, which check their arguments when they are called; native/*/binding.cpp lists them."""

from typing import Any

def __getattr__(name: str) -> Any: ...
