"""Audit a model of the Adult census data, look at one pair of comparable people, and try the remedies on the same people.

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
    NetworkClassifier,
    SmoothedTargetsClassifier,
    audit,
    load_dataset,
)
from likewise.exceptions import DatasetUnavailable

OUT = Path("out/demo")
PLAIN, BEST = "boosted trees", "smoothed targets"
POINTS = {"excess": "excess", "gap_mean[1]": "gap, label 1", "gap_mean[0]": "gap, label 0", "rank_gap_mean": "rank gap"}
PERFORMANCE = {"roc_auc": "ROC AUC", "average_precision": "average precision"}


def main(name: str = "adult") -> None:
    console = Console(highlight=False, soft_wrap=True)
    started = time.perf_counter()
    data = load(name, console)
    models = make_models(data)
    audits: dict[str, Audit] = {}
    table = Table(*("", *(POINTS | PERFORMANCE).values(), "fit, s"), box=SIMPLE, title="The same people, five remedies")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, model in models.items():
        with console.status(f"Fitting and auditing: {name}..."):
            began = time.process_time()
            model.fit(data.train.X, data.train.y)
            seconds = time.process_time() - began
            audits[name] = audit_model(model, data)
        values = [f"{100 * audits[name][measure].value:.2f}" for measure in (*POINTS, *PERFORMANCE)]
        table.add_row(name, *values, f"{seconds:.1f}")
        if name == PLAIN:
            show(audits[name], console)
    table.caption = "in percentage points; antidotes share one generator, fitted with the first model that uses it"
    console.print(table)
    OUT.mkdir(parents=True, exist_ok=True)
    page = (OUT / "report.html").resolve()
    page.write_text(audits[BEST].to_html(before=audits[PLAIN]), "utf-8")
    console.print(f"The report, {PLAIN} against {BEST}: {page}")
    console.print(f"Elapsed: {time.perf_counter() - started:.0f} s.", style="dim")


if __name__ == "__main__":
    main(*sys.argv[1:2])
