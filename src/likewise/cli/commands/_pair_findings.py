"""The result of a search for pairs: counted as pairs stream by, then plain data for ``--json``, or tables."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from likewise._format import count_of
from likewise._json import plain
from likewise._version import __version__
from likewise.cli._console import Example, plain_table, share, show_side_by_side, shown, stack
from likewise.comparable import Comparability, ComparablePairs, PairCounts
from likewise.comparable._internal import state_problem
from likewise.schema import CodedTable, Roles

if TYPE_CHECKING:
    import pyarrow as pa

N_EXAMPLES: Final = 3
N_TRANSITIONS: Final = 8
SMALL: Final = 1_000_000  # combinations of label and sensitive values that are counted in an array


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Counts of pairs and people, and a few examples."""

    n_rows: int
    n_pairs: int  # listed, or counted
    n_total: int | None  # in all; None if the search stopped before it knew
    by_label: dict[Any, int]
    by_transition: dict[tuple[tuple[Any, ...], tuple[Any, ...]], int]
    people_by_label: dict[Any, int]
    matched_by_label: dict[Any, int] | None = None  # None when pairs were only counted
    examples: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the numbers cover all pairs."""
        return self.n_pairs == self.n_total


class FindingsTally:
    """Counts of pairs by label and by sensitive values, and of the people in them."""

    def __init__(self, table: CodedTable, rule: Comparability) -> None:
        problem = state_problem(table, None, rule)
        self._table = table
        self._combination = problem.combination
        self._combinations = problem.combinations
        self._kinds: Counter[int] = Counter()
        self._is_matched = np.zeros(len(table), np.bool_)
        self._examples: list[tuple[int, int]] = []

    def add(self, pairs: ComparablePairs) -> None:
        """Count the next pairs."""
        self._is_matched[pairs.left] = True
        self._is_matched[pairs.right] = True
        n = len(self._combinations)
        first, second = self._combination[pairs.left], self._combination[pairs.right]
        labels = self._table.labels[pairs.left].astype(np.int64)
        kinds = (labels * n + np.minimum(first, second)) * n + np.maximum(first, second)
        if len(self._table.classes) * n * n <= SMALL:
            counts = np.bincount(kinds)
            seen = np.flatnonzero(counts)
            counts = counts[seen]
        else:
            seen, counts = np.unique(kinds, return_counts=True)
        self._kinds.update(dict(zip(seen.tolist(), counts.tolist(), strict=True)))
        if len(self._examples) < N_EXAMPLES:
            self._pick_examples(pairs)

    def _pick_examples(self, pairs: ComparablePairs) -> None:
        """Pick early pairs of different people: the very first ones would all show the same person."""
        used = {row for example in self._examples for row in example}
        _, starts = np.unique(pairs.left, return_index=True)
        for position in starts.tolist():
            example = int(pairs.left[position]), int(pairs.right[position])
            if used.isdisjoint(example):
                self._examples.append(example)
                used.update(example)
            if len(self._examples) == N_EXAMPLES:
                return

    def findings(self, n_total: int | None) -> Findings:
        """Return the counts."""
        labels, n = self._table.classes.tolist(), len(self._combinations)
        names = self._table.names["sensitive"]
        values = [
            tuple(self._table.categories[name][code] for name, code in zip(names, codes, strict=True))
            for codes in self._combinations.tolist()
        ]
        counts = {
            (labels[kind // (n * n)], values[kind // n % n], values[kind % n]): count
            for kind, count in self._kinds.items()
        }
        return replace(
            findings_of(PairCounts(counts), self._table),
            n_total=n_total,
            matched_by_label=_people(self._table, self._is_matched),
            examples=self._examples,
        )


def findings_of(counts: PairCounts, table: CodedTable) -> Findings:
    """Return the findings of pairs that were counted without being listed."""
    return Findings(
        n_rows=len(table),
        n_pairs=counts.total,
        n_total=counts.total,
        by_label=dict.fromkeys(table.classes.tolist(), 0) | counts.by_label,
        by_transition=dict(sorted(counts.by_transition.items(), key=lambda item: (-item[1], str(item[0])))),
        people_by_label=_people(table, slice(None)),
    )


def _people(table: CodedTable, which: Any) -> dict[Any, int]:
    n_people = np.bincount(table.labels[which], minlength=len(table.classes))
    return dict(zip(table.classes.tolist(), n_people.tolist(), strict=True))


def example_values(frame: pa.Table, roles: Roles, left: int, right: int) -> dict[str, tuple[Any, Any]]:
    """Values of both rows in the compared columns: sensitive ones first, then as in the file."""
    apart = {*roles.sensitive, *roles.ignored, roles.row_id}
    names = [*roles.sensitive, *(name for name in frame.column_names if name not in apart)]
    return {name: (_value(frame, name, left), _value(frame, name, right)) for name in names}


def _value(frame: pa.Table, name: str, row: int) -> Any:
    value = frame.column(name)[row].as_py()
    return None if value != value else value  # NaN is a missing value, and equal to another


def record_question(data: Path, roles: Roles, rule: Comparability, how: dict[str, Any]) -> dict[str, Any]:
    """Return what is needed to get the same result again: version, file, roles, rule and settings."""
    with data.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "likewise": __version__,
        "file": str(data),
        "sha256": checksum,
        "roles": roles.to_dict(),
        "rule": rule.to_dict(),
        **how,
    }


def record_findings(
    findings: Findings, question: dict[str, Any], frame: pa.Table, roles: Roles, *, out: str | None
) -> dict[str, Any]:
    """Return question and findings as plain data."""
    matched = findings.matched_by_label
    record: dict[str, Any] = plain(
        {
            **question,
            "n_rows": findings.n_rows,
            "n_pairs": findings.n_pairs,
            "n_pairs_total": findings.n_total,
            "is_complete": findings.is_complete,
            "n_with_partner": None if matched is None else sum(matched.values()),
            "by_label": [
                {
                    "label": label,
                    "n_rows": findings.people_by_label[label],
                    "n_with_partner": None if matched is None else matched[label],
                    "n_pairs": n,
                }
                for label, n in findings.by_label.items()
            ],
            "by_transition": [
                {
                    "one": dict(zip(roles.sensitive, first, strict=True)),
                    "other": dict(zip(roles.sensitive, second, strict=True)),
                    "n_pairs": n,
                }
                for (first, second), n in findings.by_transition.items()
            ],
            "examples": [_record_example(frame, roles, left, right) for left, right in findings.examples],
            "out": out,
        }
    )
    return record


def _record_example(frame: pa.Table, roles: Roles, left: int, right: int) -> dict[str, Any]:
    values = example_values(frame, roles, left, right)
    return {
        "left_row": left,
        "right_row": right,
        "label": values[str(roles.label)][0],
        "differs": {name: list(both) for name, both in values.items() if both[0] != both[1]},
    }


def show_findings(findings: Findings, frame: pa.Table, roles: Roles, file: str, width: int) -> RenderableType:
    """Lay out the findings for about one screen."""
    parts: list[RenderableType] = [_headline(findings, file)]
    if findings.n_pairs:
        parts += [_labels(findings, str(roles.label)), _transitions(findings, roles.sensitive)]
    if findings.examples:
        parts.append(_examples(findings, frame, roles, width))
    return stack(parts)


def _headline(findings: Findings, file: str) -> Text:
    where = f"among the {count_of(findings.n_rows, 'row')} of {shown(file, 60)}"
    if findings.n_pairs == 0 and findings.is_complete:
        return Text(f"No comparable pairs {where}.")
    pairs = count_of(findings.n_pairs, "comparable pair")
    if findings.is_complete:
        text = Text.assemble((pairs, "bold"), f" {where}.")
    elif findings.n_total is None:
        text = Text.assemble("The first ", (pairs, "bold"), f" {where}; there may be more.")
    else:
        text = Text.assemble("A random sample: ", (pairs, "bold"), f" of the {findings.n_total:,} {where}.")
    if findings.matched_by_label is not None:
        n = sum(findings.matched_by_label.values())
        has = "person has" if n == 1 else "people have"
        listed = "" if findings.is_complete else " in this list"
        text.append(f"\n{n:,} {has} at least one comparable pair{listed} ({share(n, findings.n_rows)}).")
    return text


def _labels(findings: Findings, label: str) -> Table:
    table = plain_table()
    table.add_column(Text(shown(label)))
    matched = findings.matched_by_label
    for title in ("people", *(("matched",) if matched is not None else ()), "pairs"):
        table.add_column(title, justify="right")
    for value, n_pairs in findings.by_label.items():
        n_people = findings.people_by_label[value]
        cells = [f"{n_people:,}"]
        if matched is not None:
            cells.append(f"{matched[value]:,} ({share(matched[value], n_people)})")
        table.add_row(Text(shown(value)), *cells, f"{n_pairs:,}")
    return table


def _transitions(findings: Findings, sensitive: tuple[str, ...]) -> Table:
    names = ", ".join(shown(name) for name in sensitive) or "sensitive"
    table = plain_table()
    table.add_column(Text(f"{names} of one"), overflow="fold")
    table.add_column("of the other", overflow="fold")
    table.add_column("pairs", justify="right")
    table.add_column("share", justify="right")
    for (first, second), n in list(findings.by_transition.items())[:N_TRANSITIONS]:
        one, other = (Text(", ".join(shown(value) for value in values) or "(none)") for values in (first, second))
        table.add_row(one, other, f"{n:,}", share(n, findings.n_pairs))
    n_more = len(findings.by_transition) - N_TRANSITIONS
    if n_more > 0:
        rest = sum(list(findings.by_transition.values())[N_TRANSITIONS:])
        table.add_row(Text(f"{n_more:,} others", style="dim"), "", f"{rest:,}", share(rest, findings.n_pairs))
    return table


def _examples(findings: Findings, frame: pa.Table, roles: Roles, width: int) -> RenderableType:
    examples = []
    for left, right in findings.examples:
        titles = (row_title(frame, roles, left), row_title(frame, roles, right))
        examples.append(Example(titles, example_values(frame, roles, left, right)))
    return show_side_by_side(examples, roles.sensitive, width)


def row_title(frame: pa.Table, roles: Roles, row: int) -> str:
    """The identifier of a row, or its number."""
    return f"row {row:,}" if roles.row_id is None else shown(frame.column(roles.row_id)[row].as_py(), 20)
