"""Gaps between comparable people as scorers of scikit-learn's cross-validation and searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import MetadataRequest

from likewise._checks import check_number, suggest
from likewise.auditing._internal import (
    AuditSettings,
    ask_scores,
    encode_people,
    is_reducible,
    reducible_measures,
    run_audit,
)
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError, RuleError, SchemaError, ScoreError
from likewise.schema import Roles, Schema
from likewise.schema._internal import is_frame, join_columns, open_frame, table_of_array

__all__ = ["LeastGap", "PairScorer", "gap_scorer"]

LOSS_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; a loss at the limit is allowed
FIXED: Final = ("baseline", "confidence", "n_resamples", "n_worst", "seed")  # settings that change no value
SETTINGS: Final = [one.name for one in fields(AuditSettings) if one.name not in FIXED]


class PairScorer:
    """Score a fitted model by a measure of comparable pairs, with a minus sign: greater is better.

    :func:`gap_scorer` makes it. It is called with a fitted model and the rows that it is evaluated on, as
    :func:`sklearn.model_selection.cross_validate` and the searches do. Pairs are those among these rows: fewer than
    among all rows, and none with training rows.

    Parameters
    ----------
    measure : str
        A measure of pairs or their excess, such as "gap_mean", "excess" or "gap_q95[1]", that of the pairs with the
        label 1; ``likewise.auditing.MEASURES`` has all names.
    roles : Roles or Schema
        The roles of the columns. With roles alone, continuous columns are scaled by their ranges in the rows that are
        scored, which differ from fold to fold; a schema, ``roles.learn(X)``, scales them alike.
    rule : Comparability, optional
        When two people are comparable.
    **settings
        Further arguments of :func:`likewise.audit` that decide what is measured, such as ``positive`` or ``threshold``:
        people are approved at or above it, below it where ``favourable`` names the other label.

    Examples
    --------
    >>> from likewise import Roles
    >>> from likewise.scoring import PairScorer
    >>> PairScorer("gap_mean", Roles(sensitive="sex", continuous="age"))
    <PairScorer: minus gap_mean>
    """

    @AuditSettings.listed_by(SETTINGS)
    def __init__(self, measure: str, roles: Roles | Schema, rule: Comparability | None = None, **settings: Any) -> None:
        _check_measure(measure)
        if not isinstance(roles, Roles | Schema):
            raise SchemaError(
                f"roles is a {type(roles).__name__}. Give Roles, such as Roles.infer(X, sensitive=['sex']), or the "
                "Schema that roles.learn made of the training rows."
            )
        if not isinstance(rule, Comparability | None):
            raise RuleError(f"The rule is {rule!r}; give a Comparability, or None for its defaults.")
        for name in settings:
            if name not in SETTINGS:
                raise ParameterError(
                    f"is not an argument of a scorer.{suggest(name, SETTINGS)} Choose of {', '.join(SETTINGS)}.", name
                )
        has_baseline = measure.startswith(("excess", "same_group"))
        self.measure, self.roles, self.rule = measure, roles, rule
        self.settings = AuditSettings(n_resamples=0, n_worst=0, baseline=has_baseline, **settings)
        self._sensitive_features: bool | str | None = True

    def __repr__(self) -> str:
        return f"<PairScorer: minus {self.measure}>"

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, sensitive_features: Any = None) -> float:
        """Return minus the measure of a fitted model on these rows.

        Parameters
        ----------
        estimator : model
            Its ``predict_proba``, or else ``predict``, is called with the columns it was fitted on.
        X : pandas, polars or pyarrow table, or array of numbers
            The columns of arrays are called x0, x1 and so on.
        y : array, optional
            Labels or true numbers.
        sensitive_features : table or series, optional
            Sensitive columns that are not in X, row by row.

        Returns
        -------
        float
        """
        people = X if is_frame(X) else table_of_array(np.asarray(X))
        people = people if sensitive_features is None else join_columns(people, sensitive_features)
        self._refuse_absent(people)
        scores = estimator if people is X else self._ask(estimator, X, people, y)
        found = run_audit(scores, people, y, self.settings, roles=self.roles, rule=self.rule)
        value = found[self.measure].value if self.measure in found.measures else None
        if value is None:
            raise ScoreError(
                f"{self.measure} cannot be measured on these {len(found.question.table):,} rows and "
                f"{found.record.pairs.n:,} pairs. Choose another measure, such as 'gap_mean', or larger folds."
            )
        return -value

    def set_score_request(self, *, sensitive_features: bool | str | None) -> Self:
        """Choose whether scikit-learn's metadata routing passes ``sensitive_features`` on; by default it does.

        Parameters
        ----------
        sensitive_features : bool, str or None
            True to be passed it where it is given, False never, a name to be passed the metadata of that name, None to
            refuse it.

        Returns
        -------
        self
        """
        self._sensitive_features = sensitive_features
        return self

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn's metadata routing has to pass on."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sensitive_features", alias=self._sensitive_features)
        return request

    def _refuse_absent(self, people: Any) -> None:
        roles = self.roles if isinstance(self.roles, Roles) else self.roles.roles
        names = open_frame(people).names
        absent = [name for name in roles.sensitive if name not in names]
        if absent:
            raise SchemaError(
                f"The scorer finds no column '{absent[0]}', which is sensitive.{suggest(absent[0], names)} Keep it in "
                "X, or pass it as sensitive_features, with scikit-learn's metadata routing switched on "
                "(sklearn.set_config(enable_metadata_routing=True))."
            )

    def _ask(self, estimator: Any, X: Any, people: Any, y: Any) -> Any:
        """Ask the model about the rows as they are, without the columns that only the audit sees."""
        rule = self.rule or Comparability()
        known = encode_people(people, y, roles=self.roles, rule=rule, settings=self.settings)
        return ask_scores(estimator, X, known.table, known.settled.positive_label)[0]


def _check_measure(measure: Any) -> None:
    if not is_reducible(measure):
        raise ParameterError(
            f"is {measure!r}, which is not a measure of pairs.{suggest(str(measure), reducible_measures())} Choose a "
            "name such as 'gap_mean', 'gap_q95[1]' or 'flip_rate'; likewise.auditing.MEASURES has all.",
            "measure",
        )


@AuditSettings.listed_by(SETTINGS)
def gap_scorer(
    roles: Roles | Schema, rule: Comparability | None = None, *, measure: str = "gap_mean", **settings: Any
) -> PairScorer:
    """Make a scorer of the gap between comparable people: minus the mean gap, so that greater is better.

    Parameters
    ----------
    roles : Roles or Schema
        The roles of the columns. Give the schema of the training rows, ``roles.learn(X)``, so that all folds are scaled
        alike.
    rule : Comparability, optional
        When two people are comparable.
    measure : str
        Another measure of pairs, such as "flip_rate" or "gap_mean[1]", that of the pairs with the label 1; "excess",
        of which a value near zero is noise and one below zero no merit; or "rank_gap_mean", which does not change where
        all scores move closer together.
    **settings
        Further arguments of :func:`likewise.audit`, such as ``positive`` or ``threshold``.

    Returns
    -------
    PairScorer

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import gap_scorer, load_dataset
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = make_pipeline(coding, LogisticRegression())
    >>> scoring = {"roc_auc": "roc_auc", "gap": gap_scorer(data.roles.learn(data.train.X), data.rule)}
    >>> found = cross_validate(model, data.train.X, data.train.y, scoring=scoring, cv=3)
    >>> bool((found["test_gap"] < 0).all())
    True
    """
    return PairScorer(measure, roles, rule, **settings)


@dataclass(frozen=True, slots=True)
class LeastGap:
    """Choose the candidate of a search with the least gap, of those that perform nearly as well as the best.

    For ``refit`` of :class:`sklearn.model_selection.GridSearchCV` and its kin. The performance of a candidate is its
    mean over the folds, and so is its gap. Of equal gaps, the better performance decides, and then the order.
    Selection makes the numbers of the chosen one optimistic: audit it on rows that the search has not seen.

    Parameters
    ----------
    max_loss : float
        How much less than the best candidate's performance is allowed, such as 0.01 of ROC AUC.
    gap : str
        Name of the gap among the scorers; it is greater where the gap is smaller, as of :func:`gap_scorer`.
    utility : str
        Name of the performance among the scorers; greater is better.

    Examples
    --------
    >>> from likewise import LeastGap
    >>> found = {"mean_test_roc_auc": [0.80, 0.795, 0.70], "mean_test_gap": [-0.09, -0.03, -0.01]}
    >>> LeastGap(max_loss=0.01)(found)
    1
    """

    max_loss: float = 0.01
    gap: str = "gap"
    utility: str = "roc_auc"

    def __post_init__(self) -> None:
        """Refuse an impossible budget."""
        check_number("max_loss", self.max_loss, least=0.0)

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the position of the chosen candidate.

        Parameters
        ----------
        cv_results : mapping of str to array
            ``cv_results_`` of a search.

        Returns
        -------
        int
        """
        utility, gap = self._means(cv_results, self.utility), self._means(cv_results, self.gap)
        is_known = np.isfinite(utility) & np.isfinite(gap)
        if not is_known.any():
            raise ScoreError(
                f"No candidate has both '{self.utility}' and '{self.gap}' in all folds. With error_score='raise' the "
                "search says why."
            )
        allowed = is_known & (utility >= utility[is_known].max() - self.max_loss - LOSS_TOLERANCE)
        return int(min(np.flatnonzero(allowed), key=lambda at: (-gap[at], -utility[at])))

    def _means(self, cv_results: Mapping[str, Any], scorer: str) -> NDArray[np.float64]:
        start = "mean_test_"
        known = [name.removeprefix(start) for name in cv_results if name.startswith(start)]
        if scorer not in known:
            raise ParameterError(
                f"names '{scorer}', which the search does not measure.{suggest(scorer, known)} Its scorers are "
                f"{', '.join(known)}; name them by a dictionary, scoring={{'roc_auc': 'roc_auc', 'gap': ...}}.",
                "utility" if scorer == self.utility else "gap",
            )
        return np.asarray(cv_results[f"{start}{scorer}"], np.float64)
