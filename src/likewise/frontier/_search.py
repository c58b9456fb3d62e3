"""Search a grid for the least unfair model that costs little enough."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._checks import check_flag, check_number
from likewise._fit_guard import forgetting
from likewise._random import check_seed, stream
from likewise.auditing._internal import AuditSettings
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError, SchemaError
from likewise.frontier._candidates import derive_base, list_params
from likewise.frontier._criteria import Criteria
from likewise.frontier._plotting import plot_points
from likewise.frontier._point import FrontierPoint
from likewise.frontier._rows import Rows
from likewise.frontier._summary import write_summary
from likewise.frontier._sweep import Sweep
from likewise.schema import Roles, Schema
from likewise.schema._internal import hold_out, take_frame, take_labels, take_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

log = logging.getLogger(__name__)


def _best_has(name: str) -> Callable[[Any], bool]:
    """Offer a method where the chosen model has it; before fitting, where the one to be searched has it."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


class FrontierSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Choose the least unfair of many models, among those that lose no more than a budget against a base.

    Some rows are held out. The base and a model for every point of the grid are fitted to the others and audited on
    the held-out ones: how good they are, how differently they score comparable people, and how much they lose against
    the base on the same people. Of the models within the budget the least unfair is chosen; the base itself, with a
    warning, if none of them is less unfair than it. It is then fitted to all rows.

    Gaps also shrink where a model says less: scores that move together differ less, of everybody, at nearly the same
    average precision. There is a warning where the chosen model gained by that. To leave it no advantage, search with
    ``utility="log_loss"``, which such a model loses, or with ``unfairness="rank_gap_mean"``, which stays as it was.
    Another warning says where the gain may be chance, by its interval on the held-out pairs.

    A number that a model was chosen by flatters it. For an honest estimate, audit the chosen model on other rows, or
    the predictions that ``cross_val_predict`` makes with the whole search.

    Parameters
    ----------
    estimator : classifier
        Any that trades something for fairness, such as an AugmentedClassifier or an AntiDROClassifier.
    grid : dict, or list of dicts
        Which values of which parameters to try, as for scikit-learn's GridSearchCV.
    base : classifier, optional
        The model to lose against. By default the same without antidotes: the estimator of an AugmentedClassifier, an
        AntiDROClassifier with ``antidote_weight=0``.
    roles : Roles or Schema, optional
        What the columns are; by default the roles of the estimator's generator. Ranges are learned from the rows that
        models are fitted to, unless a schema is given. The columns of arrays are called x0, x1 and so on.
    rule : Comparability, optional
        When two people are comparable; by default the rule of the estimator's generator. If the grid has generators
        of other rules, or other roles, give the one that all models are to be judged by.
    utility : str
        What is lost: "average_precision", "roc_auc", "accuracy", "balanced_accuracy", "f1"; or, the lower the better,
        "log_loss", "brier", "calibration_error".
    unfairness : str or tuple of str, optional
        What is made small: a measure of pairs (see :func:`likewise.auditing.known_measures`), or the mean of several.
        By default the mean gap of each label, averaged over the labels that have pairs, so that none is traded for
        another.
    max_loss : float
        The budget, in units of the utility: 0.005 is half a point of a hundred.
    cautious : bool
        Hold the upper end of the interval of the loss against the budget, rather than the loss itself.
    positive : optional
        Of two labels, the one that counts as positive; by default the last in order.
    validation_fraction : float
        The share of the rows, of each label, that is held out.
    n_resamples : int
        Replicates for the intervals; 0 for none, and then nobody can tell whether a gain is chance.
    confidence : float
        Of the intervals, two-sided.
    refit : bool
        Fit the chosen model and the base again, to all rows. Otherwise they stay as they were audited.
    n_jobs : int, optional
        How many candidates to fit at a time, in processes of their own; -1 for one a core.
    progress : callable, optional
        Called with each :class:`FrontierPoint`, as it is known.
    random_state : int, optional
        The same number gives the same result. It is also handed to models and generators that have no seed.

    Attributes
    ----------
    frontier_ : list of FrontierPoint
        The base, and then all candidates in the order of the grid; one that failed has an ``error``.
    results_ : list of dict
        The same without audits; it is JSON.
    best_point_ : FrontierPoint
    best_params_ : dict
        Empty, if the base was chosen.
    best_estimator_, base_estimator_ : classifier
        The same, if the base was chosen.
    held_out_ : array of int
        The positions of the rows that were held out.
    classes_ : array

    Notes
    -----
    A generator that has not learned yet is fitted once, to the rows that models are fitted to, and shared by all
    candidates, and so are the antidotes of candidates that ask for the same ones. Refitting fits it again, to all rows.
    One that was fitted before, or is frozen, is used as it is. If it has seen the held-out rows, the search is a little
    too kind to its antidotes: that is for you to decide.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.frontier import FrontierSearch
    >>> from likewise.learning import AugmentedClassifier
    >>> data = load_dataset("planted", n_rows=4_000)
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = AugmentedClassifier(
    ...     make_pipeline(coding, LogisticRegression()), UniformGenerator(data.roles, data.rule)
    ... )
    >>> search = FrontierSearch(model, {"ratio": [0.3, 1.0]}, max_loss=0.02, random_state=0)
    >>> search.fit(data.train.X, data.train.y).best_params_
    {'ratio': 1.0}
    >>> base, best = search.frontier_[0], search.best_point_
    >>> best.is_within_budget, best.unfairness.value < base.unfairness.value
    (True, True)
    >>> from matplotlib.figure import Figure
    >>> search.plot(Figure().subplots()).get_xlabel()
    'Loss of average precision'
    """

    best_estimator_: Any

    def __init__(
        self,
        estimator: Any,
        grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        base: Any = None,
        roles: Roles | Schema | None = None,
        rule: Comparability | None = None,
        utility: str = "average_precision",
        unfairness: str | tuple[str, ...] | None = None,
        max_loss: float = 0.005,
        cautious: bool = False,
        positive: Any = None,
        validation_fraction: float = 0.25,
        n_resamples: int = 200,
        confidence: float = 0.95,
        refit: bool = True,
        n_jobs: int | None = None,
        progress: Callable[[FrontierPoint], None] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.base = base
        self.roles = roles
        self.rule = rule
        self.utility = utility
        self.unfairness = unfairness
        self.max_loss = max_loss
        self.cautious = cautious
        self.positive = positive
        self.validation_fraction = validation_fraction
        self.n_resamples = n_resamples
        self.confidence = confidence
        self.refit = refit
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Search.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of numbers
        y : array
            Labels of any kind, two or more different ones.
        sample_weight : array, optional
            How much each row counts in fitting. In audits every held-out row counts once.

        Returns
        -------
        self
        """
        with forgetting(self):
            self._search(X, y, sample_weight)
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any) -> None:
        criteria = self._check_parameters()
        listed = list_params(self.grid, self.estimator)
        base = clone(derive_base(self.estimator) if self.base is None else self.base)
        frame = take_frame(self, X, y, reset=True)
        codes, classes = take_labels(y)
        if self.positive is not None and self.positive not in classes.tolist():
            raise ValueError(f"positive is {self.positive!r}, which no row has as its label; they have {classes}.")
        _refuse_lonely_labels(codes, classes)
        weights = None if sample_weight is None else take_weights(sample_weight, len(codes), scaled=False)
        people = Rows.gather(X, frame, classes[codes], weights)
        seed = check_seed(self.random_state)
        held_out = hold_out(codes, self.validation_fraction, stream(seed, "held out"))
        sweep = Sweep(self, criteria, people, held_out, seed)
        points, best = sweep.run(base, listed)
        self.base_estimator_, self.best_estimator_ = sweep.finish(base, best, points.index(best))
        self.frontier_, self.best_point_ = points, best
        self.results_ = [point.to_dict() for point in points]
        self.best_params_ = dict(best.params)
        self.held_out_, self.classes_ = held_out, classes

    def _tell(self, point: FrontierPoint) -> None:
        log.info("%s: loss %s, unfairness %s", point.name, point.loss.value, point.unfairness.value)
        if self.progress is not None:
            self.progress(point)

    def _check_parameters(self) -> Criteria:
        for name in ("estimator", "base"):
            model = getattr(self, name)
            if model is None and name == "base":
                continue
            if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
                raise TypeError(
                    f"{name} is {model!r}, which is no classifier. Give one, such as an AugmentedClassifier."
                )
        if not isinstance(self.roles, Roles | Schema | None):
            raise TypeError(f"roles is a {type(self.roles).__name__}; give a likewise.Roles or Schema, or None.")
        for name in ("cautious", "refit"):
            check_flag(name, getattr(self, name))
        is_count = isinstance(self.n_jobs, int | np.integer) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and (not is_count or self.n_jobs == 0):
            raise ValueError(f"n_jobs is {self.n_jobs!r}; give a whole number other than 0, or None.")
        check_number("validation_fraction", self.validation_fraction, above=0.0, below=1.0)
        settings = AuditSettings(n_resamples=self.n_resamples, confidence=self.confidence)
        if self.cautious and not self.n_resamples:
            raise ParameterError(
                f"is 0, so there are no intervals to be cautious by. Give {settings.fewest_resamples:,} or more.",
                "n_resamples",
            )
        return Criteria.check(self.utility, self.unfairness, self.max_loss, self.cautious)

    def summary(self) -> str:
        """Write the frontier as a table, which Markdown shows as one.

        Returns
        -------
        str
        """
        check_is_fitted(self, "frontier_")
        return write_summary(self.frontier_, self.best_point_, self.utility)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what each model loses, and how unfair it is; the chosen one has a ring, the dashed line is the budget.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; otherwise on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "frontier_")
        return plot_points(self.frontier_, self.best_point_, self.utility, self.max_loss, ax)

    def predict(self, X: Any) -> Any:
        """Predict labels with the chosen model.

        Parameters
        ----------
        X : frame or array
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: Any) -> Any:
        """Give the probability of each label, by the chosen model.

        Parameters
        ----------
        X : frame or array
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("predict_log_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithm of the probability of each label, by the chosen model.

        Parameters
        ----------
        X : frame or array
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def decision_function(self, X: Any) -> Any:
        """Give the decision values of the chosen model.

        Parameters
        ----------
        X : frame or array
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).classifier_tags if hasattr(self.estimator, "__sklearn_tags__") else None
        if inner is not None:  # whatever else it is, fit says so
            tags.classifier_tags.multi_class = inner.multi_class
        return tags


def _refuse_lonely_labels(codes: NDArray[np.int64], classes: NDArray[Any]) -> None:
    """Refuse a label of one row, which cannot be both learned from and held out."""
    lonely = classes[np.bincount(codes) < 2].tolist()
    if lonely:
        raise SchemaError(
            f"Only one row has the label {lonely[0]!r}; it takes two, one to learn from and one to hold out. Give more "
            "rows of it, or leave it out."
        )
