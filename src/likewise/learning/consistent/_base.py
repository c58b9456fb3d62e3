"""What models with pairs share: checks, pairs, further pairs by antidotes, and one fit."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice, check_flag, check_number
from likewise._estimators import seed_unset
from likewise._json import plain
from likewise._random import saved_seed
from likewise.comparable import Comparability
from likewise.exceptions import SchemaError
from likewise.generation._internal import choose_few
from likewise.learning._antidotes import fitted_generator, make_antidotes, refuse_odd_source
from likewise.learning._inner_estimator import add_sensitive, leave_out, refuse_unknown_columns, trim_roles
from likewise.learning._pipeline import fit_plain, split_pipeline
from likewise.learning._saved_estimators import SavedWithEstimator, describe_estimator, restore_estimator
from likewise.learning.consistent._boosting import Booster
from likewise.learning.consistent._fitting import Kind, PairedFit, find_kind
from likewise.learning.consistent._pair_graph import (
    Groups,
    Numbers,
    PairSettings,
    check_rule,
    find_groups,
    learn_schema,
)
from likewise.learning.consistent._pair_loss import PAIR_LOSSES, GapKind, PairLossKind
from likewise.nets._internal import Description
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import array_of_table, fitted_names, is_frame, open_frame, take_frame, take_rows


class Task(NamedTuple):
    """One fit: the rows, what they are to be scored as, and how the estimator takes pairs."""

    frame: Any
    is_frame: bool  # or an array, as which it is shown to the estimator
    labels: NDArray[Any]  # equal in a pair
    names: list[Any]  # of the labels, by code
    target: NDArray[Any]  # as the estimator takes it
    n_classes: int  # 1 for outcomes
    weights: Numbers | None
    how: Kind
    gap: GapKind
    seed: int
    given: dict[str, Any]  # for the estimator's own fit
    outside: list[str]  # columns that the estimator does not see


@dataclass(eq=False, repr=False)
class ConsistentModel(SavedWithEstimator, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What the classifier and the regressor share: parameters, pairs, further pairs, columns that are shown, saving."""

    estimator: Any
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

    _is_classifier: ClassVar[bool]
    _has_device: ClassVar[bool] = False  # only some inner estimators have one
    _own_params: ClassVar[tuple[str, ...]]  # saved as they are
    __metadata_request__fit: ClassVar = {"sensitive_features": True}  # what scikit-learn's routing passes on by default

    def _check_parameters(self) -> Kind:
        """Check parameters, and return how the estimator takes pairs."""
        check_number("pair_weight", self.pair_weight, least=0.0)
        check_choice("pair_loss", self.pair_loss, PAIR_LOSSES)
        for name in ("balance_labels", "balance_people"):
            check_flag(name, getattr(self, name))
        check_rule(self.rule)
        if self.generator is not None:
            refuse_odd_source(self.generator)
        return find_kind(split_pipeline(self.estimator)[1], is_classifier=self._is_classifier)

    def _take_rows(self, X: Any, y: Any, sensitive_features: Any) -> tuple[Any, list[str]]:
        """Check the rows, and return them with the sensitive columns given beside them, and the names of these."""
        seen = take_frame(self, X, y, reset=True)
        return add_sensitive(seen, sensitive_features, self.roles, type(self).__name__)

    def _encode(self, frame: Any, labels: Any) -> CodedTable:
        """Encode the rows by the roles; labels of outcomes are all the same."""
        opened = open_frame(frame).keeping()  # every column is read for the schema, and for its codes
        schema = self._learn_schema(opened)
        if schema.roles.label in opened.names:
            raise SchemaError(
                f"X contains its label, column '{schema.roles.label}': a model would learn from it. Drop it from X."
            )
        return schema.encode(opened, labels)

    def _learn_schema(self, frame: Any) -> Schema:
        return learn_schema(self.roles, frame)

    def _find_pairs(self, task: Task, table: CodedTable) -> tuple[Groups, Any, NDArray[np.intp], PairSettings]:
        """Find the pairs of rows; with a generator, an antidote is the partner of each row that has none."""
        frame, labels, seed = task.frame, task.labels, task.seed
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
        seen = leave_out(task.frame, task.outside)
        shown = seen if task.is_frame else array_of_table(seen)
        estimator = trim_roles(clone(self.estimator), task.outside)
        if self.random_state is not None:
            seed_unset(estimator, task.seed)
        self._margins: Booster | None = None
        if self.pair_weight == 0:
            known = task.given if task.weights is None else {**task.given, "sample_weight": task.weights}
            self.estimator_, self.n_pairs_ = fit_plain(estimator, shown, task.target, known), {}
            return
        table = self._encode(task.frame, task.labels)
        groups, added, sources, settings = self._find_pairs(task, table)
        added = None if added is None else leave_out(added, task.outside)
        paired = PairedFit(
            shown=shown,
            target=task.target,
            weights=task.weights,
            groups=groups,
            settings=settings,
            weight=float(self.pair_weight),
            kind=cast("PairLossKind", self.pair_loss),
            gap=task.gap,
            n_classes=task.n_classes,
            seed=task.seed,
            added=added if added is None or task.is_frame else array_of_table(added),
            added_sources=sources,
        )
        self.n_pairs_ = {task.names[code]: n for code, n in paired.graph.n_pairs.items()}
        self.estimator_, self._margins = paired.fit(estimator, task.how, task.given), task.how.booster

    def _shown(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return self._see(X)

    def _see(self, X: Any) -> Any:
        """Return rows as the estimator sees them, with the columns checked as scikit-learn does."""
        if is_frame(X) and hasattr(self, "feature_names_in_"):
            refuse_unknown_columns(X, self.feature_names_in_, [])
            return X
        return array_of_table(take_frame(self, X, reset=False))

    def _describe(self) -> Description:
        check_is_fitted(self, "estimator_")
        estimator, arrays = describe_estimator(self.estimator_)
        roles, classes = self.roles, getattr(self, "classes_", None)
        saved = {
            "params": {name: plain(getattr(self, name)) for name in self._own_params},
            "random_state": saved_seed(self.random_state),
            "roles": roles.to_dict() if isinstance(roles, Roles) else None,
            "schema": roles.to_json() if isinstance(roles, Schema) else None,
            "rule": None if self.rule is None else self.rule.to_dict(),
            "classes": None if classes is None else {"values": classes.tolist(), "dtype": classes.dtype.str},
            "n_pairs": [[plain(name), int(n)] for name, n in self.n_pairs_.items()],
            **self._describe_columns(),
            "estimator": estimator,
        }
        return Description(saved, arrays)

    @classmethod
    def _restore(cls, description: Description, device: str) -> Self:
        record, arrays = description
        estimator = restore_estimator(Description(record["estimator"], arrays), device)
        if {*record["params"]} != {*cls._own_params}:
            raise ValueError(f"parameters {sorted(record['params'])}")
        roles: Roles | Schema | None = None if record["roles"] is None else Roles.from_dict(record["roles"])
        roles = roles if record["schema"] is None else Schema.from_json(record["schema"])
        rule = None if record["rule"] is None else Comparability.from_dict(record["rule"])
        made = cls(clone(estimator), roles, rule, random_state=record["random_state"], **record["params"])
        how = made._check_parameters()
        made.estimator_, made.n_pairs_ = estimator, {name: int(n) for name, n in record["n_pairs"]}
        made._margins = how.booster if made.pair_weight else None
        if cls._is_classifier:
            made.classes_ = np.array(record["classes"]["values"], dtype=record["classes"]["dtype"])
            if made.classes_.shape != np.shape(estimator.classes_) or len(made.classes_) < 2:
                raise ValueError(f"classes {made.classes_}")
        made._restore_columns(record)
        if len(fitted_names(made)) != made.n_features_in_:
            raise ValueError(f"names of other columns than {made.n_features_in_}")
        return made
