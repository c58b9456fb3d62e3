"""What the explorer saves: pairs as CSV, and rule and a starting policy as TOML."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._internal import defuse_formulas
from likewise.comparable import Comparability
from likewise.explore._pairs import HeldPairs
from likewise.record._internal import name_part
from likewise.schema._internal import KINDS, Frame

MAX_EXPORTED: Final = 100_000  # pairs


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


def write_toml(rule: Comparability, slices: Sequence[Mapping[str, Any]], matched: float, words: str) -> str:
    """Return a rule, and a policy to begin with, for ``likewise audit --rule FILE --policy FILE``."""
    lines = ["# A rule and a policy, written by the explorer: likewise audit ... --rule FILE --policy FILE", "#"]
    lines += [f"# {_one_line(words)}", "", "[rule]"]
    lines += [f"{name} = {_as_toml(value)}" for name, value in rule.to_dict().items() if value is not None]
    lines += ["", "[policy]", "min_pairs = 30"]
    lines += [f"min_matched_share = {math.floor(matched * 1000) / 1000:g}  # measured: {matched:.4f}", ""]
    lines += ["# Measured values, to set limits by. A limit is met only if the whole confidence interval meets it:"]
    lines += ["# leave some room, and remove the #."]
    for one in slices:
        known = [
            name for name in ("gap_mean", "excess", "gap_q3", "flip_rate") if one["n"] and one.get(name) is not None
        ]
        place = "" if one["label"] is None else f"labels.{_as_toml(name_part(one['label']))}."
        lines += [f"# {place}max_{name} = {math.ceil(one[name] * 1e4) / 1e4:.4f}" for name in known]
    return "\n".join(lines) + "\n"


def _as_toml(value: Any) -> str:
    """Write a value of a rule; the quotes of JSON are those of TOML but for one letter."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_as_toml(name)} = {_as_toml(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    """Keep a comment on its line, whatever the column names."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
