"""Audit a model on people who are alike but for a sensitive attribute, fit it with such pairs, and audit it again.

Run it with ``make demo``, or ``python examples/demo.py [DATA SET]``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier

from likewise import (
    Audit,
    ComparablePairs,
    ConsistentClassifier,
    Dataset,
    SmoothedTargetsClassifier,
    audit,
    compare_audits,
    load_dataset,
    mine_pairs,
)
from likewise.auditing import Measure
from likewise.exceptions import DatasetUnavailable
from likewise.report import to_markdown

OUT = Path("out/demo")
PAIR_WEIGHT = 2.0  # more makes gaps smaller, and costs more; FrontierSearch chooses one
N_EXAMPLES = 2
N_DIRECTIONS = 3
MEASURES = {
    "gap_mean[1]": "mean gap, label 1",
    "excess[1]": "- excess by person",
    "gap_mean[0]": "mean gap, label 0",
    "excess[0]": "- excess by person",
    "rank_gap_mean": "rank gap: mean",
    "flip_rate": "pairs with different decisions",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "score_spread": "standard deviation of scores",
}
MARKS = {"sensitive": ("sensitive", "bold magenta"), "continuous": ("near", "cyan"), "discrete": ("changed", "cyan")}


def main(name: str = "adult") -> None:
    console = Console(highlight=False)
    started = time.perf_counter()
    data = load(name, console)
    show_pairs(data, console)

    with console.status("Fitting boosted trees, and auditing them on the test rows..."):
        base, seconds = fit(boosted_trees(data), data)
        before = audit_model(base, data)
    console.print(
        f"How differently boosted trees ({seconds:.1f} s) score such people, among the test rows", style="bold"
    )
    console.print(*(note.text for note in before.notes if note.kind == "coverage"))
    console.print(directions(before))

    with console.status("Fitting them again, with the pairs of the training rows in the loss..."):
        consistent = ConsistentClassifier(boosted_trees(data), data.roles, data.rule, PAIR_WEIGHT, random_state=0)
        consistent, seconds = fit(consistent, data)
    n_pairs = sum(consistent.n_pairs_.values())
    console.print(
        f"The same trees, with {n_pairs:,} pairs in their loss ({seconds:.1f} s); and fitted to scores that were "
        "smoothed over the pairs of the training rows, without the sensitive columns",
        style="bold",
    )
    with console.status("Fitting them to smoothed targets, and auditing both..."):
        smoothed, _ = fit(SmoothedTargetsClassifier(boosted_trees(data), data.roles, data.rule, random_state=0), data)
        after = {"with pairs": audit_model(consistent, data), "smoothed targets": audit_model(smoothed, data)}
    console.print(str(smoothed.changes_))
    console.print(before_and_after(data, before, after))
    write(before, after, consistent)
    console.print(f"\nWritten to {OUT}/: three audits (.json, .md), and the trees with pairs (trees.json).")
    console.print(f"All this took {time.perf_counter() - started:.0f} s.", style="dim")
    console.print(f"The report, to open in a browser: {(OUT / 'report.html').resolve()}", soft_wrap=True)


def load(name: str, console: Console) -> Dataset:
    try:
        return load_dataset(name)
    except DatasetUnavailable as error:
        console.print(f"[yellow]{name} cannot be had here, so this is the synthetic table 'planted' instead.[/]")
        console.print(f"{error}\n", style="dim", markup=False)
        return load_dataset("planted")
    except ValueError as error:  # no such data set
        sys.exit(str(error))


def show_pairs(data: Dataset, console: Console) -> None:
    with console.status("Finding comparable pairs; the first run on a machine compiles for a while..."):
        table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
        pairs = mine_pairs(table, data.rule)
    console.print(
        f"{len(table):,} people of {data.name}: {len(pairs):,} comparable pairs, every one there is", style="bold"
    )
    console.print(data.rule.describe(data.roles))
    chosen = spread(pairs)
    console.print(Columns([side_by_side(data, pairs, which) for which in chosen], padding=(0, 2)))


def boosted_trees(data: Dataset) -> Any:
    words = [*data.roles.sensitive, *data.roles.discrete]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((codes, words), remainder="passthrough")
    return make_pipeline(columns, XGBClassifier(n_estimators=150, learning_rate=0.1, random_state=0))


def fit(model: Any, data: Dataset) -> tuple[Any, float]:
    started = time.perf_counter()
    return model.fit(data.train.X, data.train.y), time.perf_counter() - started


def audit_model(model: Any, data: Dataset) -> Audit:
    schema = data.roles.learn(data.train.X)
    return audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule)


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


def before_and_after(data: Dataset, before: Audit, after: dict[str, Audit]) -> Table:
    """Put the audits side by side; a star is a difference whose 95% interval is all on one side."""
    table = Table(title=f"in percent; label 1: {data.label_meaning}", title_justify="left", box=SIMPLE)
    for heading in ("", "boosted trees", *after):
        table.add_column(heading, justify="right" if heading else "left")
    comparisons = [compare_audits(before, found) for found in after.values()]
    for name, words in MEASURES.items():
        cells = []
        for comparison in comparisons:
            low, high = comparison[name].difference.low, comparison[name].difference.high
            is_clear = low is not None and high is not None and (low > 0 or high < 0)
            cells.append(percent(comparison[name].after) + (" *" if is_clear else "  "))
        table.add_row(words, percent(before[name]), *cells)
    table.caption = "*: the 95% interval of the difference is all on one side"
    return table


def percent(measure: Measure) -> str:
    return "-" if measure.value is None else f"{100 * measure.value:.1f}"


def directions(found: Audit) -> Table:
    table = Table(title="Who is scored lower than whom: the clearest", title_justify="left", box=SIMPLE)
    for heading in ("scored lower", "than"):
        table.add_column(heading)
    for heading in ("pairs", "on average by", "p (Holm)"):
        table.add_column(heading, justify="right")
    tested = [(one, one.p_adjusted) for one in found.directions if one.p_adjusted is not None]
    for one, p in sorted(tested, key=lambda found: found[0].rank)[:N_DIRECTIONS]:
        lower, higher = ", ".join(map(str, one.target)), ", ".join(map(str, one.origin))
        p_value = f"{p:.3f}" if p >= 0.001 else "< 0.001"
        table.add_row(lower, higher, f"{one.n_pairs:,}", f"{-one.lean:.1%}", p_value)
    return table


def write(before: Audit, after: dict[str, Audit], model: ConsistentClassifier) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    names = ("before", "with_pairs", "smoothed_targets")
    for name, found in zip(names, (before, *after.values()), strict=True):
        record = found.to_dict()
        (OUT / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        (OUT / f"{name}.md").write_text(to_markdown(record), "utf-8")
    (OUT / "report.html").write_text(after["with pairs"].to_html(before=before), "utf-8")
    model.estimator_[-1].save_model(OUT / "trees.json")


if __name__ == "__main__":
    main(*sys.argv[1:2])
