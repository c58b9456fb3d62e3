"""Audit a model of the Adult census data, look at one comparable pair, and try the remedies on the same people.

Run it with ``make demo``, or ``python examples/demo.py [DATA SET]``. It takes two minutes on two cores.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier

from likewise import (
    AntiDROClassifier,
    Audit,
    AugmentedClassifier,
    ConsistentClassifier,
    Dataset,
    GibbsGenerator,
    SmoothedTargetsClassifier,
    audit,
    load_dataset,
)
from likewise.exceptions import DatasetUnavailable

OUT = Path("out/demo")
MEASURES = {
    "excess": "excess",
    "gap_mean[1]": "gap, label 1",
    "gap_mean[0]": "gap, label 0",
    "rank_gap_mean": "rank gap",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}


def main(name: str = "adult") -> None:
    console, started = Console(highlight=False), time.perf_counter()
    data = load(name, console)
    table = Table(box=SIMPLE, title="Remedies, on the same test people (in %)", padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    for heading in (*MEASURES.values(), "fit, s"):
        table.add_column(heading, justify="right", width=max(4, *map(len, heading.split())))

    def fit(words: str, model: Any) -> float:
        with console.status(f"Fitting {words}; the first time on a machine, likewise compiles for a while..."):
            since = time.perf_counter()
            model.fit(data.train.X, data.train.y)
            return time.perf_counter() - since

    def measure(words: str, model: Any) -> Audit:
        seconds = fit(words, model)
        schema = data.roles.learn(data.train.X)
        found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule)
        values = [found[name].value for name in MEASURES]
        table.add_row(words, *("-" if value is None else f"{100 * value:.1f}" for value in values), f"{seconds:.0f}")
        return found

    trees = boosted_trees(data)
    before = measure("plain trees", trees)
    show(before, data, console)
    measure("pairs in the loss", ConsistentClassifier(trees, data.roles, data.rule, 0.3, random_state=0))
    smoothed = SmoothedTargetsClassifier(trees, data.roles, data.rule, random_state=0)
    after = measure("smoothed targets", smoothed)
    generator = GibbsGenerator(data.roles, data.rule, n_iterations=300, width=64, random_state=0)
    seconds = fit("a generator of antidotes", generator)
    shared = FrozenEstimator(generator)
    measure("antidotes", AugmentedClassifier(trees, shared, ratio=0.3, random_state=0))
    robust: dict[str, Any] = {
        "objective": "consistency",
        "antidote_weight": 0.5,
        "n_antidotes": 1,
        "n_iterations": 3000,
    }
    measure("AntiDRO (network)", AntiDROClassifier(shared, **robust, random_state=0))
    table.caption = (
        "Gap: mean absolute difference of the scores of comparable people, by label.\n"
        "Excess: how much more scores differ between groups than within one.\n"
        f"All but AntiDRO are XGBoost's trees. The generator of the antidotes took {seconds:.0f} s.\n"
        "How strong pairs and AntiDRO are was set with these people in view: a show, and no benchmark."
    )
    console.print(table)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "report.html").write_text(after.to_html(before=before), "utf-8")
    console.print("The trees before and after smoothed targets, every number with its interval:", style="bold")
    console.print((OUT / "report.html").resolve(), soft_wrap=True)
    console.print(f"{time.perf_counter() - started:.0f} s in all.", style="dim")


def load(name: str, console: Console) -> Dataset:
    try:
        return load_dataset(name)
    except DatasetUnavailable as error:
        console.print(f"[yellow]{name} is not available here, so this is the synthetic table 'planted' instead.[/]")
        console.print(f"{error}\n", style="dim", markup=False)
        return load_dataset("planted")
    except ValueError as error:  # no such data set
        sys.exit(str(error))


def boosted_trees(data: Dataset) -> Any:
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((codes, [*data.roles.sensitive, *data.roles.discrete]), remainder="passthrough")
    return make_pipeline(columns, XGBClassifier(n_estimators=150, learning_rate=0.1, random_state=0))


def show(found: Audit, data: Dataset, console: Console) -> None:
    """Print who is comparable, how differently the trees score them, and one pair."""
    console.print("Who is comparable", style="bold")
    console.print(data.rule.describe(data.roles))
    console.print("\nHow differently boosted trees score such people, among the test rows", style="bold")
    print(found)
    console.print("\nOne pair to look at", style="bold")
    print(found.worst[0])


if __name__ == "__main__":
    main(*sys.argv[1:2])
