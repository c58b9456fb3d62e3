"""What models with pairs share: checks, pairs, further pairs by antidotes, and one fit, by the kind of the model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from likewise._checks import check_choice, check_flag, check_number
from likewise._estimators import fit_guard, seed_unset
from likewise._random import check_seed, stream
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError, SchemaError
from likewise.generation._internal import choose_few
from likewise.learning._antidotes import fitted_generator, make_antidotes, refuse_odd_source
from likewise.learning._inner_estimator import (
    EstimatorWrapper,
    add_sensitive,
    encode_again,
    encode_first,
    encode_held_out,
    fit_plain,
    leave_out,
    split_pipeline,
    take_held_out,
    trim_columns,
)
from likewise.learning.consistent._boosting import Booster, Objective, booster_of
from likewise.learning.consistent._linear import fit_linear, is_linear, pair_covariance, plain_inputs
from likewise.learning.consistent._pair_graph import (
    Groups,
    Numbers,
    PairGraph,
    PairSettings,
    check_rule,
    find_groups,
    learn_schema,
)
from likewise.learning.consistent._pair_loss import PAIR_LOSSES, GapKind, PairLoss, PairLossKind
from likewise.nets._internal import BaseNetworkClassifier
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import (
    array_of_table,
    is_frame,
    open_frame,
    stack_frames,
    take_frame,
    take_rows,
    take_weights,
)

CLASSIFIERS = "XGBClassifier, LGBMClassifier, LogisticRegression, NetworkClassifier and AntiDROClassifier"
REGRESSORS = "XGBRegressor, LGBMRegressor and Ridge"


class Kind(NamedTuple):
    """How an estimator takes pairs: by one of these ways."""

    booster: Booster | None = None
    is_linear: bool = False
    is_network: bool = False


def find_kind(estimator: Any, *, is_classifier: bool) -> Kind:
    """Return how an estimator takes pairs, or refuse it in one line that says which do."""
    if not isinstance(estimator, type | FrozenEstimator):
        booster = booster_of(estimator, is_classifier=is_classifier)
        if booster is not None:
            return Kind(booster=booster)
        if is_linear(estimator, is_classifier=is_classifier):
            return Kind(is_linear=True)
        if is_classifier and isinstance(estimator, BaseNetworkClassifier) and estimator._takes_pairs:
            return Kind(is_network=True)
    is_class = isinstance(estimator, type)
    shown = f"the class {estimator.__name__}" if is_class else f"a {type(estimator).__name__}"
    known = CLASSIFIERS if is_classifier else REGRESSORS
    also = "AugmentedClassifier takes any classifier" if is_classifier else "AugmentedRegressor takes any regressor"
    raise ParameterError(
        f"is {shown}. Pairs can be put into the loss of {known}, also as the last step of a Pipeline. {also}.",
        "estimator",
    )


def stack_rows(above: Any, below: Any) -> Any:
    """Put encoded rows below others of the same kind."""
    if issparse(above):
        return vstack([above, below], format="csr")
    return stack_frames(above, below) if is_frame(above) else np.concatenate([np.asarray(above), np.asarray(below)])


class Answers(NamedTuple):
    """What the estimator learns to predict."""

    labels: NDArray[Any]  # equal in a pair
    names: NDArray[Any]  # of the labels, by code
    target: NDArray[Any]  # as the estimator takes it
    n_classes: int  # 1 for outcomes
    gap: GapKind
    code: Callable[[Any], Any]  # other rows' labels or outcomes, as the estimator takes them

    def as_scores(self) -> Numbers:
        """Return one column per label, 1 where a row has it, or one of outcomes."""
        if self.n_classes == 1:
            return np.asarray(self.target, np.float64).reshape(-1, 1)
        return np.asarray(self.labels[:, None] == self.names, np.float64)


class Task(NamedTuple):
    """One fit: the rows, what they are to be scored as, and how the estimator takes pairs."""

    frame: Any
    is_frame: bool  # or an array, as which it is shown to the estimator
    answers: Answers
    weights: Numbers | None
    how: Kind
    seed: int
    given: dict[str, Any]  # for the estimator's own fit
    hidden: list[str]  # columns that the estimator does not see
    soft: Numbers | None = None  # learned in place of the labels: a probability for each, or other outcomes

    def show(self, frame: Any) -> Any:
        """Return rows of the table as the estimator sees them."""
        seen = leave_out(frame, self.hidden)
        return seen if self.is_frame else array_of_table(seen)

    def learned(self, encoded: Any, added: Any = None, sources: Any = ()) -> tuple[Any, NDArray[Any], dict[str, Any]]:
        """Return what the last step is fitted to: rows, targets, and weights as its fit takes them.

        A probability is learned by a copy of the row for each label, which weighs as much as the label is probable.
        Added rows have pairs, but no loss of their own.
        """
        target, weights, n_rows, n_copies = self.answers.target, self.weights, len(self.answers.target), 0
        if self.soft is not None and self.answers.n_classes == 1:
            target = self.soft[:, 0]
        elif self.soft is not None:
            weights = (self.soft if weights is None else weights[:, None] * self.soft).ravel("F")
            labels = np.unique(target)
            target, n_copies = np.repeat(labels, n_rows), len(labels) - 1
        rows = encoded
        if added is not None:
            here = np.full(len(sources), n_rows)
            target = np.insert(target, here, self.answers.target[sources])
            weights = np.insert(np.ones(n_rows) if weights is None else weights, here, 0.0)
            rows = stack_rows(encoded, added)
        rows = reduce(stack_rows, [encoded] * n_copies, rows)
        return rows, target, {} if weights is None else {"sample_weight": weights}


@dataclass(eq=False, kw_only=True)
class PairedFit:
    """A task with the pairs of its rows, and what they weigh; ``added`` are rows that only pairs use."""

    task: Task
    shown: Any
    groups: Groups
    settings: PairSettings
    weight: float
    kind: PairLossKind
    added: Any = None
    added_sources: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    @cached_property
    def graph(self) -> PairGraph:
        """The weighted pairs of all rows, those that only pairs use included."""
        return PairGraph.weigh(self.groups, self._masses(), self.settings)

    def _masses(self) -> Numbers:
        own = self._own_masses()
        return np.concatenate([own, own[self.added_sources]])

    def _own_masses(self) -> Numbers:
        return np.ones(len(self.task.answers.target)) if self.task.weights is None else self.task.weights

    def fit(self, estimator: Any) -> Any:
        """Fit an estimator, a pipeline or not, and return it."""
        task, (around, last) = self.task, split_pipeline(estimator)
        n_rows = len(task.answers.target)
        if task.how.is_network:
            return self._fit_network(estimator, around, last)
        encoded = encode_first(around, self.shown, task.answers.target)
        if encoded.shape[0] != n_rows:
            raise ParameterError(
                f"has a step that makes {encoded.shape[0]:,} rows of {n_rows:,}; pairs need the rows as they are. Put "
                "that step outside.",
                "estimator",
            )
        added = None if self.added is None else encode_again(around, self.added)
        given = encode_held_out(around, task.given)
        if task.how.booster is not None:
            self._fit_booster(last, task.how.booster, task.learned(encoded, added, self.added_sources), given)
        else:
            self._fit_linear(last, encoded, added, given)
        return estimator

    def _fit_booster(self, last: Any, booster: Booster, learned: tuple[Any, ...], given: dict[str, Any]) -> None:
        (rows, target, weighed), answers = learned, self.task.answers
        label_weights = None
        if answers.n_classes > 1:
            label_weights = booster.label_weights(last, answers.target, self._own_masses())
        objective = Objective(
            PairLoss(self.graph, self.kind, self.task.seed),
            self.weight,
            gap=answers.gap,
            target=target,
            n_classes=answers.n_classes,
            weights=weighed.get("sample_weight"),
            label_weights=label_weights,
            stiffness=booster.stiffness(answers.n_classes) if answers.n_classes > 1 else 1.0,
        )
        booster.fit(last, rows, target, objective, given | weighed)

    def _fit_linear(self, last: Any, encoded: Any, added: Any, given: dict[str, Any]) -> None:
        if self.kind != "squared":
            raise ParameterError(
                f"is {self.kind!r}, but a linear model's penalty is squared. Use 'squared'.", "pair_loss"
            )
        paired = plain_inputs(encoded if added is None else stack_rows(encoded, added))
        covariance = pair_covariance(paired, self.graph, stream(self.task.seed, "pairs of a round"))
        rows, target, weighed = self.task.learned(encoded)
        weights, gap = weighed.get("sample_weight"), self.task.answers.gap
        fit_linear(last, rows, target, weights, covariance, weight=self.weight, gap=gap, given=given | weighed)

    def _fit_network(self, estimator: Any, around: list[Any], last: Any) -> Any:
        if self.added is not None:
            raise ParameterError(
                "is given, but a network takes antidotes by itself. Use an AntiDROClassifier as estimator.", "generator"
            )
        rows, target, weighed = self.task.learned(encode_first(around, self.shown, self.task.answers.target))
        last._added_loss = partial(self._pair_network, last.batch_size)
        try:
            last.fit(rows, target, **self.task.given, **weighed)
        finally:
            del last._added_loss
        return estimator

    def _pair_network(self, batch_size: int, objective: Any, network: Any, people: Any) -> Any:
        """Add pairs of the rows that are trained on to the objective of a network."""
        from likewise.learning.consistent._network import PairedLoss

        mass = np.zeros(len(self.task.answers.target))
        train = people.train[people.train < len(mass)]  # the others are copies
        mass[train] = self._masses()[train]
        n_pairs = max(min(batch_size, len(people.train)) // 4, 1)  # half as many people as there are rows in a batch
        return PairedLoss(
            objective,
            network,
            people,
            PairGraph.weigh(self.groups, mass, self.settings),
            kind=self.kind,
            gap=self.task.answers.gap,
            weight=self.weight,
            n_pairs=n_pairs,
            random=stream(self.task.seed, "pairs of a step"),
        )


@dataclass(eq=False, repr=False)
class ConsistentModel(EstimatorWrapper):
    """What the classifier and the regressor share: parameters, pairs, further pairs, columns that are shown, saving."""

    roles: Roles | Schema | None = None
    rule: Comparability | None = None
    pair_weight: float = 1.0
    _: KW_ONLY
    pair_loss: str = "squared"
    balance_labels: bool = field(init=False, default=True)  # a parameter where there are labels
    balance_people: bool = True
    generator: Any = field(init=False, default=None)  # of classifiers: an antidote's outcome would have to be known
    memory_limit: int | str | None = None
    random_state: int | None = None
    estimator_: Any = field(init=False)
    n_pairs_: dict[Any, int] = field(init=False)

    def _check_parameters(self) -> Kind:
        """Check parameters, and return how the estimator takes pairs."""
        check_number("pair_weight", self.pair_weight, least=0.0)
        check_choice("pair_loss", self.pair_loss, PAIR_LOSSES)
        for name in ("balance_labels", "balance_people"):
            check_flag(name, getattr(self, name))
        check_rule(self.rule)
        if self.generator is not None:
            refuse_odd_source(self.generator)
        return self._find_kind()

    def _find_kind(self) -> Kind:
        return find_kind(split_pipeline(self.estimator)[1], is_classifier=self._is_classifier)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None, **fit_params: Any
    ) -> Self:
        """Find the comparable pairs of the rows, and fit the estimator.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any kind, with two or more classes; of a regressor outcomes.
        sample_weight : array, optional
            Weight of each row; a pair counts as often as the product of its two.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row: pairs are found by them, and the estimator does not see
            them.
        **fit_params
            For the estimator's own fit (in a pipeline, that of its last step), such as ``eval_set``, whose rows go
            through the encoder as well.

        Returns
        -------
        self
        """
        with fit_guard(self):
            self._fit_task(self._plan(X, y, sample_weight, sensitive_features, fit_params))
        return self

    def _plan(self, X: Any, y: Any, sample_weight: Any, sensitive_features: Any, given: Mapping[str, Any]) -> Task:
        """Check parameters and rows, and return what is to be fitted."""
        how = self._check_parameters()
        frame, outside = self._take_rows(X, y, sensitive_features)
        self.discarded_ = self._discarded(outside)
        answers = self._take_answers(y, how)
        if self._is_classifier:
            self.classes_ = answers.names
        weights = None if sample_weight is None else take_weights(sample_weight, len(answers.labels), scaled=False)
        code = np.asarray if how.booster is None else answers.code
        held_out, seed = take_held_out(given, self._see, code), check_seed(self.random_state)
        return Task(frame, is_frame(X), answers, weights, how, seed, held_out, [*outside, *self.discarded_])

    def _discarded(self, outside: list[str]) -> list[str]:
        """Return the columns of X that the estimator does not see, given those beside X."""
        return []

    @abstractmethod
    def _take_answers(self, y: Any, how: Kind) -> Answers:
        """Check labels or outcomes."""

    def _take_rows(self, X: Any, y: Any, sensitive_features: Any) -> tuple[Any, list[str]]:
        """Check the rows, and return them with the sensitive columns given beside them, and the names of these."""
        seen = take_frame(self, X, y, reset=True)
        return add_sensitive(seen, sensitive_features, self.roles, type(self).__name__)

    def _encode(self, frame: Any, labels: Any) -> CodedTable:
        """Encode the rows by the roles; labels of outcomes are all the same."""
        opened = open_frame(frame).keeping()  # every column is read for the schema, and for its codes
        schema = learn_schema(self.roles, opened)
        if schema.roles.label in opened.names:
            raise SchemaError(
                f"X contains its label, column '{schema.roles.label}': a model would learn from it. Drop it from X."
            )
        return schema.encode(opened, labels)

    def _find_pairs(self, task: Task, table: CodedTable) -> tuple[Groups, Any, NDArray[np.intp], PairSettings]:
        """Find the pairs of rows; with a generator, an antidote is the partner of each row that has none."""
        frame, labels, seed = task.frame, task.answers.labels, task.seed
        settings = PairSettings(
            check_rule(self.rule),
            self.balance_labels,
            self.balance_people,
            self.memory_limit,
        )
        none = np.empty(0, np.intp)
        found = find_groups(table, settings, seed, of_all=self.generator is not None)  # to know who has no partner
        if self.generator is None:
            found.refuse_none(settings.rule, table)
            return found, None, none, settings
        is_matched = np.zeros(len(found.labels), bool)
        is_matched[found.left] = is_matched[found.right] = True
        alone = np.flatnonzero(~is_matched[found.group_of])
        self.generator_ = fitted_generator(self.generator, frame, labels, seed)
        if not len(alone):
            return found, None, none, settings
        made = make_antidotes(self.generator_, take_rows(frame, alone), labels[alone], random_state=seed)
        kept = choose_few(made.source, 1, np.random.default_rng(seed))
        sources = alone[made.source[kept]]
        found = found.add_partners(sources)
        found.refuse_none(settings.rule, table)
        return found, take_rows(made.frame, kept) if len(kept) else None, sources, settings

    def _fit_task(self, task: Task) -> None:
        """Fit a clone of the estimator: plainly at weight 0, else with pairs."""
        shown, estimator = task.show(task.frame), self._fresh(self.estimator, task)
        self._margins: Booster | None = None
        if self.pair_weight == 0:
            self.estimator_ = fit_plain(estimator, shown, task.answers.target, task.given, task.learned)
            self.n_pairs_ = {}
            return
        table = self._encode(task.frame, task.answers.labels)
        groups, added, sources, settings = self._find_pairs(task, table)
        paired = PairedFit(
            task=task,
            shown=shown,
            groups=groups,
            settings=settings,
            weight=float(self.pair_weight),
            kind=cast("PairLossKind", self.pair_loss),
            added=None if added is None else task.show(added),
            added_sources=sources,
        )
        names = task.answers.names.tolist()
        self.n_pairs_ = {names[code]: n for code, n in paired.graph.n_pairs.items()}
        self.estimator_, self._margins = paired.fit(estimator), task.how.booster

    def _fresh(self, estimator: Any, task: Task) -> Any:
        """Return a clone with the columns that it sees, and a seed where it has none."""
        fresh = clone(estimator)
        trim_columns(fresh, open_frame(task.frame).names, task.hidden)
        if self.random_state is not None:
            seed_unset(fresh, task.seed)
        return fresh
