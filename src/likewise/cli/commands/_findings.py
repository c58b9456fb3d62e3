"""Pairs and antidotes as results: counted as pairs stream by, then plain data for ``--json``, or tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from likewise._files import hash_file
from likewise._format import count_of
from likewise._json import plain
from likewise._version import __version__
from likewise.cli._console import Example, plain_table, share, show_side_by_side, shown, stack
from likewise.comparable import Comparability, ComparablePairs, PairCounts
from likewise.comparable._internal import state_problem
from likewise.schema import CodedTable, Roles

if TYPE_CHECKING:
    import pyarrow as pa

    from likewise.generation import Antidotes

Transition = tuple[Sequence[Any], Sequence[Any], int]  # sensitive values of the one and the other, and how many

N_EXAMPLES: Final = 3
N_LINES: Final = 8
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


def _example_values(frame: pa.Table, roles: Roles, left: int, right: int) -> dict[str, tuple[Any, Any]]:
    """Values of both rows in the compared columns: sensitive ones first, then as in the file."""
    apart = {*roles.sensitive, *roles.ignored, roles.row_id}
    names = [*roles.sensitive, *(name for name in frame.column_names if name not in apart)]
    return {name: (_value(frame, name, left), _value(frame, name, right)) for name in names}


def _value(frame: pa.Table, name: str, row: int) -> Any:
    value = frame.column(name)[row].as_py()
    return None if value != value else value  # NaN is a missing value, and equal to another


def record_question(data: Path, roles: Roles, rule: Comparability, how: dict[str, Any]) -> dict[str, Any]:
    """Return what is needed to get the same result again: version, file, roles, rule and settings."""
    return {
        "likewise": __version__,
        "file": str(data),
        "sha256": hash_file(data),
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
                for label, n in (findings.by_label.items() if roles.label is not None else ())
            ],
            "by_transition": [
                {
                    "one": dict(zip(roles.sensitive, first, strict=True)),
                    "other": dict(zip(roles.sensitive, second, strict=True)),
                    "n_pairs": n,
                }
                for (first, second), n in findings.by_transition.items()
            ],
            "examples": [
                {"left_row": left, "right_row": right, **_record_example(frame, roles, left, right)}
                for left, right in findings.examples
            ],
            "out": out,
        }
    )
    return record


def _record_example(frame: pa.Table, roles: Roles, left: int, right: int) -> dict[str, Any]:
    values = _example_values(frame, roles, left, right)
    differs = {name: list(both) for name, both in values.items() if both[0] != both[1]}
    return {"label": None if roles.label is None else values[roles.label][0], "differs": differs}


def show_findings(findings: Findings, frame: pa.Table, roles: Roles, file: str, width: int) -> RenderableType:
    """Lay out the findings for about one screen."""
    parts: list[RenderableType] = [_headline(findings, file)]
    if findings.n_pairs:
        transitions = [(*ends, n) for ends, n in findings.by_transition.items()]
        titles = ("of one", "of the other", "pairs")
        parts += [] if roles.label is None else [_labels(findings, roles.label)]
        parts.append(_transitions(transitions, roles.sensitive, titles))
    if findings.examples:
        titled = [(*ends, _row_title(frame, roles, ends[1])) for ends in findings.examples]
        parts.append(_examples(titled, frame, roles, width))
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
    matched = findings.matched_by_label
    table = plain_table(Text(shown(label)), "people", *(("matched",) if matched is not None else ()), "pairs")
    for value, n_pairs in findings.by_label.items():
        n_people = findings.people_by_label[value]
        cells = [f"{n_people:,}"]
        if matched is not None:
            cells.append(f"{matched[value]:,} ({share(matched[value], n_people)})")
        table.add_row(Text(shown(value)), *cells, f"{n_pairs:,}")
    return table


def _transitions(
    transitions: Sequence[Transition], sensitive: Sequence[str], titles: tuple[str, str, str]
) -> RenderableType:
    """Lay out how many there are of each transition between sensitive values, the most frequent first."""
    names = ", ".join(shown(name) for name in sensitive) or "sensitive"
    table = plain_table(Text(f"{names} {titles[0]}"), *titles[1:], "share", n_text=2, n_folded=2)
    n_all, rest = sum(n for *_, n in transitions), transitions[N_LINES:]
    for first, second, n in transitions[:N_LINES]:
        one, other = (Text(", ".join(map(shown, values)) or "(none)") for values in (first, second))
        table.add_row(one, other, f"{n:,}", share(n, n_all))
    if rest:
        n = sum(n for *_, n in rest)
        table.add_row(Text(f"{len(rest):,} others", style="dim"), "", f"{n:,}", share(n, n_all))
    return table


def _examples(rows: Iterable[tuple[int, int, str]], frame: pa.Table, roles: Roles, width: int) -> RenderableType:
    """Lay out pairs of rows, given with the title of the second, side by side."""
    examples = [
        Example((_row_title(frame, roles, one), title), _example_values(frame, roles, one, other))
        for one, other, title in rows
    ]
    return show_side_by_side(examples, roles.sensitive, width)


def _row_title(frame: pa.Table, roles: Roles, row: int) -> str:
    """The identifier of a row, or its number."""
    return f"row {row:,}" if roles.row_id is None else shown(frame.column(roles.row_id)[row].as_py(), 20)


def record_antidotes(
    antidotes: Antidotes, together: pa.Table, question: dict[str, Any], *, out: str | None, only: bool
) -> dict[str, Any]:
    """Return question and result of antidotes that are at hand."""
    counts = {"n_with_antidote": len(np.unique(antidotes.source)), **antidotes.summary()}
    return _record_antidotes(counts, _antidote_transitions(antidotes), antidotes, together, question, out, only)


def record_parts(
    found: dict[str, Any], few: Antidotes, together: pa.Table, question: dict[str, Any], out: str
) -> dict[str, Any]:
    """Return question and result of antidotes that were written in parts; a few are at hand as examples."""
    counts = {name: value for name, value in found.items() if name != "n_wanted"}
    transitions = [(one["source"], one["antidote"], one["n_antidotes"]) for one in found["by_transition"]]
    return _record_antidotes(counts, transitions, few, together, question, out, True)


def _record_antidotes(
    counts: dict[str, Any],
    transitions: Sequence[Transition],
    few: Antidotes,
    together: pa.Table,
    question: dict[str, Any],
    out: str | None,
    only: bool,
) -> dict[str, Any]:
    roles = few.schema.roles
    ends = [[dict(zip(roles.sensitive, values, strict=True)) for values in one[:2]] for one in transitions]
    record: dict[str, Any] = plain(
        {
            **question,
            "n_rows": counts.pop("n_sources"),
            **counts,
            "antidotes_per_row": counts["ratio"],
            "ratio": question["ratio"],
            "by_transition": [
                {"source": source, "antidote": antidote, "n_antidotes": n}
                for (source, antidote), (*_, n) in zip(ends, transitions, strict=True)
            ],
            "examples": [
                {"source_row": row, **_record_example(together, roles, row, other)} for row, other, _ in _chosen(few)
            ],
            "out": out,
            "only": only,
        }
    )
    return record


def _antidote_transitions(antidotes: Antidotes) -> list[Transition]:
    names, categories = antidotes.table.names["sensitive"], antidotes.table.categories
    codes = np.column_stack([antidotes.sources.sensitive, antidotes.table.sensitive])
    found, counts = np.unique(codes, axis=0, return_counts=True)
    tally: Counter[tuple[Any, Any]] = Counter()
    for row, n in zip(found.tolist(), counts.tolist(), strict=True):
        values = [categories[name][code] for name, code in zip((*names, *names), row, strict=True)]
        tally[tuple(values[: len(names)]), tuple(values[len(names) :])] += n
    return [(*ends, n) for ends, n in sorted(tally.items(), key=lambda item: (-item[1], str(item[0])))]


def _chosen(antidotes: Antidotes) -> list[tuple[int, int, str]]:
    """Rows from all over the table, with the rows of their antidotes."""
    _, firsts = np.unique(antidotes.source, return_index=True)
    places = np.unique(np.linspace(0, len(firsts) - 1, min(N_EXAMPLES, len(firsts))).astype(np.intp))
    return [(int(antidotes.source[one]), antidotes.n_sources + int(one), "antidote") for one in firsts[places].tolist()]


def show_antidotes(record: dict[str, Any], few: Antidotes, together: pa.Table, width: int) -> RenderableType:
    """Lay out the result for about one screen."""
    parts: list[RenderableType] = [_antidote_headline(record)]
    if record["n_antidotes"]:
        ends = [[tuple(one[side].values()) for side in ("source", "antidote")] for one in record["by_transition"]]
        numbers = [one["n_antidotes"] for one in record["by_transition"]]
        transitions = [(one, other, n) for (one, other), n in zip(ends, numbers, strict=True)]
        titles = ("of the person", "of the antidote", "antidotes")
        parts += [_transitions(transitions, record["roles"]["sensitive"], titles), _changes(record)]
    if len(few):
        parts.append(_examples(_chosen(few), together, few.schema.roles, width))
    return stack(parts)


def _antidote_headline(record: dict[str, Any]) -> Text:
    n_rows, n_covered = record["n_rows"], record["n_with_antidote"]
    made = count_of(record["n_antidotes"], "antidote")
    text = Text.assemble((made, "bold"), f" for the {count_of(n_rows, 'row')} of {shown(record['file'], 60)}.")
    has = "person has" if n_covered == 1 else "people have"
    text.append(f"\n{n_covered:,} {has} at least one ({share(n_covered, n_rows)}).")
    text.append(f"\nChosen from {record['n_raw']:,} rows generated by {record['generator']}.")
    return text


def _changes(record: dict[str, Any]) -> Table:
    table = plain_table("other columns changed most often", "antidotes", n_folded=1)
    sensitive, n = record["roles"]["sensitive"], record["n_antidotes"]
    others = [(name, part) for name, part in record["changed"].items() if name not in sensitive and part]
    for name, part in sorted(others, key=lambda item: -item[1])[:N_LINES]:
        table.add_row(Text(shown(name)), share(round(part * n), n))
    if not others:
        table.add_row("none", "")
    return table
