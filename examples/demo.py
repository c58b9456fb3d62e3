"""Find the people of a data set who are alike but for a sensitive attribute, and show some of them.

Run it with ``make demo``, or ``python examples/demo.py [DATA SET]``.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from likewise import ComparablePairs, PairCounts, count_pairs, load_dataset, mine_pairs
from likewise.exceptions import DatasetUnavailable

N_TRANSITIONS = 6
N_EXAMPLES = 4
MARKS = {"sensitive": ("sensitive", "bold magenta"), "continuous": ("near", "cyan"), "discrete": ("changed", "cyan")}


def main(name: str = "adult") -> None:
    console = Console()
    try:
        data = load_dataset(name)
    except DatasetUnavailable as error:
        console.print(f"[yellow]{name} cannot be had here, so this is the synthetic table 'planted' instead.[/]")
        console.print(f"{error}\n", style="dim", markup=False, highlight=False)
        data = load_dataset("planted")
    except ValueError as error:  # no such data set
        sys.exit(str(error))

    with console.status("Finding comparable pairs; the first run on a machine compiles for a while..."):
        schema = data.roles.learn(data.train.X)
        table = schema.encode(data.train.X, data.train.y)
        pairs = mine_pairs(table, data.rule)
        counts = count_pairs(table, data.rule)
        started = time.perf_counter()
        mine_pairs(table, data.rule)
        seconds = time.perf_counter() - started

    console.print(
        f"{len(table):,} people of {data.name}: {len(pairs):,} comparable pairs, every one there is.", style="bold"
    )
    console.print(f"Finding them takes {seconds:.2f} s, once compiled.", highlight=False)
    console.print(f"{data.rule.describe(data.roles)}\n", highlight=False)
    console.print(by_label(counts, f"{data.roles.label} (1: {data.label_meaning})"))
    console.print(by_transition(counts, data.roles.sensitive))
    chosen = spread(pairs)
    console.print(f"{len(chosen)} of the pairs, row by row; what differs is marked:")
    console.print(Columns([side_by_side(data, pairs, which) for which in chosen], padding=(0, 2)))


def by_label(counts: PairCounts, label: str) -> Table:
    table = Table(title="Pairs by label", title_justify="left", box=SIMPLE)
    table.add_column(label)
    table.add_column("pairs", justify="right")
    for value, n in sorted(counts.by_label.items()):
        table.add_row(str(value), f"{n:,}")
    table.add_section()
    table.add_row("all", f"{counts.total:,}")
    return table


def by_transition(counts: PairCounts, sensitive: tuple[str, ...]) -> Table:
    table = Table(title=f"Pairs by {', '.join(sensitive)}: the most frequent", title_justify="left", box=SIMPLE)
    for heading in ("one person", "the other"):
        table.add_column(heading)
    table.add_column("pairs", justify="right")
    largest = sorted(counts.by_transition.items(), key=lambda item: -item[1])
    for (one, other), n in largest[:N_TRANSITIONS]:
        table.add_row(", ".join(map(str, one)), ", ".join(map(str, other)), f"{n:,}")
    rest = largest[N_TRANSITIONS:]
    if rest:
        table.add_row(f"{len(rest)} more", "", f"{sum(n for _, n in rest):,}", style="dim")
    return table


def spread(pairs: ComparablePairs) -> list[int]:
    """Choose pairs of every label, from all over the list."""
    labels, positions = np.unique(pairs.label), np.arange(len(pairs))
    chosen: list[int] = []
    for label in labels:
        here = positions[pairs.label == label]
        share = max(1, N_EXAMPLES // len(labels))
        chosen += here[np.linspace(0, len(here) - 1, share + 2, dtype=int)[1:-1]].tolist()
    return chosen


def side_by_side(data: Any, pairs: ComparablePairs, which: int) -> Table:
    left, right = int(pairs.left[which]), int(pairs.right[which])
    table = Table(title=f"{data.roles.label} = {pairs.label[which]}", title_justify="left", box=SIMPLE)
    for heading in ("", f"row {left}", f"row {right}", ""):
        table.add_column(heading)
    for column in (*data.roles.sensitive, *data.roles.continuous, *data.roles.discrete):
        one, other = data.train.X[column].iloc[left], data.train.X[column].iloc[right]
        mark, style = "", "dim"
        if one != other:
            mark, style = MARKS[data.roles.role_of(column)]
        table.add_row(column, str(one), str(other), mark, style=style)
    return table


if __name__ == "__main__":
    main(*sys.argv[1:2])
