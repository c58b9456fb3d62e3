"""One call from a model to a repaired one: roles, search, fit, and audits before and after on rows of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor

from likewise._checks import check_number
from likewise._format import count_of, line_up, list_lines, wrap
from likewise._random import check_seed, draw_seed, stream
from likewise.auditing import Audit, Comparison, compare_audits
from likewise.auditing._internal import AuditSettings, infer_roles, run_audit
from likewise.comparable import Comparability
from likewise.exceptions import NoComparablePairs, ParameterError
from likewise.frontier._candidates import Rows, score
from likewise.frontier._points import FrontierPoint, choose_point
from likewise.frontier._search import FrontierSearch, check_model
from likewise.frontier._summary import choose_words, has_points
from likewise.record._internal import in_words, show_value
from likewise.schema import Roles, Schema
from likewise.schema._internal import array_of_table, hold_out, is_frame, open_frame, take_frame, take_weights

ADVICE: Final = "These are the held-out rows: hold out more with a larger test_fraction, or widen the rule."


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Repair:
    """A repaired model, how it was made, and what that changed on rows that no choice saw.

    :func:`repair` makes it. Printed, it says what was done, what it changed, and what each step would have done.

    Parameters
    ----------
    model : classifier or regressor
        The fitted model, of the user's own class; where that class does not predict by itself what it was fitted for,
        as LightGBM's with pairs in the loss, the ``recipe``, fitted. Where nothing helped, the model as it was.
    recipe : classifier or regressor
        What makes such a model, unfitted: ``recipe.fit(X, y)`` on all rows, with its result in ``estimator_``.
    columns : tuple of str
        The columns that the model takes.
    before, after : Audit
        Of the held-out rows, with the model as it was and with the repaired one, both fitted to the other rows.
    search : FrontierSearch
        Everything that was tried, by cross-validation among the other rows.
    held_out : array of int
        The positions of the held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from likewise import repair
    >>> random = np.random.default_rng(0)
    >>> is_woman, age = random.integers(2, size=300), random.integers(20, 60, size=300)
    >>> paid = random.random(300) < age / 80 - 0.3 * is_woman
    >>> found = repair(LogisticRegression(), np.column_stack([is_woman, age]), paid, sensitive="x0", max_loss=0.1)
    >>> found.columns, len(found.held_out)
    (('x1',), 75)
    """

    model: Any
    recipe: Any
    columns: tuple[str, ...]
    before: Audit
    after: Audit
    search: FrontierSearch
    held_out: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"<Repair: {self._done}>"

    def __str__(self) -> str:
        rows, pairs = len(self.held_out), self.after.record.pairs.n
        hidden = [name for name in self.after.record.sensitive if name not in self.columns]
        unseen = f" It does not see {' and '.join(hidden)}." if hidden else ""
        return "\n".join(
            [
                *wrap(f"{type(self.model).__name__}, {self._done}.{unseen}"),
                f"On {count_of(rows, 'row')} that no choice saw, with {count_of(pairs, 'comparable pair')}:",
                line_up([*self._list_changes()]),
                *list_lines(note for note in self._comparison.notes if note.kind == "squeezed"),
                f"Best of each step on the other {count_of(len(self.search.fold_of_), 'row')}, scored out of fold:",
                line_up([*self._list_steps()]),
                *wrap(choose_words(self.search.frontier_, self.search.best_point_, self.search._criteria)),
            ]
        )

    @property
    def _done(self) -> str:
        best = self.search.best_point_
        return "left as it was" if best.is_base else f"repaired: {best.name}"

    @cached_property
    def _comparison(self) -> Comparison:
        return compare_audits(self.before, self.after)

    def _list_changes(self) -> Iterator[Sequence[str]]:
        yield "", "before", "after", "change"
        points = self.after.record.in_points
        for name in (*self.search.frontier_[0].gains, self.search._criteria.utility):
            change = self._comparison[name]
            if change.difference.value is None:  # nobody there has comparable people of both kinds
                continue
            values = [show_value(name, one.value, points=points) for one in (change.before, change.after)]
            yield in_words(name), *values, change.difference.show(name, points=points)

    def _list_steps(self) -> Iterator[Sequence[str]]:
        points, criteria = self.search.frontier_, self.search._criteria
        yield "", *map(in_words, points[0].gains), f"loss of {in_words(criteria.utility)}"
        for _, step in groupby(points, _step_of):
            tried = [point for point in step if point.error is None]
            if not tried:
                continue
            able = [point for point in tried if point.may_be_chosen]
            point = choose_point(able, criteria) if able else min(tried, key=lambda point: point.loss.value or 0.0)
            loss, shown = point.loss, has_points(point)
            name = "as it was" if point.is_base else point.name
            values = [show_value(one, point.measures[one].value, points=shown) for one in point.gains]
            lost = "" if point.is_base else loss.show(criteria.utility, 3)
            yield name, *values, lost + ("" if able else ", over budget")

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report of the repaired model with the one before beside it: one page that needs nothing else.

        Parameters
        ----------
        path : str or Path, optional
            A file to write it to as well, which is not there yet.

        Returns
        -------
        str
        """
        return self.after.to_html(path, before=self.before)


