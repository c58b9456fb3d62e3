"""Records of several audits, of periods or models, compared from the first to the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist
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
    ColumnDirections,
    Direction,
    Measure,
    Note,
    PairCase,
    SeriesPair,
    SeriesPoint,
    key_of,
    split_key,
)

MAY_DIFFER: Final = {"gap limit", "threshold"}  # a changed threshold is part of how people are treated
SIDES: Final = ("control_only_rate", "target_only_rate")  # the approval gap is the second less the first


def compare_series(
    records: Sequence[Record], names: Sequence[str] | None = None, *, as_given: bool = False
) -> AuditSeries:
    """Compare how people are treated in audits of several periods or models, from the first to the last.

    Concluded on are the excess and, for each transition between sensitive values, the adjusted gap and the approval
    gap; gaps, selection rates and impact ratios also move where scores do, and are shown only. Records of other
    sensitive or compared columns, rules, tasks or references are refused.

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
    _refuse_unlike(found, names)
    first, last = found[0], found[-1]
    points = [_point(record, name, first) for record, name in zip(found, names, strict=True)]
    before, after = points[0].measures, points[-1].measures
    changes = {key: _change(before[key], after[key]) for key in after if key in before}
    concluded = tuple(_list_treatment(changes))
    wider = _widen(last.settings.confidence, len(concluded))
    changes |= {key: _change(before[key], after[key], wider) for key in concluded}
    new, resolved = _differing_pairs(first, last)
    return AuditSeries(
        points=tuple(points),
        changes=changes,
        concluded=concluded,
        new_pairs=new,
        resolved_pairs=resolved,
        notes=tuple(_write_notes(found, names)),
    )


def _refuse_unlike(records: Sequence[AuditRecord], names: Sequence[str]) -> None:
    """Refuse records that do not answer one question, and say in what they differ."""
    for record, name in zip(records[1:], names[1:], strict=True):
        unlike = {what: why for what, why in list_differences(records[0], record).items() if what not in MAY_DIFFER}
        for what, why in unlike.items():
            raise ScoreError(
                f"The records {names[0]} and {name} differ in their {what}: {why}. Compare audits of one question."
            )


def _list_treatment(changes: Mapping[str, Change]) -> Iterator[str]:
    """Yield the measures that say how people are treated: excess, adjusted gaps and approval gaps."""
    known = {key: change for key, change in changes.items() if change.difference.value is not None}
    yield from [key for key in ("excess_equal", "excess", "excess_flips") if key in known][:1]
    yield from (key for key in known if split_key(key)[0] in ("adjusted_gap", "approval_gap") and split_key(key)[1])


def _widen(confidence: float, n: int) -> float:
    """Return how much wider intervals are that hold for ``n`` differences together (Bonferroni)."""
    tail = (1 - confidence) / 2
    normal = NormalDist()
    return normal.inv_cdf(tail / max(n, 1)) / normal.inv_cdf(tail)


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


def _point(record: AuditRecord, name: str, first: AuditRecord) -> SeriesPoint:
    groups = [one for one in record.coverage if one.label is None and len(one.columns) == 1]
    return SeriesPoint(
        name=name,
        made_at=record.made_at,
        n_people=record.data.n_rows,
        n_pairs=record.pairs.n_total,
        measures=dict(record.measures) | _measure_directions(record, first),
        coverage={f"{one.columns[0]} {one.values[0]}": one.share for one in groups},
        in_points=record.in_points,
    )


def _measure_directions(record: AuditRecord, first: AuditRecord) -> dict[str, Measure]:
    """Return the measures of each transition, by its name as the first record turns it."""
    sides = {one.name([column]): one for column, way in _list_directions(record) for one in (way, way.reversed())}
    found: dict[str, Measure] = {}
    for name in [one.name([column]) for column, one in _list_directions(first)]:
        measures = sides[name].measures if name in sides else {}
        found |= {key_of(kind, name): measures[kind] for kind in ("adjusted_gap", *SIDES) if kind in measures}
        control, target = (measures.get(side) for side in SIDES)
        if control is not None and target is not None:
            found[key_of("approval_gap", name)] = _change(control, target).difference
    return found


def _list_directions(record: AuditRecord) -> Iterator[tuple[str, Direction]]:
    """Yield the transitions of each sensitive column by itself."""
    alone = [ColumnDirections(column, record.directions) for column in record.sensitive[:1]]
    for part in record.column_directions or alone:
        yield from ((part.column, one) for one in part.directions)


def _change(before: Measure, after: Measure, wider: float = 1.0) -> Change:
    """Bound the difference of two audits by their intervals, where both have one."""
    change = change_between(before, after)
    if before.value is None or after.value is None or None in (before.low, before.high, after.low, after.high):
        return change
    old, new = ((one.low or 0.0, one.high or 0.0) for one in (before, after))
    low, high = subtract(after.value, new, before.value, old)
    value = after.value - before.value
    ends = value + wider * (low - value), value + wider * (high - value)
    return Change(before, after, Measure(value, *ends, min(before.n, after.n)))


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
    if all(set(one.measures) >= SQUEEZE_NEEDS for one in (first, last)):
        squeezed = note_squeeze(first.measures, last.measures)
        if squeezed is not None:
            yield squeezed
    for one, name in zip(records, names, strict=True):
        for note in one.notes:
            if note.kind in ("collapsed", "few_pairs", "few_people"):
                yield Note(note.kind, f"{name}: {note.text}")
