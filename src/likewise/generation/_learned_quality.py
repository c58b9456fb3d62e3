"""How good made rows are, by what classifiers make of them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._random import check_seed, draw_seed, stream
from likewise.exceptions import GenerationError
from likewise.generation._antidotes import Antidotes
from likewise.generation._quality import code_real
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import MISSING_VALUE, open_frame

CODED: Final = ("sensitive", "discrete", "ordinal", "matched")
MAX_CATEGORIES: Final = 255  # that the boosted trees can hold apart


def learning_efficacy(
    made: Antidotes | tuple[Any, Any],
    X_test: Any,
    y_test: Any = None,
    *,
    roles: Roles | None = None,
    estimator: Any = None,
) -> dict[str, float]:
    """Train on made rows and test on real ones: what is learned from them holds in the world, or does not.

    Parameters
    ----------
    made : Antidotes, or a frame and its labels
        What to train on. A frame of real people shows what could be had.
    X_test : frame
        Real people that nothing was learned from.
    y_test : array, optional
        Their labels; the label column of ``X_test``, if not given.
    roles : Roles, optional
        What the columns are; needed with a frame only.
    estimator : classifier, optional
        Trained on a copy, with a frame of the compared columns; a logistic regression on one-hot and scaled columns, if
        not given.

    Returns
    -------
    dict
        "accuracy", "balanced_accuracy" and "f1": of the last label in order, where there are two; else the mean of all.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import learning_efficacy
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> antidotes = generator.generate(data.train.X, data.train.y)
    >>> learning_efficacy(antidotes, data.test.X, data.test.y)["accuracy"] > 0.7
    True
    """
    from sklearn.base import clone
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    frame, y, schema = _opened(made, roles)
    train, test = schema.encode(frame, y), schema.encode(X_test, y_test)
    labels, wanted = (table.classes[table.labels] for table in (train, test))
    if len(set(labels.tolist())) < 2 or not len(test):
        raise GenerationError(
            f"There are {len(train):,} rows to train on, of {len(set(labels.tolist())):,} different labels, and "
            f"{len(test):,} to test on. Give rows of two labels or more to train on, and some to test on."
        )
    if estimator is None:
        predicted = _regress(train, labels, test.aligned_to(train))
    else:
        names = [name for name in open_frame(frame).names if schema.roles.role_of(name) in (*CODED, "continuous")]
        model = clone(estimator).fit(open_frame(frame).select(names), labels)
        predicted = np.asarray(model.predict(open_frame(X_test).select(names)))
    classes = sorted({*labels.tolist(), *wanted.tolist()})
    how = {"average": "binary", "pos_label": classes[-1]} if len(classes) == 2 else {"average": "macro"}
    return {
        "accuracy": float(accuracy_score(wanted, predicted)),
        "balanced_accuracy": _balanced(wanted, predicted, balanced_accuracy_score),
        "f1": float(f1_score(wanted, predicted, zero_division=0.0, **how)),
    }


def detectability(
    antidotes: Antidotes,
    X: Any,
    *,
    estimator: Any = None,
    n_folds: int = 5,
    max_rows: int = 10_000,
    random_state: int | None = 0,
) -> float:
    """Say how well a classifier tells antidotes from real people: 0.5 if it cannot, 1 if it always can.

    Both are drawn in equal numbers for each combination of sensitive values, so that these give nothing away. A person
    and the antidotes made of that person are always on the same side of a split.

    Parameters
    ----------
    antidotes : Antidotes
    X : frame
        The rows they were made of.
    estimator : classifier, optional
        With ``predict_proba``, for arrays of codes and scaled numbers; boosted trees, if not given.
    n_folds : int
        In how many parts to split: each is judged by a classifier trained on the others.
    max_rows : int
        Draw at most as many of each.
    random_state : int, optional
        The same number draws and trains the same.

    Returns
    -------
    float
        The area under the ROC curve.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import detectability
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> antidotes = generator.generate(data.train.X, data.train.y)
    >>> detectability(antidotes, data.train.X, n_folds=2, max_rows=500) > 0.5
    True
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn comes with it

    for name, count in (("n_folds", n_folds), ("max_rows", max_rows)):
        check_count(name, count, or_none=False)
    if n_folds < 2:
        raise ValueError(f"n_folds is {n_folds}; give 2 or more.")
    real = code_real(antidotes, X)
    if len(real) != antidotes.n_sources:
        raise GenerationError(
            f"X has {len(real):,} rows, but the antidotes were made of {antidotes.n_sources:,}. Give those rows."
        )
    seed = check_seed(random_state)
    made_rows, real_rows = _matched_draw(antidotes.table, real, max_rows, stream(seed, "detectability"))
    groups = np.concatenate([antidotes.source[made_rows], real_rows])
    if len(made_rows) < n_folds or len(np.unique(groups)) < n_folds:
        raise GenerationError(
            f"Only {len(made_rows):,} antidotes have real people of the same sensitive values to be told from, too few "
            f"for {n_folds} folds. Make more antidotes, or lower n_folds."
        )
    features = np.concatenate([_columns(antidotes.table[made_rows]), _columns(real[real_rows])])
    is_made = np.repeat([1, 0], [len(made_rows), len(real_rows)])
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=draw_seed(seed, "folds") % 2**32)
    model = _trees(antidotes.table, draw_seed(seed, "trees") % 2**32) if estimator is None else estimator
    with threadpool_limits(1, user_api="openmp"):  # so few rows are slower on many threads than on one
        scores = cross_val_predict(model, features, is_made, groups=groups, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(is_made, scores))