def _step_of(point: FrontierPoint) -> tuple[bool, ...]:
    params = point.params
    return point.is_base, *(bool(params.get(name)) for name in ("strength", "pair_weight", "discard_sensitive"))


def repair(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive: str | Sequence[str] | None = None,
    sensitive_features: Any = None,
    roles: Roles | Schema | None = None,
    rule: Comparability | None = None,
    sample_weight: Any = None,
    max_loss: float = 0.01,
    utility: str | None = None,
    positive: Any = None,
    test_fraction: float = 0.25,
    folds: int = 5,
    n_jobs: int | None = None,
    log: str | Path | None = None,
    progress: Callable[[FrontierPoint], None] | bool | None = None,
    random_state: int = 0,
) -> Repair:
    """Make a model treat comparable people more alike, within a stated loss of performance.

    A part of the rows is held out. On the others a :class:`FrontierSearch` tries the model without its sensitive
    columns, smoothed targets, pairs in its loss where that can be done, and both, by cross-validation, and fits the one
    with the least excess by person, then the least mean gap, that loses no more than ``max_loss``. The held-out rows
    are scored at the end, once by the model as it was and once by the repaired one.

    Parameters
    ----------
    model : classifier or regressor
        Any with ``predict_proba`` or of outcomes, or a pipeline; it is not changed, and need not be fitted.
    X : pandas, polars or pyarrow table, or array of numbers
        The people, in the columns that the model takes.
    y : array or str
        Labels or outcomes, or the name of their column in ``X``.
    sensitive : str or sequence of str, optional
        The sensitive columns; the roles of the others are inferred, as in :func:`likewise.audit`.
    sensitive_features : table, series or array, optional
        Sensitive columns that are not in ``X``, row by row.
    roles : Roles or Schema, optional
        Instead: the roles of all columns.
    rule : Comparability, optional
        When two people are comparable.
    sample_weight : array, optional
        How much each row counts, in fits and in audits.
    max_loss : float
        The performance that may be lost, in units of the utility: 0.01 is one percentage point.
    utility : str, optional
        The performance measure; by default average precision, of several labels ROC AUC, of outcomes R².
    positive : optional
        The positive one of two labels; by default the last in order.
    test_fraction : float
        The share of rows held out, of each label.
    folds : int
        Number of folds of the search.
    n_jobs : int, optional
        The number of parallel processes; -1 for one per core.
    log : path, optional
        A file to log the search to, for :func:`likewise.frontier.replay_search`.
    progress : callable or False, optional
        As for :class:`FrontierSearch`.
    random_state : int
        The same seed gives the same model, if the model itself has one or takes one.

    Returns
    -------
    Repair

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> import numpy as np
    >>> import pandas as pd
    >>> from likewise import repair
    >>> random = np.random.default_rng(0)
    >>> people = pd.DataFrame({"woman": random.integers(2, size=1_000), "age": random.integers(20, 60, size=1_000)})
    >>> paid = random.random(1_000) < people["age"] / 80 - 0.2 * people["woman"]
    >>> plain = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    >>> found = repair(plain, people, paid, sensitive="woman", max_loss=0.1, folds=3)
    >>> type(found.model).__name__, found.columns
    ('HistGradientBoostingClassifier', ('age',))
    >>> found.after["excess"].value < found.before["excess"].value / 2
    True
    """
    check_model("model", model)
    check_number("test_fraction", test_fraction, above=0.0, below=1.0)
    if roles is not None and sensitive is not None:
        raise ParameterError("excludes roles, which name the sensitive columns. Give one.", "sensitive")
    if isinstance(y, str):
        X, y = _take_label(X, y)
    frame = take_frame(BaseEstimator(), X, y, reset=True)
    outcomes = np.asarray(y).ravel()
    weights = None if sample_weight is None else take_weights(sample_weight, len(outcomes), scaled=False)
    rows, seed = Rows.gather(X, frame, sensitive_features, outcomes, weights), check_seed(random_state)
    roles = infer_roles(rows.frame, y, sensitive, rows.beside)[0] if roles is None else roles
    codes = np.zeros(len(rows), np.int64) if is_regressor(model) else np.unique(outcomes, return_inverse=True)[1]
    test = hold_out(codes, test_fraction, stream(seed, "held out"))
    train, held_out = rows.take(np.setdiff1d(np.arange(len(rows)), test)), rows.take(test)
    search = FrontierSearch(
        model,
        roles=roles if isinstance(roles, Schema) else roles.learn(train.frame),
        rule=rule,
        utility=utility,
        max_loss=max_loss,
        positive=positive,
        folds=folds,
        n_jobs=n_jobs,
        log=log,
        progress=progress,
        random_state=seed,
    ).fit(train.X, train.y, train.weights, sensitive_features=train.beside)
    own, columns = _find_own(search.best_estimator_, train)
    audits = [_audit(one, held_out, search, seed) for one in (search.base_estimator_, search.best_estimator_)]
    return Repair(
        model=own,
        recipe=clone(search.best_estimator_),
        columns=columns,
        before=audits[0],
        after=audits[1],
        search=search,
        held_out=test,
    )


