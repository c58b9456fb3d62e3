"""An audit as one page of HTML: opens from disk, fetches nothing, prints."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from likewise.report._escaping import clean, isolate
from likewise.report._html_sections import list_sections
from likewise.report._words import Record, check_record

if TYPE_CHECKING:
    from jinja2 import Template

STYLES: Final = ("report.css", "charts.css")
SCRIPT: Final = "report.js"
PAGE: Final = "report.html"
N_PAIRS: Final = (20, 8, 3)
LARGEST: Final = 2_900_000  # bytes


def to_html(record: Record, *, before: Record | None = None, comparison: Mapping[str, Any] | None = None) -> str:
    """Write an audit as one page of HTML that needs nothing else.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : mapping
        What ``Audit.to_dict`` gives.
    before : mapping, optional
        The record of an earlier audit of the same people, to stand beside.
    comparison : mapping, optional
        What ``Comparison.to_dict`` or :func:`likewise.auditing.compare_records` gives for the two.

    Returns
    -------
    str
        HTML, to be written in UTF-8; the same records give the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_html
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> page = to_html(found.to_dict())
    >>> page.startswith("<!DOCTYPE html>"), len(page) < 3_000_000
    (True, True)
    """
    check_record(record)
    if before is not None:
        check_record(before)
    if comparison is not None:
        _check_comparison(comparison)
    template, page = _load_template(), ""
    for n_pairs in N_PAIRS:  # whatever the columns and their values are called, the page stays small
        page = template.render(list_sections(record, before, comparison, n_pairs))
        if len(page.encode("utf-8", "replace")) < LARGEST:
            break
    return page


@cache
def _load_template() -> Template:
    """Compile the page once, with style and script in it, and with the hashes that let no other run."""
    import jinja2
    from markupsafe import Markup, escape

    style, script = "\n".join(map(_read, STYLES)), _read(SCRIPT)
    pages = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_show_unseen,
    )
    pages.filters["alone"] = lambda value: escape(clean(value))  # in an element that isolates what it holds
    sources = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    ours = {
        "policy": f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
        **{"style": Markup(style), "script": Markup(script)},  # our own files, not the data's
    }
    return pages.get_template(PAGE, globals=ours)


def _check_comparison(comparison: Mapping[str, Any]) -> None:
    if not isinstance(comparison, Mapping) or not {"changes", "notes"} <= set(comparison):
        raise ValueError("This is no comparison of two audits: it lacks changes or notes. Give Comparison.to_dict().")


def _show_unseen(value: Any) -> Any:
    """Let nothing through that cannot be seen or turns words around, whatever a record holds."""
    return isolate(clean(value)) if type(value) is str else value  # what is markup already is ours


def _read(name: str) -> str:
    """Read one of our own files, with the line ends that a browser hashes."""
    return (resources.files("likewise.report") / "assets" / name).read_text("utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
