"""Bound the gap between each person and everybody who would be comparable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from likewise._checks import check_count, check_flag
from likewise.certifying._certificates import Certificates, Method
from likewise.certifying._forests import read_forest
from likewise.certifying._inputs import InnerModel, ReadInputs, reason_of, unreadable
from likewise.certifying._linear import linear_weights, search_linear
from likewise.certifying._neighbourhood import DOWN, UP, ExtremeRows, Neighbourhood, Numbers
from likewise.certifying._plausibility import Plausibility, check_plausibility, choose_plausible
from likewise.certifying._trees import TreeSearch
from likewise.comparable import Comparability
from likewise.comparable._internal import check_rule
from likewise.exceptions import LikewiseError, SchemaError, ScoreError
from likewise.generation import GibbsGenerator
from likewise.schema import Roles, Schema

Progress = Callable[[str, float], None]

EXACT: Final = 1e-6  # of a probability, or of the largest amount: what models round off
AGREES: Final = 1e-5  # scores computed from what was read of a model, and its own


def certify(
    model: Any,
    X: Any,
    *,
    roles: Roles | Schema,
    rule: Comparability | None = None,
    within_range: bool = True,
    max_splits: int = 20_000,
    generator: GibbsGenerator | None = None,
    min_plausibility: float = 0.0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Certificates:
    """Certify how far the model's score of each person is from that of everybody who would be comparable.

    An audit compares people of the table; most have no partner in it. A certificate is about every row that the rule
    calls comparable, whether it is in the table or not: other sensitive values, as many discrete changes as allowed, to
    any category that the schema knows, and continuous columns anywhere within the tolerance (whole numbers, where the
    column holds nothing else). Labels play no part: it holds whatever the label of the two.

    The model is looked into: linear models in closed form; trees, forests and boosted trees by branch and bound. Every
    worst row is scored by the model itself.

    Parameters
    ----------
    model : fitted estimator
        A linear model, tree, forest or gradient boosting of scikit-learn (not HistGradientBoosting), or an XGBoost or
        LightGBM model; also inside a Pipeline whose steps encode or scale single columns (ColumnTransformer,
        OneHotEncoder, OrdinalEncoder, TargetEncoder, scalers, SimpleImputer), and inside ConsistentClassifier,
        AugmentedClassifier and their regressors. Its score is the probability of the last label,
        else the decision function, else the prediction.
    X : pandas, polars or pyarrow table
        The people.
    roles : Roles or Schema
        The roles of the columns, or the schema that ``roles.learn`` made of the training rows, which knows their
        categories and ranges.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` by default. ``no_better`` and ``score_band`` are refused.
    within_range : bool
        Consider only numbers within the range of the training rows and of ``X``; or any within the tolerance.
    max_splits : int
        How often the neighbourhood of a person may be split in search of the exact gap, before a bound is returned.
    generator : GibbsGenerator, optional
        Fitted to training rows. The result then says how plausible each worst row is: the share of the people in ``X``
        whose own categories fit each other, and their numbers, no better (:meth:`GibbsGenerator.score_samples`).
    min_plausibility : float
        With 0.05, only rows that fit at least as well as the 5 % of people whose values fit least are shown as worst
        rows. The bound stays that over all rows, which also holds for plausible ones: where the worst of all rows is
        not plausible, a worse plausible row than the one shown may exist, and the certificate is not exact.
    n_jobs : int, optional
        Threads to search with; by default as many as there are CPUs.
    progress : function, optional
        Called with the name of a step and the share of it that is done.

    Returns
    -------
    Certificates

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OrdinalEncoder
    >>> from likewise import certify, load_dataset
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer(("passthrough", numbers), remainder=OrdinalEncoder())
    >>> trees = GradientBoostingClassifier(n_estimators=20, random_state=0)
    >>> model = make_pipeline(coding, trees).fit(data.train.X, data.train.y)
    >>> found = certify(model, data.test.X, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> bool((found.gaps >= found.reached).all()), bool(found.is_exact.all())
    (True, True)
    """
    check_flag("within_range", within_range)
    check_count("max_splits", max_splits, or_none=False, least=1)
    check_count("n_jobs", n_jobs, least=1)
    check_plausibility(generator, min_plausibility)
    asked, schema = check_rule(Comparability() if rule is None else rule), _schema_of(roles, X)
    around = Neighbourhood.of(X, schema, asked, within_range=within_range)
    ranks = None if generator is None else Plausibility.of(generator, around)
    inner = InnerModel.of(model)
    ask = _Scorer(model, inner)
    scores = ask(X)
    report = progress or (lambda step, share: None)
    inputs, rows, method, score = _search(inner, around, scores, max_splits, n_jobs, report)
    found = _conclude(ask, scores, around, rows, method, score, inner, inputs)
    return found if ranks is None else _mark_plausible(found, ask, rows, ranks, min_plausibility)


def _schema_of(roles: Any, X: Any) -> Schema:
    if isinstance(roles, Schema):
        return roles
    if not isinstance(roles, Roles):
        raise SchemaError(
            f"roles is a {type(roles).__name__}. Give Roles, such as Roles.infer(X, sensitive=['sex']), or the Schema "
            "that roles.learn made of the training rows."
        )
    return roles.learn(X)


class _Scorer:
    """Ask a model for its score of rows."""

    def __init__(self, model: Any, inner: InnerModel) -> None:
        self._model, self._inner = model, inner
        self.is_probability = hasattr(model, "predict_proba")
        if not hasattr(model, "predict"):
            raise unreadable(model)
        if len(getattr(model, "classes_", ())) > 2:
            raise ScoreError(
                f"{type(model).__name__} knows {len(model.classes_)} labels; a certificate is about one score. Certify "
                "a model of two labels, or of one outcome."
            )

    def __call__(self, frame: Any) -> Numbers:
        """Return the probability of the last label, else the decision function, else the prediction."""
        model = self._model
        names = [name for name in ("predict_proba", "decision_function", "predict") if hasattr(model, name)]
        try:
            found = np.asarray(getattr(model, names[0])(self._shown(frame)), np.float64)
        except LikewiseError:
            raise
        except Exception as error:
            raise ScoreError(
                f"{type(model).__name__} cannot score this table: {reason_of(error)}. Check that its columns are those "
                "the model was made for."
            ) from error
        found = found[:, -1] if found.ndim == 2 else found
        if not np.isfinite(found).all():
            raise ScoreError(f"{type(model).__name__} gives a score that is not a finite number.")
        return found

    def unit(self, scores: Numbers) -> float:
        """Return what rounding is relative to: 1 for probabilities, else the largest score."""
        return 1.0 if self.is_probability else max(1.0, float(np.abs(scores).max()))

    def _shown(self, frame: Any) -> Any:
        names = getattr(self._model, "feature_names_in_", None)
        whole = self._inner if names is None else replace(self._inner, names=tuple(map(str, names)))
        return whole.shown(frame)


def _search(
    inner: InnerModel, around: Neighbourhood, scores: Numbers, max_splits: int, n_jobs: int | None, report: Progress
) -> tuple[ReadInputs | None, ExtremeRows, Method, Callable[[Numbers], Numbers]]:
    """Search the neighbourhoods in the way that suits the model; return also how its sums become scores."""
    forest = read_forest(inner.last)
    weights = None if forest is not None else linear_weights(inner.last)
    if forest is None and weights is None:
        raise unreadable(inner.last)
    inputs = ReadInputs.read(inner, around)
    if forest is not None:
        search = TreeSearch(inputs, forest)
        _refuse_misread(scores, forest.score(search.own_sums()), inner.last)
        return inputs, search.run(max_splits, n_jobs, report), "trees", forest.score
    assert weights is not None
    _refuse_other_order(scores, inputs.own.where_absent(0.0) @ weights, inner.last)
    return inputs, search_linear(inputs, weights), "linear", lambda sums: sums


def _refuse_misread(scores: Numbers, found: Numbers, last: Any) -> None:
    """Refuse a model whose scores are not what was read of it."""
    apart = np.abs(found - scores) / max(1.0, float(np.abs(scores).max()))
    worst = int(apart.argmax())
    if not apart[worst] <= AGREES:
        raise ScoreError(
            f"What can be read of this {type(last).__name__} gives row {worst:,} (counted from 0) the score "
            f"{found[worst]:.6g}, but the model itself {scores[worst]:.6g}, so nothing is certified."
        )


def _refuse_other_order(scores: Numbers, sums: Numbers, last: Any) -> None:
    """Refuse a linear model whose scores do not rise with its sums."""
    ordered = scores[np.argsort(sums, kind="stable")]
    if (np.diff(ordered) < -AGREES * max(1.0, float(np.abs(scores).max()))).any():
        raise ScoreError(
            f"The scores of this {type(last).__name__} do not rise with the sum of its weighted inputs, so nothing is "
            "certified."
        )


def _conclude(
    ask: _Scorer,
    scores: Numbers,
    around: Neighbourhood,
    rows: ExtremeRows,
    method: Method,
    score: Callable[[Numbers], Numbers],
    inner: InnerModel,
    inputs: ReadInputs | None,
) -> Certificates:
    """Score the worst rows by the model itself, and keep the worse direction of each person."""
    people = np.arange(len(around))
    frames = [rows.frame(direction, people) for direction in (UP, DOWN)]
    row_scores = np.stack([ask(frame) for frame in frames])
    signs = np.array([[1.0], [-1.0]])
    reached = np.where(rows.is_possible, signs * (row_scores - scores), -np.inf)
    bounds = reached
    if rows.bound is not None:
        bounds = np.maximum(reached, np.where(rows.is_possible, signs * (score(rows.bound) - scores), -np.inf))
    # with one-sided columns, the comparable one with the higher score may have to be another than the found one
    worse = reached.argmax(axis=0)
    has_row = reached.max(axis=0) >= 0
    gaps, found = np.maximum(bounds.max(axis=0), 0.0), np.maximum(reached.max(axis=0), 0.0)
    return Certificates(
        scores=scores,
        gaps=gaps,
        reached=found,
        rows=rows.merged(worse, has_row),
        row_scores=np.where(has_row, row_scores[worse, people], scores),
        is_exact=gaps - found <= EXACT * ask.unit(scores),
        is_possible=rows.is_possible.any(axis=0),
        method=method,
        rule=around.rule,
        description=around.rule.describe(around.schema, same_label=False),
        is_probability=ask.is_probability,
        fixed_columns=inner.fixed_columns(around),
        refused_categories={} if inputs is None else inputs.refused_categories(),
    )


def _mark_plausible(
    found: Certificates, ask: _Scorer, rows: ExtremeRows, ranks: Plausibility, least: float
) -> Certificates:
    """Add how plausible the worst rows are; where a least is asked for, choose the worst that are plausible enough."""
    has_row = found.is_possible
    if least:
        around = rows.around
        chosen = choose_plausible(rows, found.scores, ask, ranks.rank, least)
        has_row = chosen.has_row
        found = replace(
            found,
            reached=chosen.gaps,
            rows=around.rows(np.arange(len(around)), chosen.codes, chosen.numbers),
            row_scores=chosen.scores,
            is_exact=found.gaps - chosen.gaps <= EXACT * ask.unit(found.scores),
        )
    plausibility = np.where(has_row, ranks.rank(found.rows), np.nan)
    return replace(found, plausibility=plausibility, min_plausibility=float(least))
