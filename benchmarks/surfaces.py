"""Surfaces from oriented points against Open3D's Poisson reconstruction at depth 9, on a fixed set of cases.

The cases, the samples, the measures and the peer are those of a separate harness, surfbench.py, which runs each program
as a process of its own: distances are two-sided means in 1e-4 of the bounding-box diagonal, seconds are of whole
processes, memory is the largest resident size. Ours runs with its defaults, the same for all cases; ``--fast`` adds a
second run with one level less and order 2, ``--orders`` runs with order 2 and with order 3.

    python benchmarks/surfaces.py [--cases bunny ...] [--python PYTHON_WITH_OPEN3D] [--harness surfbench.py] [--fast]
                                  [--orders]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from _datasets import harness, has_package, without_peer

# largest error asked for, and largest memory in MB
BARS = {
    "bunny": (0.85, 1000),
    "bunny-n025": (5.0, 1000),
    "bunny-n050": (8.5, 1000),
    "bunny-holes": (7.8, 1000),
    "bunny-sparse": (5.6, 1000),
    "bunny-sparse-n": (13.8, 1000),
    "fandisk": (0.5, 1000),
    "armadillo": (0.58, 1000),
    "dragon": (0.30, 1000),
    "lucy": (0.38, 1500),
}
OPTIONS = {"ours": "", "fast": "--fast", "order2": "--order 2", "order3": "--order 3"}
PEER = "open3d:9"
# largest time as a share of the peer's
SLOWER = dict.fromkeys(BARS, 0.7) | {"bunny-sparse": 1.0, "bunny-sparse-n": 1.0, "armadillo": 0.4, "dragon": 0.4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(BARS), choices=list(BARS), metavar="CASE")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with open3d, trimesh and scipy")
    parser.add_argument("--harness", type=Path, help="default: what SEMINORM_SURFBENCH names")
    parser.add_argument("--fast", action="store_true", help="also run ours with --fast")
    parser.add_argument("--orders", action="store_true", help="also run ours with --order 2 and --order 3")
    parser.add_argument("--json", type=Path, help="keep all measurements in this file")
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    program = harness(arguments.harness)
    for package in ("trimesh", *["open3d"] * (not arguments.no_peer)):
        if not has_package(package, arguments.python):
            print(without_peer(package, arguments.python))
            return
    command = shutil.which("seminorm", path=str(Path(sys.executable).parent)) or "seminorm"
    ours = ["ours", *["fast"] * arguments.fast, *["order2", "order3"] * arguments.orders]
    with tempfile.TemporaryDirectory() as folder:
        results = arguments.json or Path(folder) / "results.json"
        run = [arguments.python, str(program), "run", "--json", str(results), "--work", folder]
        for method, options in OPTIONS.items():
            run += ["--command", f"{method}={command} reconstruct {options} --quiet {{input}} -o {{output}}"]
        run += ["--methods", *ours, *([] if arguments.no_peer else [PEER]), "--cases", *arguments.cases]
        subprocess.run(run, check=True)
        rows = json.loads(results.read_text())["rows"]
    report({(row["case"], row["method"]): row for row in rows}, arguments.cases, ours)


def report(rows: dict, cases: list[str], ours: list[str]) -> None:
    print(f"\n{'case':>15} {'method':>6} {'error':>7} {'bar':>6} {'peer':>7} {'s':>6} {'of peer':>8} {'MB':>6}  shape")
    for case in cases:
        peer = rows.get((case, PEER))
        for method in ours:
            row = rows[case, method]
            error, (bar, memory) = row["chamfer"] * 1e4, BARS[case]
            other = peer["chamfer"] * 1e4 if peer else float("nan")
            ratio = row["wall_s"] / peer["wall_s"] if peer else float("nan")
            shape = "closed" if row["watertight"] else "NOT CLOSED"
            missed = []
            if method == "ours":
                missed += ["error"] * (error > bar) + ["time"] * (ratio > SLOWER[case])
            if method == "fast" or (method == "ours" and "fast" not in ours):
                missed += ["error of peer"] * (error > other) + ["time of peer"] * (ratio > 1.0)
            missed += ["memory"] * (row["rss_mb"] > memory)
            missed += ["shape"] * (not row["watertight"] or row["components"] != 1)
            print(
                f"{case:>15} {method:>6} {error:7.2f} {bar:6.2f} {other:7.2f} {row['wall_s']:6.1f} {ratio:8.2f} "
                f"{row['rss_mb']:6.0f}  {shape}, {row['components']} component(s)"
                f"{'   MISSED: ' + ', '.join(missed) if missed else ''}"
            )


if __name__ == "__main__":
    main()
