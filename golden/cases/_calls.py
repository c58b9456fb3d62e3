"""The list of cases, the people they ask about, and every call of likewise that may get another name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

import likewise
from golden._values import Page
from likewise import Comparability, load_dataset

Answer = Callable[[], dict[str, Any]]
CASES: Final[dict[str, Answer]] = {}
SLOW: Final[set[str]] = set()


def case(name: str, *, slow: bool = False) -> Callable[[Answer], Answer]:
    """Put a function on the list of cases."""

    def register(function: Answer) -> Answer:
        CASES[name] = function
        if slow:
            SLOW.add(name)
        return function

    return register


@cache
def planted(n_rows: int = 2_000) -> Any:
    """Return the synthetic data set, whose lender scores one group lower."""
    return load_dataset("planted", n_rows=n_rows)


@cache
def public(name: str, n_train: int = 3_000, n_test: int = 1_500) -> Any:
    """Return a draw of a real data set: its training and test rows, roles and rule."""
    data = load_dataset(name, download=False)
    random = np.random.default_rng(0)
    places = [np.sort(random.choice(len(some), n, False)) for some, n in ((data.train, n_train), (data.test, n_test))]
    train, test = (
        type(some)(some.X.iloc[rows].reset_index(drop=True), some.y.iloc[rows].reset_index(drop=True))
        for some, rows in zip((data.train, data.test), places, strict=True)
    )
    return type(data)(**{**vars(data), "train": train, "test": test})


def encoder() -> Any:
    """Return what makes numbers of all columns, whichever they are."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), words), (StandardScaler(), numbers)
    )


def piped(model: Any) -> Any:
    """Put a model behind an encoder."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(encoder(), model)


@cache
def logistic(name: str) -> Any:
    """Return a plain model, fitted to the training rows of a data set."""
    from sklearn.linear_model import LogisticRegression

    data = planted() if name == "planted" else public(name)
    return piped(LogisticRegression(max_iter=200)).fit(data.train.X, data.train.y)


def weights(n: int) -> Any:
    """Return weights of people, of whom one in twenty counts nothing."""
    random = np.random.default_rng(1)
    return np.where(random.random(n) < 0.05, 0.0, random.integers(1, 9, n) / 4)


def settled(rule: Any, **changes: Any) -> Any:
    """Return a rule with changes."""
    return Comparability.from_dict({**rule.to_dict(), **changes})


def ask(data: Any = None, scores: Any = None, **settings: Any) -> Any:
    """Audit the test rows of a data set: by default those of "planted", scored by its lender."""
    data = planted() if data is None else data
    given = {"X": data.test.X, "y": data.test.y, "rule": data.rule, "n_worst": 20, **settings}
    roles = given.pop("roles", None) or data.roles.learn(data.train.X)
    return likewise.audit(data.scores if scores is None else scores, roles=roles, **given)


def shown(found: Any, *, policy: Any = None) -> dict[str, Any]:
    """Return an audit as record and as text, and with its verdict."""
    verdict = None if policy is None else found.judge(policy)
    judged = {} if verdict is None else {"verdict": Page(f"{verdict}\n" + "\n".join(map(str, verdict.checks)))}
    return {"record": found.to_dict(verdict), "text": Page(str(found)), **judged}


def pages(found: Any, *, policy: Any = None) -> dict[str, Any]:
    """Return an audit in all forms."""
    report = likewise.report
    verdict = None if policy is None else found.judge(policy)
    record = found.to_dict(verdict)
    forms = {"markdown": report.to_markdown(record), "junit": report.to_junit(record)}
    for page in ("bias-audit", "model-risk"):
        forms[page] = report.to_page(record, page, form="markdown")
    shown_pages = {name: Page(text) for name, text in forms.items()}
    html = {"html": found.to_html(verdict=verdict), "card": found._repr_html_()}
    html["risk"] = report.to_page(record, "model-risk")
    return {**shown(found, policy=policy), **shown_pages, **{name: Page(one, True) for name, one in html.items()}}


def arrays(found: Any) -> dict[str, Any]:
    """Return the pairs of an audit, with their gaps, and the largest gap of each person."""
    pairs = found.pairs
    return {"left": pairs.left, "right": pairs.right, "gaps": found.gaps, "person_gaps": found.person_gaps}


def scored(model: Any, data: Any, *, positive: bool = True) -> dict[str, Any]:
    """Return what a fitted model predicts for test rows."""
    found = {"predictions": np.asarray(model.predict(data.test.X))}
    if positive and hasattr(model, "predict_proba"):
        found["probabilities"] = np.asarray(model.predict_proba(data.test.X))
    return found
