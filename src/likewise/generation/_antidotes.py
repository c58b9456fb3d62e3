"""Antidotes: generated rows in the columns of the source frame, the row each comes from, and how good they are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._random import check_seed, draw_seed, stream
from likewise.comparable import Comparability
from likewise.exceptions import GenerationError
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import KINDS, MISSING_VALUE, open_frame, stack_frames, write_parquet

DECIMALS: Final = 10  # of a continuous code: finer than any rule, coarser than the errors of scaling
CODED: Final = ("sensitive", "discrete", "ordinal", "matched")
MAX_CATEGORIES: Final = 255  # that the boosted trees support


def row_keys(table: CodedTable, *beside: NDArray[Any]) -> NDArray[np.void]:
    """Return a key per row, equal where all compared columns, and those ``beside``, are equal."""
    codes = [getattr(table, kind).astype(np.float64) for kind in KINDS if kind != "continuous"]
    rows = np.column_stack([np.zeros(len(table)), *beside, *codes, np.round(table.continuous, DECIMALS)])
    rows = np.ascontiguousarray(rows + 0.0)  # 0 and -0 are equal
    keys: NDArray[np.void] = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return keys


def keep_comparable(sources: CodedTable, generated: CodedTable, rule: Comparability) -> NDArray[np.bool_]:
    """Return which generated rows are comparable to their sources (the paper's Post).

    Parameters
    ----------
    sources, generated : CodedTable
        Row ``i`` of one is the source of row ``i`` of the other.
    rule : Comparability

    Returns
    -------
    array of bool

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.generation import keep_comparable
    >>> source = CodedTable(sensitive=[[0], [0]], continuous=[[0.5], [0.5]])
    >>> made = CodedTable(sensitive=[[1], [1]], continuous=[[0.51], [0.9]])
    >>> keep_comparable(source, made, Comparability())
    array([ True, False])
    """
    return rule.holds(sources, generated)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Antidotes:
    """Antidotes: rows comparable to their sources, with a different sensitive attribute.

    Parameters
    ----------
    frame : frame
        With the columns, order and types of the source frame. Unchanged cells, row ids and ignored columns are the
        source's own: appended to their sources, antidotes repeat the ids.
    y : array
        Labels, copied from the sources.
    source : array of int
        Position of the source row of each antidote.
    round : array of int
        Round in which it was generated, from 0.
    table, sources : CodedTable
        The antidotes, and their source rows one by one.
    schema : Schema
    n_sources : int
        Number of rows for which antidotes were requested.
    n_raw : int
        Number of rows generated before those not comparable, or repeated, were dropped.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> antidotes = generator.generate(data.train.X, data.train.y, ratio=0.5)
    >>> antidotes
    <Antidotes: 750 for 607 of 1,500 rows>
    >>> bool((antidotes.frame["group"].iloc[0], antidotes.frame["gender"].iloc[0]) != tuple(
    ...     data.train.X[["group", "gender"]].iloc[antidotes.source[0]]))
    True
    """

    frame: Any
    y: NDArray[Any]
    source: NDArray[np.int64]
    round: NDArray[np.int64]
    table: CodedTable
    sources: CodedTable
    schema: Schema
    n_sources: int
    n_raw: int

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        n_covered = len(np.unique(self.source))
        return f"<Antidotes: {len(self):,} for {n_covered:,} of {self.n_sources:,} rows>"

    @property
    def ratio(self) -> float:
        """Antidotes per source row."""
        return len(self) / self.n_sources if self.n_sources else 0.0

    @property
    def coverage(self) -> float:
        """The share of source rows that have at least one."""
        return len(np.unique(self.source)) / self.n_sources if self.n_sources else 0.0

    @property
    def kept(self) -> float:
        """The share of the rows made that became antidotes."""
        return len(self) / self.n_raw if self.n_raw else 0.0

    @property
    def changed(self) -> dict[str, NDArray[np.bool_]]:
        """For each compared column, in which antidotes it differs from the source."""
        return changed_columns(self.sources, self.table)

    def append_to(self, X: Any, y: Any = None) -> tuple[Any, NDArray[Any]]:
        """Append the antidotes to their source rows, to train a model on both.

        Parameters
        ----------
        X : frame
            The source frame.
        y : array, optional
            Its labels; the label column of ``X`` by default.

        Returns
        -------
        frame, array
        """
        opened = open_frame(X)
        label = self.schema.roles.label
        if y is None and label not in opened.names:
            raise GenerationError("X has no label column. Give the labels as y.")
        labels = np.asarray(opened.data[str(label)].to_numpy() if y is None else y)
        if not len(opened) == len(labels) == self.n_sources:
            raise GenerationError(
                f"These antidotes come from {self.n_sources:,} rows; X has {len(opened):,}, and y {len(labels):,}. "
                "Give the rows and labels they come from."
            )
        return stack_frames(X, self.frame), np.concatenate([labels, self.y.astype(labels.dtype)])

    def to_parquet(self, path: str | Path) -> None:
        """Write the antidotes, with two more columns: ``source_row`` and ``antidote_round``.

        Parameters
        ----------
        path : str or Path
        """
        write_parquet(self.frame, path, {"source_row": self.source, "antidote_round": self.round})

    def summary(self) -> dict[str, Any]:
        """Return counts and shares as plain numbers.

        Returns
        -------
        dict
        """
        return {
            "n_antidotes": len(self),
            "n_sources": self.n_sources,
            "ratio": self.ratio,
            "coverage": self.coverage,
            "n_raw": self.n_raw,
            "kept": self.kept,
            "changed": {name: float(differs.mean()) for name, differs in self.changed.items()} if len(self) else {},
        }


def changed_columns(sources: CodedTable, table: CodedTable) -> dict[str, NDArray[np.bool_]]:
    """Return for each compared column in which rows two tables differ."""
    changed: dict[str, NDArray[np.bool_]] = {}
    for kind in KINDS:
        differs = getattr(table, kind) != getattr(sources, kind)
        changed |= dict(zip(table.names[kind], differs.T, strict=True))
    return changed


def comparability_ratio(sources: CodedTable, raw: CodedTable, rule: Comparability) -> dict[str, float]:
    """Return the share of raw rows that satisfy the rule, by kind of column and in all.

    Parameters
    ----------
    sources, raw : CodedTable
        Row ``i`` of one is the source of row ``i`` of the other.
    rule : Comparability

    Returns
    -------
    dict
        Shares of rows: "discrete", "ordinal", "continuous" and "sensitive" by the columns of that kind alone, 1 if
        there are none; "together" by the whole rule. NaN if there are no rows.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.generation import comparability_ratio
    >>> sources = CodedTable(sensitive=[[0], [0]], continuous=[[0.5], [0.5]])
    >>> raw = CodedTable(sensitive=[[1], [0]], continuous=[[0.9], [0.5]])
    >>> ratios = comparability_ratio(sources, raw, Comparability())
    >>> ratios["continuous"], ratios["sensitive"], ratios["together"]
    (0.5, 0.5, 0.0)
    """
    if len(sources) != len(raw):
        raise GenerationError(f"There are {len(raw):,} raw rows and {len(sources):,} sources. Give one source per row.")
    raw = raw.aligned_to(sources)
    alone = replace(rule, sensitive_differs="none")  # other columns are tested with the source's sensitive values
    met = {
        "discrete": alone.holds(sources, replace(sources, discrete=raw.discrete)),
        "ordinal": alone.holds(sources, replace(sources, ordinal=raw.ordinal)),
        "continuous": alone.holds(sources, replace(sources, continuous=raw.continuous)),
        "sensitive": rule.holds(sources, replace(sources, sensitive=raw.sensitive)),
        "together": rule.holds(sources, raw),
    }
    return {kind: float(held.mean()) if len(held) else float("nan") for kind, held in met.items()}


def copied_share(antidotes: Antidotes, X: Any) -> float:
    """Return the share of antidotes that equal a real row in all compared columns, sensitive ones included.

    Few copies indicate novelty, and privacy of the people in ``X``; many indicate a generator that only looks up its
    training rows, or a small table with few columns. Labels, row ids and ignored columns are not compared; of binned
    columns, the bin is.

    Parameters
    ----------
    antidotes : Antidotes
    X : frame
        Real rows, such as those the generator was fitted on.

    Returns
    -------
    float
        From 0 to 1; NaN if there are no antidotes.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import copied_share
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> copied_share(generator.generate(data.train.X, data.train.y), data.train.X)
    0.0
    """
    if not len(antidotes):
        return float("nan")
    return float(np.isin(row_keys(antidotes.table), row_keys(code_real(antidotes, X))).mean())


def code_real(antidotes: Antidotes, X: Any) -> CodedTable:
    """Encode real rows as the antidotes are; their labels do not matter here."""
    labels = np.full(len(open_frame(X)), antidotes.table.classes[0] if len(antidotes.table.classes) else 0)
    return antidotes.schema.encode(X, labels).aligned_to(antidotes.table)


def learning_efficacy(
    made: Antidotes | tuple[Any, Any],
    X_test: Any,
    y_test: Any = None,
    *,
    roles: Roles | None = None,
    estimator: Any = None,
) -> dict[str, float]:
    """Train on generated rows and test on real ones.

    Parameters
    ----------
    made : Antidotes, or a frame and its labels
        Training data. A frame of real rows shows what is attainable.
    X_test : frame
        Real rows that nothing was learned from.
    y_test : array, optional
        Their labels; the label column of ``X_test`` by default.
    roles : Roles, optional
        Column roles; needed with a frame only.
    estimator : classifier, optional
        A clone of it is trained on a frame of the compared columns; by default a logistic regression on one-hot and
        scaled columns.

    Returns
    -------
    dict
        "accuracy", "balanced_accuracy" and "f1": of the last label in order if there are two, else the macro average.

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
            f"There are {len(train):,} training rows with {len(set(labels.tolist())):,} distinct labels, and "
            f"{len(test):,} test rows. Give training rows with two labels or more, and some test rows."
        )
    if estimator is None:
        predicted = _regress(train, labels, test.aligned_to(train))
    else:
        names = [name for name in open_frame(frame).names if schema.roles.role_of(name) in (*CODED, "continuous")]
        model = clone(estimator).fit(open_frame(frame).select(names), labels)
        predicted = np.asarray(model.predict(open_frame(X_test).select(names)))
    classes = sorted({*labels.tolist(), *wanted.tolist()})
    how = {"average": "binary", "pos_label": classes[-1]} if len(classes) == 2 else {"average": "macro"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about predicted labels that no test row has
        balanced = float(balanced_accuracy_score(wanted, predicted))
    return {
        "accuracy": float(accuracy_score(wanted, predicted)),
        "balanced_accuracy": balanced,
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
    """Return the ROC AUC of a classifier that separates antidotes from real rows: 0.5 if it cannot, 1 if it always can.

    Both are drawn in equal numbers for each combination of sensitive values, so that these are not informative. A row
    and its antidotes are always on the same side of a split.

    Parameters
    ----------
    antidotes : Antidotes
    X : frame
        Their source rows.
    estimator : classifier, optional
        With ``predict_proba``, for arrays of codes and scaled numbers; boosted trees by default.
    n_folds : int
        Number of cross-validation folds.
    max_rows : int
        Maximum number of rows of each kind.
    random_state : int, optional
        Seed.

    Returns
    -------
    float

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

    check_count("n_folds", n_folds, or_none=False, least=2)
    check_count("max_rows", max_rows, or_none=False)
    real = code_real(antidotes, X)
    if len(real) != antidotes.n_sources:
        raise GenerationError(
            f"X has {len(real):,} rows, but the antidotes come from {antidotes.n_sources:,}. Give those rows."
        )
    seed = check_seed(random_state)
    made_rows, real_rows = _matched_draw(antidotes.table, real, max_rows, stream(seed, "detectability"))
    groups = np.concatenate([antidotes.source[made_rows], real_rows])
    if len(made_rows) < n_folds or len(np.unique(groups)) < n_folds:
        raise GenerationError(
            f"Only {len(made_rows):,} antidotes have real rows with the same sensitive values to compare with, too few "
            f"for {n_folds} folds. Generate more antidotes, or lower n_folds."
        )
    features = np.concatenate([_columns(antidotes.table[made_rows]), _columns(real[real_rows])])
    is_made = np.repeat([1, 0], [len(made_rows), len(real_rows)])
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=draw_seed(seed, "folds") % 2**32)
    model = _trees(antidotes.table, draw_seed(seed, "trees") % 2**32) if estimator is None else estimator
    with threadpool_limits(1, user_api="openmp"):  # for so few rows, one thread is fastest
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
    """Predict with a logistic regression on one-hot codes and scaled numbers."""
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
    """Return codes, then numbers, then whether numbers are missing, as one array."""
    gone = table.continuous == MISSING_VALUE
    amounts = np.where(gone, 0.0, table.continuous)
    return np.column_stack([*(getattr(table, kind) for kind in CODED), amounts, gone]).astype(np.float64)


def _trees(table: CodedTable, seed: int) -> Any:
    """Return a classifier that treats codes as categories, where it supports as many, and ranks as numbers."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    n_values = [0 if kind == "ordinal" else len(table.categories[name]) for kind in CODED for name in table.names[kind]]
    n_amounts = 2 * table.continuous.shape[1]
    is_category = np.array([0 < n <= MAX_CATEGORIES for n in n_values] + [False] * n_amounts, np.bool_)
    return HistGradientBoostingClassifier(categorical_features=is_category, random_state=seed)


def _matched_draw(
    made: CodedTable, real: CodedTable, max_rows: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw equal numbers of generated and real rows for each combination of sensitive values."""
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
