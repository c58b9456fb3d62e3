"""What the mining should reach, as ratios within one run, and whether it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

Tables = dict[str, Any]

LISTED: Final = "likewise memory list"
REWRITES: Final = ("KD-tree", "DuckDB signature join", "Polars signature join")


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and the bounds it is held against; ``figure`` gives None where it was not measured."""

    title: str
    figure: Callable[[Tables], float | None]
    reasonable: float
    hard: float
    unit: str
    more_is_better: bool = True

    def judge(self, tables: Tables) -> tuple[str, str, str, str]:
        """Give both bounds, the figure, and which bound it reached, as words."""
        sign = "≥" if self.more_is_better else "≤"
        bounds = [f"{sign} {bound:,g} {self.unit}" for bound in (self.reasonable, self.hard)]
        found = self.figure(tables)
        if found is None:
            return bounds[0], bounds[1], "-", "not measured"
        reached = [found >= bound if self.more_is_better else found <= bound for bound in (self.reasonable, self.hard)]
        verdict = "hard" if reached[1] else "reasonable" if reached[0] else "**no**"
        if reached[0] and self.reasonable == self.hard:
            verdict = "yes"
        return bounds[0], bounds[1], f"{found:{',.0f' if found >= 100 else '.3g'}} {self.unit}", verdict


def figure(tables: Tables, table: str, method: str, field: str = "cpu_s") -> float | None:
    """Look up one measured number."""
    record = tables.get(table, {"methods": {}})["methods"].get(method, {})
    return float(record[field]) if record.get("status") == "done" else None


def times_faster(tables: Tables, table: str, rival: str, ours: str = LISTED) -> float | None:
    """Divide the processor's seconds of a rival by ours."""
    theirs, mine = figure(tables, table, rival), figure(tables, table, ours)
    return theirs / mine if theirs is not None and mine else None


def best_rewrites(tables: Tables) -> list[float]:
    """Give, for each table on which one was measured, how much faster we are than the fastest of the rewrites."""
    ratios = []
    for table in tables:
        against = [ratio for rival in REWRITES if (ratio := times_faster(tables, table, rival)) is not None]
        ratios += [min(against)] if against else []
    return ratios


def _streamed_against_duckdb(tables: Tables) -> float | None:
    return times_faster(tables, "adult_1m", "DuckDB signature join", "likewise memory stream")


TARGETS: Final = (
    Target("Adult, listing, against brute force", lambda t: times_faster(t, "adult", "brute force"), 125, 300, "x"),
    Target("Dutch, listing, against brute force", lambda t: times_faster(t, "dutch", "brute force"), 300, 900, "x"),
    Target(
        "Dutch, groups, against listing",
        lambda t: times_faster(t, "dutch", "likewise memory list", "likewise memory group"),
        2,
        2,
        "x",
    ),
    Target("Against the best rewrite, slowest table", lambda t: min(best_rewrites(t), default=None), 1, 1, "x"),
    Target(
        "Against the best rewrite, median table", lambda t: median(r) if (r := best_rewrites(t)) else None, 10, 25, "x"
    ),
    Target("1M rows, streamed, against DuckDB", _streamed_against_duckdb, 20, 60, "x"),
    Target(
        "1M rows, streamed, memory above the input",
        lambda t: figure(t, "adult_1m", "likewise memory stream", "peak_mb"),
        300,
        150,
        "MB",
        more_is_better=False,
    ),
    *(
        Target(
            f"10M rows, {done}, memory in all",
            # mypy finds no type for a default that only keeps the loop's value
            lambda t, mode=mode: figure(t, "adult_10m", f"likewise memory {mode}", "resident_mb"),  # type: ignore[misc]  # mypy cannot infer a default of a lambda
            4000,
            4000,
            "MB",
            more_is_better=False,
        )
        for done, mode in (("counted", "count"), ("20,000 sampled", "sample"))
    ),
    *(
        Target(
            f"10M rows, {done}, by the clock (bounds: a trial on another machine, and half of it)",
            # mypy finds no type for a default that only keeps the loop's value
            lambda t, mode=mode: figure(t, "adult_10m", f"likewise memory {mode}", "wall_s"),  # type: ignore[misc]  # mypy cannot infer a default of a lambda
            trial,
            trial / 2,
            "s",
            more_is_better=False,
        )
        for done, mode, trial in (("counted", "count", 151), ("20,000 sampled", "sample", 73))
    ),
    Target(
        "100k rows of 30 columns, 3 changes, against brute force",
        lambda t: times_faster(t, "columns_30", "brute force"),
        50,
        200,
        "x",
    ),
)
