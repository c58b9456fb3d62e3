"""Verdict, facts, notes, reviews, caveats and provenance of an audit, in sentences and tables that reports share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import count_of
from likewise._json import plain
from likewise.record import AuditRecord
from likewise.record._internal import (
    STANDINGS,
    Check,
    Direction,
    key_of,
    kind_of,
    show_limit,
    show_value,
)
from likewise.report._evidence import (
    MAX_COMBINATIONS,
    SIGNIFICANT,
    adjusted_gap,
    choose_directions,
    explain_no_directions,
    is_significant,
    name_values,
)
from likewise.report._text import (
    MAX_ROWS,
    NOTHING,
    Cell,
    Number,
    Table,
    Value,
    as_text,
    count,
    count_left_out,
    join,
    measured,
    p_value,
    percent,
    show,
    tidy,
    title,
)

UNMEASURED: Final = "No gap between comparable people could be measured."
LONGEST_TEXT: Final = 2_000  # rules, notes and settings name columns, which may have any name
ABSENT: Final = "Not in this record."
NO_OPINION: Final = (
    "This page restates the record. It does not say whether a law or a rule applies, nor whether it is met."
)
ABOUT_REVIEWS: Final = (
    "What reviewers found of the worst pairs, in their words. Of several reviews by one reviewer, the latest counts."
)
MOST_UNLIKE: Final = {"difference": 3, "changed": 2}  # columns of a transition whose balance is told
MAX_REVIEWS: Final = 500
LONGEST_REASON: Final = 2000
ABOUT_REPRODUCTION: Final = "The same rows, scores, settings and seed give the same numbers."


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of what was compared."""

    name: str
    text: str
    is_checksum: bool = False
    is_of_pairs: bool = False  # about the rule and its pairs, not about people and scores


def lead_sentence(record: AuditRecord) -> str:
    """One short sentence: what the excess comes to; without one, how far apart comparable people are scored."""
    if len(record.conclusions) > 1:
        return record.conclusions[0]
    mean = record.measures.get("gap_mean")
    if mean is None or mean.value is None:
        return UNMEASURED
    shown = show_value("gap_mean", mean.value, points=record.in_points)
    return f"Scores of comparable people differ by {shown} on average."


def list_answers(record: AuditRecord) -> list[Fact]:
    """Answer what readers ask first: is there a difference, who is worse off, whom is it about, is it allowed."""
    verdict = record.verdict
    pairs = _join_sample(record.pairs.n, describe_sample(record))
    known = [
        Fact("Beyond chance", "".join(record.conclusions[-1:])),
        Fact("Who is worse off", tell_worst(record)),
        Fact("Whom this is about", f"{describe_coverage(record)} Comparable pairs: {pairs}.".strip()),
        Fact("Policy", "No policy was given, so there is no verdict." if verdict is None else verdict.headline),
    ]
    return [fact for fact in known if fact.text]


def tell_worst(record: AuditRecord) -> str:
    """Say who is clearest worse off by each sensitive column, and by how much."""
    return " ".join(_tell_columns(record))


def _tell_columns(record: AuditRecord) -> Iterator[str]:
    alone = [(record.sensitive, record.directions)]
    parts = [((one.column,), one.directions) for one in record.column_directions] or alone
    if not any(directions for _, directions in parts):
        yield explain_no_directions(record)
        return
    for columns, directions in parts:
        for one in sorted(directions, key=lambda one: one.rank)[:1]:
            names = tidy(", ".join(columns))
            if not is_significant(one):
                yield f"By {names}, no difference is significant (Holm-adjusted p below {SIGNIFICANT:g})."
                continue
            worse = one if one.lean < 0 else one.reversed()
            sides = f"{name_values(worse.target)} compared with {name_values(worse.origin)}"
            found, p = adjusted_gap(worse, points=record.in_points), p_value(one.p_adjusted)
            yield f"By {names}: {sides}, adjusted gap {found}, p (Holm) {p}."


