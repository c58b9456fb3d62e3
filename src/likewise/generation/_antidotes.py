"""Antidotes: generated rows in the columns of the source frame, the row each comes from, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.exceptions import GenerationError
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import KINDS, open_frame, stack_frames

DECIMALS: Final = 10  # of a continuous code: finer than any rule, coarser than the errors of scaling


def row_keys(table: CodedTable, *beside: NDArray[Any]) -> NDArray[np.void]:
    """Return a key per row, equal where all compared columns, and those ``beside``, are equal."""
    codes = [getattr(table, kind).astype(np.float64) for kind in KINDS if kind != "continuous"]
    rows = np.column_stack([np.zeros(len(table)), *beside, *codes, np.round(table.continuous, DECIMALS)])
    rows = np.ascontiguousarray(rows + 0.0)  # 0 and -0 are equal
    keys: NDArray[np.void] = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return keys


def keep_comparable(sources: CodedTable, generated: CodedTable, rule: Comparability) -> NDArray[np.bool_]:
    """Return which generated rows are comparable to their sources (the paper's Post).

    Parameters
    ----------
    sources, generated : CodedTable
        Row ``i`` of one is the source of row ``i`` of the other.
    rule : Comparability

    Returns
    -------
    array of bool

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.generation import keep_comparable
    >>> source = CodedTable(sensitive=[[0], [0]], continuous=[[0.5], [0.5]])
    >>> made = CodedTable(sensitive=[[1], [1]], continuous=[[0.51], [0.9]])
    >>> keep_comparable(source, made, Comparability())
    array([ True, False])
    """
    return rule.holds(sources, generated)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Antidotes:
    """Antidotes: rows comparable to their sources, with a different sensitive attribute.

    Parameters
    ----------
    frame : frame
        With the columns, order and types of the source frame. Unchanged cells, row ids and ignored columns are the
        source's own: appended to their sources, antidotes repeat the ids.
    y : array
        Labels, copied from the sources.
    source : array of int
        Position of the source row of each antidote.
    round : array of int
        Round in which it was generated, from 0.
    table, sources : CodedTable
        The antidotes, and their source rows one by one.
    schema : Schema
    n_sources : int
        Number of rows for which antidotes were requested.
    n_raw : int
        Number of rows generated before those not comparable, or repeated, were dropped.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> antidotes = generator.generate(data.train.X, data.train.y, ratio=0.5)
    >>> antidotes
    <Antidotes: 750 for 615 of 1,500 rows>
    >>> bool((antidotes.frame["group"].iloc[0], antidotes.frame["gender"].iloc[0]) != tuple(
    ...     data.train.X[["group", "gender"]].iloc[antidotes.source[0]]))
    True
    """

    frame: Any
    y: NDArray[Any]
    source: NDArray[np.int64]
    round: NDArray[np.int64]
    table: CodedTable
    sources: CodedTable
    schema: Schema
    n_sources: int
    n_raw: int

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        n_covered = len(np.unique(self.source))
        return f"<Antidotes: {len(self):,} for {n_covered:,} of {self.n_sources:,} rows>"

    @property
    def ratio(self) -> float:
        """Antidotes per source row."""
        return len(self) / self.n_sources if self.n_sources else 0.0

    @property
    def coverage(self) -> float:
        """The share of source rows that have at least one."""
        return len(np.unique(self.source)) / self.n_sources if self.n_sources else 0.0

    @property
    def kept(self) -> float:
        """The share of the rows made that became antidotes."""
        return len(self) / self.n_raw if self.n_raw else 0.0

    @property
    def changed(self) -> dict[str, NDArray[np.bool_]]:
        """For each compared column, in which antidotes it differs from the source."""
        return changed_columns(self.sources, self.table)

    def append_to(self, X: Any, y: Any = None) -> tuple[Any, NDArray[Any]]:
        """Append the antidotes to their source rows, to train a model on both.

        Parameters
        ----------
        X : frame
            The source frame.
        y : array, optional
            Its labels; the label column of ``X`` by default.

        Returns
        -------
        frame, array
        """
        opened = open_frame(X)
        label = self.schema.roles.label
        if y is None and label not in opened.names:
            raise GenerationError("X has no label column. Give the labels as y.")
        labels = np.asarray(opened.data[str(label)].to_numpy() if y is None else y)
        if not len(opened) == len(labels) == self.n_sources:
            raise GenerationError(
                f"These antidotes come from {self.n_sources:,} rows; X has {len(opened):,}, and y {len(labels):,}. "
                "Give the rows and labels they come from."
            )
        return stack_frames(X, self.frame), np.concatenate([labels, self.y.astype(labels.dtype)])

    def summary(self) -> dict[str, Any]:
        """Return counts and shares as plain numbers.

        Returns
        -------
        dict
        """
        return {
            "n_antidotes": len(self),
            "n_sources": self.n_sources,
            "ratio": self.ratio,
            "coverage": self.coverage,
            "n_raw": self.n_raw,
            "kept": self.kept,
            "changed": {name: float(differs.mean()) for name, differs in self.changed.items()} if len(self) else {},
        }


def changed_columns(sources: CodedTable, table: CodedTable) -> dict[str, NDArray[np.bool_]]:
    """Return for each compared column in which rows two tables differ."""
    changed: dict[str, NDArray[np.bool_]] = {}
    for kind in KINDS:
        differs = getattr(table, kind) != getattr(sources, kind)
        changed |= dict(zip(table.names[kind], differs.T, strict=True))
    return changed


def comparability_ratio(sources: CodedTable, raw: CodedTable, rule: Comparability) -> dict[str, float]:
    """Return the share of raw rows that satisfy the rule, by kind of column and in all.

    Parameters
    ----------
    sources, raw : CodedTable
        Row ``i`` of one is the source of row ``i`` of the other.
    rule : Comparability

    Returns
    -------
    dict
        Shares of rows: "discrete", "ordinal", "continuous" and "sensitive" by the columns of that kind alone, 1 if
        there are none; "together" by the whole rule. NaN if there are no rows.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.generation import comparability_ratio
    >>> sources = CodedTable(sensitive=[[0], [0]], continuous=[[0.5], [0.5]])
    >>> raw = CodedTable(sensitive=[[1], [0]], continuous=[[0.9], [0.5]])
    >>> ratios = comparability_ratio(sources, raw, Comparability())
    >>> ratios["continuous"], ratios["sensitive"], ratios["together"]
    (0.5, 0.5, 0.0)
    """
    if len(sources) != len(raw):
        raise GenerationError(f"There are {len(raw):,} raw rows and {len(sources):,} sources. Give one source per row.")
    raw = raw.aligned_to(sources)
    alone = replace(rule, sensitive_differs="none")  # other columns are tested with the source's sensitive values
    met = {
        "discrete": alone.holds(sources, replace(sources, discrete=raw.discrete)),
        "ordinal": alone.holds(sources, replace(sources, ordinal=raw.ordinal)),
        "continuous": alone.holds(sources, replace(sources, continuous=raw.continuous)),
        "sensitive": rule.holds(sources, replace(sources, sensitive=raw.sensitive)),
        "together": rule.holds(sources, raw),
    }
    return {kind: float(held.mean()) if len(held) else float("nan") for kind, held in met.items()}
