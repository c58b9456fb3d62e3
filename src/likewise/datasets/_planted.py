"""The planted data set: people whose comparable pairs are known, and a lender whose unfairness is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.datasets._dataset import Dataset, FrameKind, Split, make_frames
from likewise.datasets._loans import (
    CONTINUOUS,
    DISCRETE,
    HARMED_GROUP,
    SENSITIVE,
    STEPS_A_LEVEL,
    Floats,
    Integers,
    Loans,
    draw_cells,
    draw_kinds,
    draw_loans,
    log_odds,
    probability,
)
from likewise.exceptions import SchemaError
from likewise.schema import Roles

FEWEST_ROWS: Final = 8
MOST_ROWS: Final = 2_000_000  # the grid has room for more, but its middle would no longer be the fuller part
DEFAULT_ROWS: Final = 2_000
GAP: Final = 0.1
LABEL: Final = "repaid"
LABEL_MEANING: Final = "paid the loan back"
LICENCE: Final = "made up by likewise; no restrictions"
CITATION: Final = "None needed: no person in it exists."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlantedPairs:
    """Name the comparable pairs that were planted, in the order in which they are mined.

    Parameters
    ----------
    left, right : array of int
        Row positions, ``left < right``.

    Examples
    --------
    >>> from likewise.datasets import load_dataset
    >>> pairs = load_dataset("planted", n_rows=100).train.pairs
    >>> bool((pairs.left < pairs.right).all())
    True
    """

    left: Integers
    right: Integers

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"PlantedPairs({len(self):,} pairs)"


@dataclass(frozen=True, eq=False, repr=False)
class PlantedSplit(Split):
    """Hold people, what became of them, and which of them are comparable.

    Parameters
    ----------
    X, y
        As in :class:`Split`.
    pairs : PlantedPairs
        All pairs that the data set's rule finds in this split.

    Examples
    --------
    >>> from likewise.datasets import load_dataset
    >>> split = load_dataset("planted", n_rows=100).test
    >>> 0 < len(split.pairs) < len(split)
    True
    """

    pairs: PlantedPairs


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlantedDataset(Dataset):
    """Hold a made-up table of loans whose comparable pairs and whose unfairness are known.

    About a third of its people have no like. Planted among them are comparable people (two or three who differ in
    group, gender or both, in at most one of ``purpose`` and ``region``, and a little in the continuous columns), and
    people who only look comparable (equal in group and gender, unequal in label, or two changes apart). Nobody in one
    split is comparable to anybody in the other. The label follows the features. For people who have no like it was
    also harder on the group "green": that is the history a model can learn to repeat.

    Parameters
    ----------
    train, test : PlantedSplit
        With the comparable pairs of each.
    gap : float
        How far :meth:`scores` sets apart two comparable people of whom one is in the group "green".

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.datasets import load_dataset
    >>> dataset = load_dataset("planted", n_rows=1000)
    >>> scores, pairs = dataset.scores(dataset.test.X), dataset.test.pairs
    >>> gaps = np.abs(scores[pairs.left] - scores[pairs.right])
    >>> np.unique(gaps.round(9)).tolist()
    [0.0, 0.1]
    """

    train: PlantedSplit
    test: PlantedSplit
    gap: float = GAP

    def scores(self, X: Any, *, gap: float | None = None) -> Floats:
        """Score people as an unfair lender would: alike people alike, but the group "green" lower by the gap.

        Parameters
        ----------
        X : frame
            People, with the columns of this data set.
        gap : float, optional
            Another gap than the data set's: from 0, no unfairness, to 1.

        Returns
        -------
        array of float
            From 0 to 1; the higher, the likelier the lender says yes.

        Examples
        --------
        >>> from likewise.datasets import load_dataset
        >>> dataset = load_dataset("planted", n_rows=100)
        >>> dataset.scores(dataset.test.X).shape
        (25,)
        """
        gap = self.gap if gap is None else gap
        _check_gap(gap)
        people = _open(X)
        levels = np.column_stack([_levels(people, name) for name in CONTINUOUS])
        odds = log_odds(levels, _codes(people, "employment"), _codes(people, "housing"))
        spared = _codes(people, "group") != SENSITIVE["group"].index(HARMED_GROUP)
        scores: Floats = gap * spared + (1 - gap) * probability(odds)
        return scores


def make_planted(*, n_rows: int, seed: int, frame: FrameKind) -> PlantedDataset:
    """Make the table: a quarter of the rows for testing, no case in both splits."""
    if not FEWEST_ROWS <= n_rows <= MOST_ROWS:
        raise ValueError(f"n_rows is {n_rows:,}; the planted data set can have {FEWEST_ROWS} to {MOST_ROWS:,} rows.")
    random = np.random.default_rng(np.random.SeedSequence([seed, n_rows]))
    n_test = n_rows // 4
    train_kinds = draw_kinds(random, n_rows - n_test, n_alone_first=2)  # the two who span the range
    test_kinds = draw_kinds(random, n_test, n_alone_first=0)
    cells = draw_cells(random, len(train_kinds) + len(test_kinds))
    train = draw_loans(random, train_kinds, cells[: len(train_kinds)])
    test = draw_loans(random, test_kinds, cells[len(train_kinds) :])
    return PlantedDataset(
        name="planted",
        train=_make_split(train, frame),
        test=_make_split(test, frame),
        roles=Roles(sensitive=tuple(SENSITIVE), discrete=tuple(DISCRETE), continuous=tuple(CONTINUOUS), label=LABEL),
        rule=Comparability(max_discrete_changes=1, max_continuous_shift=0.025),
        label_meaning=LABEL_MEANING,
        citation=CITATION,
        licence=LICENCE,
        checksum=_hash_loans(train, test),
        source="made",
    )


def _make_split(loans: Loans, frame: FrameKind) -> PlantedSplit:
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for names, codes in ((SENSITIVE, loans.sensitive), (DISCRETE, loans.discrete)):
        for (name, values), column in zip(names.items(), codes.T, strict=True):
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(column), pa.array(values)).dictionary_decode()
    for (name, (start, step)), steps in zip(CONTINUOUS.items(), loans.steps.T, strict=True):
        columns[name] = pa.array(start + step * steps)
    table = pa.table(columns | {LABEL: pa.array(loans.labels)})
    return PlantedSplit(*make_frames(table, LABEL, frame), pairs=PlantedPairs(loans.left, loans.right))


def _hash_loans(*splits: Loans) -> str:
    digest = hashlib.sha256()
    for loans in splits:
        for array in (loans.sensitive, loans.discrete, loans.steps, loans.labels):
            digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def _check_gap(gap: object) -> None:
    if not isinstance(gap, int | float | np.number) or not 0 <= gap <= 1:
        raise ValueError(f"gap is {gap!r}; give a number from 0 to 1.")


def _open(frame: Any) -> nw.DataFrame[Any]:
    try:
        people: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("X has several columns of one name. Give each its own name.") from None
    except TypeError:
        raise SchemaError(f"X is a {type(frame).__name__}. Give a pandas, polars or pyarrow frame.") from None
    absent = [name for name in ("group", "employment", "housing", *CONTINUOUS) if name not in people.columns]
    if absent:
        raise SchemaError(f"The frame lacks {absent}, which the score looks at. Give rows of the planted data set.")
    return people


def _levels(people: nw.DataFrame[Any], column: str) -> Floats:
    start, step = CONTINUOUS[column]
    try:
        numbers = people[column].to_numpy().astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise SchemaError(f"Column '{column}' holds values that are not numbers. Give rows of the planted data set.")
    return np.floor((numbers - start) / step / STEPS_A_LEVEL)


def _codes(people: nw.DataFrame[Any], column: str) -> NDArray[np.int64]:
    values = {value: code for code, value in enumerate((SENSITIVE | DISCRETE)[column])}
    cells = people[column].to_list()
    unknown = sorted("a missing value" if cell is None else repr(cell) for cell in set(cells) - set(values))
    if unknown:
        raise SchemaError(f"Column '{column}' holds {unknown[0]}; the score knows {', '.join(values)}.")
    return np.fromiter((values[cell] for cell in cells), np.int64, len(cells))
