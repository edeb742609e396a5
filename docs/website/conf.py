"""Settings of Sphinx for the site; ``python -m docs.website`` calls it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from seminorm import __version__

project, author, copyright = "seminorm", "The seminorm developers", "The seminorm developers, BSD-3-Clause"
version = release = __version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "docs.website.extension",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["extra/**"]
html_extra_path = [str(Path(__file__).parents[2] / "build" / "website" / "source" / "extra")]

highlight_language = "none"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
toc_object_entries = False
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "seminorm"
html_static_path = ["static", "../../gallery/static"]
html_css_files = ["seminorm.css"]
html_js_files = [("scene.js", {"defer": "defer"})]
html_favicon = "static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "seminorm", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg", "alt_text": ""},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "collapse_navigation": True,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_bar_text": "Search, for example SVC or thin plate",
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "choose": [], "coming_from": []}