def check_table(record: AuditRecord) -> Table | None:
    """The limits of the policy and what was measured; None without limits."""
    if record.verdict is None or not record.verdict.checks:
        return None
    rows: list[tuple[Cell, ...]] = [
        (
            check.outcome,
            title_of_check(check),
            show_sense(check, points=record.in_points),
            measured({check.of: check.measure}, check.of, points=record.in_points),
            count_of(
                check.measure.n, *(("person", "people") if kind_of(check.of).counted_in == "people" else ("pair",))
            ),
        )
        for check in record.verdict.checks
    ]
    return Table(
        caption="Limits of the policy",
        head=("Outcome", "Measure", "Limit", "Value", "N"),
        rows=tuple(rows),
        n_text=2,
    )


def title_of_check(check: Check) -> str:
    """Return the title of what a limit is on."""
    if check.part is None or kind_of(check.of).is_by_label:
        return title(key_of(check.of, check.part))
    return f"{title(check.of)}, {tidy(check.part)}"


def show_sense(check: Check, *, points: bool) -> str:
    """Format a limit: at most 20%."""
    return f"at {'most' if check.sense == 'max' else 'least'} {show_limit(check.of, check.limit, points=points)}"


def open_checks(record: AuditRecord) -> list[Check]:
    """Return the limits that are not met or cannot be judged."""
    checks = () if record.verdict is None else record.verdict.checks
    return [check for check in checks if check.outcome != "pass"]


def list_facts(record: AuditRecord) -> list[Fact]:
    """List what was compared: people, scores, rule, pairs, coverage, and what identifies the data."""
    data, pairs = record.data, record.pairs
    sealed = None if record.plan is None else record.plan.sealed.checksum
    origin = f" of {show(data.file)}" if data.file else ""
    baseline = None if pairs.n_within is None else _join_sample(pairs.n_within, describe_sample(record, baseline=True))
    known = [
        Fact("People", f"{count_of(data.n_rows, 'row')}{origin}."),
        Fact("Scores", f"{name_scores(record)}. {_describe_scores(record)}"),
        Fact("Weights", describe_weights(record)),
        Fact("Rule", tidy_text(record.rule_in_words), is_of_pairs=True),
        Fact("Comparable pairs", _join_sample(pairs.n, describe_sample(record)), is_of_pairs=True),
        Fact("Same-group pairs (baseline)", baseline or "", is_of_pairs=True),
        Fact("Coverage", describe_coverage(record), is_of_pairs=True),
        Fact("File checksum (SHA-256)", _show_known(data.sha256), is_checksum=True),
        Fact("Table checksum (SHA-256)", _show_known(data.table_checksum), is_checksum=True),
        Fact("Date", _show_known(record.made_at)),
        Fact("Plan", _describe_plan(record)),
        Fact("Plan checksum (SHA-256)", _show_known(sealed), is_checksum=True),
    ]
    return [fact for fact in known if fact.text]


def sum_up_plan(record: AuditRecord) -> str:
    """Sentence on the plan that the audit was made under, and its checksum; "" without one."""
    return "" if record.plan is None else f"{_describe_plan(record)} Checksum {show(record.plan.sealed.checksum)}."


def _describe_plan(record: AuditRecord) -> str:
    if record.plan is None:
        return ""
    n = len(record.plan.departures)
    departed = f"{count_of(n, 'departure')} from it" if n else "no departures from it"
    return f"Sealed {show(record.plan.sealed.sealed_at)}, without using scores; {departed}."


def departure_table(record: AuditRecord) -> Table | None:
    """Where the audit departed from its plan; None where it did not."""
    if record.plan is None or not record.plan.departures:
        return None
    rows: list[tuple[Cell, ...]] = [
        (one.part, show(one.name), *(NOTHING if value is None else show(value) for value in (one.planned, one.found)))
        for one in record.plan.departures
    ]
    return Table(
        caption="Departures from the plan", head=("Part", "Item", "Planned", "Found"), rows=tuple(rows), n_text=4
    )


def tidy_text(text: str) -> str:
    """Return a rule or a note, which may quote the data, ready to be shown."""
    return tidy(text, LONGEST_TEXT)


def _join_sample(n: int, sample: str) -> str:
    return f"{n:,}, {sample}" if sample else f"{n:,}"


def list_notes(record: AuditRecord, *, rows: bool = True) -> list[str]:
    """Return the notes, which may quote the data, ready to be shown; without ``rows``, who a note is about is not."""
    return [tidy_text(note.text) for note in record.notes if rows or note.kind != "that_person"]


