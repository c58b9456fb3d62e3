"""How good made rows are, counted: are they comparable, are they copies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from likewise.comparable import Comparability
from likewise.exceptions import GenerationError
from likewise.generation._antidotes import Antidotes
from likewise.generation._keys import row_keys
from likewise.schema import CodedTable
from likewise.schema._internal import open_frame


def comparability_ratio(sources: CodedTable, raw: CodedTable, rule: Comparability) -> dict[str, float]:
    """Say which share of raw rows meets the rule, kind of column by kind of column and in all.

    Parameters
    ----------
    sources, raw : CodedTable
        Row ``i`` of one was made of row ``i`` of the other.
    rule : Comparability

    Returns
    -------
    dict
        Shares of the rows: "discrete", "ordinal", "continuous" and "sensitive" by the columns of that kind alone, 1 if
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
        raise GenerationError(
            f"{len(raw):,} rows cannot have been made of {len(sources):,} rows one by one. Give the source of each row."
        )
    raw = raw.aligned_to(sources)
    alone = replace(rule, sensitive_differs="none")  # other columns are judged with the source's sensitive values
    met = {
        "discrete": alone.holds(sources, replace(sources, discrete=raw.discrete)),
        "ordinal": alone.holds(sources, replace(sources, ordinal=raw.ordinal)),
        "continuous": alone.holds(sources, replace(sources, continuous=raw.continuous)),
        "sensitive": rule.holds(sources, replace(sources, sensitive=raw.sensitive)),
        "together": rule.holds(sources, raw),
    }
    return {kind: float(held.mean()) if len(held) else float("nan") for kind, held in met.items()}


def copied_share(antidotes: Antidotes, X: Any) -> float:
    """Say which share of antidotes are copies: equal to a real row in all compared columns, sensitive ones included.

    Few copies speak for novelty, and for the privacy of the people in ``X``; many, for a generator that only looks up
    its training rows, or for a small table of few columns. Labels, row ids and ignored columns are not compared, and of
    binned columns the group.

    Parameters
    ----------
    antidotes : Antidotes
    X : frame
        Real people, such as those that the generator learned from.

    Returns
    -------
    float
        From 0 to 1; NaN if there are no antidotes.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import copied_share
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> copied_share(generator.generate(data.train.X, data.train.y), data.train.X)
    0.0
    """
    if not len(antidotes):
        return float("nan")
    return float(np.isin(row_keys(antidotes.table), row_keys(code_real(antidotes, X))).mean())


def code_real(antidotes: Antidotes, X: Any) -> CodedTable:
    """Code real rows as the antidotes are; their labels play no part here."""
    labels = np.full(len(open_frame(X)), antidotes.table.classes[0] if len(antidotes.table.classes) else 0)
    return antidotes.schema.encode(X, labels).aligned_to(antidotes.table)
