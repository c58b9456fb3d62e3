"""One question about training with antidotes, in a process of its own: ``python _training_trial.py QUESTION [NUMBER]``.

Prints what it measured as one line of JSON. Antidotes are made before, and are in memory when a fit begins.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from _clock import Record
from _tables import scale_adult
from _training_clock import Fit, Yardstick, measure_fit, measure_in_turn
from likewise import (
    Antidotes,
    AntiDROClassifier,
    AugmentedClassifier,
    Dataset,
    GibbsGenerator,
    NetworkClassifier,
    Roles,
    UniformGenerator,
    load_dataset,
)

OBJECTIVES: Final = ("worst", "mean", "consistency")
COUNTS: Final = (1, 2, 5, 10)  # antidotes of a row, at most
GIBBS_ROUNDS: Final = 5  # gives about 1.8 antidotes a row
RATIO: Final = 1.8  # as many, where rows are repeated
N_STEPS: Final = 10_000  # as it comes
N_SHORT: Final = 2_000  # steps, where sizes are compared
BETWEEN: Final = (2, 22)  # steps between records, in a short and in a longer fit
SHARED: Final[dict[str, Any]] = {"weight_decay": 1e-3, "device": "cpu", "random_state": 0}  # all else as it comes


def main() -> None:
    torch.set_num_threads(1)
    question, *arguments = sys.argv[1:]
    print(json.dumps(QUESTIONS[question](*map(int, arguments))))


def measure_whole() -> Record:
    """Fit with everything as it comes, and with antidotes of the generator that is ours."""
    data = load_dataset("adult")
    people = data.train
    generator, fit_s = timed(lambda: GibbsGenerator(data.roles, data.rule, **only_seed()).fit(people.X, people.y))
    antidotes, make_s = timed(lambda: generator.generate(people.X, people.y, rounds=GIBBS_ROUNDS))
    warm_up(data)
    fits = {"plain": plain_fit(data.roles, people.X, people.y)}
    fits |= {kind: antidro_fit(people.X, people.y, antidotes, objective=kind) for kind in OBJECTIVES}
    made = {"generator_fit_s": fit_s, "generate_s": make_s}
    return measure_with_yardstick(fits, N_STEPS) | made | describe(antidotes)


def measure_counts() -> Record:
    """Give every row as many antidotes as are asked for, from the generator that makes any number of them."""
    data = load_dataset("adult")
    people = data.train
    antidotes = uniform(data).generate(people.X, people.y, rounds=2)

    yardstick = Yardstick()
    base = yardstick.step_of(plain_fit(data.roles, people.X, people.y), *BETWEEN)
    steps = {}
    for count in COUNTS:
        fits = {
            kind: antidro_fit(people.X, people.y, antidotes, objective=kind, n_antidotes=count) for kind in OBJECTIVES
        }
        steps[str(count)] = {kind: yardstick.step_of(fit, *BETWEEN) for kind, fit in fits.items()}
    return {"plain": base, "steps": steps, "yardstick_s": yardstick.undisturbed_s}


def measure_rows(times: int) -> Record:
    """Fit to more rows: Adult's, drawn again and again, and moved a little."""
    data = load_dataset("adult")
    X, y = repeat_rows(data, times)
    generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(X, y)
    antidotes, make_s = timed(lambda: generator.generate(X, y, ratio=RATIO))
    warm_up(data)
    fits = {"plain": plain_fit(data.roles, X, y), "worst": antidro_fit(X, y, antidotes)}
    found = {"n_rows": len(y), "generate_s": make_s} | describe(antidotes)
    return measure_with_yardstick(fits, N_SHORT) | found


def measure_augmented() -> Record:
    """Fit a logistic regression to rows and antidotes, by the classifier and by hand, both from the same seed."""
    data = load_dataset("adult")
    people, generator = data.train, uniform(data)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [*data.roles.sensitive, *data.roles.discrete]),
        (MinMaxScaler(), [*data.roles.continuous]),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=2048))
    rows, labels = generator.generate(people.X, people.y, ratio=0.3).append_to(people.X, people.y)

    def by_class() -> Any:
        return AugmentedClassifier(model, FrozenEstimator(generator), ratio=0.3).fit(people.X, people.y)

    def by_hand() -> Any:
        antidotes = generator.generate(people.X, people.y, ratio=0.3)
        return model.fit(*antidotes.append_to(people.X, people.y))

    jobs: dict[str, Callable[[], Any]] = {"by hand": by_hand, "by class": by_class}
    shares = [job().predict_proba(data.test.X) for job in jobs.values()]
    jobs["rows alone"] = lambda: model.fit(rows, labels)
    return {"fits": measure_in_turn(jobs, n_rounds=5), "same": bool(np.array_equal(*shares))}


def repeat_rows(data: Dataset, times: int) -> tuple[Any, Any]:
    """Scale Adult up as the benchmark of mining does; the numbers stay as fine as the jitter."""
    schema = data.roles.learn(data.train.X)
    table, _ = scale_adult(times * len(data.train.X))
    people = schema.decode(table)
    for position, name in enumerate(table.names["continuous"]):
        low, high = schema.ranges[name]
        people[name] = low + table.continuous[:, position] * (high - low)
    return people, table.labels


def plain_fit(roles: Roles, X: Any, y: Any) -> Fit:
    return lambda n, progress: NetworkClassifier(roles=roles, n_iterations=n, progress=progress, **SHARED).fit(X, y)


def antidro_fit(X: Any, y: Any, antidotes: Antidotes, **settings: Any) -> Fit:
    def fit(n: int, progress: Any) -> Any:
        model = AntiDROClassifier(n_iterations=n, progress=progress, **SHARED, **settings)
        return model.fit(X, y, antidotes=antidotes)

    return fit


def measure_with_yardstick(fits: dict[str, Fit], n_iterations: int) -> Record:
    yardstick = Yardstick()
    found = {name: measure_fit(fit, n_iterations, yardstick) for name, fit in fits.items()}
    return {"fits": found, "yardstick_s": yardstick.undisturbed_s}


def uniform(data: Dataset) -> UniformGenerator:
    return UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)


def only_seed() -> dict[str, Any]:
    return {"device": "cpu", "random_state": 0}


def warm_up(data: Dataset) -> None:
    """Load all libraries, or the first fit would be charged their memory."""
    people = data.train
    antidotes = uniform(data).generate(people.X, people.y, ratio=0.1)
    for fit in (plain_fit(data.roles, people.X, people.y), antidro_fit(people.X, people.y, antidotes)):
        fit(50, lambda _: None)


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = job()
    return found, time.process_time() - started


def describe(antidotes: Antidotes) -> Record:
    return {"n_antidotes": len(antidotes), "coverage": antidotes.coverage}


QUESTIONS: Final[dict[str, Callable[..., Record]]] = {
    "fits": measure_whole,
    "counts": measure_counts,
    "rows": measure_rows,
    "augmented": measure_augmented,
}


if __name__ == "__main__":
    main()
