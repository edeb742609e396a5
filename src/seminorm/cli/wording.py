"""Messages of the library in the words of the command line: users of a program do not know its functions."""

import re

_EMPTY = (
    "the surface comes out empty, the function is nowhere zero near the points: give a smaller --smoothness, "
    "--tolerance or --mesh-resolution, or leave them out."
)
_LINES = "lines must be x y z or x y z nx ny nz, numbers with decimal points; a line of names may stand above them"
_ARRAYS = "it must hold an array points (n, 3), and may hold normals and colors"
_WORDS = [
    # arguments that are options here
    (r"details\['outliers'\] has the rows, and outliers='keep'", "--outliers FILE writes them, and --keep-outliers"),
    (r"\boutliers='keep'", "--keep-outliers"),
    (r"Give sensor=, or normals; mesh\(boundary='open'\)", "Give --sensor, or points with normals; --open"),
    (r"choose depth=(\d+) or less", r"choose --depth \1 or less"),
    (r"(?<=aise )memory_limit\b", "--memory"),
    (r"Give a larger trim\b", "Give a larger --trim"),
    (r"\bn_neighbors must be", "--neighbors must be"),
    (r"^up (?=\[.* must not be along the direction)", "--up "),
    # the parser lets no such depth pass: it was computed from a length
    (
        r"depth must be 'auto' or a whole number from 1 to (\d+), got (\d+)\.",
        r"--resolution needs 2**\2 cells along the longest side, and 2**\1 are the most: give a larger one.",
    ),
    # what to do
    (r"function changes its sign nowhere that was looked .*", _EMPTY),
    (r"(is not a point file: it looks like text that begins with .*?)\.?$", rf"\1: {_LINES}."),
    (r"(it looks like text that begins with the numbers [^:]*)\.$", r"\1: rename it to end in .xyz."),
    (r"(it looks like a zip archive[^:]*)\.$", r"\1: unpack it, or rename it to end in .npz or .3mf."),
    (r"(has no array points, but .*)\.$", rf"\1: {_ARRAYS}."),
]
_PIPED = r"^(standard input .*): rename it to end in \.(\w+)\.$"
_OTHER_FORMAT = r"it looks like an? (PLY|PCD|OFF|OBJ|STL|E57|NPY) file\.$"


def in_options(message: str) -> str:
    """A message with the names of options in place of those of arguments, and with what to do."""
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    message = re.sub(_OTHER_FORMAT, lambda found: f"{found[0][:-1]}: rename it to end in .{found[1].lower()}.", message)
    return re.sub(_PIPED, r"\1: give --from \2.", message)
