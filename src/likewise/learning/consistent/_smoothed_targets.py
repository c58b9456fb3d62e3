"""Models that are fitted to smoothed targets: out-of-fold scores, evened out over comparable pairs of training rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from likewise._checks import check_count, check_flag, check_number
from likewise._estimators import SEEDS, weight_name
from likewise._format import count_of
from likewise._progress import follow
from likewise._random import draw_seed, stream
from likewise.comparable import explain_no_pairs
from likewise.exceptions import NoComparablePairs, ParameterError
from likewise.learning._inner_estimator import fit_plain, split_pipeline, tell_hidden
from likewise.learning.consistent._base import Answers, ConsistentModel, Kind, Task, find_kind
from likewise.learning.consistent._models import ConsistentClassifier, ConsistentRegressor
from likewise.learning.consistent._pair_graph import Numbers, check_rule
from likewise.learning.consistent._smoothed_scores import ScoreChanges
from likewise.learning.consistent._smoothing import Part, list_parts, margins_of, scores_of, solve
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import take_rows

CLASS_WEIGHTS: Final = {  # parameters that weigh labels, and what turns them off
    **dict.fromkeys(("class_weight", "scale_pos_weight", "auto_class_weights")),
    "is_unbalance": False,
}
WEIGHTS: Final = frozenset(("strength", "pair_weight", "pair_loss", "gap", "balance_labels", "balance_people"))


class Basis(NamedTuple):
    """What does not depend on the strength: the rows, what the teacher makes of them, and their pairs."""

    task: Task
    scores: Numbers  # of each row by models that have not seen it; one column per class, or one of outcomes
    table: CodedTable
    parts: list[Part]


@dataclass(eq=False, repr=False, kw_only=True)
class SmoothedTargetsModel(ConsistentModel):
    """What the classifier and the regressor share: a teacher, smoothing, and a student."""

    strength: float | None = field(default=10.0, kw_only=False)
    pair_weight: float = field(default=0.0, kw_only=True)
    teacher: Any = None
    folds: int = 3
    discard_sensitive: bool = True
    targets_: Numbers = field(init=False)
    changes_: ScoreChanges = field(init=False)

    def fit_path(
        self,
        X: Any,
        y: Any,
        settings: Iterable[Mapping[str, Any]],
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
        **fit_params: Any,
    ) -> Iterator[Self]:
        """Fit a model for each setting of the weights; teachers are fitted and pairs are found once for all of them.

        Parameters
        ----------
        X, y, sample_weight, sensitive_features, **fit_params
            As in :meth:`fit`.
        settings : iterable of dict
            Values of ``strength``, ``pair_weight``, ``pair_loss``, ``gap``, ``balance_labels`` and ``balance_people``,
            such as ``[{"strength": 3}, {"strength": 10, "pair_weight": 1}]``.

        Yields
        ------
        model
            The same as if it was fitted by itself.
        """
        settings = [*settings]
        for name in {name for setting in settings for name in setting} - WEIGHTS:
            raise ParameterError(
                f"has {name!r}, on which teachers or pairs depend. Set it on the model itself, and here only "
                f"{', '.join(sorted(WEIGHTS))}.",
                "settings",
            )
        plain = clone(self)
        basis = plain._learn_basis(plain._plan(X, y, sample_weight, sensitive_features, fit_params))
        for setting in settings:
            model = copy(plain).set_params(**setting)
            model._check_parameters()
            model._fit_student(basis)
            yield model

    def _check_parameters(self) -> Kind:
        if self.strength is not None:
            check_number("strength", self.strength, least=0.0)
        check_count("folds", self.folds, or_none=False, least=2)
        check_flag("discard_sensitive", self.discard_sensitive)
        self._refuse_odd_estimator("SmoothedTargets")
        if self._is_classifier:
            if self.strength is not None and not weight_name(self.estimator):
                raise ParameterError(
                    f"is a {type(self.estimator).__name__}, whose fit takes no sample_weight: scores are learned by "
                    "weighted copies of the rows. Give an estimator that takes weights.",
                    "estimator",
                )
            _refuse_without_scores(self.estimator, "estimator")
        return super()._check_parameters()

    def _find_kind(self) -> Kind:
        return super()._find_kind() if self.pair_weight else _kind_of(self.estimator, is_classifier=self._is_classifier)

    def _discarded(self, outside: list[str]) -> list[str]:
        roles = self.roles.roles if isinstance(self.roles, Schema) else self.roles
        hidden = roles.sensitive if roles is not None and self.discard_sensitive else ()
        return [name for name in hidden if name not in outside]

    def _fit_task(self, task: Task) -> None:
        self._fit_student(self._learn_basis(task))

    def _learn_basis(self, task: Task) -> Basis:
        """Score the rows by models that have not seen them, and list their pairs."""
        if task.weights is not None and not task.weights.all():
            task = _take(task, np.flatnonzero(task.weights))
        table = self._encode(task.frame, np.zeros(len(task.answers.labels), np.int64))
        parts = list_parts(table, check_rule(self.rule), self.memory_limit, stream(task.seed, "parts of the people"))
        return Basis(task, self._teach(task), table, parts)

    def _teach(self, task: Task) -> Numbers:
        """Return everybody's scores by teachers that were fitted to the other folds, averaged."""
        answers = task.answers
        teachers = [self.estimator] if self.teacher is None else self.teacher
        teachers = list(teachers) if isinstance(teachers, list | tuple) else [teachers]
        targets = [self._targets_for(teacher, answers) for teacher in teachers]
        scores = np.zeros((len(answers.target), len(answers.names) if self._is_classifier else 1))
        folds = [*self._split(answers, task.seed)]
        with follow("Scoring training rows out of fold", len(folds) * len(teachers)) as show:
            for k, (train, held_out) in enumerate(folds):
                some, others = (task.show(take_rows(task.frame, rows)) for rows in (train, held_out))
                weighed = {} if task.weights is None else {"sample_weight": task.weights[train]}
                for j, (teacher, target) in enumerate(zip(teachers, targets, strict=True)):
                    given = {**(task.given if self.teacher is None else {}), **weighed}
                    with tell_hidden(task.hidden, "The sensitive columns are used for pairs only"):
                        fitted = fit_plain(self._fresh(teacher, task), some, target[train], given)
                    scores[held_out] += self._ask_teacher(fitted, others, target) / len(teachers)
                    show(k * len(teachers) + j + 1, type(teacher).__name__)
        return scores

    def _split(self, answers: Answers, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Split the rows into folds: fewer than asked for, where a label has fewer rows."""
        drawn = draw_seed(seed, "folds") % SEEDS
        if not self._is_classifier:
            n_folds = min(self.folds, len(answers.target))
            return iter(KFold(n_folds, shuffle=True, random_state=drawn).split(answers.target))
        codes = np.searchsorted(answers.names, answers.labels)
        counts = np.bincount(codes, minlength=len(answers.names))
        if counts.min() < 2:
            raise ParameterError(
                f"has fewer than two rows with the label {answers.names[counts.argmin()].item()!r}, rows of weight 0 "
                "not counted, so a model that has not seen a row may not know its label. Add rows, or drop the label.",
                "y",
            )
        split = StratifiedKFold(min(self.folds, int(counts.min())), shuffle=True, random_state=drawn)
        return iter(split.split(codes, codes))

    def _targets_for(self, teacher: Any, answers: Answers) -> NDArray[Any]:
        """Check a teacher, and return labels as it takes them."""
        if isinstance(teacher, type) or not hasattr(teacher, "fit"):
            raise ParameterError(f"is {teacher!r}; give an estimator, or a list of them.", "teacher")
        if not self._is_classifier:
            return answers.target
        _refuse_without_scores(teacher, "teacher")
        if _kind_of(teacher, is_classifier=True).booster is None:
            return answers.labels
        return np.searchsorted(answers.names, answers.labels)

    def _ask_teacher(self, fitted: Any, rows: Any, target: NDArray[Any]) -> Numbers:
        if not self._is_classifier:
            return np.asarray(fitted.predict(rows), np.float64).reshape(-1, 1)
        known, wanted = np.asarray(fitted.classes_).tolist(), np.unique(target).tolist()
        if known != wanted:
            raise ParameterError(
                f"predicts the labels {known}, but the training rows have {wanted}. Give one of these labels.",
                "teacher",
            )
        return np.asarray(fitted.predict_proba(rows), np.float64)

    def _fit_student(self, basis: Basis) -> None:
        """Smooth what the teacher says, and fit the estimator to it; without a strength, to the labels themselves."""
        task, scores, table, parts = basis
        if self.strength is not None and not any(len(part.groups.left) for part in parts):
            n_rows, why = count_of(len(table), "training row"), explain_no_pairs(check_rule(self.rule), table)
            raise NoComparablePairs(f"No comparable pairs among {n_rows}. {why}")
        margins = margins_of(scores, len(scores))[0] if self._is_classifier else scores
        smoothed, n_partners = margins.copy(), np.zeros(len(margins), np.int64)
        for people, groups in parts:
            mass = None if task.weights is None else task.weights[people]
            strength = self.strength or 0.0
            smoothed[people], n_partners[people] = solve(groups, margins[people], strength, mass, balanced=True)
        soft = scores if not self.strength else scores_of(smoothed) if self._is_classifier else smoothed
        self.targets_ = task.answers.as_scores() if self.strength is None else soft
        with tell_hidden(task.hidden, "The sensitive columns are used for pairs only"):
            super()._fit_task(task if self.strength is None else task._replace(soft=soft))
        shown = task.show(task.frame)
        after = self._score(shown) if self._is_classifier else np.asarray(self.estimator_.predict(shown)).reshape(-1, 1)
        changes = ScoreChanges.measure("training rows", scores, after, n_partners > 0)
        self.changes_ = replace(changes, by_group=_mean_by_group(table, (after - scores)[:, -1]))

    def _fresh(self, estimator: Any, task: Task) -> Any:
        fresh = super()._fresh(estimator, task)
        if task.soft is None or not self._is_classifier or not hasattr(fresh, "get_params"):
            return fresh
        params = fresh.get_params()  # the weights of labels are in the targets already
        off = {name: CLASS_WEIGHTS.get(name.rpartition("__")[2], value) for name, value in params.items()}
        return fresh.set_params(**{name: value for name, value in off.items() if value is not params[name]})


@dataclass(eq=False, repr=False, kw_only=True)
class SmoothedTargetsClassifier(SmoothedTargetsModel, ConsistentClassifier):
    """Fit any classifier to scores that were evened out over the comparable pairs of the training rows.

    Models that have not seen a row score it; these out-of-fold scores are smoothed over comparable pairs, whatever
    their labels; and a clone of the estimator learns the smoothed scores in place of the labels. The result scores one
    person at a time, as the estimator itself does. For boosted trees it is the remedy to try first.
    With a ``pair_weight``, pairs are in its loss besides, as in :class:`ConsistentClassifier`.

    Parameters
    ----------
    estimator : classifier
        Any with predict_proba whose fit takes sample weights, or a pipeline that ends with one; a clone of it is
        fitted. It should not hold out rows by itself (see the notes).
    roles : Roles or Schema
        The roles of the columns. Those of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable.
    strength : float, optional
        How much is smoothed: the smoothed logits minimise the squared change plus this times the squared gaps of pairs.
        A pair weighs as much as one over the larger number of partners of its two people, so that a strength means the
        same on every table. With 0 the estimator learns the out-of-fold scores as they are, and with None the labels
        themselves: the plain model, without the sensitive columns.
    pair_weight : float
        Weight of the pairs in the loss, for the estimators of :class:`ConsistentClassifier`; with 0 there are none.
    teacher : classifier or list of classifiers, optional
        Whose out-of-fold scores are smoothed, averaged if there are several; the estimator itself by default. A fitted
        one is used as it is in a ``sklearn.frozen.FrozenEstimator``: it should not have seen these rows.
    folds : int
        Number of folds for the out-of-fold scores; fewer where a label has fewer rows.
    discard_sensitive : bool
        Whether to hide the sensitive columns from estimator and teachers; only the pairs need them. Frames to predict
        for may then lack them. Columns that an encoder lists are left out of its list.
    pair_loss, gap, balance_labels, balance_people, generator
        Of the pairs in the loss, as in :class:`ConsistentClassifier`.
    memory_limit : int or str, optional
        Memory for the pairs; where they need more, or more than a minute, those within random parts of the people.
    random_state : int, optional
        Seed of the folds, of an estimator without one, and for drawing pairs.

    Attributes
    ----------
    classes_ : array
    estimator_ : classifier
        The fitted estimator, of its own class: save and deploy it as always.
    targets_ : array, shape (n_rows, n_classes)
        The smoothed scores that it learned, without rows of weight 0; 0 and 1 where it learned the labels.
    changes_ : ScoreChanges
        For whom the scores of training rows changed, against the out-of-fold scores, and by how much.
    discarded_ : list of str
        Columns that the estimator does not see.
    n_pairs_ : dict
        Number of comparable pairs in the loss by label; empty if ``pair_weight`` is 0.
    feature_names_in_ : array of str
        Column names, if there are any.
    n_features_in_ : int

    Notes
    -----
    A score is learned by one copy of the row for each label, weighted by its probability. Weights of labels, such as
    ``class_weight="balanced"``, are used by the teacher only: its scores contain them. People without a partner change
    as well, as the model is another; ``changes_`` says by how much. An estimator that holds out rows by itself, for
    early stopping, calibration or a search, holds out copies of rows that it learns from: hold rows out for it, such as
    by ``fit(..., eval_set=[(X_valid, y_valid)])`` for XGBoost and LightGBM, or put a search outside.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from likewise import SmoothedTargetsClassifier, audit, load_dataset
    >>> data = load_dataset("planted")
    >>> plain = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=30, random_state=0)
    >>> words = dict.fromkeys([*data.roles.sensitive, *data.roles.discrete], "category")
    >>> train, test = (part.X.astype(words) for part in (data.train, data.test))
    >>> model = SmoothedTargetsClassifier(plain, data.roles, data.rule, random_state=0).fit(train, data.train.y)
    >>> people = {"roles": data.roles, "rule": data.rule, "n_resamples": 0}
    >>> plain = plain.fit(train, data.train.y)
    >>> before, after = (audit(one, test, data.test.y, **people)["gap_mean"] for one in (plain, model))
    >>> after.value < before.value / 2
    True
    """

    balance_labels: bool = True
    generator: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class SmoothedTargetsRegressor(SmoothedTargetsModel, ConsistentRegressor):
    """Fit any regressor to predictions that were evened out over the comparable pairs of the training rows.

    Models that have not seen a row predict its outcome; these predictions are smoothed over comparable pairs, and a
    clone of the estimator learns them in place of the outcomes.

    Parameters
    ----------
    estimator : regressor
        Any, or a pipeline that ends with one; a clone of it is fitted.
    roles : Roles or Schema
        The roles of the columns. Those of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable.
    strength : float, optional
        How much is smoothed, as in :class:`SmoothedTargetsClassifier`.
    pair_weight : float
        Weight of the pairs in the loss, for the estimators of :class:`ConsistentRegressor`; with 0 there are none.
    teacher, folds, discard_sensitive, pair_loss, balance_people, memory_limit, random_state
        As in :class:`SmoothedTargetsClassifier`.

    Attributes
    ----------
    estimator_ : regressor
        The fitted estimator.
    targets_ : array, shape (n_rows, 1)
        The smoothed predictions that it learned.
    changes_ : ScoreChanges
        For whom the predictions of training rows changed, against the out-of-fold ones, and by how much.
    discarded_ : list of str
        Columns that the estimator does not see.
    n_pairs_ : dict
        Number of comparable pairs in the loss, under the key "all"; empty if ``pair_weight`` is 0.
    feature_names_in_ : array of str
        Column names, if there are any.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from likewise import Roles, SmoothedTargetsRegressor
    >>> random = np.random.default_rng(0)
    >>> people = pd.DataFrame({"woman": random.integers(2, size=400), "age": random.integers(20, 60, size=400)})
    >>> people["height"] = 180 - 13 * people["woman"] + random.integers(3, size=400)
    >>> pay = people["age"] + 10.0 * (1 - people["woman"])
    >>> roles = Roles(sensitive="woman", continuous="age", ignored="height")
    >>> for strength in (0.0, 10.0):
    ...     model = SmoothedTargetsRegressor(RandomForestRegressor(20), roles, strength=strength, random_state=0)
    ...     model = model.fit(people, pay)
    ...     print(f"{model.targets_[people.woman == 0].mean() - model.targets_[people.woman == 1].mean():.0f}")
    11
    3
    """


def takes_pairs(estimator: Any, *, is_classifier: bool) -> bool:
    """Whether pairs can be put into the loss of an estimator, or of the last step of a pipeline."""
    return _kind_of(estimator, is_classifier=is_classifier) != Kind()


def _kind_of(estimator: Any, *, is_classifier: bool) -> Kind:
    """Return how an estimator takes pairs, if it does."""
    with suppress(ParameterError):
        return find_kind(split_pipeline(estimator)[1], is_classifier=is_classifier)
    return Kind()


def _refuse_without_scores(estimator: Any, name: str) -> None:
    if not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            f"is a {type(estimator).__name__} without predict_proba, so there are no scores to smooth. Give one with "
            "it, or put it into a CalibratedClassifierCV.",
            name,
        )


def _take(task: Task, rows: NDArray[np.intp]) -> Task:
    """Return a task without the other rows."""
    answers, weights = task.answers, task.weights
    answers = answers._replace(labels=answers.labels[rows], target=answers.target[rows])
    weights = None if weights is None else weights[rows]
    return task._replace(frame=take_rows(task.frame, rows), answers=answers, weights=weights)


def _mean_by_group(table: CodedTable, changes: Numbers) -> dict[str, float]:
    """Return the mean of each sensitive value."""
    return {
        f"{name}={table.categories[name][code]}": float(changes[codes == code].mean())
        for name, codes in zip(table.names["sensitive"], table.sensitive.T, strict=True)
        for code in np.unique(codes)
    }
