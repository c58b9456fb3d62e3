"""An audit as Markdown that an auditor can read from top to bottom."""

from __future__ import annotations

from likewise._wording import count_of, show_found, sum_up
from likewise.report._again import write_again, write_limits
from likewise.report._escaping import escape, escape_value, table
from likewise.report._evidence import write_directions, write_groups, write_worst_pairs
from likewise.report._measured import write_gaps, write_people, write_ranks
from likewise.report._words import NOTHING, OF_PEOPLE, Record, check_record, limit_of, percent, title_of_limit


def to_markdown(record: Record) -> str:
    """Write an audit as Markdown.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : mapping
        What ``Audit.to_dict`` gives.

    Returns
    -------
    str
        Markdown with tables; the same record gives the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_markdown
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> to_markdown(found.to_dict()).splitlines()[0]
    '# How differently similar people are treated'
    """
    check_record(record)
    lines = [
        "# How differently similar people are treated",
        "",
        *_write_verdict(record),
        *_write_compared(record),
        *_write_notes(record),
        *write_gaps(record),
        *write_ranks(record),
        *write_people(record),
        *write_directions(record),
        *write_worst_pairs(record),
        *write_groups(record),
        *write_again(record),
        *write_limits(record),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_verdict(record: Record) -> list[str]:
    verdict = record["verdict"]
    if verdict is None:
        return []
    checks = verdict["checks"]
    outcome, _, rest = sum_up([check["outcome"] for check in checks]).partition(":")
    lines = ["## Verdict", "", f"**{outcome}:**{rest}", ""]
    if not checks:
        return lines
    rows = [
        (
            check["outcome"],
            escape(title_of_limit(check["name"])),
            limit_of(check),
            NOTHING
            if check["value"] is None
            else show_found(check["name"][4:], check["value"], check["low"], check["high"]),
            _rests_on(check),
        )
        for check in checks
    ]
    lines += table(("Outcome", "Measure", "Limit", "Found", "Rests on"), rows, text_columns=2)
    open_checks = [check for check in checks if check["outcome"] != "pass"]
    lines += [f"- {escape(check['name'])}: {escape(check['reason'])}" for check in open_checks]
    return [*lines, ""] if open_checks else lines


def _rests_on(check: Record) -> str:
    is_of_people = check["name"][4:] in OF_PEOPLE
    return count_of(check["n"], "person", "people") if is_of_people else count_of(check["n"], "pair")


def _write_compared(record: Record) -> list[str]:
    data, coverage = record["data"], next((one for one in record["coverage"] if _is_of_all(one)), None)
    origin = f" of {escape_value(data['file'])}" if data["file"] else ""
    lines = [
        "## What was compared",
        "",
        f"- People: {count_of(data['n_rows'], 'row')}{origin}.",
        f"- Scores: {escape_value(data['scores'])}. {_say_task(record)}",
        f"- Rule: {escape(record['rule_in_words'])}",
        *_say_pairs(record),
    ]
    if coverage is not None:
        n, n_people = coverage["n_with_partner"], coverage["n_people"]
        share = f" ({percent(n / n_people)})" if n_people else ""
        lines.append(f"- Coverage: {n:,} of {count_of(n_people, 'person', 'people')}{share} have a comparable partner.")
    return [*lines, ""]


def _is_of_all(coverage: Record) -> bool:
    return not coverage["columns"] and coverage.get("label") is None


def _say_task(record: Record) -> str:
    threshold = record["threshold"]
    decided = f" The decision is yes from {threshold:.6g} on." if threshold is not None else ""
    if record["task"] == "binary":
        return f"They are the probability of the label {escape_value(record['positive'])}.{decided}"
    if record["task"] == "regression":
        scale = record.get("scale")
        unit = "" if scale is None else f" A gap of 100% is a difference of {scale:,.6g}."
        return f"They are predicted numbers.{unit}{decided}"
    return f"They are the probabilities of {count_of(len(record['labels']), 'label')}."


def _say_pairs(record: Record) -> list[str]:
    kinds = (
        ("n", "n_total", "Comparable pairs"),
        ("n_within", "n_within_total", "Baseline, pairs equal in the sensitive columns"),
    )
    lines = []
    for measured, total, words in kinds:
        n, n_all = record["pairs"][measured], record["pairs"][total]
        if n is not None:
            sampled = f", a uniform sample of {n_all:,}" if n_all is not None and n_all > n else ""
            lines.append(f"- {words}: {n:,}{sampled}.")
    return lines


def _write_notes(record: Record) -> list[str]:
    """Write what limits the numbers, before anybody reads them."""
    if not record["notes"]:
        return []
    return ["## Notes", "", *(f"- {escape(note)}" for note in record["notes"]), ""]
