"""Measure what splitting a million gaps over columns costs, against asking for the mixtures of one pair at a time.

Run it from the environment that ``make test`` makes::

    python benchmarks/attribution.py             # some minutes
    python benchmarks/attribution.py --report    # only write the table again, from stored figures

Pairs of Adult's training rows under a wide rule, sampled down to a million; a logistic regression, one-hot encoded. By
hand means: all mixtures of a pair in one call of ``predict_proba``, and their Shapley values; measured on some pairs
and scaled up to all. Its parts agree with ours, or the program stops.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import version
from math import comb
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import likewise
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
LIBRARIES: Final = ("numpy", "pandas", "scikit-learn")
N_PAIRS: Final = 1_000_000
N_BY_HAND: Final = 300
WANTED: Final = 60.0
RULE: Final = likewise.Comparability(max_discrete_changes=2, max_continuous_shift=0.08)
TEXT: Final = """# Gaps split over columns

Written by `python benchmarks/attribution.py`, which says how it is measured and can be run again.
{machine}. {versions}. Seconds are the processor's.

| pairs of Adult | seconds | wanted | mixtures | rows scored | one pair at a time | ratio |
| --- | --- | --- | --- | --- | --- | --- |
| {n_pairs:,} | {seconds:.1f} | {wanted:g} | {n_mixtures:,} | {n_scored:,} | about {by_hand:,.0f} | {ratio:,.0f} |
"""

Results = dict[str, Any]


def main() -> None:
    """Measure, store and show."""
    parser = argparse.ArgumentParser(description="Measure what splitting a million gaps over columns costs.")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table again")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "attribution.json"
    if not options.report:
        store(measure(), path)
    found = json.loads(path.read_text())
    versions = ", ".join(f"{name} {number}" for name, number in found.pop("versions").items())
    text = TEXT.format(**found, versions=versions, wanted=WANTED, ratio=found["by_hand"] / found["seconds"])
    path.with_suffix(".md").write_text(text)
    print(text)


def measure() -> Results:
    """Split the gaps of a million pairs, and of some by hand."""
    data = likewise.load_dataset("adult")
    words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (MinMaxScaler(), numbers))
    people, labels = data.train.X, np.asarray(data.train.y)
    model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(people, labels)
    found = likewise.audit(
        *(model, people, labels),
        roles=data.roles,
        rule=RULE,
        n_resamples=0,
        baseline=False,
        max_pairs=N_PAIRS,
        when_too_many="sample",
    )
    begun = time.process_time()
    split = likewise.attribute_gaps(found, model)
    seconds = time.process_time() - begun
    print(split, file=sys.stderr)
    n_columns = np.diff(split.starts)
    versions = {"python": platform.python_version(), "likewise": likewise.__version__}
    return {
        "machine": describe_machine(),
        "versions": versions | {name: version(name) for name in LIBRARIES},
        "n_pairs": len(found.pairs),
        "seconds": round(seconds, 2),
        "n_mixtures": int((2**n_columns - 2).clip(0).sum()),
        "n_scored": split.summary.n_scored,
        "by_hand": round(by_hand(split, model, people) * len(found.pairs) / N_BY_HAND, 1),
    }


def by_hand(split: likewise.GapAttribution, model: Any, people: pd.DataFrame) -> float:
    """Return the seconds that some pairs take one at a time; stop where their parts are others."""
    pairs = split.audit.pairs
    some = np.random.default_rng(0).choice(len(pairs), N_BY_HAND, replace=False)
    begun = time.process_time()
    for pair in some.tolist():
        two = people.iloc[[int(pairs.left[pair]), int(pairs.right[pair])]]
        differing = [name for name in split.names if two[name].iloc[0] != two[name].iloc[1]]
        n = len(differing)
        subsets = [{name for place, name in enumerate(differing) if number >> place & 1} for number in range(2**n)]
        rows = {name: [two[name].iloc[int(name in subset)] for subset in subsets] for name in people.columns}
        scores = model.predict_proba(pd.DataFrame(rows).astype(people.dtypes))[:, 1]
        parts = {
            name: sum(
                (score if name in subset else -score) / (n * comb(n - 1, len(subset - {name})))
                for subset, score in zip(subsets, scores, strict=True)
            )
            for name in differing
        }
        if not np.allclose(split.matrix[pair], [parts.get(name, 0.0) for name in split.names], atol=1e-9):
            raise SystemExit(f"The parts of pair {pair} are others by hand.")
    return time.process_time() - begun


if __name__ == "__main__":
    main()
