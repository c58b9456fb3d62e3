"""What to do when nobody meets the rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.comparable import Comparability
from likewise.comparable._rule import show_limit
from likewise.schema import CodedTable, Roles


def explain_none(rule: Comparability, table: CodedTable, roles: Roles) -> str:
    """Say what to change when there are no comparable pairs, or that no limit would help."""
    if len(np.unique(table.labels)) == len(table):
        return f"No two people have the same {roles.label}, so there are none by any limits."
    if rule.sensitive_differs != "none":
        constant = [name for i, name in enumerate(roles.sensitive) if _is_settled(table.sensitive[:, i], table.labels)]
        if len(constant) == len(roles.sensitive) or (constant and rule.sensitive_differs == "all"):
            return (
                f"No two people with the same {roles.label} differ in {' or '.join(constant)}, "
                "so there are none by any limits."
            )
    raised = []
    if roles.continuous:
        raised.append(f"--max-continuous-shift (now {show_limit(rule.max_continuous_shift)})")
    if rule.max_discrete_changes < len(roles.discrete):
        raised.append(f"--max-discrete-changes (now {rule.max_discrete_changes:,})")
    if roles.ordinal:
        raised.append(f"--max-ordinal-shift (now {show_limit(rule.max_ordinal_shift)})")
    remedies = [f"raise {' or '.join(raised)}"] if raised else []
    if rule.sensitive_differs == "all" and len(roles.sensitive) > 1:
        remedies.append("ask for --sensitive-differs any")
    return f"To allow more, {', or '.join([*remedies, '--ignore columns that do not matter'])}."


def _is_settled(codes: Any, labels: Any) -> bool:
    """Say whether a column has one value for each label."""
    both = labels.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
    return len(np.unique(both)) == len(np.unique(labels))
