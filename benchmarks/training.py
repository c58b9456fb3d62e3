"""Measure what training with antidotes costs, beside the plain network, and beside the same by hand.

Run it from the environment that ``make test`` makes::

    python benchmarks/training.py                        # some minutes
    python benchmarks/training.py --only fits --again

Antidotes are made before a fit and given to it. Fits of one question are measured by turns on one thread, and the
processor's seconds of the quickest are taken: what counts are ratios within a question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from _harness import Record, answer, head, markdown, target, time_job
from _tables import scale_adult_frame
from likewise import (
    AntiDROClassifier,
    AugmentedClassifier,
    GibbsGenerator,
    NetworkClassifier,
    UniformGenerator,
    load_dataset,
)

OBJECTIVES: Final = ("worst", "mean", "consistency")
N_STEPS: Final = 10_000
N_SHORT: Final = 2_000  # steps, where sizes are compared
SHARED: Final[dict[str, Any]] = {"weight_decay": 1e-3, "device": "cpu", "random_state": 0}  # all else as it comes
MOST: Final = 2.5  # times the plain network's seconds
WORDS: Final = """Processor seconds of one thread. Adult's training rows, 30,162 people; two layers of 64, batches of
256, weight decay 0.001 for all, everything else as it comes. *Plain* is `NetworkClassifier`, the others are
`AntiDROClassifier` with the objective named. Antidotes are made before, and are not in the figures.
"""


def measure(question: str, times: int) -> Record:
    """Answer one question."""
    torch.set_num_threads(1)
    data = load_dataset("adult")
    if question == "augmented":
        return measure_augmented(data)
    X, y = scale_adult_frame(data, times * len(data.train.X)) if times > 1 else (data.train.X, data.train.y)
    kind = GibbsGenerator if question == "fits" else UniformGenerator
    more = {"device": "cpu"} if question == "fits" else {}
    generator = kind(data.roles, data.rule, random_state=0, **more).fit(X, y)
    antidotes = generator.generate(X, y, **({"rounds": 5} if question == "fits" else {"ratio": 1.8}))
    n_steps = N_STEPS if question == "fits" else N_SHORT
    jobs: dict[str, Callable[[], Any]] = {
        "plain": lambda: NetworkClassifier(roles=data.roles, n_iterations=n_steps, **SHARED).fit(X, y)
    }
    for objective in OBJECTIVES if question == "fits" else OBJECTIVES[:1]:
        model = AntiDROClassifier(n_iterations=n_steps, objective=objective, **SHARED)
        jobs[objective] = lambda model=model: model.fit(X, y, antidotes=antidotes)
    found = measure_by_turns(jobs, n_rounds=1 if question == "fits" else 3)
    return {"fits": found, "n_rows": len(y), "n_antidotes": len(antidotes), "coverage": antidotes.coverage}


def measure_augmented(data: Any) -> Record:
    """Fit a logistic regression to rows and antidotes, by the classifier and by hand, both from the same seed."""
    people = data.train
    generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(people.X, people.y)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [*data.roles.sensitive, *data.roles.discrete]),
        (MinMaxScaler(), [*data.roles.continuous]),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=2048))

    def by_hand() -> Any:
        return model.fit(*generator.generate(people.X, people.y, ratio=0.3).append_to(people.X, people.y))

    def by_class() -> Any:
        return AugmentedClassifier(model, FrozenEstimator(generator), ratio=0.3).fit(people.X, people.y)

    return {"fits": measure_by_turns({"by hand": by_hand, "`AugmentedClassifier`": by_class}, n_rounds=5)}


def measure_by_turns(jobs: dict[str, Callable[[], Any]], n_rounds: int) -> dict[str, Record]:
    """Call all jobs, and all of them again; give the fewest seconds of each, and the memory of its last call."""
    calls: dict[str, list[Record]] = {name: [] for name in jobs}
    for _ in range(n_rounds):
        for name, job in jobs.items():
            calls[name].append(time_job(job, n_calls=1)[1])
    return {name: {**ones[-1], "cpu_s": min(one["cpu_s"] for one in ones)} for name, ones in calls.items()}


def write_page(figures: Record) -> str:
    """Write the tables."""
    cells = figures["cells"]
    fits = cells["fits"]["fits"]
    judged = [target(f"a whole fit, {name}", times(fits, name), MOST, more_is_better=False) for name in OBJECTIVES]
    whole = (
        f"A whole call of `fit`, {N_STEPS:,} steps, with {cells['fits']['n_antidotes']:,} antidotes of "
        f"`GibbsGenerator`, for {cells['fits']['coverage']:.0%} of the people, up to five for each.\n\n"
    )
    shown = [
        [name, f"{one['cpu_s']:.1f}", f"{times(fits, name):.2f}x", f"{one['peak_mb']:,.0f}"]
        for name, one in fits.items()
    ]
    rows = []
    for cell in (cell for name, cell in cells.items() if name.startswith("rows")):
        plain, worst = cell["fits"]["plain"], cell["fits"]["worst"]
        numbers = [f"{plain['cpu_s']:.1f}", f"{worst['cpu_s']:.1f}", f"{times(cell['fits'], 'worst'):.2f}x"]
        memory = [f"{one['peak_mb']:,.0f}" for one in (plain, worst)]
        rows.append([f"{cell['n_rows']:,}", f"{cell['n_antidotes']:,}", *numbers, *memory])
    row_words = (
        f"Adult's rows drawn again and moved a little; 1.8 antidotes a row of `UniformGenerator`. {N_SHORT:,} steps "
        "whatever the number of rows, so that what grows is the coding of people and antidotes.\n\n"
    )
    by_hand = cells["augmented"]["fits"]
    augmented = [[name, f"{one['cpu_s']:.2f}", f"{one['peak_mb']:,.0f}"] for name, one in by_hand.items()]
    parts = [
        head("Training with antidotes: time and memory", "training", figures, WORDS),
        "## Targets\n\n" + markdown(["AntiDRO, times the plain network", "wanted", "found", "met"], judged),
        "## A whole fit\n\n" + whole + markdown(["", "seconds", "times plain", "memory, MB"], shown),
        "## More rows\n\n"
        + row_words
        + markdown(["rows", "antidotes", "plain, s", "worst, s", "ratio", "plain, MB", "worst, MB"], rows),
        "## Any classifier, with antidotes below the rows\n\n`AugmentedClassifier` around a logistic regression, and "
        "the same by hand: making 0.3 antidotes a row, putting them below the rows, fitting.\n\n"
        + markdown(["", "seconds", "memory, MB"], augmented),
    ]
    return "\n".join(parts)


def times(fits: Record, name: str) -> float:
    """Divide the seconds of a fit by the plain one's."""
    return float(fits[name]["cpu_s"] / fits["plain"]["cpu_s"])


CELLS: Final = {"fits": ["fits", 1], **{f"rows x {n}": ["rows", n] for n in (1, 3, 10)}, "augmented": ["augmented", 1]}

if __name__ == "__main__":
    answer("training", __doc__, CELLS, measure, write_page)
