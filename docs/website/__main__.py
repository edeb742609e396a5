"""``python -m docs.website``: write the site."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from . import galleries, pages, reference
from .links import check
from .staging import ROOT, Stage

_WORK = ROOT / "build" / "website"


def build(site: Path, work: Path = _WORK, jobs: int | None = None) -> int:
    """Write the site; the exit status is that of Sphinx, or 1 if a link of the pages leads nowhere."""
    stage = Stage(work / "source")
    scripts = galleries.write(stage, work / "gallery")
    reference.write(stage, galleries.uses(scripts))
    pages.write(stage)
    stage.finish()
    options = ["-W", "--keep-going", "-q", "-j", str(jobs or os.cpu_count() or 1), "-b", "html"]
    folders = ["-c", str(Path(__file__).parent), "-d", str(work / "doctrees")]
    status = sphinx([*options, *folders, str(stage.folder), str(site)])
    if status:
        return status
    for page in (site / "_modules").rglob("*.html"):  # sources say which page describes a name, not where on it
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r'(class="viewcode-back" href="[^"#]+)#[^"]*', r"\1", text), encoding="utf-8")
    broken = check(site)
    for page, target in broken:
        print(f"{page} points to {target}, which is not there", file=sys.stderr)
    return int(bool(broken))


def main(argv: list[str] | None = None) -> int:
    """Write the site and say where it is."""
    parser = argparse.ArgumentParser(prog="docs.website", description="Write the documentation site.")
    parser.add_argument("--output", type=Path, default=ROOT / "site", help="default: site")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have left")
    parser.add_argument("--jobs", type=int, help="processes; by default one per core")
    arguments = parser.parse_args(argv)
    if arguments.fresh:
        shutil.rmtree(_WORK, ignore_errors=True)
        shutil.rmtree(arguments.output, ignore_errors=True)
    status = build(arguments.output, jobs=arguments.jobs)
    if not status:
        print(f"The first page is {(arguments.output / 'index.html').resolve()}")
    return status


if __name__ == "__main__":
    sys.exit(main())
