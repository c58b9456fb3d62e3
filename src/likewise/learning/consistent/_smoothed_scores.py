"""Scores of a fitted model, smoothed over comparable pairs of the people to be scored or of a stored reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice, check_number
from likewise._estimators import PredictsByProbability, fit_guard
from likewise._format import count_of
from likewise._models import SavedModel
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError
from likewise.learning.consistent._pair_graph import Numbers, check_rule, learn_schema
from likewise.learning.consistent._smoothing import Smoothed, margins_of, scores_of, smooth_against, smooth_among
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import array_of_table, is_frame, open_frame, take_frame

GRAPHS: Final = ("reference", "people")
ESTIMATOR: Final = "inner."  # begins the names of the estimator's arrays
REHEARSED: Final = 100  # people of the reference whose scores are smoothed when a folder is loaded


@dataclass(frozen=True, slots=True)
class ScoreChanges:
    """What smoothing changed, and for whom.

    Parameters
    ----------
    graph : {"reference", "people", "training rows"}
        Whose pairs were used: those with the stored reference, or those among the people themselves.
    n_people, n_matched : int
        People scored, and those of them with at least one comparable partner.
    mean_change, largest_change : float
        Of the scores of matched people: half the sum of the absolute changes over all classes; of outcomes, the
        absolute change.
    mean_change_of_others, largest_change_of_others : float
        The same of everybody else. Smoothed scores leave theirs as they are; a fitted model changes them, too.
    by_group : mapping of str to float
        For each sensitive value the mean change of the score, or of the last class's one, with its sign.
    is_outcome : bool
        Whether these are predicted outcomes in their own units, not probabilities.

    Examples
    --------
    >>> from likewise.learning import ScoreChanges
    >>> print(ScoreChanges("people", 100, 40, 0.031, 0.22))
    40 of 100 people have a comparable partner among the people themselves; their scores changed by 3.1 percentage \
