"""Scores of any origin → checked numbers, one row per person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter, suggest
from likewise._ranking import Levels, Ranking, rank_numbers
from likewise._threads import take_rows
from likewise.auditing._settings import Task
from likewise.auditing.question._task import Unnamed
from likewise.auditing.question._weights import Units, Weights, spread_between
from likewise.exceptions import LikewiseError, ScoreError
from likewise.schema import CodedTable
from likewise.schema._internal import open_frame, shield

Floats = NDArray[np.float64]
SUM_TOLERANCE: Final = 1e-3  # networks give float32 probabilities, which do not add up exactly
END_TOLERANCE: Final = 1e-6  # an average of probabilities may come out at 1.0000000000000002
LARGEST: Final = 1e45  # sixth powers of larger scores overflow
LISTED: Final = 6
ROUNDING: Final = 1e-12  # of a score: models give the same row two scores this near, if it stands at two places
LEAST_GAP: Final = 1e-9  # of the standard deviation: scores further apart than this differ, however large they are
ALIKE: Final = 16 * float(np.finfo(np.float64).eps)  # of a score: a standard deviation below it is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The score of each person, and the decision by it.

    Parameters
    ----------
    values : array of float, shape (n_people,) or (n_people, n_classes)
        The probability of the positive label; of each label, where there are more than two; or a predicted number.
    task : {"binary", "multiclass", "regression"}
    decisions : array of int, shape (n_people,), optional
        1 for yes and 0 for no; the likeliest label, where there are more than two.
    threshold : float, optional
        The decision is yes at or above it; below it, where low scores are favourable.
    scale : float
        What gaps are divided by: 1, except in regression.
    positive : int, optional
        The position of the positive label among the classes.
    is_labelled : bool
        Whether the people have labels, which two comparable people share.
    favours_low : bool
        Whether low scores are favourable, as where the positive label is a default: approve below the threshold.
    weights : array of float, shape (n_people,), optional
        How much each person counts; 0 leaves the person out. By default all count alike.
    clusters : array, shape (n_people,), optional
        Who may be alike in what is not seen, such as a branch. By default all are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing import Scores
    >>> Scores(np.array([0.2, 0.9]), "binary", decisions=np.array([0, 1]), threshold=0.5).spread
    0.35
    """

    values: NDArray[np.float64]
    task: Task
    decisions: NDArray[np.int64] | None = None
    threshold: float | None = None
    scale: float = 1.0
    positive: int | None = None
    is_labelled: bool = True
    favours_low: bool = False
    weights: NDArray[np.float64] | None = None
    clusters: NDArray[Any] | None = None
    weighing: Weights = field(init=False, repr=False)  # weights, also where all count alike
    units: Units = field(init=False, repr=False)  # who varies apart from others
    ranking: Ranking = field(init=False, repr=False)  # for all who need the scores in order

    def __post_init__(self) -> None:
        object.__setattr__(self, "weighing", Weights.of(self.weights, len(self.values)))
        object.__setattr__(self, "units", Units.of(self.clusters, len(self.values)))
        object.__setattr__(self, "ranking", Ranking(self.values))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def counting(self) -> NDArray[np.bool_]:
        """Who counts: everybody with a weight above 0."""
        return self.weighing.values > 0

    @property
    def n_people(self) -> int:
        """How many people count."""
        return int(self.counting.sum())

    def weigh_pairs(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return how much pairs count, the product of their two weights; None where all count alike."""
        return None if self.weights is None else self.weights[left] * self.weights[right]

    @property
    def are_decisions(self) -> bool:
        """Whether the scores are 0 and 1 only: of these there are no quantiles, ranks or curves."""
        if self.task != "binary" or self.values.ndim > 1:
            return False
        counting = self.values[self.counting]
        return bool(np.isin(counting, (0.0, 1.0)).all()) and len(np.unique(counting)) == 2

    @property
    def has_labels(self) -> bool:
        """Whether the two people of a pair share a label; amounts are not matched."""
        return self.is_labelled and self.task != "regression"

    @property
    def sign(self) -> int:
        """What differences of scores are multiplied by, to be negative where unfavourable."""
        return -1 if self.favours_low else 1

    def decide(self, score: float) -> bool | None:
        """Return whether somebody with this score is approved; None without a threshold."""
        return None if self.threshold is None else (score >= self.threshold) != self.favours_low

    @property
    def predicted(self) -> NDArray[np.int64] | None:
        """The predicted label of each person: 1 for the positive one, whether that is favourable or not."""
        return 1 - self.decisions if self.decisions is not None and self.favours_low else self.decisions

    @property
    def spread(self) -> float:
        """The standard deviation of the scores, in the unit of the gaps."""
        return spread_between(self.values, self.weighing) / self.scale


def ask_scores(given: Any, frame: Any, table: CodedTable, positive: Any = None) -> tuple[Any, str]:
    """Return the unchecked scores of a frame's rows, and the subject of a sentence about them.

    ``given`` is an array, the name of a column, a model or a function; of two labels, a model is asked for the
    probability of ``positive``.
    """
    if isinstance(given, str):
        found, origin = _column_scores(given, frame), f"The scores of column '{given}'"
    elif hasattr(given, "predict_proba") or hasattr(given, "predict"):
        found, origin = _model_scores(given, frame, table, positive), f"The scores of {type(given).__name__}"
    elif callable(given):
        found, origin = _called(given, frame, "The function given as scores"), "The scores of the function"
    else:
        found, origin = given, "The scores"
    return _take_by_name(found, origin, table.classes.tolist(), positive), origin


def listed(values: list[Any]) -> str:
    """Return the first of some values as text."""
    return ", ".join(map(repr, values[:LISTED])) + (", ..." if len(values) > LISTED else "")


def _class_names(found: Any) -> list[Any] | None:
    """Return what the columns of a frame of scores are called; None of arrays, and where they are only numbered."""
    names = list(getattr(found, "column_names", getattr(found, "columns", [])))
    numbered = [list(range(len(names))), [f"column_{place}" for place in range(len(names))]]
    return names if len(names) > 1 and names not in numbered else None


def _take_by_name(found: Any, origin: str, labels: list[Any], positive: Any) -> Any:
    """Put columns that are called by labels into the order of these; of others there is no order to trust."""
    names = _class_names(found)
    if names is None or (positive is None and len(labels) == 1):  # amounts have no columns by label
        return found
    wanted = labels if len(labels) > 1 else [positive]
    texts = list(map(str, names))
    if sorted(texts) != sorted(map(str, wanted)) and (len(labels) > 1 or texts.count(str(positive)) != 1):
        asked = "no label is known to be positive" if isinstance(positive, Unnamed) else f"labels are {listed(wanted)}"
        raise ScoreError(
            f"{origin} have the columns {listed(names)}, but {asked}. Name each column by its label, or give "
            "an array in the order of the labels."
        )
    columns = np.asarray(found)[:, [texts.index(str(label)) for label in wanted]]
    return columns if len(wanted) > 1 else columns[:, 0]


def interpret_scores(
    values: Floats,
    table: CodedTable,
    *,
    task: Task,
    positive: int | None,
    threshold: float | None,
    approval_rate: float | None,
    scale: float,
    is_labelled: bool = True,
    favours_low: bool = False,
    weights: Floats | None = None,
    clusters: NDArray[Any] | None = None,
) -> Scores:
    """Check that the numbers are what the task calls for, and derive the decisions."""
    if task == "multiclass":
        _refuse_no_probabilities(values, table)
        columns = [join_rounded(column) for column in np.clip(values, 0.0, 1.0).T]
        values = np.column_stack([column for column, _ in columns])
        scores = Scores(values, task, values.argmax(axis=1), weights=weights, clusters=clusters)
        scores.ranking.take(levels for _, levels in columns)
        return scores
    if values.ndim == 2:
        if task == "regression" or values.shape[1] > 2:
            n_columns = values.shape[1]
            raise ScoreError(f"The scores have {n_columns} columns; for a {task} task give one number per person.")
        values = np.ascontiguousarray(values[:, _column_of(positive, table, values)])
    if task == "binary":
        values = _keep_probabilities(values)
        threshold = 0.5 if threshold is None else threshold
    values, levels = join_rounded(values)
    if approval_rate is not None and favours_low:  # the lowest are approved, below the next score that is not
        threshold = float(np.nextafter(-_threshold_for(-values, approval_rate, weights), np.inf))
    elif approval_rate is not None:
        threshold = _threshold_for(values, approval_rate, weights)
    decisions = None if threshold is None else ((values >= threshold) != favours_low).astype(np.int8)
    who = (is_labelled, favours_low, weights, clusters)
    scores = Scores(values, task, decisions, threshold, scale, positive, *who)
    scores.ranking.take([levels])
    return scores


def _column_scores(name: str, frame: Any) -> Any:
    opened = open_frame(frame)
    if name not in opened.names:
        raise ScoreError(
            f"There is no column '{name}' to take scores from.{suggest(name, opened.names)} "
            "Name another, or give an array, a model or a function."
        )
    return opened.values(name)


def _model_scores(model: Any, frame: Any, table: CodedTable, positive: Any) -> Any:
    """Show a model the columns it was fitted on, in their order, and take the probability of the positive label."""
    name = type(model).__name__
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None:
        frame = select_columns(frame, [str(column) for column in wanted], name)
    classes = getattr(model, "classes_", None)
    known = [] if classes is None else list(classes.tolist() if hasattr(classes, "tolist") else classes)
    known = [] if any(np.ndim(label) for label in known) else known  # of several outputs, each has its own
    if len(known) > 2 and isinstance(positive, Unnamed):
        raise ScoreError(
            f"The model knows {len(known):,} labels, and there are no labels in the table. Audit one score per person: "
            "the probability of one label, as an array."
        )
    if isinstance(positive, Unnamed):
        positive = known[-1] if known else None
    elif positive not in known:  # the command line knows no types without labels
        positive = next((label for label in known if str(label) == positive), positive)
    if len(known) == 2 and positive is not None and positive not in known:
        raise ScoreError(f"The model knows the labels {known}, not the positive label {positive!r}. Check the labels.")
    if not hasattr(model, "predict_proba"):
        predicted = _called(model.predict, frame, name)
        # a classifier says labels, of whatever type: yes is that it says the positive one
        return predicted if positive not in known else np.asarray(predicted) == positive
    found = _called(model.predict_proba, frame, name)
    if not known or _count_columns(found) != len(known) or _class_names(found) is not None:
        return found
    found = np.asarray(found)
    if len(known) == 2 and positive is not None:
        return found[:, known.index(positive)]
    labels = table.classes.tolist()
    strange = [label for label in labels if label not in known]
    if strange:
        raise ScoreError(
            f"The model knows the labels {known}, not {strange[0]!r}, which the table has. Check the labels."
        )
    if len(known) > len(labels):
        absent = [label for label in known if label not in labels]
        raise ScoreError(
            f"The model also knows the labels {absent[:LISTED]}, which no row has. Audit rows of all labels that it "
            "knows."
        )
    return found[:, [known.index(label) for label in labels]]


def select_columns(frame: Any, wanted: list[str], who: str) -> Any:
    """Pick the columns a model asks for, in its order; sensitive columns it never saw stay out."""
    opened = open_frame(frame)
    absent = [column for column in wanted if column not in opened.names]
    if absent:
        listed = ", ".join(f"'{column}'" for column in absent[:LISTED])
        more = f" and {len(absent) - LISTED:,} more" if len(absent) > LISTED else ""
        raise ScoreError(
            f"{who} was fitted on columns that the table lacks: {listed}{more}.{suggest(absent[0], opened.names)} "
            "Give it the table it was made for."
        )
    return opened.select(wanted)


def _called(function: Callable[..., Any], frame: Any, who: str) -> Any:
    """Run what the user gave, and say so if it fails: the fault is between it and the table."""
    try:
        return function(shield(frame))
    except LikewiseError:
        raise
    except Exception as error:
        if any("NotFitted" in kind.__name__ for kind in type(error).__mro__):  # other libraries have one of their own
            raise ScoreError(
                f"{who} is not fitted, so it cannot score anybody. Fit it first, then audit it."
            ) from error
        reason = str(error).strip().splitlines()
        raise ScoreError(
            f"{who} cannot score this table: {type(error).__name__}{': ' + _end(reason[0]) if reason else ''}. "
            "Check that its columns are those the model was made for."
        ) from error


def _end(reason: str) -> str:
    return reason[:300].rstrip(" .")  # the sentence that quotes it has a full stop


def _count_columns(found: Any) -> int | None:
    """Return how many columns a table of numbers has; None if it is none."""
    try:
        shape = np.shape(found)
    except ValueError:  # rows of different lengths
        return None
    return shape[1] if len(shape) == 2 else None


def _column_of(positive: int | None, table: CodedTable, values: NDArray[np.float64]) -> int:
    """Find the column of the positive label: columns stand in the order of the labels."""
    sums = values.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong):
        raise ScoreError(
            f"The two scores of row {wrong[0]:,} (counted from 0) add up to {sums[wrong[0]]:.6g}, not to 1, so they "
            "are not the probabilities of two labels. Give one number per person."
        )
    labels = table.classes.tolist()
    if len(labels) == 2 and positive is not None:
        return positive
    if labels[0] in (0, 1):  # all people have this one label, and the code of a label says nothing of the order
        return 1 if bool(labels[0]) == (positive == 0) else 0
    raise ScoreError(
        f"Every row has the label {labels[0]!r}, so it cannot be told which of the two columns of scores is its "
        "probability. Give one number per person: the probability of the positive label."
    )


def check_scores(found: Any, origin: str, n_people: int) -> NDArray[np.float64]:
    """Return scores as floats; refuse all but one finite number per person, or per person and class."""
    try:
        if hasattr(found, "to_pylist") and hasattr(found, "type"):  # Arrow's arrays, of any type and with gaps
            found = found.to_numpy(zero_copy_only=False)
        if hasattr(found, "to_numpy"):  # series and frames
            found = found.to_numpy()
        if hasattr(found, "detach"):  # tensors, also those with gradients
            found = found.detach().cpu()
        _refuse_other_arrays(found, origin)
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        if isinstance(error, ScoreError):
            raise
        if isinstance(found, str) or any(isinstance(one, str) for one in np.asarray(found, dtype=object).flat[:1]):
            raise ScoreError(
                f"{origin} are not numbers but text. Give one probability per person, or the model itself; of "
                f"decisions in words, name the favourable one with {parameter('favourable')}."
            ) from None
        raise ScoreError(f"{origin} are not numbers. Give one probability per person.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise ScoreError(
            f"{origin} have shape {values.shape}. Give one number per person, or one per person and class."
        )
    if len(values) != n_people:
        raise ScoreError(f"{origin} are {len(values):,}, but the table has {n_people:,} rows. Give one per row.")
    largest = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))  # NaN where there is one
    if not largest <= LARGEST:
        _refuse_large(values, largest, origin)
    return np.ascontiguousarray(values)


def _refuse_large(values: NDArray[np.float64], largest: float, origin: str) -> None:
    """Refuse scores that are not finite, or not below a limit."""
    n_people = len(values)
    unknown = np.flatnonzero(~np.isfinite(values if values.ndim == 1 else values.sum(axis=1)))
    if len(unknown):
        raise ScoreError(
            f"{origin} are NaN or infinite in {len(unknown):,} of {n_people:,} rows, first in row {unknown[0]:,} "
            "(counted from 0). Score every row, or leave those out."
        )
    raise ScoreError(f"{origin} are as large as {largest:.3g}. Give them in a larger unit, below {LARGEST:g}.")


def _refuse_other_arrays(found: Any, origin: str) -> None:
    """Refuse what would lose its mask, or half of each number."""
    if np.ma.isMaskedArray(found) and np.ma.getmaskarray(found).any():
        n_masked = int(np.ma.getmaskarray(found).sum())
        raise ScoreError(f"{origin} are masked in {n_masked:,} places. Score every row, or leave those out.")
    if np.iscomplexobj(found):
        raise ScoreError(f"{origin} are complex numbers. Give one real number per person.")


def _keep_probabilities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if low < -END_TOLERANCE or high > 1 + END_TOLERANCE:
        raise ScoreError(
            f"The scores run from {low:.6g} to {high:.6g}, but probabilities lie from 0 to 1. Of points (deciles) give "
            f"the share of the range, (score - {low:.6g}) / {high - low:.6g}, or the rank; of log-odds, probabilities."
        )
    return values if low >= 0 and high <= 1 else np.clip(values, 0.0, 1.0)


def _refuse_no_probabilities(values: NDArray[np.float64], table: CodedTable) -> None:
    n_classes = len(table.classes)
    if values.ndim != 2 or values.shape[1] != n_classes:
        shape = "one column" if values.ndim == 1 else f"{values.shape[1]:,} columns"
        raise ScoreError(
            f"There are {n_classes:,} labels ({listed(table.classes.tolist())}) and {shape} of scores. Give one "
            "column of probabilities a label, in this order; for predicted amounts use "
            f"{parameter('task', 'regression')}."
        )
    _keep_probabilities(values)
    sums = values.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong):
        raise ScoreError(
            f"The probabilities of row {wrong[0]:,} (counted from 0) add up to {sums[wrong[0]]:.6g}, not to 1, and so "
            f"do those of {len(wrong) - 1:,} more. Give the probabilities of all labels."
        )


def _threshold_for(values: Floats, approval_rate: float, weights: Floats | None = None) -> float:
    """Find the score from which on the share approved is nearest to the wanted one, the larger of two as near.

    People with equal scores are treated alike; somebody is approved, unless nobody should be.
    """
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    distinct, places = np.unique(values, return_inverse=True)
    if not approval_rate:
        return float(np.nextafter(distinct[-1], np.inf))
    from_there_on = np.cumsum(np.bincount(places, weights)[::-1])[::-1]
    away = np.abs(from_there_on / from_there_on[0] - approval_rate)
    return float(distinct[np.flatnonzero(away <= away.min() + ROUNDING)[0]])


def join_rounded(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], Levels]:
    """Make scores equal that differ by rounding, which would part equal people at a threshold; also rank them."""
    joined = np.add(values, 0.0, order="C")  # of a column, each thread that takes some would copy all; -0 is 0
    ranks, distinct, below = rank_numbers(joined)
    if _join_near(distinct, joined):
        joined = take_rows(distinct, ranks)
        is_new = np.append(True, distinct[1:] != distinct[:-1])
        ranks, below = take_rows(np.cumsum(is_new, dtype=np.int32) - np.int32(1), ranks), below[np.append(is_new, True)]
    return joined, Levels(ranks, below)


def _join_near(distinct: NDArray[np.float64], values: NDArray[np.float64]) -> bool:
    """Make those of the ascending numbers equal that differ by rounding among these values; say whether there are any.

    Rounding reaches as far as it does among large numbers, but at an offset of 1e13 it is no excuse for a gap of 10.
    """
    reach = ROUNDING * np.abs(distinct)
    near = np.flatnonzero(np.diff(distinct) <= reach[1:])
    if not len(near):
        return False
    spread = float((values - distinct[len(distinct) // 2]).std())
    if spread > ALIKE * float(np.abs(distinct[[0, -1]]).max()):
        reach = np.minimum(reach, LEAST_GAP * spread)
        near = near[distinct[near + 1] - distinct[near] <= reach[near + 1]]
    for run in np.split(near, np.flatnonzero(np.diff(near) > 1) + 1) if len(near) else ():
        some = slice(run[0], run[-1] + 2)
        _join_run(distinct[some], reach[some])
    return bool(len(near))


def _join_run(run: NDArray[np.float64], reach: NDArray[np.float64]) -> None:
    """Make scores of a run equal to the last within reach of its first; what lies further starts anew."""
    while len(run):
        n = int(np.searchsorted(run, run[0] + reach[-1], side="right"))
        run[:n] = run[n - 1]
        run, reach = run[n:], reach[n:]
