"""Measure what an audit of a million comparable pairs costs, with confidence intervals, against the same by hand.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/auditing.py                             # some minutes
    python benchmarks/auditing.py --only "dutch; " --again
    python benchmarks/auditing.py --report                    # only write the page anew

By hand means pandas and numpy, as well as we can write it: four numbers, where an audit gives a hundred. Numbers and
pairs of both are compared.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from _audit_naive import measure_naively
from _harness import Record, answer, head, markdown, seconds, target, time_job
from _tables import SEED, scale_adult_frame
from likewise import Audit, CodedTable, Schema, audit, load_dataset
from mining import checksum

N_RESAMPLES: Final = 1000
DUTCH_ROWS: Final = 27_200  # of the 45,315 training rows: about a million pairs
ADULT_ROWS: Final = 141_000  # pairs grow with the square of the rows: about a million
COMPLETE: Final = "likewise.audit, complete"
SAME_PAIRS: Final = "likewise.audit, no baseline"
BARE: Final = "likewise.audit, no baseline, no intervals"
NAIVE: Final = "pandas + numpy, bootstrap over people"
NAIVE_BARE: Final = "pandas + numpy, no intervals"
OURS: Final[dict[str, dict[str, Any]]] = {
    COMPLETE: {"n_resamples": N_RESAMPLES},
    SAME_PAIRS: {"n_resamples": N_RESAMPLES, "baseline": False},
    "likewise.audit, no intervals": {"n_resamples": 0},
    BARE: {"n_resamples": 0, "baseline": False},
}
METHODS: Final = (*OURS, NAIVE, NAIVE_BARE)
CASES: Final = {"adult": "Adult, test rows", "dutch": "Part of Dutch", "adult_scaled": "Adult scaled up"}
COMPARED: Final = ("gap_mean[1]", "gap_q3[1]", "gap_mean[0]", "gap_q3[0]")
EQUAL: Final = 1e-12  # two ways to add up the same numbers
WORDS: Final = """People are scored by scikit-learn's logistic regression; intervals are of 95 %, from 1,000 bootstrap
replicates over people. Seconds are the processor's, all threads together, the best of a few calls; compiled code is
there. Memory is the peak above the input and the loaded libraries. A complete audit measures the baseline, too: up to
five times as many pairs. By hand there are four numbers, the mean and the upper quartile of the gaps by label.
"""
AGREEMENT: Final = """*Values* differ by at most 1e-12 between likewise and the way by hand, and the pairs are the
same, unless the table says otherwise. Interval ends differ: by hand, a pair counts as often as its two people were
drawn, multiplied, which makes a pair's own noise three times too large. likewise corrects that, widens intervals where
few people count, and bounds quartiles by the uncertainty of a share instead of resampling them.

"""


def measure(case: str, method: str) -> Record:
    """Audit the people of a case in one way."""
    data = load_dataset("dutch" if case == "dutch" else "adult")
    schema = data.roles.learn(data.train.X)
    X, y = take_people(data, case)
    table = schema.encode(X, y)
    trained = schema.encode(data.train.X, data.train.y)
    model = LogisticRegression(C=1.0, max_iter=2048).fit(make_features(trained, schema), trained.labels)
    scores = model.predict_proba(make_features(table, schema))[:, 1]
    if method in OURS:
        job = lambda: audit(scores, X, table.labels, roles=schema, rule=data.rule, **OURS[method])  # noqa: E731
    else:
        job = measure_naively(table, scores, data.rule, N_RESAMPLES if method == NAIVE else 0)
    job()  # compiles
    found, record = time_job(job)
    return {"rows": len(X), **(describe(found) if isinstance(found, Audit) else found), **record}


def make_features(table: CodedTable, schema: Schema) -> NDArray[np.float64]:
    """Give one column a category, and the continuous columns after them."""
    names = (*table.names["sensitive"], *table.names["discrete"])
    codes = np.column_stack([table.sensitive, table.discrete])
    spread = [codes[:, [at]] == np.arange(len(schema.categories[name])) for at, name in enumerate(names)]
    return np.column_stack([*spread, table.continuous]).astype(np.float64)


def take_people(data: Any, case: str) -> tuple[Any, Any]:
    """Take Adult's test rows, so many of Dutch's, or Adult's resampled and jittered."""
    if case == "adult":
        return data.test.X, data.test.y
    if case == "adult_scaled":
        return scale_adult_frame(data, ADULT_ROWS)
    rows = np.sort(np.random.default_rng(SEED).permutation(len(data.train.X))[:DUTCH_ROWS])
    return data.train.X.iloc[rows].reset_index(drop=True), np.asarray(data.train.y)[rows]


