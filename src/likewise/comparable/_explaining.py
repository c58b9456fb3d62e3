"""What to do when nobody meets the rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.comparable._rule import Comparability, show_limit
from likewise.schema import CodedTable


def explain_no_pairs(rule: Comparability, table: CodedTable, label: str | None = None) -> str:
    """Say what to change when there are no comparable pairs, or that no limit would help.

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
        raised.append(f"max_continuous_shift (now {show_limit(rule.max_continuous_shift)})")
    if rule.max_discrete_changes < len(names["discrete"]):
        raised.append(f"max_discrete_changes (now {rule.max_discrete_changes:,})")
    if names["ordinal"]:
        raised.append(f"max_ordinal_shift (now {show_limit(rule.max_ordinal_shift)})")
    remedies = [f"raise {' or '.join(raised)}"] if raised else []
    if rule.sensitive_differs == "all" and len(names["sensitive"]) > 1:
        remedies.append("ask for sensitive_differs='any'")
    return f"To allow more, {', or '.join([*remedies, 'ignore columns that do not matter'])}."


def _is_settled(codes: Any, labels: Any) -> bool:
    """Say whether a column has one value for each label."""
    both = labels.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
    return len(np.unique(both)) == len(np.unique(labels))
