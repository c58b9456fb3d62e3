"""How the site is built: ``make docs``."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from inventories import write_inventories  # noqa: E402  # after the path of the extensions

import likewise  # noqa: E402  # after the path of the extensions

project = "likewise"
author = "The likewise authors"
copyright = "the likewise authors"
version = release = likewise.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_gallery.gen_gallery",
    "commands",
    "mathml",
    "running",
]
exclude_patterns = ["_build", "**sg_execution_times.rst"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's parameters tell them in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Inventories are written from lists in this folder: nothing is fetched.
intersphinx_mapping = write_inventories(HERE / "inventories", HERE / "_build" / "inventories")

html_theme = "pydata_sphinx_theme"
html_title = "likewise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["sort.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 10,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
WITHOUT_SIDEBAR = ("index", "start", "train", "data", "glossary", "limits", "method")
html_sidebars = {page: [] for page in WITHOUT_SIDEBAR}

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": ["../examples/gallery", "../examples/tutorial"],
    "gallery_dirs": ["gallery", "tutorial"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "parallel": True,  # as many as -j says
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 5,
    "download_all_examples": False,
    "matplotlib_animations": False,
    "reference_url": {"likewise": None},
    "doc_module": ("likewise",),
    "backreferences_dir": "_build/backreferences",
}

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # examples on Spark run in the environment that builds the site
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # a session on this machine needs no network
# tables of a few hundred rows need two tasks, not two hundred, and are done before a plan is compiled
SPARK = ("shuffle.partitions=2", "adaptive.enabled=false", "codegen.wholeStage=false", "codegen.factoryMode=NO_CODEGEN")
settings = " ".join(f"--conf spark.sql.{setting}" for setting in SPARK)
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"{settings} --driver-java-options -XX:TieredStopAtLevel=1 pyspark-shell")
logging.getLogger("py4j").setLevel(logging.WARNING)  # pyspark has it tell of every connection that closes
os.environ.setdefault("OMP_NUM_THREADS", "1")  # small networks are quicker on one thread, on a busy machine by far
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")
warnings.filterwarnings("ignore", category=FutureWarning, message="PySpark does not yet fully support pandas")
templates_path = ["_templates"]


def leave_out_scikit_learns(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what estimators inherit from scikit-learn: its own pages explain it."""
    return True if str(getattr(member, "__module__", "")).startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Tell Sphinx of it."""
    app.connect("autodoc-skip-member", leave_out_scikit_learns)
