"""The worst pairs as a sheet to review them on: one row per pair, its factors in columns, and room to write."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import free_name
from likewise._files import write_file
from likewise.auditing.evidence._tables import (
    as_text,
    defuse_formulas,
    factors_by_name,
    is_within,
    scores_by_name,
    workbook_of,
)
from likewise.record import AuditRecord
from likewise.record._internal import DISPOSITIONS, PairCase, RecordError
from likewise.schema._internal import array_of, as_arrow

if TYPE_CHECKING:
    import pyarrow as pa

TO_FILL: Final = ("reviewer", "date", "disposition", "reason")


def review_table(record: AuditRecord | Mapping[str, Any]) -> pa.Table:
    """Write the worst pairs of a record as a review sheet: one row per pair, with its factors in columns.

    Of each pair, the person who is worse off is under review, and the other is the comparator. ``likewise audit
    --out`` writes it as review_sheet.csv; :func:`merge_reviews` reads it back when it is filled in. The
    ``disposition`` is ``resolved`` (the difference was an error and has been corrected), ``explained`` (a legitimate
    reason accounts for it) or ``unresolved``.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.

    Returns
    -------
    pyarrow.Table
        ``pair`` (1 for the worst); ``key``, which changes with anything in the pair; empty, ``reviewer``, ``date``,
        ``disposition`` and ``reason``; ``gap``, ``rank_gap``, ``outcome``, ``decisions_differ``, the columns in which
        the two differ (``differs``), and whether all differences are ``within_tolerance``; row, id, score and decision
        of the ``person_`` and of the ``comparator_``; and what both have in each factor, with ``difference_`` and
        ``tolerance_`` where the rule has one for it, as a share of the range or in ranks; with ``difference_in_units_``
        (or ``_in_days_``) and ``tolerance_in_units_`` where its limit is in units.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import review_table
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> sheet = review_table(found.to_record())
    >>> sheet.num_rows == len(found.worst), sheet.column_names[:6]
    (True, ['pair', 'key', 'reviewer', 'date', 'disposition', 'reason'])
    """
    import pyarrow as pa

    shown = AuditRecord.of(record)
    worst = shown.worst_pairs
    if len({(len(case.factors), *map(_n_scores, (case.left_score, case.right_score))) for case in worst}) > 1:
        raise RecordError("its worst_pairs do not all have the same factors and scores")
    scores = scores_by_name(worst, shown.labels if shown.task == "multiclass" else None)
    columns: dict[str, Any] = {
        "pair": as_arrow(range(1, len(worst) + 1)),
        "key": _texts(shown.pair_keys),
        **{name: pa.nulls(len(worst), pa.string()) for name in TO_FILL},
        "gap": array_of([float(case.gap) for case in worst], pa.float64()),
        "rank_gap": array_of([float(case.rank_gap) for case in worst], pa.float64()),
        "outcome": _texts(case.label for case in worst),
        "decisions_differ": _texts(_yes_or_no(case.is_flip) for case in worst),
        "differs": _texts(", ".join(case.differing) for case in worst),
        "within_tolerance": _texts(_yes_or_no(_are_within(case)) for case in worst),
    }
    for side, who in (("left", "person"), ("right", "comparator")):
        columns[f"{who}_row"] = array_of([getattr(case, f"{side}_row") for case in worst], pa.int64())
        columns[f"{who}_id"] = _texts(getattr(case, f"{side}_id") for case in worst)
        for name, (left, right) in scores.items():
            columns[f"{who}_{name}"] = array_of(left if side == "left" else right, pa.float64())
        columns[f"{who}_decision"] = _texts(_yes_or_no(getattr(case, f"{side}_decision")) for case in worst)
    return pa.table(columns | _factor_columns(worst, {"row", "id", "decision", *scores}))


def write_review_sheet(record: AuditRecord | Mapping[str, Any], path: str | Path) -> None:
    """Write the review sheet of a record as CSV or, if the name ends in ``.xlsx``, as a workbook.

    In either, text that looks like a formula is kept from being run. A workbook needs the extra ``xlsx``; in it, cells
    keep their type (identifiers their leading zeros), and the disposition is chosen from a list.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.
    path : str or Path
        A file that is not there yet; the same record gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import write_review_sheet
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_review_sheet(found.to_record(), Path(folder, "review.csv"))
    ...     Path(folder, "review.csv").read_text().splitlines()[0][:39]
    '"pair","key","reviewer","date","disposi'
    """
    write_file(path, sheet_as_bytes(record, Path(path).suffix))


def sheet_as_bytes(record: AuditRecord | Mapping[str, Any], suffix: str) -> bytes:
    """Return the review sheet of a record as a file with this suffix holds it."""
    import pyarrow.csv

    sheet = review_table(record)
    if suffix.lower() == ".xlsx":
        return workbook_of(sheet, {"disposition": DISPOSITIONS})
    file = io.BytesIO()
    pyarrow.csv.write_csv(defuse_formulas(sheet), file)
    return file.getvalue()


def _factor_columns(worst: Sequence[PairCase], taken: set[str]) -> dict[str, Any]:
    """Lay out the factors side by side."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for place, (name, (left, right)) in enumerate(factors_by_name(worst, taken).items()):
        name = free_name(" ".join(name.split()), taken)  # a spreadsheet may cut off blanks
        taken.add(name)
        columns[f"person_{name}"], columns[f"comparator_{name}"] = _texts(left), _texts(right)
        factors = [case.factors[place] for case in worst]
        unit = next((f"_in_{one.unit}" for one in factors if one.unit is not None), "")
        limits = {
            "difference": [one.difference if unit else one.shift for one in factors],
            "tolerance": [one.limit if unit else one.tolerance for one in factors],
        }
        for what, values in limits.items():
            if any(value is not None for value in values):
                columns[f"{what}{unit}_{name}"] = array_of(values, pa.float64())
    return columns


def _are_within(case: PairCase) -> bool | None:
    """Return whether all differences are within their tolerances; None where none has one."""
    known = [within for one in case.factors if (within := is_within(one)) is not None]
    return all(known) if known else None


def _n_scores(score: float | tuple[float, ...]) -> int:
    return len(score) if isinstance(score, tuple) else 0


def _yes_or_no(value: Any) -> Any:
    """Spreadsheets translate true and false."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _texts(values: Any) -> Any:
    import pyarrow as pa

    return array_of([as_text(value) for value in values], pa.string())
