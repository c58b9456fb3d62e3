"""The search estimator: the least unfair of some models within a performance budget, by cross-validation."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice, check_count, check_flag
from likewise._estimators import fit_guard, seed_unset
from likewise._progress import follow
from likewise._random import check_seed
from likewise.auditing._internal import AuditSettings
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError, SchemaError, ScoresCollapsed
from likewise.frontier._bench import Bench
from likewise.frontier._candidates import (
    GENERATOR,
    HIDES,
    ON_PATH,
    Rows,
    as_remedy,
    build_model,
    default_grid,
    derive_base,
    find_range,
    fit_model,
    has_weight,
    list_params,
    list_steps,
    refuse_unknown,
    split,
)
from likewise.frontier._criteria import Criteria
from likewise.frontier._log import LoggedSearch, SearchLog, describe_search
from likewise.frontier._points import FrontierPoint, choose_point
from likewise.frontier._proposals import N_TRIALS, GridProposals, OptunaProposals, Proposals, StepProposals
from likewise.frontier._summary import describe_choice, plot_points, warn_of_choice, write_summary
from likewise.schema import Roles, Schema
from likewise.schema._internal import take_frame, take_labels, take_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEARCHES: Final = ("grid", "optuna")


def _best_has(name: str) -> Callable[[Any], bool]:
    """Offer a method if the chosen model has it; before fitting, if the searched one has it."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


