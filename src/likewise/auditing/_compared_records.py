"""The records of two audits, before and after: what changed, as far as records can tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from likewise._json import plain
from likewise.auditing._comparison import note_squeeze
from likewise.exceptions import ScoreError
from likewise.record._internal import FORMAT, Measure

Record = Mapping[str, Any]

# what both should have in common, where in a record it stands, and what it means if they do not
SHARED: Final = {
    "task": (("task",), "their numbers are about different things"),
    "positive label": (("positive",), "positive and negative mean different people"),
    "rule": (("rule",), "they are about different pairs"),
    "scale": (("scale",), "their gaps are in different units"),
    "gap limit": (("settings", "gap_limit"), "the shares of pairs above it cannot be compared"),
    "threshold": (("threshold",), "decisions may differ although scores do not"),
}


def compare_records(before: Record, after: Record) -> dict[str, Any]:
    """Say what changed from one audit to another by their records, as :meth:`Comparison.to_dict` does.

    Records hold no pairs, so the differences have no intervals: with both audits at hand, :func:`compare_audits` says
    more. And it refuses audits that cannot be compared, where this notes what they do not have in common.

    Parameters
    ----------
    before, after : mapping
        What :meth:`Audit.to_dict` gives, or an audit.json holds.

    Returns
    -------
    dict
        ``changes``, by the name of the measure ``before``, ``after`` and the ``difference``; and ``notes``.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import compare_records
    >>> data = load_dataset("planted")
    >>> how = {"roles": data.roles, "rule": data.rule}
    >>> before = audit(data.scores, data.test.X, data.test.y, **how)
    >>> after = audit(lambda people: data.scores(people, gap=0.02), data.test.X, data.test.y, **how)
    >>> found = compare_records(before.to_dict(), after.to_dict())
    >>> round(found["changes"]["gap_mean"]["difference"]["value"], 4), found["notes"]
    (-0.0493, [])
    """
    olds, news = _measures_of(before, "before"), _measures_of(after, "after")
    shared = [name for name in news if name in olds]
    changes = {
        name: {
            "before": dict(before["measures"][name]),
            "after": dict(after["measures"][name]),
            "difference": {"value": _subtract(news[name], olds[name]), "low": None, "high": None, "n": news[name].n},
        }
        for name in shared
    }
    unlike = list(_note_unlike(before, after))
    squeezed = note_squeeze(olds, news) if {"gap_mean", "score_spread", "rank_gap_mean"} <= set(shared) else None
    found: dict[str, Any] = plain({"changes": changes, "notes": [*unlike, *([squeezed] if squeezed else [])]})
    return found


def _measures_of(record: Record, which: str) -> dict[str, Measure]:
    """Read the numbers of a record, which may come from a file that somebody changed."""
    is_record = isinstance(record, Mapping) and record.get("format") == FORMAT
    measures = record.get("measures") if is_record else None
    if not isinstance(measures, Mapping) or not all(isinstance(one, Mapping) for one in measures.values()):
        raise ScoreError(f"The record {which} is not that of an audit. Give what Audit.to_dict() returns.")
    return {name: Measure(_number(one.get("value")), n=_count(one.get("n"))) for name, one in measures.items()}


def _number(value: Any) -> float | None:
    if value in ("inf", "-inf"):  # as JSON knows no infinity, the record has it in words
        return float(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _subtract(new: Measure, old: Measure) -> float | None:
    return None if new.value is None or old.value is None else new.value - old.value


def _note_unlike(before: Record, after: Record) -> Iterator[str]:
    """Say what keeps the two from being compared number by number."""
    if any(_look_up(before, "data", key) != _look_up(after, "data", key) for key in ("table_checksum", "n_rows")):
        yield (
            "The two audits are of different people or labels: what changed may be the people, and not how they are "
            "scored."
        )
    for name, (path, meaning) in SHARED.items():
        if _look_up(before, *path) != _look_up(after, *path):
            yield f"The two audits differ in their {name}: {meaning}."


def _look_up(record: Record, *path: str) -> Any:
    found: Any = record
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