points on average, at most by 22.0. The other 60 keep their scores.
    """

    graph: str
    n_people: int
    n_matched: int
    mean_change: float
    largest_change: float
    mean_change_of_others: float = 0.0
    largest_change_of_others: float = 0.0
    by_group: Mapping[str, float] = field(default_factory=dict)
    is_outcome: bool = False

    @classmethod
    def measure(cls, graph: str, before: Numbers, after: Numbers, is_matched: NDArray[np.bool_]) -> Self:
        """Compare scores with one column per class, or one of outcomes."""
        changes = np.abs(after - before).sum(axis=1) / min(before.shape[1], 2)
        sizes = [
            (float(one.mean()) if len(one) else 0.0, float(one.max(initial=0.0)))
            for one in (changes[is_matched], changes[~is_matched])
        ]
        is_outcome = before.shape[1] == 1
        return cls(graph, len(is_matched), int(is_matched.sum()), *sizes[0], *sizes[1], is_outcome=is_outcome)

    def __str__(self) -> str:
        def shown(change: float, sign: str = "") -> str:
            return f"{change:{sign}.3g}" if self.is_outcome else f"{100 * change:{sign}.1f}"

        what, unit = ("predictions", "") if self.is_outcome else ("scores", " percentage points")
        whose = {"reference": "the stored reference", "people": "the people themselves"}.get(self.graph, "the others")
        have = "has" if self.n_matched == 1 else "have"
        others = f"The other {self.n_people - self.n_matched:,}"
        if self.mean_change_of_others:
            others += f": by {shown(self.mean_change_of_others)}, at most by {shown(self.largest_change_of_others)}."
        else:
            others += " keep their scores."
        groups = ", ".join(f"{name} {shown(change, '+')}" for name, change in self.by_group.items())
        return (
            f"{self.n_matched:,} of {count_of(self.n_people, 'person', 'people')} {have} a comparable partner among "
            f"{whose}; their {what} changed by {shown(self.mean_change)}{unit} on average, at most by "
            f"{shown(self.largest_change)}. {others}" + (f" Mean change by group: {groups}." if groups else "")
        )


@dataclass(eq=False, repr=False)
class SmoothedScores(SavedModel, PredictsByProbability, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Smooth a batch of scores over the comparable pairs of the people scored together: not for one applicant.

    The smoothed logits minimise the squared change plus ``smoothing`` times the squared gaps of all pairs, exactly.
    Labels are not used: they are unknown for people to be scored, so people are comparable whatever their labels.
    People without a comparable partner keep their scores; everybody else moves towards their partners.

    It is for a list of people that is scored once, by a model that cannot be refitted; where it can be, a
    :class:`SmoothedTargetsClassifier` scores one person at a time.

    Two graphs of pairs are possible, and they are not the same model. With "people", those who are scored together are
    compared with each other: gaps nearly vanish, but the score of a person depends on who else is in the table. With
    "reference", each person is compared with a stored population, whose scores were smoothed among themselves when it
    was stored: a person's score depends on nobody else, and gaps shrink less. Audit the one that will be used; the
    notes of an audit say which it was.

    Parameters
    ----------
    estimator : classifier, optional
        A fitted one is used as it is; a clone of any other is fitted in :meth:`fit`. Not needed where scores are given.
    roles : Roles or Schema
        The roles of the columns. Those of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable.
    smoothing : float
        Weight of the squared gaps. With 0 nothing changes.
    graph : {"reference", "people"}
        Whose pairs :meth:`predict_proba` uses.
    memory_limit : int or str, optional
        Memory for the pairs, as for :func:`mine_pairs`.

    Attributes
    ----------
    classes_ : array
    estimator_ : classifier
        The fitted estimator, if there is one.
    schema_ : Schema
    n_reference_ : int
        Number of people in the stored reference.
    changes_ : ScoreChanges
        What the last smoothing changed, and for whom.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from likewise import Roles, SmoothedScores
    >>> people = pa.table({"sex": ["f", "m", "f", "m"], "age": [30, 30, 50, 70]})
    >>> smoother = SmoothedScores(roles=Roles(sensitive="sex", continuous="age"))
    >>> smoother.smooth(people, np.array([0.3, 0.5, 0.5, 0.8])).round(3)
    array([0.391, 0.4  , 0.5  , 0.8  ])
    >>> smoother.changes_.n_matched
    2
    """

    estimator: Any = None
    roles: Roles | Schema | None = None
    rule: Comparability | None = None
    smoothing: float = 10.0
    _: KW_ONLY
    graph: str = "reference"
    memory_limit: int | str | None = None

    def fit(self, X: Any, y: Any = None, *, scores: Any = None) -> Self:
        """Store people as the reference, with their scores smoothed among themselves.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array, optional
            Labels, for an estimator that is not fitted yet. Not used otherwise.
        scores : array, optional
            The scores of these people, instead of the estimator's: probabilities of the second of two classes, or one
            column per class.

        Returns
        -------
        self
        """
        self._refuse_odd_parameters()
        with fit_guard(self):
            frame = take_frame(self, X, "no_validation" if y is None else y, reset=True)
            shown = frame if is_frame(X) else array_of_table(frame)
            if self.estimator is not None:
                self.estimator_ = self._fitted(shown, y)
            given = self._ask(shown) if scores is None else scores
            margins, n_classes = margins_of(given, len(open_frame(frame)))
            self.classes_ = np.asarray(getattr(getattr(self, "estimator_", None), "classes_", np.arange(n_classes)))
            self.schema_ = learn_schema(self.roles, frame)
            self._reference = self._encode(frame)
            found = smooth_among(self._reference, self._rule, margins, self.smoothing, self.memory_limit)
            self._reference_margins, self.n_reference_ = found.margins, len(margins)
        return self

    def smooth(self, X: Any, scores: Any = None, *, graph: str = "people") -> NDArray[np.float64]:
        """Return smoothed scores of people, in the shape of the scores.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        scores : array, optional
            Probabilities of the second of two classes, or one column per class; the estimator's, if not given.
        graph : {"people", "reference"}
            Whose pairs to use: those of these people, which needs no fit, or those with the stored reference.

        Returns
        -------
        array
        """
        self._refuse_odd_parameters()
        check_choice("graph", graph, GRAPHS)
        is_known = hasattr(self, "schema_")
        if graph == "reference" or (scores is None and self.estimator is None):
            check_is_fitted(self, "schema_")
        frame = take_frame(self, X, reset=not is_known)
        given = np.asarray(self._ask(frame if is_frame(X) else array_of_table(frame)) if scores is None else scores)
        margins, _ = margins_of(given, len(open_frame(frame)))
        if not is_known:
            schema = learn_schema(self.roles, frame)
            found = smooth_among(_encode(schema, frame), self._rule, margins, self.smoothing, self.memory_limit)
        else:
            found = self._smooth_known(self._encode(frame), margins, graph)
        smoothed = scores_of(found.margins)
        before = scores_of(margins)
        is_alone = found.n_partners == 0
        self.changes_ = ScoreChanges.measure(graph, before, smoothed, ~is_alone)
        whole = np.asarray(given, np.float64)
        if whole.ndim == 1:
            return np.where(is_alone, whole, smoothed[:, 1])
        return np.where(is_alone[:, None], whole, smoothed)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the smoothed probability of each class, by the pairs that ``graph`` names.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        check_is_fitted(self, "schema_")
        return self.smooth(X, graph=self.graph)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # a fitted estimator needs no labels
        return tags

    @property
    def _scored_by(self) -> str:
        """Whose pairs the scores were smoothed over, for the record of an audit."""
        if self.graph == "people":
            return (
                "The scores were smoothed over the pairs among the people audited: each depends on who else is in this "
                "table, and other tables have other gaps."
            )
        reference = count_of(self.n_reference_, "person", "people")
        return (
            f"The scores were smoothed against a stored reference of {reference}: each depends on that reference, and "
            "on nobody else in this table."
        )

    def _smooth_known(self, table: CodedTable, margins: Numbers, graph: str) -> Smoothed:
        if graph == "people":
            return smooth_among(table, self._rule, margins, self.smoothing, self.memory_limit)
        return smooth_against(
            table,
            margins,
            self._reference,
            self._reference_margins,
            self._rule,
            self.smoothing,
            self.memory_limit,
        )

    @property
    def _rule(self) -> Comparability:
        return check_rule(self.rule)

    def _fitted(self, shown: Any, y: Any) -> Any:
        """Return the estimator if it is fitted, else a clone that is."""
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            if y is None:
                raise ParameterError(
                    "is not fitted, and no labels are given. Fit it, or pass y.", "estimator"
                ) from None
            return clone(self.estimator).fit(shown, y)
        return self.estimator

    def _ask(self, shown: Any) -> Any:
        estimator = getattr(self, "estimator_", self.estimator)
        if estimator is None or not hasattr(estimator, "predict_proba"):
            found = "is not given" if estimator is None else f"is a {type(estimator).__name__} without predict_proba"
            raise ParameterError(f"{found}, so there are no scores to smooth. Pass scores.", "estimator")
        return estimator.predict_proba(shown)

    def _encode(self, frame: Any) -> CodedTable:
        return _encode(self.schema_, frame)

    def _refuse_odd_parameters(self) -> None:
        check_number("smoothing", self.smoothing, least=0.0)
        check_choice("graph", self.graph, GRAPHS)
        check_rule(self.rule)


def _encode(schema: Schema, frame: Any) -> CodedTable:
    """Encode people whose labels are not to be used."""
    return schema.encode(frame, np.zeros(len(open_frame(frame)), np.int64))