def data_facts(record: AuditRecord) -> tuple[Fact, ...]:
    """Return the facts about people and scores."""
    return tuple(fact for fact in list_facts(record) if not fact.is_of_pairs)


def name_scores(record: AuditRecord) -> str:
    """Name where the scores come from."""
    origin = show(record.data.scores).shown
    return "An array" if origin == "array" else f"{origin[:1].upper()}{origin[1:]}"


def _show_known(value: str | None) -> str:
    return "" if value is None else f"{show(value)}"


def _describe_scores(record: AuditRecord) -> str:
    direction = f"{record.direction}."
    if record.task == "binary":
        what = f"Probability of the label {show(record.positive)}" if record.has_labels else "From 0 to 1"
        return f"{what}. {direction}"
    if record.task == "regression":
        unit = "" if record.scale is None else f" A gap of 100% is a difference of {record.scale:,.6g}."
        return f"Predicted numbers.{unit} {direction}"
    return f"Probabilities of {count_of(len(record.labels), 'label')}."


def describe_sample(record: AuditRecord, *, baseline: bool = False) -> str:
    """Describe the sample that the pairs, or those behind their intervals, are; "" if they are not one."""
    pairs = record.pairs
    n, n_all, n_kept, error = (
        (pairs.n_within or 0, pairs.n_within_total, pairs.n_within_kept, pairs.n_within_total_error)
        if baseline
        else (pairs.n, pairs.n_total, pairs.n_kept, pairs.n_total_error)
    )
    if error is not None:
        return f"a uniform sample of about {n_all:,}"
    if n_all is not None and n_all > n:
        return f"a uniform sample of {n_all:,}"
    return f"intervals from a uniform sample of {n_kept:,}" if n_kept is not None and n_kept < n else ""


def describe_weights(record: AuditRecord) -> str:
    """Sentences that say by what people are weighted, and effective sample sizes; "" where all count alike."""
    found = record.weights
    if found is None:
        return ""
    within = (
        f", {found.n_effective_within:,.1f} for {count_of(record.pairs.n_within or 0, 'same-group pair')}"
        if found.n_effective_within is not None
        else ""
    )
    left_out = f" {count_of(found.n_zero, 'person', 'people')} of weight 0 left out." if found.n_zero else ""
    return (
        f"Weighted by {tidy(found.origin)}: a pair counts as the product of its two weights. Effective sample size "
        f"(Kish): {found.n_effective:,.1f} for {count_of(found.n_people, 'person', 'people')}, "
        f"{found.n_effective_pairs:,.1f} for {count_of(record.pairs.n, 'pair')}{within}.{left_out}"
    )


def describe_coverage(record: AuditRecord) -> str:
    """Sentence that counts the matched people; "" where nobody was counted."""
    whole = next((one for one in record.coverage if not one.columns and one.label is None), None)
    if whole is None:
        return ""
    share = f" ({percent(whole.share)})" if whole.n_people else ""
    drawn = " drawn at random" if record.pairs.n_probed else ""
    people = count_of(whole.n_people, "person", "people")
    return f"{whole.n_with_partner:,} of {people}{drawn}{share} are matched: they have at least one comparable pair."


def verify_command(record: AuditRecord) -> str:
    """Return the command that recomputes the record."""
    return f"likewise verify audit.json DATA{' --model MODEL' if record.data.model else ''}"


def provenance_table(record: AuditRecord) -> Table:
    """Everything that the numbers depend on: data, settings, versions."""
    known: dict[str, Any] = {
        "likewise": record.likewise,
        "created": record.made_at,
        **{f"data, {name.replace('_', ' ')}": value for name, value in record.data.to_dict().items()},
        **{name: plain(getattr(record, name)) for name in ("task", "positive", "labels", "threshold", "roles", "rule")},
        **{f"setting {name}": value for name, value in plain(record.settings).items()},
        "weights": plain(record.weights),
        "policy": plain(record.policy),
        **{f"version of {name}": value for name, value in plain(record.versions).items()},
        "command": plain(record.command),
    }
    rows = tuple((name, Value(tidy(_write(one), LONGEST_TEXT))) for name, one in known.items() if one is not None)
    return Table(caption="What the numbers depend on", head=("Item", "Value"), rows=rows, n_text=2)


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | bool) else as_text(value)