def describe(found: Audit) -> Record:
    """Say which pairs were found, and give the numbers that are had by hand, too."""
    measures = {name: found[name] for name in COMPARED}
    return {
        **checksum([(found.pairs.left, found.pairs.right)], len(found.question.table)),
        "values": {name: one.value for name, one in measures.items()},
        "intervals": {name: [one.low, one.high] for name, one in measures.items() if one.low is not None},
    }


def write_page(figures: Record) -> str:
    """Write what was wanted, all methods on all cases, and how numbers agree."""
    cells = figures["cells"]
    targets = [row for case in ("dutch", "adult_scaled") for row in write_targets(cells, case)]
    rows = []
    for case, title in CASES.items():
        for method in METHODS:
            one, ours = cells[f"{case}; {method}"], cells[f"{case}; {COMPLETE}"]
            numbers = [seconds(one), f"{one['wall_s']:,.3g}", f"{one['peak_mb']:,.0f}"]
            rows.append([title, f"{one['rows']:,}", f"{one['n_pairs']:,}", method, *numbers, agrees(one, ours)])
    heads = ["case", "people", "pairs", "method", "CPU s", "wall s", "peak MB", "checked"]
    parts = [head("An audit of a million comparable pairs: time and memory", "auditing", figures, WORDS)]
    parts.append("## Targets\n\n" + markdown(["", "wanted", "measured", "reached"], targets))
    parts.append("## Time and memory\n\n" + markdown(heads, rows))
    rows = []
    for case, title in CASES.items():
        for name in COMPARED:
            ends = [cells[f"{case}; {method}"]["intervals"][name] for method in (COMPLETE, NAIVE)]
            shown = [f"{100 * low:.2f} to {100 * high:.2f}" for low, high in ends]
            width = f"{(ends[0][1] - ends[0][0]) / (ends[1][1] - ends[1][0]):.2f}"
            rows.append([title, name, f"{100 * cells[f'{case}; {COMPLETE}']['values'][name]:.2f}", *shown, width])
    heads = ["case", "measure", "value, %", "likewise", "by hand", "width, ours / by hand"]
    parts.append("## Agreement\n\n" + AGREEMENT + markdown(heads, rows))
    return "\n".join(parts)


def write_targets(cells: Record, case: str) -> list[list[str]]:
    """Hold one case of a million pairs against what was wanted."""

    def ratio(method: str, ours: str) -> float:
        return float(cells[f"{case}; {method}"]["cpu_s"] / cells[f"{case}; {ours}"]["cpu_s"])

    whole, title = cells[f"{case}; {COMPLETE}"], CASES[case]
    return [
        target(f"{title}: complete audit with intervals, CPU seconds", whole["cpu_s"], 20, "s", more_is_better=False),
        target(f"{title}: complete audit, memory", whole["peak_mb"], 1000, "MB", more_is_better=False),
        target(f"{title}: what 1,000 replicates add", ratio(SAME_PAIRS, BARE), 4, more_is_better=False),
        target(f"{title}: bootstrap by hand against the complete audit", ratio(NAIVE, COMPLETE), 1),
        target(f"{title}: bootstrap by hand against the audit of the same pairs", ratio(NAIVE, SAME_PAIRS), 2),
        target(f"{title}: by hand against the audit, neither with intervals", ratio(NAIVE_BARE, BARE), 1),
    ]


def agrees(one: Record, reference: Record) -> str:
    """Say whether a method found what the complete audit found."""
    same_pairs = (one["checksum"], one["n_pairs"]) == (reference["checksum"], reference["n_pairs"])
    apart = max(abs(value - one["values"][name]) for name, value in reference["values"].items())
    return "same pairs, same values" if same_pairs and apart <= EQUAL else "**differs**"


CELLS: Final = {f"{case}; {method}": [case, method] for case in CASES for method in METHODS}

if __name__ == "__main__":
    answer("auditing", __doc__, CELLS, measure, write_page)
