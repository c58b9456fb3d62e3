"""What a generator made: rows in the user's own columns, each with the row it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import GenerationError
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import KINDS, open_frame, stack_frames, write_parquet


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Antidotes:
    """Hold antidote data: rows comparable to their sources, with other sensitive values.

    Parameters
    ----------
    frame : frame
        In the columns, order and types of the source frame. Cells that did not change are the source's own, and so are
        row ids and ignored columns: below their sources, antidotes repeat the ids.
    y : array
        The labels, copied from the sources.
    source : array of int
        The position of the row each antidote was made of.
    round : array of int
        In which round it was made, from 0 on.
    table, sources : CodedTable
        The antidotes, and the rows they were made of one by one.
    schema : Schema
    n_sources : int
        How many rows antidotes were asked for.
    n_raw : int
        How many rows were made before those that are not comparable, or there already, were left out.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> antidotes = generator.generate(data.train.X, data.train.y, ratio=0.5)
    >>> antidotes
    <Antidotes: 750 for 607 of 1,500 rows>
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
        return tell_changes(self.sources, self.table)

    def append_to(self, X: Any, y: Any = None) -> tuple[Any, NDArray[Any]]:
        """Put the antidotes below the rows they were made of: what a model is trained on again.

        Parameters
        ----------
        X : frame
            The source frame.
        y : array, optional
            Its labels; the label column of ``X``, if not given.

        Returns
        -------
        frame, array
        """
        opened = open_frame(X)
        label = self.schema.roles.label
        if y is None and label not in opened.names:
            raise GenerationError("The labels of X are not given, and X has no label column. Give them as y.")
        labels = np.asarray(opened.data[str(label)].to_numpy() if y is None else y)
        if not len(opened) == len(labels) == self.n_sources:
            raise GenerationError(
                f"These antidotes were made of {self.n_sources:,} rows; X has {len(opened):,}, and y {len(labels):,}. "
                "Give the rows and labels they were made of."
            )
        return stack_frames(X, self.frame), np.concatenate([labels, self.y.astype(labels.dtype)])

    def to_parquet(self, path: str | Path) -> None:
        """Write the antidotes, with the columns ``source_row`` and ``antidote_round`` beside the user's own.

        Parameters
        ----------
        path : str or Path
        """
        write_parquet(self.frame, path, {"source_row": self.source, "antidote_round": self.round})

    def summary(self) -> dict[str, Any]:
        """Say in plain numbers what was made.

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


def tell_changes(sources: CodedTable, table: CodedTable) -> dict[str, NDArray[np.bool_]]:
    """Say for each compared column in which rows two tables differ."""
    changed: dict[str, NDArray[np.bool_]] = {}
    for kind in KINDS:
        differs = getattr(table, kind) != getattr(sources, kind)
        changed |= dict(zip(table.names[kind], differs.T, strict=True))
    return changed
