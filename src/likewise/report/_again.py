"""How to have the same numbers again, and what they do not show."""

from __future__ import annotations

import json
from typing import Any, Final

from likewise.report._escaping import tidy
from likewise.report._parts import Table, Value
from likewise.report._words import Record, say

LONGEST_SETTING: Final = 2_000  # roles name every column, which may be called anything

ABOUT_AGAIN: Final = "The same rows, scores, settings and seed give the same numbers."


def say_command(record: Record) -> str:
    """Give the command that computes the record anew."""
    return f"likewise verify audit.json DATA{' --model MODEL' if record['data'].get('model') else ''}"


def list_known(record: Record) -> Table:
    """List what the numbers depend on: data, settings, versions."""
    known: dict[str, Any] = {
        "likewise": record["likewise"],
        "made at": record["made_at"],
        **{f"data, {name.replace('_', ' ')}": value for name, value in record["data"].items()},
        **{name: record[name] for name in ("task", "positive", "labels", "threshold", "roles", "rule")},
        **{f"setting {name}": value for name, value in record["settings"].items()},
        "policy": record["policy"],
        **{f"version of {name}": value for name, value in record["versions"].items()},
        "command": record.get("command"),
    }
    rows = tuple(
        (name, Value(tidy(_write(value), LONGEST_SETTING))) for name, value in known.items() if value is not None
    )
    return Table(caption="What the numbers depend on", head=("What", "Value"), rows=rows, n_text=2)


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | bool) else say(value)


def list_limits(record: Record) -> list[str]:
    """Say what nobody should read into the numbers."""
    same_label = "Comparable people have the same label. Where labels were given unequally, this audit cannot see it."
    return [
        "It says nothing of people without a comparable partner.",
        "Who is comparable follows from the rule and the columns above. Another rule gives other pairs, and two "
        "comparable people may differ in something that no column holds.",
        *([] if record["task"] == "regression" else [same_label]),
        "A gap is no proof of an injustice, and small gaps are no proof of fairness: a model that treats everybody "
        "alike has none, and is of no use.",
        "Intervals allow for who happens to be among the people, not for mistakes in the data.",
        "It is a measurement, and no legal opinion.",
    ]
