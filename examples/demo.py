"""Find people of a data set who are alike but for a sensitive attribute, and see how differently a model scores them.

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
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import Audit, ComparablePairs, PairCounts, audit, count_pairs, load_dataset, mine_pairs
from likewise.auditing import Measure
from likewise.exceptions import DatasetUnavailable

N_TRANSITIONS = 6
N_EXAMPLES = 4
N_DIRECTIONS = 3
GAPS = {
    "gap_mean": "mean gap",
    "gap_q3": "upper quartile",
    "rank_gap_mean": "mean rank gap",
    "flip_rate": "decisions differ",
}
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

    with console.status("Fitting a logistic regression and auditing it on the test rows..."):
        found = audit_logistic_regression(data)
    console.print("How differently a logistic regression scores such people, among the test rows", style="bold")
    console.print(found.notes[0], highlight=False)
    console.print(gaps(found))
    console.print(directions(found))


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


def audit_logistic_regression(data: Any) -> Audit:
    roles = data.roles
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [*roles.sensitive, *roles.discrete]),
        (StandardScaler(), [*roles.continuous]),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(data.train.X, data.train.y)
    return audit(model, data.test.X, data.test.y, roles=roles.learn(data.train.X), rule=data.rule)


def gaps(found: Audit) -> Table:
    table = Table(title="Gaps between the two scores of a pair, with 95% intervals", title_justify="left", box=SIMPLE)
    for heading in ("label", "", "pairs", "equals"):
        table.add_column(heading, justify="right" if heading == "equals" else "left")
    for label, part in ((1, "positive"), (0, "negative")):
        for name, words in GAPS.items():
            table.add_row(str(label), words, percent(found[f"{part}_{name}"]), percent(found[f"{part}_within_{name}"]))
        table.add_section()
    table.caption = "equals: pairs that are equal in the sensitive columns too"
    return table


def percent(measure: Measure) -> str:
    if measure.value is None:
        return "-"
    ends = [] if measure.low is None or measure.high is None else [f" ({measure.low:.1%} to {measure.high:.1%})"]
    return "".join([f"{measure.value:.1%}", *ends])


def directions(found: Audit) -> Table:
    table = Table(title="Who is scored lower than whom: the clearest", title_justify="left", box=SIMPLE)
    for heading in ("scored lower", "than"):
        table.add_column(heading)
    for heading in ("pairs", "on average by", "p (Holm)"):
        table.add_column(heading, justify="right")
    tested = [(one.p_adjusted, one.mean_gap, one) for one in found.directions if one.p_adjusted is not None]
    for p, gap, one in sorted(tested, key=lambda entry: entry[:2])[:N_DIRECTIONS]:
        lower, higher = ", ".join(map(str, one.target)), ", ".join(map(str, one.origin))
        table.add_row(lower, higher, f"{one.n_pairs:,}", f"{-gap:.1%}", f"{p:.4f}")
    return table


if __name__ == "__main__":
    main(*sys.argv[1:2])