def _take_label(X: Any, name: str) -> tuple[Any, Any]:
    """Return the table without the column of the labels, and the labels."""
    opened = open_frame(X)
    if name not in opened.names:
        raise ParameterError(f"names column '{name}', which X does not have.", "y")
    return opened.select([one for one in opened.names if one != name]), opened.values(name)


def _find_own(best: Any, rows: Rows) -> tuple[Any, tuple[str, ...]]:
    """Return the user's own model, where it predicts the same by itself, and the columns that it takes."""
    hidden = getattr(best, "discarded_", None)
    own = best if hidden is None else best.estimator_
    frame = open_frame(replace(rows, beside=None).frame)
    kept = [name for name in frame.names if name not in (hidden or ())]
    shown = frame.select(kept)
    shown = Rows(shown if is_frame(rows.X) else array_of_table(shown), None, rows.y, None)
    is_same = own is best or np.array_equal(score(own, shown, rows.y), score(best, rows, rows.y))
    return (own, tuple(kept)) if is_same else (best, tuple(frame.names))


def _audit(model: Any, rows: Rows, search: FrontierSearch, seed: int) -> Audit:
    task: Any = "regression" if is_regressor(search.estimator) else "auto"
    settings = AuditSettings(task=task, positive=search.positive, seed=draw_seed(seed, "after"))
    given: dict[str, Any] = {"roles": search.roles, "rule": search.rule, "sample_weight": rows.weights}
    try:
        return run_audit(model, rows.frame, rows.y, settings, progress=False, seen=rows.X, **given)
    except NoComparablePairs as error:
        raise NoComparablePairs(f"{error} {ADVICE}") from None
