"""What `likewise.repair` does to small tables, and to a large one with a rare label.

Run it from the environment that ``make test`` makes, or wherever the package and what it needs can be imported::

    python benchmarks/repair.py                        # what is missing: some ten minutes on 16 cores
    python benchmarks/repair.py --only "compas 300" --again
    python benchmarks/repair.py --report               # only write the page anew, from stored figures

Small tables are random subsamples of 300, 600 and 900 training rows of five data sets, and of 300 of the 442 rows of
scikit-learn's diabetes data (outcomes, groups by sex). The large one is Adult, all 45,222 rows, where the label is
whether somebody has a capital gain above 7,000 dollars (3.5 %). Each subsample is given to ``repair`` as a user
would, with a loss of one percentage point allowed. The model as it was and the repaired one, both fitted to the rows
that ``repair`` does not hold out, then score other rows of the data set: thousands that the subsample was not drawn
from (of the diabetes data the other 142, of Adult another fifth of the rows). Differences there are near the truth.
"""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from _harness import Record, answer, head, markdown
from likewise import Comparability, Roles, audit, load_dataset, repair
from likewise.exceptions import NoComparablePairs

NAME: Final = "repair"
SMALL: Final = ("adult", "compas", "law_school", "oulad", "dutch")
SIZES: Final = (300, 600, 900)
RARE, DIABETES = "adult, rare label", "diabetes"
N_TABLES: Final = {RARE: 4}
N_SMALL: Final = 16
MAX_LOSS: Final = 0.01
MOST_TEST_ROWS: Final = 8_000
RARE_GAIN: Final = 7_000
LINEAR, TREES = "linear", "boosted trees"
MEASURES: Final = ("excess", "gap_mean", "rank_gap_mean", "log_loss")
WORSE: Final = 0.005  # half a percentage point
TITLE: Final = "What repair does to small tables"
WORDS: Final = """Means over random tables of so many rows, each given to `likewise.repair` with a loss of at most one
point allowed; measured on other rows of the data set, which `repair` has not seen. Gaps, excess and loss (of average
precision; of diabetes of R²) in percentage points (of diabetes gaps in hundredths of the standard deviation of the
outcome), as they were → repaired. Changed: tables in which another model than the given one was returned; the others
count as well. Worse: tables whose excess or whose mean gap rose by more than half a point; costly: tables that lost
more than three points. A table without comparable pairs is refused by `repair`, and not counted.
"""

Table = tuple[Any, Any, Any, Any, Any, Any]  # training rows and outcomes, others, roles and rule


def make_model(kind: str, *, is_regression: bool = False) -> Any:
    """Return a model as users have one: it finds its columns by their types."""
    words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    if kind == LINEAR:
        coding = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
        return make_pipeline(coding, Ridge() if is_regression else LogisticRegression(max_iter=500))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    trees = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    coding = make_column_transformer((codes, words), ("passthrough", numbers))
    return make_pipeline(coding, trees(max_iter=60, early_stopping=False, random_state=0))


def draw_small(name: str, n: int, seed: int) -> Table:
    """Draw training rows of a data set, and keep test rows for the truth."""
    data, random = load_dataset(name), np.random.default_rng([seed, n])
    rows = np.sort(random.choice(len(data.train), n, replace=False))
    test = np.sort(random.choice(len(data.test), min(len(data.test), MOST_TEST_ROWS), replace=False))
    X, y, X_test, y_test = (
        data.train.X.iloc[rows],
        data.train.y.iloc[rows],
        data.test.X.iloc[test],
        data.test.y.iloc[test],
    )
    return X, y, X_test, y_test, data.roles, data.rule


def draw_rare(seed: int) -> Table:
    """Draw four fifths of Adult, with a rare label: whether somebody has a large capital gain."""
    data = load_dataset("adult")
    X = pd.concat([data.train.X, data.test.X], ignore_index=True)
    y = (X.pop("capital-gain") > RARE_GAIN).astype(int)
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[len(X) // 5 :], order[: len(X) // 5]
    roles = replace(data.roles, continuous=tuple(one for one in data.roles.continuous if one != "capital-gain"))
    return X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test], roles, data.rule


