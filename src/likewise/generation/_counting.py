"""What was made, in counts that add up over parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from likewise._json import plain
from likewise.generation._antidotes import Antidotes

COUNTS: Final = ("n_sources", "n_antidotes", "n_with_antidote", "n_raw", "n_wanted")

Record = dict[str, Any]


def count_made(antidotes: Antidotes, n_wanted: int) -> Record:
    """Count the antidotes of one part: how many, which columns changed, from which sensitive values to which."""
    table, names = antidotes.table, antidotes.table.names["sensitive"]
    codes = np.column_stack([antidotes.sources.sensitive, table.sensitive])
    found, counts = np.unique(codes, axis=0, return_counts=True)
    transitions = []
    for row, n in zip(found.tolist(), counts.tolist(), strict=True):
        values = [table.categories[name][code] for name, code in zip((*names, *names), row, strict=True)]
        transitions.append([values[: len(names)], values[len(names) :], n])
    counted: Record = plain(
        {
            "n_sources": antidotes.n_sources,
            "n_antidotes": len(antidotes),
            "n_with_antidote": len(np.unique(antidotes.source)),
            "n_raw": antidotes.n_raw,
            "n_wanted": n_wanted,
            "changed": {name: int(differs.sum()) for name, differs in antidotes.changed.items()},
            "by_transition": transitions,
        }
    )
    return counted


def add_up(parts: Iterable[Record]) -> Record:
    """Say of all parts together what :meth:`Antidotes.summary` says, and the transitions, the most frequent first."""
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    changed: Counter[str] = Counter()
    transitions: Counter[str] = Counter()
    for part in parts:
        counts.update({name: part[name] for name in COUNTS})
        changed.update(part["changed"])
        transitions.update({json.dumps([one, other]): n for one, other, n in part["by_transition"]})
    n_made, n_sources = counts["n_antidotes"], counts["n_sources"]
    return {
        **counts,
        "ratio": n_made / n_sources if n_sources else 0.0,
        "coverage": counts["n_with_antidote"] / n_sources if n_sources else 0.0,
        "kept": n_made / counts["n_raw"] if counts["n_raw"] else 0.0,
        "changed": {name: n / n_made for name, n in changed.items()} if n_made else {},
        "by_transition": [
            {"source": json.loads(both)[0], "antidote": json.loads(both)[1], "n_antidotes": n}
            for both, n in sorted(transitions.items(), key=lambda item: (-item[1], item[0]))
        ],
    }