def _opened(made: Antidotes | tuple[Any, Any], roles: Roles | None) -> tuple[Any, Any, Schema]:
    if isinstance(made, Antidotes):
        return made.frame, made.y, made.schema
    if not isinstance(made, tuple) or len(made) != 2 or roles is None:
        raise TypeError("made is neither Antidotes nor a frame and its labels with roles. Give (X, y) and roles=.")
    frame, y = made
    return frame, y, roles.learn(frame, y)


def _regress(train: CodedTable, labels: NDArray[Any], test: CodedTable) -> NDArray[Any]:
    """Predict by a logistic regression on one-hot codes and scaled numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    n_coded = sum(getattr(train, kind).shape[1] for kind in CODED)
    features, others = _columns(train), _columns(test)
    is_amount = np.arange(features.shape[1]) >= n_coded
    encode = ColumnTransformer(
        [("codes", OneHotEncoder(handle_unknown="ignore"), ~is_amount), ("amounts", MinMaxScaler(), is_amount)]
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=2_000)).fit(features, labels)
    return np.asarray(model.predict(others))


def _columns(table: CodedTable) -> NDArray[np.float64]:
    """Put codes, then amounts, then whether amounts are missing into one array."""
    gone = table.continuous == MISSING_VALUE
    amounts = np.where(gone, 0.0, table.continuous)
    return np.column_stack([*(getattr(table, kind) for kind in CODED), amounts, gone]).astype(np.float64)


def _trees(table: CodedTable, seed: int) -> Any:
    """Make a classifier that takes codes as categories, where it can hold them apart, and ranks as numbers."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    n_values = [0 if kind == "ordinal" else len(table.categories[name]) for kind in CODED for name in table.names[kind]]
    n_amounts = 2 * table.continuous.shape[1]
    is_category = np.array([0 < n <= MAX_CATEGORIES for n in n_values] + [False] * n_amounts, np.bool_)
    return HistGradientBoostingClassifier(categorical_features=is_category, random_state=seed)


def _matched_draw(
    made: CodedTable, real: CodedTable, max_rows: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw as many made as real rows of each combination of sensitive values."""
    _, which = np.unique(np.concatenate([made.sensitive, real.sensitive]), axis=0, return_inverse=True)
    which = which.ravel()
    orders = random.permutation(len(made)), random.permutation(len(real))
    combinations = which[: len(made)][orders[0]], which[len(made) :][orders[1]]
    drawn: list[list[NDArray[np.intp]]] = [[], []]
    for combination in np.unique(which):
        rows = [order[of == combination] for order, of in zip(orders, combinations, strict=True)]
        n = min(map(len, rows))
        for side, some in zip(drawn, rows, strict=True):
            side.append(some[:n])
    both = [np.concatenate([*side, np.empty(0, np.intp)]) for side in drawn]
    if len(both[0]) > max_rows:
        chosen = random.choice(len(both[0]), max_rows, replace=False)
        both = [side[chosen] for side in both]
    return both[0], both[1]


def _balanced(wanted: NDArray[Any], predicted: NDArray[Any], score: Any) -> float:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # predicting a label that no test row has is no news
        return float(score(wanted, predicted))
