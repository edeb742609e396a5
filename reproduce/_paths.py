"""The folders beside this one whose modules the scripts import: import this module before those of ``benchmarks`` and
``gallery``.
"""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(_ROOT), str(_ROOT / "benchmarks")]