def list_caveats(record: AuditRecord) -> list[str]:
    """List what the numbers do not show."""
    covered = "are not covered" if record.certificates is None else "are covered by their worst possible gap only"
    same_label = "Both people of a pair have the same label. Bias in the labels themselves is not visible here."
    return [
        f"Unmatched people {covered}.",
        "Who is comparable depends on the rule and the columns above. Another rule gives other pairs, and comparable "
        "people may differ in something that no column records.",
        *([same_label] if record.has_labels else []),
        "A gap is not proof of discrimination, and small gaps are not proof of fairness: a model that gives everybody "
        "the same score has no gaps and is useless.",
        "Confidence intervals reflect sampling of people, not errors in the data.",
        "This is a measurement, not a legal opinion.",
    ]


def origin_table(before: AuditRecord, after: AuditRecord) -> Table:
    """Identify the two audits of a comparison."""
    both = (before, after)
    rows: list[tuple[Cell, ...]] = [
        ("Scores", *map(name_scores, both)),
        ("Date", *(show(one.made_at) if one.made_at else "-" for one in both)),
        ("Verdict", *("No policy was given." if one.verdict is None else one.verdict.headline for one in both)),
    ]
    return Table(caption="The two audits", head=("Item", "Before", "After"), rows=tuple(rows), n_text=3)


def standing_table(record: AuditRecord) -> Table | None:
    """How many pairs are resolved, explained and unresolved; None without reviews."""
    found = record.review_summary
    if not record.reviews:
        return None
    rows: list[tuple[Cell, ...]] = [
        (one, meaning, count(n)) for one, meaning in STANDINGS.items() if (n := found.count(one)) or one != "disputed"
    ]
    rows.append(("not reviewed", "", count(found.n_pairs - len(found.standings))))
    return Table(caption="Pairs by standing", head=("Standing", "Meaning", "Pairs"), rows=tuple(rows), n_text=2)


def agreement_table(record: AuditRecord) -> Table | None:
    """How far two reviewers of the same pairs agree; None where no pair has two."""
    found = record.review_summary.agreements
    rows = tuple(
        (
            show(" and ".join(one.reviewers)),
            count(one.n_pairs),
            Number(percent(one.share), one.share),
            Number("undefined" if one.kappa is None else f"{one.kappa:.2f}", one.kappa),
        )
        for one in found[:MAX_ROWS]
    )
    head = ("Reviewers", "Pairs both reviewed (N)", "Same disposition", "Cohen's kappa")
    more = count_left_out(len(found), MAX_ROWS, "agreements")
    return Table(caption="Agreement between reviewers", head=head, rows=rows, more=more) if rows else None


def review_log(record: AuditRecord) -> Table | None:
    """Who reviewed which pair, when, to what disposition and why; None without reviews."""
    rows = tuple(
        (
            Value(f"{one.pair:,}"),
            show(one.reviewer),
            show(one.date),
            one.disposition,
            Value(tidy(one.reason, LONGEST_REASON)) if one.reason else NOTHING,
        )
        for one in record.reviews[:MAX_REVIEWS]
    )
    head = ("Pair", "Reviewer", "Date", "Disposition", "Reason")
    more = count_left_out(len(record.reviews), MAX_REVIEWS, "reviews")
    return Table(caption="Log of reviews", head=head, rows=rows, n_text=5, more=more) if rows else None


def balance_table(record: AuditRecord) -> Table | None:
    """In which compared columns the pairs of a transition differ most; None where they differ in none."""
    rows = [
        (name_values(one.origin), name_values(one.target), join(balance, "; "))
        for one in choose_directions(record.directions, MAX_COMBINATIONS)
        if (balance := list(_tell_balance(one)))
    ]
    head = ("From", "To", "To less From on average, in % of the range; discrete columns: pairs that differ")
    return Table(caption="Balance of the compared columns", head=head, rows=tuple(rows), n_text=3) if rows else None


def _tell_balance(one: Direction) -> Iterator[Value]:
    for what, most in MOST_UNLIKE.items():
        differ = [(found, part) for part in one.balance if (found := getattr(part, what)) is not None]
        for found, part in sorted(differ, key=lambda two: -abs(two[0]))[:most]:
            told = f"in {percent(found)} of pairs" if what == "changed" else f"{found:+z.2%}"
            yield join([show(part.column), Value(told)], " ")
