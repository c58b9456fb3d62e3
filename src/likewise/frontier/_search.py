"""The search estimator: the least unfair of some models within a performance budget."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_choice, check_count, check_flag, check_number
from likewise._estimators import fit_guard
from likewise._progress import follow, tell
from likewise._random import check_seed, stream
from likewise.auditing._internal import AuditSettings
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError, SchemaError
from likewise.frontier._candidates import Rows, default_grid, derive_base, find_range, list_names, list_params
from likewise.frontier._criteria import Criteria
from likewise.frontier._log import LoggedSearch, SearchLog, describe_search
from likewise.frontier._points import FrontierPoint
from likewise.frontier._proposals import N_TRIALS, GridProposals, OptunaProposals, Proposals
from likewise.frontier._summary import plot_points, write_summary
from likewise.frontier._sweep import Sweep
from likewise.schema import Roles, Schema
from likewise.schema._internal import hold_out, take_frame, take_labels, take_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

logger = logging.getLogger(__name__)
SEARCHES: Final = ("grid", "optuna")


def _best_has(name: str) -> Callable[[Any], bool]:
    """Offer a method if the chosen model has it; before fitting, if the searched one has it."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


@dataclass(eq=False, repr=False)
class FrontierSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Choose the least unfair model that loses no more performance than a budget against a base.

    Some rows are held out. The base and one model per grid point are fitted to the remaining rows and audited on the
    held-out rows: performance, gaps between comparable people, and the paired loss against the base. The least unfair
    model within the budget is chosen, or the base, with a warning, if none is less unfair. It is then refitted to all
    rows. This is a search for a less discriminatory alternative (LDA).

    Gaps also shrink if all scores move closer together, at nearly the same average precision; a warning tells if the
    chosen model gained this way. To avoid it, search with ``utility="log_loss"``, which penalises it, or with
    ``unfairness="rank_gap_mean"``, which it does not reduce. Another warning tells if the gain may be due to chance, by
    its interval on the held-out pairs. On small tables a choice might make things worse: a candidate is never chosen if
    its gain is unclear on fewer than ``min_pairs`` held-out pairs of a label, or if its log loss is above that of
    giving everybody the shares of the labels.

    Selection makes these estimates optimistic: ``selection_`` has intervals that allow for the choice. For an unbiased
    estimate, audit the chosen model on other rows, or the predictions of ``cross_val_predict`` with the whole search.

    Parameters
    ----------
    estimator : classifier
        A model with a fairness trade-off: a ConsistentClassifier, SmoothedScores, an AugmentedClassifier or an
        AntiDROClassifier.
    grid : dict, or list of dicts, optional
        The parameter values to try, as for scikit-learn's GridSearchCV, or one :class:`WeightRange` of a parameter. By
        default a range of the weight that the estimator has: ``pair_weight``, ``smoothing``, ``antidote_weight`` or
        ``ratio``.
    base : classifier, optional
        The model to compare with. By default the same model without pairs or antidotes: the estimator of a
        ConsistentClassifier, of SmoothedScores or of an AugmentedClassifier, an AntiDROClassifier with
        ``antidote_weight=0``.
    roles : Roles or Schema, optional
        The roles of the columns; by default those of the estimator or of its generator. Ranges are learned from the
        training rows, unless a schema is given. The columns of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable; by default the rule of the estimator or of its generator. If the grid has
        generators with other rules or roles, pass the one to judge all models by.
    utility : str
        The performance measure: "average_precision", "roc_auc", "accuracy", "balanced_accuracy", "f1"; or, lower is
        better, "log_loss", "brier", "calibration_error".
    unfairness : str or tuple of str, optional
        The measure to reduce: a measure of pairs or their excess (``likewise.auditing.MEASURES``), also by label,
        ``gap_mean[1]``, or the mean of several. By default the mean gap averaged over the labels that have pairs, so
        that no label is traded for another.
    max_loss : float
        The budget, in units of the utility: 0.005 is half a percentage point.
    cautious : bool
        Compare the upper end of the interval of the loss with the budget, rather than the loss itself.
    positive : optional
        The positive one of two labels; by default the last in order.
    validation_fraction : float
        The share of rows held out, stratified by label.
    min_pairs : int
        Held-out pairs of each label without which only a clear gain counts: one whose interval is above 0.
    n_resamples : int
        Bootstrap resamples for the intervals; 0 for no intervals, and no check whether a gain is due to chance.
    confidence : float
        Confidence level of the two-sided intervals.
    refit : bool
        Refit the chosen model and the base to all rows. Otherwise they stay as audited.
    n_jobs : int, optional
        The number of parallel processes; -1 for one per core.
    search : {"grid", "optuna"}
        "optuna" proposes candidates by a multi-objective study (loss of performance, unfairness), each learned from
        those before; it needs the package optuna. The grid then is a dict, whose values are :class:`WeightRange`
        objects, lists or distributions of Optuna. With ``n_jobs``, candidates are proposed as many at a time.
    n_trials : int, optional
        How many candidates a study tries; 30 by default.
    log : path, optional
        A file to log the search to, one JSON object per line: parameters, seeds, versions and a checksum of the data;
        every model with its measures and its scores of the held-out rows, as soon as it is measured; the choice, why,
        and its intervals. An interrupted search goes on from its log, and :func:`replay_search` checks it.
    progress : callable or False, optional
        Called with each :class:`FrontierPoint` as soon as it is measured. By default, a progress bar appears after two
        seconds on a terminal or in a notebook; False for none.
    random_state : int, optional
        Seed for reproducible results. Models and generators without a seed get one from it.

    Attributes
    ----------
    frontier_ : list of FrontierPoint
        The base, then all candidates in the order of the grid; a failed one has an ``error``.
    results_ : list of dict
        The same without audits, JSON-ready.
    best_point_ : FrontierPoint
    selection_ : SelectionIntervals
        The intervals of the chosen model that allow for its choice among all candidates.
    best_params_ : dict
        Empty if the base was chosen.
    best_estimator_, base_estimator_ : classifier
        Identical if the base was chosen.
    held_out_ : array of int
        The positions of the rows that were held out.
    classes_ : array

    Notes
    -----
    An unfitted generator is fitted once, to the training rows, and shared by all candidates, as are the antidotes of
    candidates that need the same ones. Refitting fits it to all rows. A fitted or frozen generator is used as it is; if
    it has seen the held-out rows, results are slightly optimistic.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import ConsistentClassifier, load_dataset
    >>> from likewise.frontier import FrontierSearch
    >>> data = load_dataset("planted", n_rows=4_000)
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = ConsistentClassifier(make_pipeline(coding, LogisticRegression()), data.roles, data.rule)
    >>> search = FrontierSearch(model, max_loss=0.02, random_state=0)
    >>> sorted(search.fit(data.train.X, data.train.y).best_params_)
    ['pair_weight']
    >>> base, best = search.frontier_[0], search.best_point_
    >>> best.is_within_budget, best.unfairness.value < base.unfairness.value
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
    utility: str = "average_precision"
    unfairness: str | tuple[str, ...] | None = None
    max_loss: float = 0.005
    cautious: bool = False
    positive: Any = None
    validation_fraction: float = 0.25
    min_pairs: int = 30
    n_resamples: int = 200
    confidence: float = 0.95
    refit: bool = True
    n_jobs: int | None = None
    search: str = "grid"
    n_trials: int | None = None
    log: str | Path | None = None
    progress: Callable[[FrontierPoint], None] | bool | None = None
    random_state: int | None = None
    best_estimator_: Any = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Run the search.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any type, with two or more classes.
        sample_weight : array, optional
            Weights used in fitting. Audits count every held-out row once.

        Returns
        -------
        self
        """
        with fit_guard(self):
            self._search(X, y, sample_weight)
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any) -> None:
        criteria = self._check_parameters()
        grid = default_grid(self.estimator) if self.grid is None else self.grid
        listed = list_params(grid, self.estimator) if self.search == "grid" else list_names(grid, self.estimator)
        base = clone(derive_base(self.estimator) if self.base is None else self.base)
        people, codes, classes = self._take(X, y, sample_weight)
        seed = self._find_seed()
        held_out = hold_out(codes, self.validation_fraction, stream(seed, "held out"))
        log = None
        if self.log is not None:
            log = SearchLog.open(self.log, describe_search(self, grid, base, people, held_out, seed))
        sweep = Sweep(
            search=self,
            criteria=criteria,
            people=people,
            held_out_rows=held_out,
            seed=seed,
            log=log,
        )
        sweep.generators.refuse_several(listed, roles=self.roles, rule=self.rule)
        proposals = self._propose(grid, listed, seed)
        with follow("Search", 1 + proposals.n_most, self.progress) as show:
            sweep.report = partial(self._report, show)
            found = sweep.run(base, proposals)
        points, best = found.points, found.best
        self.base_estimator_, self.best_estimator_ = sweep.finish(base, best, points.index(best))
        self.frontier_, self.best_point_, self.selection_ = points, best, found.selection
        self.results_ = [point.to_dict() for point in points]
        self.best_params_ = dict(best.params)
        self.held_out_, self.classes_ = held_out, classes

    def _take(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[np.int64], NDArray[Any]]:
        """Return the checked rows, with the code of each label and the labels."""
        frame = take_frame(self, X, y, reset=True)
        codes, classes = take_labels(y)
        if self.positive is not None and self.positive not in classes.tolist():
            raise ParameterError(f"is {self.positive!r}, which is not among the labels {classes}.", "positive")
        _refuse_lonely_labels(codes, classes)
        weights = None if sample_weight is None else take_weights(sample_weight, len(codes), scaled=False)
        return Rows.gather(X, frame, classes[codes], weights), codes, classes

    def _find_seed(self) -> int:
        """Return the seed; without one, that of a log to go on with."""
        if self.random_state is None and self.log is not None and Path(self.log).is_file():
            return int(LoggedSearch.read(self.log).header["seed"])
        return check_seed(self.random_state)

    def _propose(self, grid: Any, listed: Sequence[dict[str, Any]], seed: int) -> Proposals:
        if self.search == "grid":
            return GridProposals(listed, find_range(grid))
        n_jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        at_once = n_jobs if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + n_jobs, 1)
        n_trials = N_TRIALS if self.n_trials is None else int(self.n_trials)
        return OptunaProposals(grid, n_trials=n_trials, at_once=at_once, seed=seed)

    def _report(self, show: Callable[[float, str], None], number: int, point: FrontierPoint) -> None:
        logger.info("%s: loss %s, unfairness %s", point.name, point.loss.value, point.unfairness.value)
        tell(self.progress, point)
        show(number, point.name)

    def _check_parameters(self) -> Criteria:
        for name in ("estimator", "base"):
            model = getattr(self, name)
            if model is None and name == "base":
                continue
            if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
                raise TypeError(
                    f"{name} is {model!r}, which is not a classifier. Pass one, such as an AugmentedClassifier."
                )
        if not isinstance(self.roles, Roles | Schema | None):
            raise TypeError(f"roles is a {type(self.roles).__name__}; pass a likewise.Roles or Schema, or None.")
        for name in ("cautious", "refit"):
            check_flag(name, getattr(self, name))
        is_count = isinstance(self.n_jobs, int | np.integer) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and (not is_count or self.n_jobs == 0):
            raise ParameterError(f"is {self.n_jobs!r}; use an integer other than 0, or None.", "n_jobs")
        check_choice("search", self.search, SEARCHES)
        check_count("n_trials", self.n_trials, least=1)
        if self.search == "grid" and self.n_trials is not None:
            raise ParameterError('is for search="optuna". Leave it out, or choose that search.', "n_trials")
        check_number("validation_fraction", self.validation_fraction, above=0.0, below=1.0)
        check_count("min_pairs", self.min_pairs, or_none=False)
        settings = AuditSettings(n_resamples=self.n_resamples, confidence=self.confidence)
        if self.cautious and not self.n_resamples:
            raise ParameterError(
                f"is 0, but cautious needs intervals. Use {settings.fewest_resamples:,} or more.", "n_resamples"
            )
        return Criteria.check(self.utility, self.unfairness, self.max_loss, self.cautious)

    def summary(self) -> str:
        """Return the frontier as a Markdown table."""
        check_is_fitted(self, "frontier_")
        return write_summary(self.frontier_, self.best_point_, self.utility, self.selection_)

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
        return plot_points(self.frontier_, self.best_point_, self.utility, self.max_loss, ax)

    def predict(self, X: Any) -> Any:
        """Predict labels with the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities with the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("predict_log_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_log_proba(self, X: Any) -> Any:
        """Predict log class probabilities with the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def decision_function(self, X: Any) -> Any:
        """Return the decision function of the chosen model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).classifier_tags if hasattr(self.estimator, "__sklearn_tags__") else None
        if inner is not None:  # fit raises on anything else
            tags.classifier_tags.multi_class = inner.multi_class
        return tags


def _refuse_lonely_labels(codes: NDArray[np.int64], classes: NDArray[Any]) -> None:
    """Refuse a label with a single row, which cannot be both trained on and held out."""
    lonely = classes[np.bincount(codes) < 2].tolist()
    if lonely:
        raise SchemaError(
            f"Only one row has the label {lonely[0]!r}; two are needed, one to train on and one to hold out. "
            "Add such rows, or drop it."
        )