def draw_diabetes(n: int, seed: int) -> Table:
    """Draw rows of scikit-learn's diabetes data, with two named groups."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X["sex"] = np.where(X["sex"] == 1, "one", "two")
    order = np.random.default_rng([seed, n]).permutation(len(X))
    train, test = order[:n], order[n:]
    roles = Roles(sensitive="sex", continuous=("age", "bmi", "bp"), ignored=("s1", "s2", "s3", "s4", "s5", "s6"))
    return X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test], roles, Comparability(max_continuous_shift=0.1)


def measure(name: str, n: int, kind: str) -> Record:
    """Repair tables, and sum up what that did to them."""
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")})
    n_tables = N_TABLES.get(name, N_SMALL)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, n_tables), mp_context=get_context("spawn")) as pool:
        tables = list(pool.map(partial(repair_one, name, n, kind), range(n_tables)))
    return {"tables": [one for one in tables if one is not None], "refused": tables.count(None), "wall_s": "done"}


def repair_one(name: str, n: int, kind: str, seed: int) -> Record | None:
    """Repair one table; None where it has no comparable pairs."""
    warnings.simplefilter("ignore")
    drawn = (
        draw_rare(seed) if name == RARE else draw_diabetes(n, seed) if name == DIABETES else draw_small(name, n, seed)
    )
    X, y, X_test, y_test, roles, rule = drawn
    model = make_model(kind, is_regression=name == DIABETES)
    given = {"max_loss": MAX_LOSS, "random_state": seed, "progress": False}
    try:
        found = repair(model, X, y, roles=roles, rule=rule, **given)  # type: ignore[arg-type]  # values of several types
    except NoComparablePairs:
        return None
    schema = roles.learn(X)
    utility, task = ("r2", "regression") if name == DIABETES else ("average_precision", "binary")
    how = {"roles": schema, "rule": rule, "task": task, "n_resamples": 0, "progress": False}
    sides = [audit(one, X_test, y_test, **how) for one in (found.search.base_estimator_, found.model)]
    told = [{one: side.measures[one].value for one in (*MEASURES, utility) if one in side.measures} for side in sides]
    return {"done": found.search.best_point_.name, "utility": utility, "before": told[0], "after": told[1]}


def write_page(figures: Record) -> str:
    """Return the figures as Markdown."""
    heads = ["table", "rows", "model", "tables", "changed", "excess", "mean gap", "mean rank gap", "loss", "log loss"]
    rows = [[*name.split("; "), *_row(cell)] for name, cell in figures["cells"].items() if cell["status"] == "done"]
    return f"{head(TITLE, NAME, figures, WORDS)}\n{markdown([*heads, 'worse', 'costly'], rows)}"


def _row(cell: Record) -> list[object]:
    tables = cell["tables"]

    def mean(name: str) -> str:
        sides = [[one[side].get(name) for one in tables] for side in ("before", "after")]
        if not tables or any(value is None for side in sides for value in side):
            return "-"
        times = 1 if name == "log_loss" else 100
        return " → ".join(f"{times * np.mean(side):.{3 if times == 1 else 2}f}" for side in sides)

    losses = [one["before"][one["utility"]] - one["after"][one["utility"]] for one in tables]
    rises = [_rise(one, name) for one in tables for name in ("excess", "gap_mean")]
    n_worse = sum(max(pair) > WORSE for pair in zip(rises[::2], rises[1::2], strict=True))
    loss = f"{100 * np.mean(losses):+.2f} ± {100 * np.std(losses):.2f}" if tables else "-"
    n_changed = sum(one["done"] != "base" for one in tables)
    n_costly = sum(one > 0.03 for one in losses)
    gaps = [mean(name) for name in MEASURES[:3]]
    return [len(tables), n_changed, *gaps, loss, mean("log_loss"), n_worse, n_costly]


def _rise(table: Record, name: str) -> float:
    before, after = table["before"].get(name), table["after"].get(name)
    return 0.0 if before is None or after is None else abs(after) - abs(before)


def main() -> None:
    kinds = (LINEAR, TREES)
    cells = {f"{name}; {n}; {kind}": (name, n, kind) for name in SMALL for n in SIZES for kind in kinds}
    cells |= {f"{DIABETES}; 300; {kind}": (DIABETES, 300, kind) for kind in kinds}
    cells |= {f"{RARE}; 36,178; {kind}": (RARE, 36_178, kind) for kind in kinds}
    answer(NAME, __doc__, cells, measure, write_page)


if __name__ == "__main__":
    main()
