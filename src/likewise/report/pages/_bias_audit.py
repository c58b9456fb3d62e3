"""A bias audit in the style of New York City's Local Law 144: rates and ratios by group, and unknown values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from likewise._format import show_value
from likewise.record import AuditRecord
from likewise.record._internal import GroupRate, KnownGroup, KnownGroups
from likewise.report import _evidence as evidence
from likewise.report import _summary as summary
from likewise.report._summary import Fact, Part
from likewise.report._text import (
    NOTHING,
    Cell,
    Number,
    Table,
    count,
    count_left_out,
    join,
    show,
    show_score,
)

MAX_GROUPS: Final = 500  # of one table; a summary by group should be whole
KNOWN_RATES: Final = {
    "Selected": "n_selected",
    "Selection rate": "selection_rate",
    "Impact ratio": "impact_ratio",
    "Scoring rate": "scoring_rate",
    "Impact ratio, scoring": "scoring_ratio",
}
BIAS_RATES: Final = ("selection_rate", "impact_ratio", "mean_score")


def list_parts(record: AuditRecord) -> list[Part]:
    """Take the parts of the page from a record."""
    known = record.known_groups
    families: dict[tuple[str, ...], list[GroupRate]] = {}
    for one in record.groups if known is None else ():
        families.setdefault(one.columns, []).append(one)
    known_families: dict[tuple[str, ...], list[KnownGroup]] = {}
    for group in () if known is None else known.groups:
        known_families.setdefault(group.columns, []).append(group)
    sensitive = join(show(name) for name in record.sensitive).shown or "None."
    return [
        Part(
            title="What was assessed",
            facts=(*summary.data_facts(record), Fact("Sensitive columns", sensitive)),
            texts=(_explain_rates(record), *_explain_scoring(record)),
        ),
        *(_known_part(record, columns, groups) for columns, groups in known_families.items()),
        *(_family_part(columns, groups) for columns, groups in families.items()),
        *([] if any(len(columns) > 1 for columns in {**families, **known_families}) else [_no_intersections(record)]),
        _unknown_part(families) if known is None else _count_unknown(known),
        Part(
            title="What this page does not show",
            items=(
                "How comparable people are treated. The report on the same record (likewise report) shows it.",
                *([] if known else ["Scoring rates (the share of a group above the median score): not in the record."]),
                "Who made and who reviewed this audit, and when the system was first used.",
                "Confidence intervals, where shown, reflect sampling of people, not errors in the data.",
                summary.NO_OPINION,
            ),
        ),
    ]


def _explain_scoring(record: AuditRecord) -> tuple[str, ...]:
    """Sentence that explains scoring rates, where there are any."""
    known = record.known_groups
    if known is None or known.median_score is None:
        return ()
    side = "below" if record.favours_low else "above"
    why = ", as low scores are favourable" if record.favours_low else ""
    return (
        f"The scoring rate of a group is the share of its people who are scored {side} the median score of everybody, "
        f"{show_score(known.median_score)}{why}; its impact ratio is that of scoring rates.",
    )


def _known_part(record: AuditRecord, columns: tuple[str, ...], groups: Sequence[KnownGroup]) -> Part:
    names = join((show(name) for name in columns), " and ").shown
    rated = {(one.columns, one.values): one for one in record.groups}
    shown = [head for head, name in KNOWN_RATES.items() if any(getattr(one, name) is not None for one in groups)]
    rows: list[tuple[Cell, ...]] = [
        (
            evidence.name_group(one.columns, one.values),
            count(one.n_people),
            *(_cell(one, KNOWN_RATES[head], rated.get((one.columns, one.values))) for head in shown),
        )
        for one in groups[:MAX_GROUPS]
    ]
    table = Table(
        caption=f"Groups by {names}",
        head=("Group", "People", *shown),
        rows=tuple(rows),
        more=count_left_out(len(groups), MAX_GROUPS, "groups"),
        is_sortable=True,
    )
    return Part(title=f"By {names}", texts=_name_highest(groups), tables=(table,))


def _name_highest(groups: Sequence[KnownGroup]) -> tuple[str, ...]:
    """Sentence that names the group by whose rate the others were divided."""
    told = []
    for what, name in (("selected", "selection_rate"), ("high-scoring", "scoring_rate")):
        rates = [getattr(one, name) for one in groups]
        if any(rates):
            most = groups[rates.index(max(rate for rate in rates if rate is not None))]
            named = evidence.name_group(most.columns, most.values)
            told.append(f"Impact ratios are relative to the most {what} group with known values: {named}.")
        elif rates[0] is not None and what == "selected":
            told.append("Nobody is selected, so there are no impact ratios.")
    return tuple(told)


def _cell(one: KnownGroup, name: str, rated: GroupRate | None) -> Number:
    """Format a count, a rate or a ratio of a group, with its interval where that is of the same groups."""
    value = getattr(one, name)
    if value is None:
        return Number(NOTHING, None)
    if name == "n_selected":
        return count(value)
    write = partial(show_value, "impact_ratio" if name.endswith("ratio") else "selection_rate")
    ends = None
    if rated is not None and value == getattr(rated, name, None):
        ends = rated.impact_interval if name == "impact_ratio" else rated.selection_interval
    return Number(write(value), value, " to ".join(map(write, ends)) if ends else "")


def _count_unknown(known: KnownGroups) -> Part:
    """Count the people who are in no known group."""
    rows = tuple((join((show(name) for name in one.columns), " or "), count(one.n_people)) for one in known.unknown)
    told = (
        "People whose value is missing are not among the groups above, nor is their rate among those that ratios are "
        "relative to. A text that stands for an unknown value is a group under its own name, and is not counted here."
    )
    table = Table(caption="People with a missing value", head=("Missing in", "People"), rows=rows)
    return Part(title="People with unknown values", texts=(told,), tables=(table,))


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
        f"{what} without a decision threshold select nobody, so the record has neither selection rates nor impact "
        "ratios. Mean scores are shown instead. To have rates, audit with a threshold."
    )


def _family_part(columns: tuple[str, ...], groups: Sequence[GroupRate]) -> Part:
    names = join((show(name) for name in columns), " and ").shown
    together = (
        (f"Intersections of all {len(columns)} sensitive columns; those of fewer columns are not in the record.",)
        if len(columns) > 2
        else ()
    )
    return Part(
        title=f"By {names}",
        texts=(*together, *_explain_ratio(groups)),
        tables=(evidence.rate_table(groups, f"Groups by {names}", names=BIAS_RATES, most=MAX_GROUPS),),
    )


def _explain_ratio(groups: Sequence[GroupRate]) -> tuple[str, ...]:
    """Sentence that names the group by whose rate the others were divided."""
    if all(one.impact_ratio is None for one in groups):
        nobody = "Nobody is selected, so there are no impact ratios."
        return (nobody,) if any(one.selection_rate is not None for one in groups) else ()
    controls = [one for one in groups if one.is_reference]
    if controls:
        named = join((evidence.name_group(one.columns, one.values) for one in controls), "; ")
        return (
            f"Impact ratios are relative to the reference named for this audit: {named}. Those relative to the most "
            "selected group are not in the record; audit without a reference to have them.",
        )
    most = max(groups, key=lambda one: one.selection_rate or 0.0)
    named = evidence.name_group(most.columns, most.values)
    unknown = (
        " Its people have an unknown value; to have ratios among known groups only, audit the table without them."
        if None in most.values
        else ""
    )
    return (f"Impact ratios are relative to the most selected group: {named}.{unknown}",)


def _no_intersections(record: AuditRecord) -> Part:
    one = "There is one sensitive column, so there are no intersections."
    return Part(title="Intersections", texts=(one if len(record.sensitive) == 1 else summary.ABSENT,))


def _unknown_part(families: Mapping[tuple[str, ...], Sequence[GroupRate]]) -> Part:
    """Count the people whose value is missing: they are groups of the record like others."""
    title = "People with unknown values"
    if not families:
        return Part(title=title, texts=(f"No group was measured. Counts of unknown values: {summary.ABSENT.lower()}",))
    rows: list[tuple[Cell, ...]] = []
    for columns, groups in families.items():
        name = join((show(one) for one in columns), " or ")
        rows.append((name, count(sum(one.n_people for one in groups if None in one.values))))
    told = (
        "People whose value is missing are a group of their own above, “(missing)”, with rates like the others. A text "
        "that stands for an unknown value is a group under its own name, and is not counted here."
    )
    return Part(
        title=title,
        texts=(told,),
        tables=(Table(caption="People with a missing value", head=("Missing in", "People"), rows=tuple(rows)),),
    )