@dataclass(eq=False, repr=False)
class FrontierSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Choose the least unfair model that loses no more performance than a budget against a base.

    Of any model it tries, in this order: the model without its sensitive columns; smoothed targets; pairs in its loss,
    where that can be done; and both. Where none of these is within the budget, those that see the sensitive columns are
    tried as well. Of a model that has a weight of fairness itself, it tries a range of that weight.

    Every row is scored by models that were fitted to the other folds, and these scores are audited: performance, gaps
    between comparable people, and both against the base, the model as it is. Among the models within the budget the one
    with the least excess by person is chosen, and among those that it does not tell apart the one with the least mean
    gap; the base, if none is better. It is then fitted to all rows. This is a search for a less discriminatory
    alternative (LDA).

    Differences count as far as they can be told: a loss is within the budget if it is no more than that, or no more
    than its own standard error; and a model is less unfair than another if the difference exceeds its standard error.
    Numbers of the chosen model are optimistic: audit it on other rows, as :func:`likewise.repair` does.

    Parameters
    ----------
    estimator : classifier or regressor
        Any; or one with a fairness trade-off: a SmoothedTargetsClassifier, a ConsistentClassifier, SmoothedScores, an
        AugmentedClassifier or an AntiDROClassifier.
    grid : dict, or list of dicts, optional
        The parameter values to try, as for scikit-learn's GridSearchCV, or one :class:`WeightRange` of a parameter. Of
        a plain model these may be ``strength``, ``pair_weight`` and ``discard_sensitive`` of
        :class:`SmoothedTargetsClassifier`. By default the steps above, or a range of the weight of fairness.
    base : estimator, optional
        The model to compare with; by default the same without pairs, smoothing or antidotes.
    roles : Roles or Schema, optional
        The roles of the columns; by default those of the estimator or of its generator. The columns of arrays are
        called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable; by default the rule of the estimator or of its generator.
    utility : str, optional
        The performance measure: "average_precision", "roc_auc", "accuracy", "balanced_accuracy", "f1"; or, lower is
        better, "log_loss", "brier"; of regressors "r2", "mean_absolute_error", "root_mean_squared_error". By default
        the average precision of two labels, the ROC AUC of more, R² of outcomes.
    unfairness : str or sequence of str, optional
        Measures of pairs or their excess to reduce (``likewise.auditing.MEASURES``), also by label, ``gap_mean[1]``,
        the most important first. By default the excess by person, then the mean gap; where nobody has comparable people
        of the own and of other groups there is no excess, and the mean gap decides.
    max_loss : float
        The budget, in units of the utility: 0.01 is one percentage point.
    cautious : bool
        Whether a loss has to be within the budget even if it is one standard error more than was found.
    positive : optional
        The positive one of two labels; by default the last in order.
    folds : int
        Number of folds; fewer where a label has fewer rows.
    n_resamples : int
        Of the audits; 0 for no intervals, when losses and gains are taken as they are found.
    confidence : float
        Confidence level of the two-sided intervals that are shown.
    n_jobs : int, optional
        The number of parallel processes, each with some folds; -1 for one per core.
    search : {"grid", "optuna"}
        "optuna" proposes candidates by a multi-objective study (loss of performance, unfairness), each learned from
        those before; it needs the package optuna. The grid then is a dict, whose values are :class:`WeightRange`
        objects, lists or distributions of Optuna. With ``n_jobs``, candidates are proposed as many at a time.
    n_trials : int, optional
        How many candidates a study tries; 30 by default.
    log : path, optional
        A file to log the search to, one JSON object per line: parameters, seeds, versions and a checksum of the data;
        every model with its measures and its out-of-fold scores, as soon as it is measured; the choice, and why. An
        interrupted search goes on from its log, and :func:`replay_search` checks it.
    progress : callable or False, optional
        Called with each :class:`FrontierPoint` as soon as it is measured. By default, a progress bar appears after two
        seconds on a terminal or in a notebook; False for none.
    random_state : int, optional
        Seed for reproducible results. Models and generators without a seed get one from it.

    Attributes
    ----------
    frontier_ : list of FrontierPoint
        The base, then all candidates in the order they were tried; a failed one has an ``error``.
    results_ : list of dict
        The same without audits, JSON-ready.
    best_point_ : FrontierPoint
    best_params_ : dict
        Empty if the base was chosen.
    best_estimator_, base_estimator_ : estimator
        Fitted to all rows; identical if the base was chosen.
    fold_of_ : array of int
        The fold in which each row was held out.
    classes_ : array
        Of a classifier.

    Notes
    -----
    The two people of a pair may be scored by models of two folds, as everybody's score comes from a model that has not
    seen them. An unfitted generator is fitted once in each fold, and shared by all candidates. A fitted or frozen one
    is used as it is; if it has seen the rows, results are slightly optimistic.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import load_dataset
    >>> from likewise.frontier import FrontierSearch
    >>> data = load_dataset("planted", n_rows=4_000)
    >>> numbers = make_column_selector(dtype_include="number")
    >>> words = make_column_selector(dtype_exclude="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), words))
    >>> model = make_pipeline(coding, LogisticRegression())
    >>> search = FrontierSearch(model, roles=data.roles, rule=data.rule, max_loss=0.02, random_state=0)
    >>> best, base = search.fit(data.train.X, data.train.y).best_point_, search.frontier_[0]
    >>> best.is_within_budget, best.unfairness.value < base.unfairness.value / 2
    (True, True)
    >>> from matplotlib.figure import Figure
    >>> search.plot(Figure().subplots()).get_xlabel()
    'Loss of average precision'
    """

    estimator: Any
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    _: KW_ONLY
    base: Any = None
    roles: Roles | Schema | None = None
    rule: Comparability | None = None
    utility: str | None = None
    unfairness: str | Sequence[str] | None = None
    max_loss: float = 0.01
    cautious: bool = False
    positive: Any = None
    folds: int = 5
    n_resamples: int = 100
    confidence: float = 0.95
    n_jobs: int | None = None
    search: str = "grid"
    n_trials: int | None = None
    log: str | Path | None = None
    progress: Callable[[FrontierPoint], None] | bool | None = None
    random_state: int | None = None
    best_estimator_: Any = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> Self:
        """Run the search.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any type, with two or more classes; of a regressor outcomes.
        sample_weight : array, optional
            How much each row counts, in fits and in audits.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row; models are not shown them.

        Returns
        -------
        self
        """
        with fit_guard(self), warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)  # shown at its point, which is never chosen
            self._search(X, y, sample_weight, sensitive_features)
        warn_of_choice(self.best_point_, self.frontier_, self._criteria)
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, beside: Any) -> None:
        self._check_parameters()
        rows = self._take(X, y, sample_weight, beside)
        default = "r2" if self._is_regression else "roc_auc" if len(self.classes_) > 2 else "average_precision"
        self._criteria = Criteria.check(self, default)
        seed, is_plain = self._find_seed(), self._is_plain
        roles, rule = self._find_roles(rows)
        schema = roles if isinstance(roles, Schema) else roles.learn(rows.frame)
        searched = as_remedy(self.estimator, schema, rule) if is_plain else self.estimator
        base = clone(self.base) if self.base is not None else derive_base(searched)
        proposals, told = self._propose(searched, is_plain, seed, are_beside=rows.beside is not None)
        self.fold_of_ = split(rows.y, self.folds, seed, by_label=not self._is_regression)
        log = None
        if self.log is not None:
            log = SearchLog.open(self.log, describe_search(self, told, base, rows, self.fold_of_, seed))
        bench = Bench(self, self._criteria, searched, base, rows, schema, rule, self.fold_of_, seed, log)
        with follow("Search", 1 + proposals.n_most, self.progress) as show:
            self.frontier_ = bench.judge_all(proposals, show)
        best = self.best_point_ = choose_point(self.frontier_, self._criteria)
        self.results_, self.best_params_ = [point.to_dict() for point in self.frontier_], dict(best.params)
        if log is not None:
            log.finish(describe_choice(self.frontier_, best, self._criteria))
        self.base_estimator_ = self.best_estimator_ = fit_model(seed_unset(base, bench.model_seed), rows)
        if not best.is_base:
            self.best_estimator_ = fit_model(build_model(searched, best.params, bench.model_seed), rows)

    @property
    def _is_regression(self) -> bool:
        return bool(is_regressor(self.estimator))

    @property
    def _is_plain(self) -> bool:
        """Whether the estimator has no weight of fairness, and each remedy is tried."""
        names = {name for part in ([self.grid] if isinstance(self.grid, Mapping) else self.grid or []) for name in part}
        is_asked = self.grid is None or bool(names & {*ON_PATH, HIDES})
        return is_asked and not has_weight(self.estimator)

    def _take(self, X: Any, y: Any, sample_weight: Any, beside: Any) -> Rows:
        """Return the checked rows."""
        frame = take_frame(self, X, y, reset=True)
        if self._is_regression:
            outcomes = np.asarray(y, np.float64).ravel()
        else:
            codes, self.classes_ = take_labels(y)
            outcomes = self.classes_[codes]
            _refuse_lonely_labels(codes, self.classes_)
            if self.positive is not None and self.positive not in self.classes_.tolist():
                raise ParameterError(
                    f"is {self.positive!r}, which is not among the labels {self.classes_}.", "positive"
                )
        weights = None if sample_weight is None else take_weights(sample_weight, len(outcomes), scaled=False)
        return Rows.gather(X, frame, beside, outcomes, weights)

    def _find_roles(self, rows: Rows) -> tuple[Roles | Schema, Comparability | None]:
        """Return the roles and the rule that all models are judged by."""
        grids = [self.grid] if isinstance(self.grid, Mapping) else self.grid or []
        listed = [one for part in grids for one in part.get(GENERATOR, ())]
        params = self.estimator.get_params(deep=False)
        generators = [one for one in (params.get(GENERATOR), *listed) if hasattr(one, "generate")]
        sources: list[Any] = [self, self.estimator, *generators]
        roles = next((one.roles for one in sources if getattr(one, "roles", None) is not None), None)
        rule = next((one.rule for one in sources if getattr(one, "rule", None) is not None), None)
        rules = [getattr(one, "rule", None) for one in generators]
        rules += [rule for part in grids for rule in part.get(f"{GENERATOR}__rule", ())]
        if self.rule is None and any((one or Comparability()) != (rules[0] or Comparability()) for one in rules):
            raise ParameterError("is not given, but generators have several, and all are to be judged alike.", "rule")
        if roles is None and generators:  # which may find them itself
            roles = clone(generators[0]).fit(rows.frame, rows.y).schema_.roles
        if roles is None:
            raise ParameterError(
                "are not given: say which columns are sensitive, such as Roles.infer(X, sensitive=['sex']).", "roles"
            )
        return roles, rule

    def _find_seed(self) -> int:
        """Return the seed; without one, that of a log to go on with."""
        if self.random_state is None and self.log is not None and Path(self.log).is_file():
            return int(LoggedSearch.read(self.log).header["seed"])
        return check_seed(self.random_state)

    def _propose(self, searched: Any, is_plain: bool, seed: int, *, are_beside: bool) -> tuple[Proposals, Any]:
        """Return what proposes the candidates, and the grid to be told."""
        if is_plain and self.grid is None and self.search == "grid":
            steps = [list_steps(self.estimator, are_beside=are_beside, hides=hides) for hides in (True, False)]
            return StepProposals(steps[0], [] if are_beside else steps[1]), None
        if self.search == "grid":
            grid = default_grid(searched) if self.grid is None else self.grid
            listed = list_params(grid, searched)
            return GridProposals(listed, find_range(grid)), grid
        if not isinstance(self.grid, Mapping) or not self.grid:
            raise ParameterError(
                'must be a dict for search="optuna", such as {"pair_weight": WeightRange(0.1, 10.0)}.', "grid"
            )
        refuse_unknown(self.grid, searched)
        n_jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        at_once = n_jobs if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + n_jobs, 1)
        n_trials = N_TRIALS if self.n_trials is None else int(self.n_trials)
        return OptunaProposals(self.grid, n_trials=n_trials, at_once=at_once, seed=seed), self.grid

    def _check_parameters(self) -> None:
        check_model("estimator", self.estimator)
        if self.base is not None:
            check_model("base", self.base)
        if not isinstance(self.roles, Roles | Schema | None):
            raise TypeError(f"roles is a {type(self.roles).__name__}; pass a likewise.Roles or Schema, or None.")
        check_flag("cautious", self.cautious)
        is_count = isinstance(self.n_jobs, int | np.integer) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and (not is_count or self.n_jobs == 0):
            raise ParameterError(f"is {self.n_jobs!r}; use an integer other than 0, or None.", "n_jobs")
        check_choice("search", self.search, SEARCHES)
        check_count("n_trials", self.n_trials, least=1)
        if self.search == "grid" and self.n_trials is not None:
            raise ParameterError('is for search="optuna". Leave it out, or choose that search.', "n_trials")
        check_count("folds", self.folds, or_none=False, least=2)
        settings = AuditSettings(n_resamples=self.n_resamples, confidence=self.confidence)
        if self.cautious and not self.n_resamples:
            raise ParameterError(
                f"is 0, but cautious needs intervals. Use {settings.fewest_resamples:,} or more.", "n_resamples"
            )

    def summary(self) -> str:
        """Return the frontier as a Markdown table."""
        check_is_fitted(self, "frontier_")
        return write_summary(self.frontier_, self.best_point_, self._criteria)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw loss against unfairness; a ring marks the chosen model, the dashed line the budget.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; a new figure, if not given.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "frontier_")
        return plot_points(self.frontier_, self.best_point_, self._criteria, ax)

    def predict(self, X: Any) -> Any:
        """Predict with the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities with the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def decision_function(self, X: Any) -> Any:
        """Return the decision function of the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the score of the chosen model, by its own measure."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):  # fit raises on anything else
            inner = get_tags(self.estimator)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags


def check_model(name: str, model: Any) -> None:
    """Refuse what is neither a classifier nor a regressor."""
    is_model = not isinstance(model, type) and hasattr(model, "fit") and hasattr(model, "get_params")
    if not is_model or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"{name} is {model!r}, which is neither a classifier nor a regressor. Pass one.")


def _refuse_lonely_labels(codes: NDArray[np.int64], classes: NDArray[Any]) -> None:
    """Refuse a label with a single row, which cannot be both trained on and held out."""
    lonely = classes[np.bincount(codes) < 2].tolist()
    if lonely:
        raise SchemaError(
            f"Only one row has the label {lonely[0]!r}; two are needed, one to train on and one to hold out. "
            "Add such rows, or drop it."
        )
