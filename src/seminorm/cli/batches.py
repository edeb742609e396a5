"""``--each``: the same work for each of several files."""

import argparse
import sys
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from .paths import check_order
from .reporting import reason_of, shown_warnings, tell_failure

_NAME = "{name}"


def add_each(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --each: ``what`` is made of each file."""
    each_help = f"{what} per file: -o is a folder, or has {_NAME} in place of the file's name without its ending"
    parser.add_argument("--each", action="store_true", help=each_help)


def jobs_of(arguments: argparse.Namespace, outputs: Sequence[str] = ("output",)) -> list[argparse.Namespace]:
    """The arguments of each file with ``--each``, else the arguments as they are. ``outputs`` name files to write."""
    if not arguments.each:
        _check_plain(arguments, outputs)
        return [arguments]
    _check_once(arguments.inputs)
    jobs = [_job(arguments, number, path, outputs) for number, path in enumerate(arguments.inputs)]
    _check_clashes(jobs, outputs)
    return jobs


def check_list(path: Path, option: str) -> None:
    """Raise an error if a file that tells of all files is to be one per file."""
    if _NAME in str(path):
        raise ValueError(f"{option} {path}: one list tells of all files, so leave {_NAME} out.")


def run_jobs(jobs: Sequence[argparse.Namespace], work: Callable[[argparse.Namespace], Any]) -> tuple[list[Any], int]:
    """What ``work`` returns for each file, or a dict with the error, and the exit status; one failure stops no other.

    A single command without ``--each`` raises its errors.
    """
    if not jobs[0].each:
        check_order(jobs[0].inputs, jobs[0].output)
        with shown_warnings():
            return [work(jobs[0])], 0
    results: list[Any] = []
    failed: list[str] = []
    for job in jobs:
        name = str(job.inputs[0])
        try:
            with shown_warnings(name):
                results.append(work(job))
        except BrokenPipeError:  # nobody reads on
            raise
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
    if not job.quiet and n > 1:
        print(f"all {n} files are done")
    return 0


def _check_plain(arguments: argparse.Namespace, outputs: Sequence[str]) -> None:
    """Without --each, outputs are files."""
    for name in outputs:
        path = getattr(arguments, name)
        if path is not None and _NAME in str(path):
            raise ValueError(
                f"{_NAME} in --{name} {path} is for --each, one file per input: add --each, or name one file."
            )


def _check_once(inputs: Sequence[Path]) -> None:
    for number, path in enumerate(inputs):
        if path in inputs[:number]:
            raise ValueError(f"{path} is given twice: with --each, name each file once.")


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
    target = arguments.target if name == "output" else None
    if given.is_dir():
        return given / f"{path.stem}{target or arguments.default_target}"
    if _NAME not in str(given):
        if not given.suffix:
            raise FileNotFoundError(f"--{name} {given}: there is no such folder, make it first.")
        example = given.with_name(f"{_NAME}{given.suffix}")
        raise ValueError(
            f"--{name} {given} is one file, and --each writes several: give a folder, or a name such as '{example}'."
        )
    if target is not None and given.suffix.lower() != target:
        raise ValueError(
            f"--to {target[1:]} is for folders and for standard output: the ending of {given} decides here."
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
