"""What an audit compared, and what it came to, in sentences: every form of a report says them."""

from __future__ import annotations

from typing import Any, Final

from likewise._format import count_of, show_value, sum_up
from likewise.report._escaping import tidy
from likewise.report._parts import Cell, Table, Value, show
from likewise.report._words import NOTHING, OF_PEOPLE, Record, found_in, limit_of, percent, title_of_limit

UNMEASURED: Final = "No gap between comparable people could be measured."
LONGEST_RULE: Final = 2_000  # it names columns, which may be called anything


def say_verdict(record: Record) -> str:
    """Say how the policy came out; nothing where there was none."""
    verdict = record["verdict"]
    if verdict is None:
        return ""
    n_of_pairs = sum(check["name"][4:] not in OF_PEOPLE for check in verdict["checks"])
    min_pairs = (record.get("policy") or {}).get("min_pairs", 0)
    return sum_up([check["outcome"] for check in verdict["checks"]], min_pairs, n_of_pairs)


def say_lead(record: Record) -> str:
    """Say in one short sentence how far apart comparable people are scored."""
    means = [(label, _mean_of(measures)) for label, measures in _by_label(record)]
    known = [(label, mean) for label, mean in means if mean != NOTHING]
    if not known:
        return UNMEASURED
    words = [
        mean if label is None else f"{mean}{' apart on average' if not place else ''} where the label is {label}"
        for place, (label, mean) in enumerate(known)
    ]
    return f"Comparable people are scored {', and '.join(words)}{' apart on average' if known[0][0] is None else ''}."


def say_found(record: Record) -> str:
    """Say the same with intervals, and with the baseline beside."""
    told = [
        f"Mean gap {'of all pairs' if label is None else f'for label {label}'}: {found_in(measures, 'gap_mean')}"
        f"{_beside(measures)}."
        for label, measures in _by_label(record)
        if _mean_of(measures) != NOTHING
    ]
    return " ".join(told) or UNMEASURED


def _mean_of(measures: Record) -> str:
    """Write a mean gap without its interval."""
    measure = measures.get("gap_mean")
    return NOTHING if measure is None or measure["value"] is None else show_value("gap_mean", measure["value"])


def _by_label(record: Record) -> list[tuple[Value | None, Record]]:
    if record["task"] != "binary":
        return [(None, record["measures"])]
    positive = record["positive"]
    ordered = sorted(record["by_label"], key=lambda one: positive is None or one["label"] != positive)
    return [(show(one["label"]), one["measures"]) for one in ordered]


def _beside(measures: Record) -> str:
    baseline = found_in(measures, "within_gap_mean")
    return "" if baseline == NOTHING else f"; for pairs equal in the sensitive columns {baseline}"


def list_checks(record: Record) -> Table | None:
    """List the limits of the policy, and what was found; None where there are none."""
    checks = [] if record["verdict"] is None else record["verdict"]["checks"]
    if not checks:
        return None
    rows: list[tuple[Cell, ...]] = [
        (
            check["outcome"],
            title_of_limit(check["name"]),
            limit_of(check),
            found_in({check["name"][4:]: check}, check["name"][4:]),
            _rests_on(check),
        )
        for check in checks
    ]
    return Table(
        caption="The limits of the policy",
        head=("Outcome", "Measure", "Limit", "Found", "Rests on"),
        rows=tuple(rows),
        n_text=2,
    )


def list_reasons(record: Record) -> list[tuple[str, str]]:
    """Name the limits that are not met or cannot be judged, with the reason."""
    checks = [] if record["verdict"] is None else record["verdict"]["checks"]
    return [(check["name"], check["reason"]) for check in checks if check["outcome"] != "pass"]


def _rests_on(check: Record) -> str:
    is_of_people = check["name"][4:] in OF_PEOPLE
    return count_of(check["n"], "person", "people") if is_of_people else count_of(check["n"], "pair")


def list_compared(record: Record) -> list[tuple[str, str]]:
    """Say who was compared with whom, by which rule, and what names the data."""
    data = record["data"]
    origin = f" of {show(data['file'])}" if data["file"] else ""
    known: list[tuple[str, str | None]] = [
        ("People", f"{count_of(data['n_rows'], 'row')}{origin}."),
        ("Scores", f"{say_origin(record)}. {_say_task(record)}"),
        ("Rule", tidy(record["rule_in_words"], LONGEST_RULE)),
        ("Comparable pairs", _say_pairs(record, "n", "n_total")),
        ("Baseline, pairs equal in the sensitive columns", _say_pairs(record, "n_within", "n_within_total")),
        ("Coverage", _say_coverage(record)),
        ("Checksum of the file (SHA-256)", _say_known(data["sha256"])),
        ("Checksum of the people as compared (SHA-256)", _say_known(data["table_checksum"])),
        ("Date", _say_known(record["made_at"])),
    ]
    return [(name, text) for name, text in known if text is not None]


def list_notes(record: Record) -> list[str]:
    """Give what limits the numbers; a note may quote the data."""
    return [tidy(note, LONGEST_RULE) for note in record["notes"]]


def say_origin(record: Record) -> str:
    """Say where the scores came from."""
    origin = show(record["data"]["scores"]).shown
    return "An array" if origin == "array" else f"{origin[:1].upper()}{origin[1:]}"


def _say_known(value: Any) -> str | None:
    return None if value is None else f"{show(value)}"


def _say_task(record: Record) -> str:
    threshold = record["threshold"]
    decided = f" The decision is yes from {threshold:.6g} on." if threshold is not None else ""
    if record["task"] == "binary":
        return f"They are the probability of the label {show(record['positive'])}.{decided}"
    if record["task"] == "regression":
        scale = record.get("scale")
        unit = "" if scale is None else f" A gap of 100% is a difference of {scale:,.6g}."
        return f"They are predicted numbers.{unit}{decided}"
    return f"They are the probabilities of {count_of(len(record['labels']), 'label')}."


def _say_pairs(record: Record, measured: str, total: str) -> str | None:
    n = record["pairs"][measured]
    return None if n is None else f"{n:,}{say_share(record, measured, total)}"


def say_share(record: Record, measured: str = "n", total: str = "n_total") -> str:
    """Say, as the rest of a sentence, what the measured pairs are a part of and what their intervals rest on."""
    pairs = record["pairs"]
    n, n_all, n_kept, error = (pairs.get(name) for name in (measured, total, f"{measured}_kept", f"{total}_error"))
    if error is not None:
        return f", a uniform sample of about {n_all:,}"
    if n_all is not None and n_all > n:
        return f", a uniform sample of {n_all:,}"
    return f", with intervals from a uniform sample of {n_kept:,}" if n_kept is not None and n_kept < n else ""


def _say_coverage(record: Record) -> str | None:
    whole = next((one for one in record["coverage"] if not one["columns"] and one.get("label") is None), None)
    if whole is None:
        return None
    n, n_people = whole["n_with_partner"], whole["n_people"]
    share = f" ({percent(n / n_people)})" if n_people else ""
    drawn = " drawn at random" if record["pairs"].get("n_probed") else ""
    return f"{n:,} of {count_of(n_people, 'person', 'people')}{drawn}{share} have a comparable partner."
