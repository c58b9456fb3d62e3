"""Records of several audits, of periods or models, compared from the first to the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from likewise._checks import parameter
from likewise.auditing.inference._intervals import subtract
from likewise.auditing.result._comparison import (
    SQUEEZE_NEEDS,
    Record,
    change_between,
    list_differences,
    note_unlike,
    read_record,
)
from likewise.auditing.result._notes import note_squeeze
from likewise.exceptions import ParameterError, ScoreError
from likewise.record import AuditRecord
from likewise.record._internal import (
    AuditSeries,
    Change,
    Measure,
    Note,
    PairCase,
    SeriesPair,
    SeriesPoint,
)

MAY_DIFFER: Final = {"gap limit", "threshold"}  # no main measure of pairs but decisions depends on them


def compare_series(
    records: Sequence[Record], names: Sequence[str] | None = None, *, as_given: bool = False
) -> AuditSeries:
    """Compare audits of several periods or models by their records, from the first to the last.

    Records hold no pairs, so the interval of a difference comes from the intervals of both audits, as of independent
    samples. Where people are in both, it is usually too wide: of two models on the same people,
    :func:`likewise.compare_audits` says more.

    Parameters
    ----------
    records : sequence of AuditRecord or mapping
        Two or more, in the order of time: ``Audit.record``, or what an audit.json holds.
    names : sequence of str, optional
        What to call them; by default their numbers, from 1.
    as_given : bool
        Whether to keep the order given where the dates of the records say another, as of models audited in any order;
        it is refused by default.

    Returns
    -------
    AuditSeries

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import compare_series
    >>> data = load_dataset("planted")
    >>> how = {"roles": data.roles, "rule": data.rule}
    >>> found = audit(data.scores, data.test.X, data.test.y, **how)
    >>> compare_series([found.record, found.record]).outcome
    'no worse'
    """
    if len(records) < 2:
        raise ParameterError(f"has {len(records)}; give two or more to compare.", "records")
    names = [str(number + 1) for number in range(len(records))] if names is None else list(names)
    if len(names) != len(records):
        raise ParameterError(f"has {len(names)} for {len(records)} records; give one each.", "names")
    found = [read_record(record, name) for record, name in zip(records, names, strict=True)]
    if not as_given:
        _refuse_order(found, names)
    first, last = found[0], found[-1]
    shared = [name for name in last.measures if name in first.measures]
    new, resolved = _differing_pairs(first, last)
    return AuditSeries(
        points=tuple(map(_point, found, names)),
        changes={name: _change(first.measures[name], last.measures[name]) for name in shared},
        is_comparable=all(list_differences(first, one).keys() <= MAY_DIFFER for one in found),
        new_pairs=new,
        resolved_pairs=resolved,
        notes=tuple(_write_notes(found, names)),
    )


def _refuse_order(records: Sequence[AuditRecord], names: Sequence[str]) -> None:
    """Refuse dated records of which a later one was made before the one ahead of it."""
    dated = [(one.made_at, name) for one, name in zip(records, names, strict=True) if one.made_at is not None]
    for (day, name), (next_day, next_name) in pairwise(dated):
        if next_day < day:
            oldest_first = ", ".join(name for _, name in sorted(dated, key=lambda one: one[0]))
            raise ScoreError(
                f"The records are not oldest first: {name} was made at {day}, and {next_name} at {next_day}. Give "
                f"them as {oldest_first}; or, where the order is not that of time, {parameter('as_given')}."
            )


def _point(record: AuditRecord, name: str) -> SeriesPoint:
    groups = [one for one in record.coverage if one.label is None and len(one.columns) == 1]
    return SeriesPoint(
        name=name,
        made_at=record.made_at,
        n_people=record.data.n_rows,
        n_pairs=record.pairs.n_total,
        measures=record.measures,
        coverage={f"{one.columns[0]} {one.values[0]}": one.share for one in groups},
        in_points=record.in_points,
    )


def _change(before: Measure, after: Measure) -> Change:
    """Bound the difference of two audits by their intervals, where both have one."""
    change = change_between(before, after)
    ends = (before.low, before.high, after.low, after.high)
    if before.value is None or after.value is None or None in ends:
        return change
    low, high = subtract(after.value, (after.low, after.high), before.value, (before.low, before.high))  # type: ignore[arg-type]  # none is None
    return Change(before, after, Measure(after.value - before.value, low, high, after.n))


def _differing_pairs(
    first: AuditRecord, last: AuditRecord
) -> tuple[tuple[SeriesPair, ...] | None, tuple[SeriesPair, ...] | None]:
    """Return the worst pairs of the last audit only, and of the first only."""
    are_same_rows = first.data.table_checksum is not None and first.data.table_checksum == last.data.table_checksum
    if not are_same_rows and not (first.has_row_ids and last.has_row_ids):
        return None, None
    before, after = ({_key(one): one for one in record.worst_pairs if one.gap} for record in (first, last))
    return tuple(
        tuple(SeriesPair(one.left_id, one.right_id, one.gap) for key, one in these.items() if key not in those)
        for these, those in ((after, before), (before, after))
    )  # type: ignore[return-value]  # two of them


def _key(pair: PairCase) -> frozenset[Any]:
    return frozenset((str(pair.left_id), str(pair.right_id)))


def _write_notes(records: Sequence[AuditRecord], names: Sequence[str]) -> Iterator[Note]:
    first, last = records[0], records[-1]
    yield from note_unlike(first, last)
    for (one, other), (name, other_name) in zip(pairwise(records[:-1]), pairwise(names), strict=False):
        for note in note_unlike(one, other):
            yield Note("unlike", f"{name} and {other_name}: {note.text}")
    if all(set(one.measures) >= SQUEEZE_NEEDS for one in (first, last)):
        squeezed = note_squeeze(first.measures, last.measures)
        if squeezed is not None:
            yield squeezed
    for one, name in zip(records, names, strict=True):
        for note in one.notes:
            if note.kind in ("collapsed", "few_pairs", "few_people"):
                yield Note(note.kind, f"{name}: {note.text}")
