"""Pages that certain readers ask for, by name, as HTML and Markdown; each a template of the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from likewise._checks import check_choice
from likewise.record import AuditRecord
from likewise.report._html import render_parts
from likewise.report._markdown import write_parts
from likewise.report._parts import Part
from likewise.report.pages import _bias_audit, _model_risk

__all__ = ["PAGES", "to_page"]


@dataclass(frozen=True, slots=True)
class Template:
    """A page: its title, and how its parts are taken from a record."""

    title: str
    list_parts: Callable[[AuditRecord], list[Part]]


PAGES: Final = {
    "bias-audit": Template("Bias audit: selection rates and impact ratios by group", _bias_audit.list_parts),
    "model-risk": Template("Model validation: comparable people, performance, coverage", _model_risk.list_parts),
}


def to_page(record: AuditRecord | Mapping[str, Any], page: str, *, form: Literal["html", "markdown"] = "html") -> str:
    """Render an audit under the headings that a certain reader asks for.

    Nothing is computed here: every number is in the record. What a reader asks for and the record does not hold is
    named as such. The pages draw no legal conclusion.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.
    page : {"bias-audit", "model-risk"}
        Selection rates and impact ratios by group, by intersection, and counts of people with unknown values, in the
        style of New York City's Local Law 144; or a section for the validation of a model.
    form : {"html", "markdown"}
        One self-contained page of HTML, or Markdown.

    Returns
    -------
    str
        The same record gives the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_page
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> to_page(found.to_dict(), "bias-audit", form="markdown").splitlines()[0]
    '# Bias audit: selection rates and impact ratios by group'
    """
    check_choice("page", page, tuple(PAGES))
    check_choice("form", form, ("html", "markdown"))
    shown = AuditRecord.of(record)
    template = PAGES[page]
    parts = template.list_parts(shown)
    return render_parts(template.title, shown, parts) if form == "html" else write_parts(template.title, parts)
