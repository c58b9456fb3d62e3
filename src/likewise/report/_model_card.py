"""An audit as a section of a model card: short Markdown that stands among other people's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from likewise._format import count_of
from likewise.report._again import list_limits, say_command
from likewise.report._charts import measures_of, name_slice
from likewise.report._charts_rows import MOST_DIRECTIONS
from likewise.report._compared import list_compared, list_notes, say_verdict
from likewise.report._directions import STANDS_OUT, stands_out
from likewise.report._escaping import escape, escape_value, table
from likewise.report._measured import MOST_LABELS, has_baseline, list_people, say_intervals
from likewise.report._words import Record, check_record, found_in, probability, signed_found


def to_model_card(record: Record) -> str:
    """Write an audit as a section of a model card.

    Nothing is computed here: every number is in the record. The section says what was measured; it claims compliance
    with nothing.

    Parameters
    ----------
    record : mapping
        What ``Audit.to_dict`` gives.

    Returns
    -------
    str
        Markdown that begins with a heading of the second level.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_model_card
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> print(to_model_card(found.to_dict()).splitlines()[0])
    ## Individual fairness: how comparable people are scored
    """
    check_record(record)
    lines = [
        "## Individual fairness: how comparable people are scored",
        "",
        *_write_question(record),
        *_write_data(record),
        *_write_gaps(record),
        *_write_directions(record),
        *_write_utility(record),
        *_write_caveats(record),
        *_write_again(record),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_question(record: Record) -> list[str]:
    columns = " and ".join(escape_value(column) for column in record["roles"]["sensitive"]) or "the sensitive columns"
    verdict = say_verdict(record)
    judged = [f"Held against a policy: {escape(verdict)}", ""] if verdict else []
    return [
        "### The question",
        "",
        f"Does the model score two people alike who differ in {columns}, and whom the rule below calls comparable?",
        "",
        *judged,
    ]


def _write_data(record: Record) -> list[str]:
    facts = [f"- {escape(name)}: {escape(words)}" for name, words in list_compared(record)]
    return ["### Data and rule", "", *facts, ""]


def _write_gaps(record: Record) -> list[str]:
    names = {"gap_mean": "Mean gap", "gap_q3": "Q3"}
    if has_baseline(record):
        names |= {"within_gap_mean": "Baseline, mean gap", "excess_gap_mean": "Mean gap beyond the baseline"}
    shown = [one for one in record["distributions"]["slices"] if one["n"]][: MOST_LABELS + 1]  # all pairs come first
    rows = [
        (escape(name_slice(one)), f"{one['n']:,}", *(found_in(measures_of(record, one), name) for name in names))
        for one in shown
    ]
    return [
        "### Gaps between comparable people",
        "",
        f"A gap is the distance between the two scores of a pair. {say_intervals(record)}",
        "",
        *table(("Pairs", "Number", *names.values()), rows),
    ]


def _write_directions(record: Record) -> list[str]:
    found = sorted(filter(stands_out, record["directions"]), key=lambda one: -abs(one["mean_gap"]))
    lines = ["### Directions that stand out", ""]
    if not found:
        return [
            *lines,
            f"No transition between sensitive values has an adjusted p-value below {STANDS_OUT:g}.",
            "",
        ]
    n_more = len(found) - MOST_DIRECTIONS
    more = [f"- {n_more:,} more stand out; they are in the record."] if n_more > 0 else []
    return [*lines, *map(_say_direction, found[:MOST_DIRECTIONS]), *more, ""]


def _say_direction(one: Mapping[str, Any]) -> str:
    return (
        f"- From {escape_value(one['origin'])} to {escape_value(one['target'])}: the mean signed gap is "
        f"{signed_found(one['mean_gap'], one['low'], one['high'])} over {count_of(one['n_pairs'], 'pair')}, "
        f"adjusted p {escape(probability(one['p_adjusted']))}."
    )


def _write_utility(record: Record) -> list[str]:
    people = list_people(record)
    rows = [tuple(escape(str(cell)) for cell in row) for row in people.rows]
    return ["### Utility", "", *table([str(one) for one in people.head], rows)] if rows else []


def _write_caveats(record: Record) -> list[str]:
    said = [*list_notes(record), *list_limits(record)]
    return ["### Caveats", "", *(f"- {escape(words)}" for words in said), ""]


def _write_again(record: Record) -> list[str]:
    return ["### How to reproduce", "", *(f"- {words}" for words in _say_again(record)), ""]


def _say_again(record: Record) -> Iterator[str]:
    settings = record["settings"]
    yield f"`{say_command(record)}` computes the numbers anew from the record and the data."
    yield (
        f"likewise {escape_value(record['likewise'])}, {count_of(settings['n_resamples'] or 0, 'resample')}, "
        f"seed {escape_value(settings['seed'])}."
    )
    if record["data"].get("scores_checksum"):
        yield f"Checksum of the scores (SHA-256): {escape_value(record['data']['scores_checksum'])}"
