"""What to do when nobody meets the rule, or few do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from likewise._parameters import parameter
from likewise.comparable._mining import count_pairs
from likewise.comparable._rule import Comparability, show_limit
from likewise.schema import CodedTable

MOST_ROWS_EXPLAINED: Final = 20_000  # pairs are counted once for each column, which has to stay quick


def explain_no_pairs(rule: Comparability, table: CodedTable, label: str | None = None) -> str:
    """Return what to change when there are no comparable pairs, or that no limit would help.

    Parameters
    ----------
    rule : Comparability
    table : CodedTable
        In which no two rows meet the rule.
    label : str, optional
        What the labels are called.

    Returns
    -------
    str
        One sentence, in the names of the rule's parameters.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.comparable import explain_no_pairs
    >>> explain_no_pairs(Comparability(), CodedTable(sensitive=[[0], [0]], names={"sensitive": ["sex"]}))
    'No two people with the same label differ in sex, so there are none by any limits.'
    """
    if len(np.unique(table.labels)) == len(table):
        return f"No two people have the same {label or 'label'}, so there are none by any limits."
    names = table.names
    if rule.sensitive_differs != "none":
        settled = [
            name
            for position, name in enumerate(names["sensitive"])
            if _is_settled(table.sensitive[:, position], table.labels)
        ]
        if len(settled) == len(names["sensitive"]) or (settled and rule.sensitive_differs == "all"):
            where = " or ".join(settled) or "a sensitive column"
            return f"No two people with the same {label or 'label'} differ in {where}, so there are none by any limits."
    raised = []
    if names["continuous"]:
        raised.append(f"{parameter('max_continuous_shift')} (now {show_limit(rule.max_continuous_shift)})")
    if rule.max_discrete_changes < len(names["discrete"]):
        raised.append(f"{parameter('max_discrete_changes')} (now {rule.max_discrete_changes:,})")
    if names["ordinal"]:
        raised.append(f"{parameter('max_ordinal_shift')} (now {show_limit(rule.max_ordinal_shift)})")
    remedies = [f"raise {' or '.join(raised)}"] if raised else []
    if rule.sensitive_differs == "all" and len(names["sensitive"]) > 1:
        remedies.append(f"use {parameter('sensitive_differs', 'any')}")
    return f"To allow more, {', or '.join([*remedies, 'ignore columns that do not matter'])}."


def explain_few_pairs(rule: Comparability, table: CodedTable, n_pairs: int) -> str | None:
    """Return which single column excludes the most comparable pairs.

    Pairs are counted again without each compared column in turn; sensitive columns and the label stay.

    Parameters
    ----------
    rule : Comparability
    table : CodedTable
        The people who were compared.
    n_pairs : int
        How many pairs of them meet the rule.

    Returns
    -------
    str or None
        One sentence; None if no column alone would give at least twice as many pairs, or if the table has more than
        20,000 rows, where counting takes long.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.comparable import explain_few_pairs
    >>> days = {"sensitive": [[0], [1], [1]], "continuous": [[0.0], [0.5], [1.0]], "names": {"continuous": ["applied"]}}
    >>> explain_few_pairs(Comparability(), CodedTable(**days), 0)
    'Most are lost to applied: without it there would be 2 pairs instead of none.'
    """
    if len(table) > MOST_ROWS_EXPLAINED:
        return None
    most, name = max(2 * n_pairs, 1) - 1, None
    for kind in ("discrete", "ordinal", "matched", "continuous"):
        for position, column in enumerate(table.names[kind]):
            alike = getattr(table, kind).copy(order="K")
            alike[:, position] = 0  # a column in which all are equal parts nobody, by any rule
            n_without = count_pairs(replace(table, **{kind: alike}), rule, engine="memory").total
            if n_without > most:
                most, name = n_without, column
    if name is None:
        return None
    pairs = "1 pair" if most == 1 else f"{most:,} pairs"
    now = f"{n_pairs:,}" if n_pairs else "none"
    return f"Most are lost to {name}: without it there would be {pairs} instead of {now}."


def _is_settled(codes: Any, labels: Any) -> bool:
    """Whether a column has one value for each label."""
    both = labels.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
    return len(np.unique(both)) == len(np.unique(labels))
