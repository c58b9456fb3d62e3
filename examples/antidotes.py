"""Train a model again on people and their antidotes, and see what that changes for people who are alike.

Run it with ``python examples/antidotes.py [DATA SET]``; it needs the extra torch.
"""

from __future__ import annotations

import sys
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import Dataset, GibbsGenerator, audit, compare_audits, load_dataset
from likewise.exceptions import DatasetUnavailable

MEASURES = ("positive_gap_mean", "negative_gap_mean", "rank_gap_mean", "flip_rate", "score_spread", "roc_auc")


def main(name: str = "adult") -> None:
    console = Console(highlight=False)
    try:
        data = load_dataset(name)
    except DatasetUnavailable:
        console.print(f"{name} cannot be had here, so this is the synthetic table 'planted' instead.")
        data = load_dataset("planted")
    X, y = data.train.X, data.train.y
    with console.status("Learning from people, and making antidotes of them; a minute or two..."):
        antidotes = GibbsGenerator(data.roles, data.rule, random_state=0).fit(X, y).generate(X, y, ratio=0.5)
    console.print(f"{len(antidotes):,} antidotes, of {antidotes.coverage:.0%} of the {len(X):,} people. The first one:")
    for column in (column for column, differs in antidotes.changed.items() if differs[0]):
        console.print(f"  {column}: {X[column].iloc[antidotes.source[0]]} -> {antidotes.frame[column].iloc[0]}")

    question: Any = {"roles": data.roles.learn(X), "rule": data.rule}
    models = [train(data, X, y), train(data, *antidotes.append_to(X, y))]
    without, trained_on = (audit(model, data.test.X, data.test.y, **question) for model in models)
    comparison = compare_audits(without, trained_on)
    table = Table("test rows", "without", "with antidotes", "difference, 95% interval", box=SIMPLE)
    for measure in MEASURES:
        change = comparison[measure]
        numbers = [f"{one.value:.3f}" for one in (change.before, change.after)]
        low, high = change.difference.low, change.difference.high
        table.add_row(measure, *numbers, "" if low is None or high is None else f"{low:+.3f} to {high:+.3f}")
    console.print(table, *comparison.notes)


def train(data: Dataset, X: Any, y: Any) -> Any:
    words = OneHotEncoder(handle_unknown="ignore"), [*data.roles.sensitive, *data.roles.discrete]
    columns = make_column_transformer(words, (StandardScaler(), [*data.roles.continuous]))
    return make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(X, y)


if __name__ == "__main__":
    main(*sys.argv[1:2])
