"""The gallery on the site: each script is run once, until it or the library changes, and becomes a page."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm import tqdm

from gallery import quietly
from gallery.page import Picture, Section, Viewer
from gallery.sections import TOPICS

from .names import public_names
from .staging import ROOT, Stage

_THUMBNAIL = 480  # pixels, of its width


@dataclass(frozen=True)
class Script:
    """What the pages need to know of a script that has been run."""

    name: str
    title: str
    summary: str
    topic: str
    thumbnail: str


def write(stage: Stage, cache_folder: Path) -> list[Script]:
    """Run what has changed, and write the pages of the gallery; scripts whose data are missing are left out."""
    scripts = []
    modules = [(topic, module) for topic, modules in TOPICS.items() for module in modules]
    for topic, module in tqdm(modules, unit="script", desc="gallery"):
        name = module.__name__.rpartition(".")[2]
        folder = cache_folder / name
        if not _is_current(folder, module):
            _run(module, topic, folder)
        info = json.loads((folder / "script.json").read_text(encoding="utf-8"))
        if info is None:
            continue
        scripts.append(Script(**info))
        stage.write(f"gallery/{name}.md", (folder / "page.md").read_text(encoding="utf-8"))
        for file in sorted((folder / "files").iterdir()):
            stage.write(f"extra/gallery/files/{file.name}", file.read_bytes())
            if file.suffix == ".png":
                stage.write(f"gallery/files/{file.name}", file.read_bytes())
    stage.write("gallery/index.md", _index(scripts))
    return scripts


def uses(scripts: Sequence[Script]) -> dict[str, list[Script]]:
    """The scripts that use each public name, by its path."""
    known = {path: name.path for name in public_names() for path in (name.path, *name.others)}
    found: dict[str, list[Script]] = {}
    for script in scripts:
        module = importlib.import_module(f"gallery.sections.{script.name}")
        for path in sorted({known[path] for path in mentions(inspect.getsource(module)) if path in known}):
            found.setdefault(path, []).append(script)
    return found


def mentions(source: str) -> set[str]:
    """Paths of what a script imports from the library, and of the attributes of imported modules that it uses."""
    tree = ast.parse(source)
    local: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("seminorm"):
            local.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    attributes = {
        f"{local[node.value.id]}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in local
    }
    return {*local.values(), *attributes}


@cache
def _library() -> bytes:
    """A digest of everything that a script may use, apart from the script itself."""
    digest = hashlib.sha256()
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "gallery").glob("*.py"), *(ROOT / "native").rglob("*.?pp")]
    for path in sorted([*files, Path(__file__)]):
        digest.update(path.read_bytes())
    digest.update(np.__version__.encode())
    return digest.digest()


def _key(module) -> str:
    return hashlib.sha256(_library() + inspect.getsource(module).encode()).hexdigest()


def _is_current(folder: Path, module) -> bool:
    key = folder / "key"
    return key.exists() and key.read_text() == _key(module)


def _run(module, topic: str, folder: Path) -> None:
    """Run a script, and keep its page and its files; nothing is kept of one that fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        files = Path(name) / "files"
        files.mkdir()
        section = quietly(module.section, files)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        info = None
        if section is not None:
            script = module.__name__.rpartition(".")[2]
            thumbnail = _thumbnail(section, files, script)
            summary = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
            info = asdict(Script(script, section.title, summary, topic, thumbnail))
            (folder / "page.md").write_text(_page(section, module, summary), encoding="utf-8")
        shutil.move(files, folder / "files")
        (folder / "script.json").write_text(json.dumps(info), encoding="utf-8")
        (folder / "key").write_text(_key(module))


def _thumbnail(section: Section, files: Path, script: str) -> str:
    """A small copy of the still picture of the scene, if there is one, or else of the first picture."""
    stills = [block.still for block in section.blocks if isinstance(block, Viewer) and block.still]
    pictures = [block.file for block in section.blocks if isinstance(block, Picture)]
    with Image.open(files / [*stills, *pictures][0]) as image:
        small = image.convert("RGB")
        small.thumbnail((_THUMBNAIL, 10 * _THUMBNAIL))
        small.save(files / f"thumbnail-{script}.png")
    return f"thumbnail-{script}.png"


def _page(section: Section, module, summary: str) -> str:
    script = f"gallery/sections/{Path(inspect.getfile(module)).name}"
    source = inspect.getsource(module).rstrip()
    whole = f":::{{dropdown}} The whole script, `{script}`\n```python\n{source}\n```\n:::"
    return f"# {section.title}\n\n{section.markdown('files/')}\n\n{whole}\n"


def _index(scripts: Sequence[Script]) -> str:
    from .reference import cards

    lead = (
        "Short scripts, one idea each, on data that are generated or ship with scikit-learn. Every picture and every "
    )
    lead += "number was computed when this site was built. `make demo` runs some of them on your machine."
    parts = ["# Gallery", lead]
    for topic in TOPICS:
        inside = [script for script in scripts if script.topic == topic]
        if inside:
            parts += [f"## {topic}", "```{raw} html\n" + "\n".join(cards(inside, "")) + "\n```"]
            pages = "\n".join(script.name for script in inside)
            parts.append(f"```{{toctree}}\n:hidden:\n:caption: {topic}\n\n{pages}\n```")
    return "\n\n".join(parts) + "\n"
