"""What the explorer saves: pairs as CSV, and the rule with a starting policy as TOML."""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._internal import defuse_formulas
from likewise.comparable import Comparability
from likewise.explore._pairs import HeldPairs
from likewise.schema._internal import KINDS, Frame

MAX_EXPORTED: Final = 100_000  # pairs
Names = Mapping[str, tuple[str, ...]]


def write_csv(held: HeldPairs, frame: Frame, row_id: str | None, places: NDArray[np.int64]) -> bytes:
    """Return pairs as CSV, one per line, with two columns for everything both people have."""
    import pyarrow as pa
    import pyarrow.csv

    table, pairs = held.pairs.left_table, held.pairs
    sides = {"left": pairs.left[places], "right": pairs.right[places]}
    columns: list[tuple[str, Any]] = [("rank", pa.array(np.arange(1, len(places) + 1)))]
    columns += [(f"{side}_row", pa.array(rows)) for side, rows in sides.items()]
    if row_id is not None:
        columns += [(f"{side}_id", frame.taken(row_id, rows)) for side, rows in sides.items()]
    if held.scores.has_labels:
        columns.append(("label", pa.array(table.classes.tolist()).take(held.labels[places])))
    for side, rows in sides.items():
        values = held.scores.values[rows]
        if values.ndim == 1:
            columns.append((f"{side}_score", pa.array(values)))
        else:
            labels = [str(label) for label in table.classes.tolist()]
            columns += [(f"{side}_score_{one}", pa.array(values[:, k])) for k, one in enumerate(labels)]
    columns += [("gap", pa.array(held.gaps[places])), ("rank_gap", pa.array(held.rank_gaps[places]))]
    if held.flips is not None:
        columns.append(("flip", pa.array(held.flips[places])))
    if held.weights is not None:
        columns.append(("weight", pa.array(held.weights[places])))
    columns.append(("discrete_changes", pa.array(held.distances.changes[places])))
    columns.append(("continuous_shift", pa.array(held.distances.shifts[places])))
    for name in (name for kind in KINDS for name in table.names[kind]):
        columns += [(f"{side}_{name}", frame.taken(name, rows)) for side, rows in sides.items()]
    out = io.BytesIO()
    made = pa.Table.from_arrays([column for _, column in columns], names=[name for name, _ in columns])
    pyarrow.csv.write_csv(defuse_formulas(made), out)
    return out.getvalue()


def write_toml(
    rule: Comparability, slices: Sequence[Mapping[str, Any]], coverage: float, words: str, options: str, names: Names
) -> str:
    """Return a policy for ``likewise audit --policy``; the rule is in comments, as a policy holds only limits."""
    lines = ["# A policy for likewise audit, written by the explorer.", "#", f"# {_one_line(words)}", "#"]
    lines += ["# A policy holds limits; pass the rule on the command line:", "#"]
    lines += [f"#   {_one_line(f'likewise audit {options} {rule_options(rule, names)} --policy policy.toml')}", "#"]
    arguments = ", ".join(f"{name}={value!r}" for name, value in rule.to_dict().items())
    lines += [f"# In Python: {_one_line(f'Comparability({arguments})')}", ""]
    lines += ["min_pairs = 30"]
    lines += [f"min_coverage = {math.floor(coverage * 1000) / 1000:g}  # measured: {coverage:.4f}", ""]
    lines += ["# Measured values, to set limits by. A limit is met only if the whole confidence interval meets it:"]
    lines += ["# leave some room, and remove the #."]
    for one in slices:
        prefix = {None: "", True: "positive_", False: "negative_"}[one["is_positive"]]
        if not one["n"] or (one["label"] is not None and one["is_positive"] is None):
            continue
        for name in ("gap_mean", "excess_gap_mean", "gap_q3", "flip_rate"):
            if one.get(name) is not None:
                lines.append(f"# max_{prefix}{name} = {math.ceil(one[name] * 1e4) / 1e4:.4f}")
    return "\n".join(lines) + "\n"


def rule_options(rule: Comparability, names: Names) -> str:
    """Return a rule as command-line options."""
    asked = [f"--max-discrete-changes {rule.max_discrete_changes}"]
    for kind, limit in (("continuous", rule.max_continuous_shift), ("ordinal", rule.max_ordinal_shift)):
        moving = tuple(name for name in names[kind] if name not in rule.limits)
        asked += [f"--max-{kind}-shift {shlex.quote(one)}" for one in _limits(limit, moving)]
    asked += [f"--limits {shlex.quote(f'{name}={one}')}" for name, one in rule.limits.items()]
    if rule.sensitive_differs != "any":
        asked.append(f"--sensitive-differs {rule.sensitive_differs}")
    asked += [f"--must-match {shlex.quote(name)}" for name in rule.must_match]
    asked += [f"--no-better {shlex.quote(one)}" for one in rule.no_better]
    if rule.score_band is not None:
        asked.append(f"--score-band {rule.score_band:.12g}")
    return " ".join(asked)


def _limits(limit: Any, names: tuple[str, ...]) -> list[str]:
    if isinstance(limit, Mapping | Sequence):
        by_name = limit if isinstance(limit, Mapping) else dict(zip(names, limit, strict=True))
        return [f"{name}={one:.12g}" for name, one in by_name.items()]
    return [f"{limit:.12g}"] if names else []


def _one_line(text: str) -> str:
    """Keep a comment on its line, whatever the column names."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
