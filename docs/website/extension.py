"""What Sphinx lacks: formulas without a script, and links from every public name to its page of the reference."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from .docstrings import escaped
from .names import Index


def inline_formula(translator, node: nodes.math) -> None:
    """A formula in a line of text, as MathML."""
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def formula(translator, node: nodes.math_block) -> None:
    """A formula on a line of its own; it scrolls by itself where it is wider than the page."""
    translator.body.append(f'<div class="formula" tabindex="0">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


class LinkNames(SphinxPostTransform):
    """Links from code in the text that is a public name to its page."""

    default_priority = 5
    formats = ("html",)

    def run(self, **options: Any) -> None:
        """Link the names of one page."""
        index: Index = self.app.seminorm_names  # type: ignore[attr-defined]
        for literal in list(self.document.findall(nodes.literal)):
            if any(isinstance(parent, nodes.reference | nodes.title | pending_xref) for parent in _above(literal)):
                continue
            name = index.find(literal.astext())
            if name is None or name.page == self.env.current_document.docname:
                continue
            link = make_refnode(self.app.builder, self.env.current_document.docname, name.page, "", [], name.path)
            literal.replace_self(link)
            link += literal


def _above(node: nodes.Node):
    while node.parent is not None:
        node = node.parent
        yield node


def resolve(app: Sphinx, env, node, content):
    """A reference of a docstring to a public name of another package, as its last part."""
    if node.get("refdomain") != "py":
        return None
    name = app.seminorm_names.find(node["reftarget"].lstrip("."))  # type: ignore[attr-defined]
    return name and make_refnode(app.builder, node["refdoc"], name.page, "", content, name.path)


def skip(app: Sphinx, what: str, name: str, thing: object, skipped: bool, options) -> bool | None:
    """Leave out the methods that scikit-learn adds to all estimators."""
    own = getattr(thing, "__module__", None) or ""
    return True if own.startswith("sklearn") or re.fullmatch(r"set_\w+_request", name) else None


def escape_docstring(app: Sphinx, what: str, name: str, thing: object, options, lines: list[str]) -> None:
    """Called after numpydoc."""
    lines[:] = escaped(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.seminorm_names = Index()  # type: ignore[attr-defined]
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
    app.add_post_transform(LinkNames)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape_docstring, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
