"""What a record holds under each heading of Annex IV of the EU AI Act (technical documentation)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from likewise._format import count_of
from likewise.record import AuditRecord
from likewise.report import _evidence as evidence
from likewise.report import _measures as measures
from likewise.report import _summary as summary
from likewise.report._summary import Part
from likewise.report._text import UNKNOWN, Cell, Number, Table, join, measured, show


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of Annex IV, the fields of the record that bear on it, and what they hold."""

    number: str
    title: str
    places: tuple[str, ...] = ()
    describe: Callable[[AuditRecord], str] = lambda record: ""

    def to_row(self, record: AuditRecord) -> tuple[Cell, ...]:
        """Return number, title, fields and content; the last two only as far as the record holds anything."""
        held = self.describe(record)
        places = ", ".join(place for place in self.places if _holds(record, place)) if held else ""
        return self.number, self.title, places, held or summary.ABSENT


def _holds(record: AuditRecord, place: str) -> bool:
    found = attrgetter(place)(record)
    return found is not None and found not in ((), {})


def list_parts(record: AuditRecord) -> list[Part]:
    """Take the parts of the page from a record."""
    head = ("Annex IV", "Heading, in short", "In the record", "What it holds")
    rows = tuple(one.to_row(record) for one in HEADINGS)
    return [
        Part(
            title="What the record holds under each heading",
            texts=(
                "The headings are those of Annex IV of Regulation (EU) 2024/1689 as published in 2024, shortened; "
                "check the text in force. The record describes one audit of a model's scores: most headings need other "
                "documents.",
            ),
            tables=(Table(caption="Annex IV and the record (audit.json)", head=head, rows=rows, n_text=len(head)),),
        ),
        Part(title="What this page does not say", texts=(summary.NO_OPINION,)),
    ]


def _name_model(record: AuditRecord) -> str:
    model = record.data.model
    if model is None:
        return ""
    checksum = f", SHA-256 {show(model.sha256)}" if model.sha256 else ""
    return (
        f"The model file that was audited: {show(model.file)}{checksum}. Purpose and provider are not in this record."
    )


def _name_versions(record: AuditRecord) -> str:
    others = "".join(f", {show(name)} {show(version)}" for name, version in record.versions.items())
    return f"Of the software that made the audit, not of the system: likewise {show(record.likewise)}{others}."


def _describe_choices(record: AuditRecord) -> str:
    threshold = measures.describe_threshold(record)
    positive = f"Positive label: {show(record.positive)}." if record.has_labels and record.positive is not None else ""
    kind = {"binary": "Two outcomes.", "multiclass": "More than two labels.", "regression": "Predicted numbers."}
    cut = f"{threshold}." if threshold else ""
    return " ".join(filter(None, (kind[record.task], positive, cut, "The rationale is not in this record.")))


def _describe_people(record: AuditRecord) -> str:
    known = (record.data.sha256, record.data.table_checksum)
    checksum = next((f" SHA-256 {show(one)}." for one in known if one), "")
    origin = f" of {show(record.data.file)}" if record.data.file else ""
    return f"{count_of(record.data.n_rows, 'row')}{origin}.{checksum} Column roles; people by group."


def _list_metrics(record: AuditRecord) -> str:
    found = "; ".join(title for title, _ in _performance(record))
    return f"{found}." if found else ""


def _list_performance(record: AuditRecord) -> str:
    found = "; ".join(f"{title} {value}" for title, value in _performance(record))
    return f"{found}." if found else ""


def _performance(record: AuditRecord) -> list[tuple[str, Number]]:
    """Return the measures of accuracy that are known; the spread of the scores is none."""
    known = [(name, title, measured(record.measures, name)) for name, title in measures.PEOPLE_TITLES.items()]
    return [(title, value) for name, title, value in known if value != UNKNOWN and name != "score_spread"]


def _list_impacts(record: AuditRecord) -> str:
    pairs = f"Gaps and rank gaps over {count_of(record.pairs.n, 'comparable pair')}, under a rule in words"
    directions = f"; {count_of(len(record.directions), 'difference')} between groups" if record.directions else ""
    rates = "; selection rates and impact ratios by group" if evidence.has_rates(record) else ""
    return f"{pairs}{directions}{rates}."


