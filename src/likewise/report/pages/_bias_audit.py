"""A bias audit in the style of New York City's Local Law 144: rates and ratios by group, and unknown values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from likewise.record import AuditRecord
from likewise.record._internal import GroupRate, show_value
from likewise.report import _evidence as evidence
from likewise.report import _summary as summary
from likewise.report._parts import Part
from likewise.report._summary import Fact
from likewise.report._text import NOTHING, Cell, Number, Table, count, count_left_out, join, show

MAX_GROUPS: Final = 500  # of one table; a summary by group should be whole
RATES: Final = {  # a rate, and the ratio to the highest of the same groups
    "selection_rate": ("Selection rate", "Impact ratio"),
    "scoring_rate": ("Scoring rate", "Impact ratio, scoring"),
}


def list_parts(record: AuditRecord) -> list[Part]:
    """Take the parts of the page from a record."""
    families: dict[tuple[str, ...], list[GroupRate]] = {}
    for one in record.groups:
        families.setdefault(one.columns, []).append(one)
    sensitive = join(show(name) for name in record.sensitive).shown or "None."
    return [
        Part(
            title="What was assessed",
            facts=(*summary.data_facts(record), Fact("Sensitive columns", sensitive)),
            texts=(_explain_rates(record), *_explain_scoring(record)),
        ),
        *(_family_part(columns, groups) for columns, groups in families.items()),
        *([] if any(len(columns) > 1 for columns in families) else [_no_intersections(record)]),
        _unknown_part(families),
        Part(
            title="What this page does not show",
            items=(
                "How comparable people are treated. The report on the same record (likewise report) shows it.",
                "Who made and who reviewed this audit, and when the system was first used.",
                "Confidence intervals, where shown, reflect sampling of people, not errors in the data.",
                summary.NO_OPINION,
            ),
        ),
    ]


def _explain_rates(record: AuditRecord) -> str:
    """Sentence that explains what the rates are shares of, or why there are none."""
    if evidence.has_rates(record):
        return (
            "The selection rate of a group is the share of its people who are selected. The adverse impact ratio "
            "divides it by the rate of another group, named below. No group is left out for being small."
        )
    if not record.groups:
        return "No group was measured: the record has neither selection rates nor impact ratios."
    if record.task == "multiclass":
        return (
            "With more than two labels no single outcome is a selection, so the record has neither selection rates nor "
            "impact ratios. People are counted by group."
        )
    what = "Predicted numbers" if record.task == "regression" else "Scores"
    return (
        f"{what} without a decision threshold select nobody, so the record has no selection rates. To have them, audit "
        "with a threshold."
    )


def _explain_scoring(record: AuditRecord) -> tuple[str, ...]:
    """Sentence that explains scoring rates, where there are any."""
    if all(one.scoring_rate is None for one in record.groups):
        return ()
    side = "below" if record.favours_low else "above"
    why = ", as low scores are favourable" if record.favours_low else ""
    return (
        f"The scoring rate of a group is the share of its people who are scored {side} the median score of everybody"
        f"{why}; its impact ratio is that of scoring rates.",
    )


def _family_part(columns: tuple[str, ...], groups: Sequence[GroupRate]) -> Part:
    """Show the groups without unknown values, and their rates over the highest of them."""
    names = join((show(name) for name in columns), " and ").shown
    known = [one for one in groups if None not in one.values]
    rates = [name for name in RATES if any(getattr(one, name) is not None for one in known)]
    highest = {name: max(getattr(one, name) or 0.0 for one in known) for name in rates}
    has_counts = any(one.n_selected is not None for one in known)
    rows: list[tuple[Cell, ...]] = [
        (
            evidence.name_group(one.columns, one.values),
            count(one.n_people),
            *([count(one.n_selected or 0)] if has_counts else []),
            *(cell for name in rates for cell in _cells(one, name, highest[name])),
        )
        for one in known[:MAX_GROUPS]
    ]
    table = Table(
        caption=f"Groups by {names}",
        head=("Group", "People", *(("Selected",) * has_counts), *(head for name in rates for head in RATES[name])),
        rows=tuple(rows),
        more=count_left_out(len(known), MAX_GROUPS, "groups"),
        is_sortable=True,
    )
    return Part(title=f"By {names}", texts=_name_highest(known, highest), tables=(table,))


def _name_highest(known: Sequence[GroupRate], highest: Mapping[str, float]) -> tuple[str, ...]:
    """Sentences that name the groups by whose rates the others are divided."""
    told = []
    for what, name in (("selected", "selection_rate"), ("high-scoring", "scoring_rate")):
        if highest.get(name):
            most = next(one for one in known if getattr(one, name) == highest[name])
            named = evidence.name_group(most.columns, most.values)
            told.append(f"Impact ratios are relative to the most {what} group with known values: {named}.")
        elif name in highest and what == "selected":
            told.append("Nobody is selected, so there are no impact ratios.")
    return tuple(told)


def _cells(one: GroupRate, name: str, highest: float) -> tuple[Number, Number]:
    """Format a rate and its ratio to the highest; intervals where the record has them of the same groups."""
    rate = getattr(one, name)
    if rate is None:
        return Number(NOTHING), Number(NOTHING)
    ratio = rate / highest if highest else None
    is_selection = name == "selection_rate"
    return (
        _write("selection_rate", rate, one.selection_interval if is_selection else None),
        _write("impact_ratio", ratio, one.impact_interval if is_selection and ratio == one.impact_ratio else None),
    )


def _write(name: str, value: float | None, ends: tuple[float, ...] | None) -> Number:
    write = partial(show_value, name)
    return Number(NOTHING) if value is None else Number(write(value), value, " to ".join(map(write, ends or ())))


def _no_intersections(record: AuditRecord) -> Part:
    one = "There is one sensitive column, so there are no intersections."
    return Part(title="Intersections", texts=(one if len(record.sensitive) == 1 else summary.ABSENT,))


def _unknown_part(families: Mapping[tuple[str, ...], Sequence[GroupRate]]) -> Part:
    """Count the people who are in no known group."""
    title = "People with unknown values"
    if not families:
        return Part(title=title, texts=(f"No group was measured. Counts of unknown values: {summary.ABSENT.lower()}",))
    rows: list[tuple[Cell, ...]] = [
        (join(map(show, columns), " or "), count(sum(one.n_people for one in groups if None in one.values)))
        for columns, groups in families.items()
    ]
    told = (
        "People whose value is missing are not among the groups above, nor is their rate among those that ratios are "
        "relative to. A text that stands for an unknown value is a group under its own name, and is not counted here."
    )
    table = Table(caption="People with a missing value", head=("Missing in", "People"), rows=tuple(rows))
    return Part(title=title, texts=(told,), tables=(table,))
