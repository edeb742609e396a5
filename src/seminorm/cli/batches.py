"""``--each``: the same work for each of several files."""

import argparse
import sys
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from .reporting import reason_of, shown_warnings, tell_failure

_NAME = "{name}"


def add_each(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --each: ``what`` is made of each file."""
    each_help = f"{what} per file: {_NAME} in -o stands for the file's name without its ending, or -o is a folder"
    parser.add_argument("--each", action="store_true", help=each_help)


def jobs_of(arguments: argparse.Namespace, outputs: Sequence[str] = ("output",)) -> list[argparse.Namespace]:
    """The arguments of each file with ``--each``, else the arguments as they are. ``outputs`` name files to write."""
    if not arguments.each:
        _check_plain(arguments)
        return [arguments]
    jobs = [_job(arguments, number, path, outputs) for number, path in enumerate(arguments.inputs)]
    _check_clashes(jobs, outputs)
    return jobs


def run_jobs(jobs: Sequence[argparse.Namespace], work: Callable[[argparse.Namespace], Any]) -> tuple[list[Any], int]:
    """What ``work`` returns for each file, or a dict with the error, and the exit status; one failure stops no other.

    A single command without ``--each`` raises its errors.
    """
    if not jobs[0].each:
        with shown_warnings():
            return [work(jobs[0])], 0
    results: list[Any] = []
    failed: list[str] = []
    for job in jobs:
        name = str(job.inputs[0])
        try:
            with shown_warnings(name):
                results.append(work(job))
        except Exception as error:  # the other files may be better
            if job.traceback:
                raise
            tell_failure(job.verb, error, name)
            results.append({"inputs": [name], "error": reason_of(error)})
            failed.append(name)
    return results, _summary(jobs[0], len(jobs), failed)


def _summary(job: argparse.Namespace, n: int, failed: list[str]) -> int:
    if failed:
        print(f"seminorm {job.verb}: {len(failed)} of {n} files failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if not job.quiet:
        print(f"all {n} files are done")
    return 0


def _check_plain(arguments: argparse.Namespace) -> None:
    """Without --each, outputs are files."""
    if _NAME in str(arguments.output):
        raise ValueError(f"{_NAME} in -o is for --each, one file per input: add --each, or name one file.")


def _job(arguments: argparse.Namespace, number: int, path: Path, outputs: Sequence[str]) -> argparse.Namespace:
    job = copy(arguments)
    job.inputs = [path]
    if getattr(arguments, "sensor", None) is not None and len(arguments.sensor) > 1:
        job.sensor = [arguments.sensor[number]]
    for name in outputs:
        if getattr(arguments, name) is not None:
            setattr(job, name, _output_of(arguments, name, path))
    return job


def _output_of(arguments: argparse.Namespace, name: str, path: Path) -> Path:
    given = getattr(arguments, name)
    if given.is_dir():
        suffix = arguments.target if name == "output" else None
        return given / f"{path.stem}{suffix or arguments.default_target}"
    if _NAME not in str(given):
        raise ValueError(
            f"--{name} {given} is one file, and --each writes several: give a folder that exists, or {_NAME} in it."
        )
    return Path(str(given).replace(_NAME, path.stem))


def _check_clashes(jobs: Sequence[argparse.Namespace], outputs: Sequence[str]) -> None:
    for name in outputs:
        written: dict[Path, Path] = {}
        for job in jobs:
            path = getattr(job, name)
            if path is not None:
                first = written.setdefault(path.resolve(), job.inputs[0])
                if first is not job.inputs[0]:
                    raise ValueError(
                        f"{first} and {job.inputs[0]} would both be written to {path}: rename one, or run them apart."
                    )
