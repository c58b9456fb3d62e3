"""What the paper printed, as numbers: its result tables, and what else stands in its text."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
TABLES: Final = ("adult", "law_school", "oulad", "dutch", "adult_xgboost")  # of published.csv, as we order them
BASES: Final = ("LR (Base)", "NN (Base)", "XGBoost")  # models as they are, nothing done for similar people

Numbers = dict[str, float]
Table = dict[str, Numbers]


def base_of(method: str) -> str | None:
    """Return the model as it is that a method of the tables starts from; None for such a model itself."""
    if method in BASES:
        return None
    return next((base for base in BASES if method.startswith(base.split()[0])), "NN (Base)")


def read_published(folder: Path = HERE) -> dict[str, Table]:
    """Read every published table: its name, then its rows, then their numbers (percent; counts in ``statistics``)."""
    found: dict[str, Table] = {}
    with (folder / "published.csv").open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            table, row = line.pop("dataset"), line.pop("method")
            found.setdefault(table, {})[row] = {name: float(number) for name, number in line.items()}
    others = tomllib.loads((folder / "published.toml").read_text("utf-8"))
    for name, ratios in others.pop("antidote_ratio").items():
        for row, numbers in found.get(name, {}).items():
            if "Anti" in row:
                numbers["antidote_ratio"] = float(ratios["AntiDRO" if row == "AntiDRO" else "Anti"])
    return found | {name: _as_table(rows) for name, rows in others.items()}


def _as_table(rows: dict[str, dict[str, float]]) -> Table:
    return {row: {name: float(number) for name, number in numbers.items()} for row, numbers in rows.items()}
