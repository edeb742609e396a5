"""A check of the finished site: every link and every picture of its pages leads to a file and an anchor of the site."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_RESOURCES = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class Outline(HTMLParser):
    """Links, anchors and resources of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note what a tag points to, and what it may be called."""
        attributes = dict(attrs)
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if attributes.get("data-scene"):
            self.links.append(attributes["data-scene"])
        if attributes.get(_RESOURCES.get(tag, "")):
            self.resources.append(attributes[_RESOURCES[tag]])


def outlines(site: Path) -> dict[Path, Outline]:
    """Every page of the site."""
    pages = [page for page in sorted(site.rglob("*.html")) if "_static" not in page.parts]
    return {page: Outline(page.read_text(encoding="utf-8")) for page in pages}


def check(site: Path) -> list[tuple[str, str]]:
    """Pages and the targets they point to in vain; a resource from elsewhere counts, for the site needs no network."""
    pages = outlines(site)
    anchors = {page.resolve(): outline.anchors for page, outline in pages.items()}
    broken = []
    for page, outline in pages.items():
        for target in [*outline.links, *outline.resources]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                foreign = target in outline.resources and parts.scheme != "data"
                broken += [(str(page.relative_to(site)), target)] * foreign
                continue
            file = ((page.parent / unquote(parts.path)) if parts.path else page).resolve()
            missing = not file.exists()
            lost = parts.fragment and file in anchors and unquote(parts.fragment) not in anchors[file]
            if missing or (lost and unquote(parts.fragment) != "top"):
                broken.append((str(page.relative_to(site)), target))
    return broken