def _describe_test_log(record: AuditRecord) -> str:
    dated = f"Date: {show(record.made_at)}. " if record.made_at else ""
    verdict = summary.sum_up_verdict(record)
    judged = f"Verdict of the policy: {verdict} " if verdict else "No policy was given. "
    return f"{dated}{judged}Responsible persons are not in this record, and a signature is a file beside it."


def _describe_group_accuracy(record: AuditRecord) -> str:
    if all(one.true_positive_rate is None and one.false_positive_rate is None for one in record.groups):
        return ""
    return f"True and false positive rates of {count_of(len(record.groups), 'group')}, intersections included."


def _describe_limitations(record: AuditRecord) -> str:
    notes = f" {count_of(len(record.notes), 'note')}." if record.notes else ""
    return f"{summary.describe_coverage(record)}{notes}".strip()


def _describe_inputs(record: AuditRecord) -> str:
    sensitive = join(show(name) for name in record.sensitive).shown or "none"
    return f"The role of each audited column; sensitive: {sensitive}."


HEADINGS: Final = (
    Heading(
        "1(a)",
        "Intended purpose, provider, version (and earlier ones)",
        ("data.model",),
        _name_model,
    ),
    Heading("1(b)", "Interaction with hardware, software and other AI systems that are not part of it"),
    Heading(
        "1(c)",
        "Versions of software and firmware, version updates",
        ("likewise", "versions"),
        _name_versions,
    ),
    Heading("1(d)", "Forms in which the system is placed on the market or put into service"),
    Heading("1(e)", "Hardware on which it is intended to run"),
    Heading("1(f)", "External features, marking and layout, where it is part of a product"),
    Heading("1(g)", "User interface for the deployer"),
    Heading("1(h)", "Instructions for use"),
    Heading("2(a)", "Methods and steps of development, third-party tools and pre-trained systems"),
    Heading(
        "2(b)",
        "Design specifications: logic, design and classification choices, trade-offs",
        ("task", "positive", "threshold", "favours_low"),
        _describe_choices,
    ),
    Heading("2(c)", "System architecture and computational resources"),
    Heading(
        "2(d)",
        "Data requirements: training methods and data, their provenance, scope, selection, labelling, cleaning",
    ),
    Heading("2(e)", "Assessment of human oversight measures (Article 14), interpretation of outputs included"),
    Heading("2(f)", "Pre-determined changes to the system and its performance"),
    Heading("2(g)", "Validation and testing: the data used", ("data", "roles", "groups", "coverage"), _describe_people),
    Heading("2(g)", "Validation and testing: metrics of accuracy", ("measures", "calibration"), _list_metrics),
    Heading("2(g)", "Validation and testing: metrics of robustness"),
    Heading("2(g)", "Validation and testing: metrics of the other requirements (Chapter III, Section 2)"),
    Heading(
        "2(g)",
        "Validation and testing: potentially discriminatory impacts",
        ("rule", "rule_in_words", "measures", "by_label", "directions", "groups", "worst_pairs"),
        _list_impacts,
    ),
    Heading(
        "2(g)",
        "Test logs and reports, dated and signed",
        ("made_at", "settings", "command", "policy", "verdict"),
        _describe_test_log,
    ),
    Heading("2(h)", "Cybersecurity measures"),
    Heading("3", "Overall level of accuracy", ("measures",), _list_performance),
    Heading("3", "Accuracy for specific persons or groups", ("groups",), _describe_group_accuracy),
    Heading("3", "Limitations in performance", ("coverage", "notes"), _describe_limitations),
    Heading(
        "3",
        "Foreseeable unintended outcomes; risks to health, safety and fundamental rights, and of discrimination",
    ),
    Heading("3", "Human oversight measures (Article 14), interpretation of outputs"),
    Heading("3", "Specifications of input data", ("roles",), _describe_inputs),
    Heading("4", "Appropriateness of the performance metrics"),
    Heading("5", "Risk management system (Article 9)"),
    Heading("6", "Changes made through the lifecycle"),
    Heading("7", "Harmonised standards applied in full or in part, or the solutions adopted instead"),
    Heading("8", "EU declaration of conformity (Article 47)"),
    Heading("9", "Post-market monitoring and its plan (Article 72)"),
)
