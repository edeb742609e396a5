"""The documentation site: what it is made of, and how Sphinx is called. ``make docs`` writes it to ``site/``.

The pages of docs/ stay plain Markdown, readable where they are. `staging` copies them, with their links turned to where
things lie on the site, beside pages that are generated: the reference (`reference`), the gallery (`galleries`), the
list of results, and sources that pages point to. Sphinx then needs no network, and neither do its pages.
"""
