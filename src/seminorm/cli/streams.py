"""Standard input and output: files in a temporary folder, so that every format can be read and written."""

import argparse
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

from .options import DASH
from .reporting import call

_HEAD = 2**12
_SIGNATURES: dict[bytes | tuple[bytes, ...], str] = {
    (b"ply\n", b"ply\r"): ".ply",
    (b"# .PCD", b"VERSION"): ".pcd",
    (b"OFF", b"COFF", b"NOFF", b"CNOFF"): ".off",
    b"\x93NUMPY": ".npy",
    b"LASF": ".las",
    b"ASTM-E57": ".e57",
}
_PACKED = {(b"\x1f\x8b",): "gzip", (b"BZh",): "bzip2", (b"\xfd7zXZ",): "xz"}


@contextmanager
def standard_streams(arguments: argparse.Namespace) -> Iterator[None]:
    """Let a verb read ``-`` and write to it; while the result goes to standard output, messages go elsewhere."""
    reads, writes = arguments.inputs.count(DASH), getattr(arguments, "output", None) == DASH
    _check(arguments, reads, writes)
    if not reads and not writes:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="seminorm-") as folder:
        if reads:
            source = call(_received(Path(folder) / "input", arguments), "standard input")
            arguments.inputs = [source if path == DASH else path for path in arguments.inputs]
        if not writes:
            yield
            return
        output = Path(folder) / f"output{arguments.target or arguments.default_target}"
        arguments.output = call(output, "standard output")
        with redirect_stdout(sys.stderr):
            yield
        _send(output)


def abandon_output() -> None:
    """Let nothing more be written to a pipe that is broken: Python would try when it ends, and complain."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check(arguments: argparse.Namespace, reads: int, writes: bool) -> None:
    if (reads or writes) and getattr(arguments, "each", False):
        raise ValueError(
            "--each reads files and writes files: leave it out, or name files in place of - (standard input or output)."
        )
    if writes and getattr(arguments, "turntable", None) is not None:
        raise ValueError("--turntable writes several pictures, and standard output (-o -) takes one: name a file.")
    if reads > 1:
        raise ValueError("standard input (-) is given twice, and can be read once: name files instead.")
    if reads and (sys.stdin is None or sys.stdin.isatty()):
        raise ValueError("standard input (-) is a terminal: name a file, or pipe one into this command.")
    if not reads and arguments.source is not None:
        raise ValueError("--from is for standard input (-): files are read as their endings say.")
    if not writes and _is_idle(arguments):
        raise ValueError(
            f"--to {arguments.target[1:]} is for standard output (-o -) and for folders with --each: the ending of "
            f"{arguments.output} says how it is written."
        )
    if writes and (sys.stdout is None or sys.stdout.isatty()):
        raise ValueError("standard output (-o -) is a terminal: name a file, or pipe the result to a command or file.")


def _is_idle(arguments: argparse.Namespace) -> bool:
    """Whether --to contradicts the name of a file."""
    target = getattr(arguments, "target", None)
    into_folder = getattr(arguments, "each", False) or (
        getattr(arguments, "times", None) is not None and arguments.output.is_dir()
    )
    return target is not None and not into_folder and arguments.output.suffix.lower() != target


def _received(path: Path, arguments: argparse.Namespace) -> Path:
    """Standard input as a file whose ending says what it is."""
    file = sys.stdin.buffer
    head = file.read(_HEAD)
    unknown = path.with_suffix(".unknown")
    with open(unknown, "wb") as copy:
        copy.write(head)
        shutil.copyfileobj(file, copy)
    return unknown.rename(path.with_suffix(arguments.source or _recognized(head, unknown, arguments.text)))


def _recognized(head: bytes, path: Path, text: str | None) -> str:
    """The ending of a file by its first bytes."""
    if not head:
        raise ValueError("standard input is empty: did the command before the pipe fail?")
    for signature, suffix in _SIGNATURES.items():
        if head.startswith(signature):
            return suffix
    for signature, program in _PACKED.items():
        if head.startswith(signature):
            raise ValueError(f"standard input is compressed by {program}: unpack it before the pipe.")
    if zipfile.is_zipfile(path):
        return _recognized_archive(path)
    if text is not None:
        return text
    raise ValueError(
        "standard input is of a kind that cannot be told from its content: give --from, such as --from xyz."
    )


def _recognized_archive(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if all(name.endswith(".npy") for name in names):
        return ".npz"
    if any(name.endswith(".model") for name in names):
        return ".3mf"
    raise ValueError(f"standard input is a zip archive of {', '.join(names[:3])}: unpack it before the pipe.")


def _send(path: Path) -> None:
    """Write a whole file to standard output."""
    buffer = sys.stdout.buffer
    try:
        with open(path, "rb") as file:
            shutil.copyfileobj(file, buffer)
        buffer.flush()
    except BrokenPipeError as error:
        abandon_output()
        raise OSError("standard output was closed before all was written: the command after the pipe ended.") from error
