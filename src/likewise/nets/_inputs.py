"""What networks see of people: numbers, and an indicator for each category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice
from likewise.schema import Roles, Schema
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE, open_frame

SCALINGS: Final = ("range", "deviation", "none")
NONE: Final = -1  # the code of a category that training did not have: no indicator is on


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Hold rows in little memory: numbers, and for each group of indicators the one that is on.

    Parameters
    ----------
    numbers : array of float32, shape (n_rows, n_numbers)
    codes : array of int32, shape (n_rows, n_groups)
        -1 where none is on.
    sizes : tuple of int
        How many indicators each group has.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.nets import Inputs
    >>> Inputs(np.array([[0.5]], np.float32), np.array([[2, -1]], np.int32), (3, 2)).dense()
    array([[0.5, 0. , 0. , 1. , 0. , 0. ]], dtype=float32)
    """

    numbers: NDArray[np.float32]
    codes: NDArray[np.int32]
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> Inputs:
        """Take rows by position, slice or mask."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    @property
    def n_inputs(self) -> int:
        """How many inputs the network has."""
        return int(self.numbers.shape[1]) + sum(self.sizes)

    def dense(self) -> NDArray[np.float32]:
        """Write every indicator out."""
        whole = np.zeros((len(self), self.n_inputs), np.float32)
        n_numbers = self.numbers.shape[1]
        whole[:, :n_numbers] = self.numbers
        starts = n_numbers + np.cumsum([0, *self.sizes])
        for start, codes in zip(starts, self.codes.T, strict=False):
            rows = np.flatnonzero(codes != NONE)
            whole[rows, start + codes[rows]] = 1.0
        return whole


@dataclass(frozen=True, slots=True, eq=False)
class InputCoding:
    """Code frames of people for a network, as the training frame taught.

    Continuous and ordinal columns are numbers, scaled; every other column becomes indicators, one for each category
    that training had. A missing number that is held apart is 0, and has an indicator of its own.

    Parameters
    ----------
    schema : Schema
    shift, scale : array of float
        Subtracted from the numbers in [0, 1], which are then divided by it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.nets import InputCoding
    >>> people = pa.table({"job": ["cook", "smith", "cook"], "age": [20, 30, 40]})
    >>> coding = InputCoding.learn(people)
    >>> coding.names
    ('age', 'job=cook', 'job=smith')
    >>> coding.encode(people).dense().tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """

    schema: Schema
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = field(init=False, repr=False)  # columns and their indicators

    def __post_init__(self) -> None:
        roles, categories = self.schema.roles, self.schema.categories
        indicators = [(name, tuple(f"{name}={value}" for value in categories[name])) for name in roles.discrete]
        apart = [(name, (f"{name} missing",)) for name in self._number_names if roles.missing_in(name) == "apart"]
        object.__setattr__(self, "groups", (*indicators, *apart))

    @classmethod
    def learn(cls, frame: Any, roles: Roles | None = None, scaling: str = "range") -> InputCoding:
        """Learn categories and ranges.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
        roles : Roles, optional
            What the columns are; guessed from what they hold, if not given. Sensitive and matched columns are coded
            like discrete ones, and binned ones like continuous ones. Ignored columns, the label and the row id are
            left out.
        scaling : {"range", "deviation", "none"}
            Whether the training range of a number becomes [0, 1], or its mean 0 and its standard deviation 1, or
            numbers stay as they are, and ordered categories count 0, 1, 2 and so on.

        Returns
        -------
        InputCoding
        """
        check_choice("scaling", scaling, SCALINGS)
        schema = _input_roles(Roles.infer(frame) if roles is None else roles, frame).learn(frame)
        n_numbers = len(schema.roles.continuous) + len(schema.roles.ordinal)
        coding = cls(schema, np.zeros(n_numbers), np.ones(n_numbers))
        if scaling == "range":
            return coding
        if scaling == "none":
            return cls(schema, *coding._undone_scaling())
        numbers, absent, _ = coding._read(frame)
        present = np.ma.masked_array(numbers, absent)
        deviation = present.std(axis=0).filled(0.0)
        return cls(schema, present.mean(axis=0).filled(0.0), np.where(deviation > 0, deviation, 1.0))

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs, in order."""
        return (*self._number_names, *(name for _, names in self.groups for name in names))

    @property
    def _number_names(self) -> tuple[str, ...]:
        return (*self.schema.roles.continuous, *self.schema.roles.ordinal)

    def positions(self, column: str) -> NDArray[np.intp]:
        """Tell which inputs a column of the frame became."""
        owners = [*self._number_names, *(owner for owner, names in self.groups for _ in names)]
        return np.flatnonzero([owner == column for owner in owners])

    def encode(self, frame: Any) -> Inputs:
        """Code a frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            With the columns of the training frame.

        Returns
        -------
        Inputs
        """
        numbers, absent, codes = self._read(frame)
        scaled = np.where(absent, 0.0, (numbers - self.shift) / self.scale)
        sizes = tuple(len(names) for _, names in self.groups)
        is_apart = [self.schema.roles.missing_in(name) == "apart" for name in self._number_names]
        codes = np.hstack([codes, np.where(absent[:, is_apart], 0, NONE).astype(np.int32)])
        codes[codes >= np.array(sizes, np.int32)] = NONE
        return Inputs(scaled.astype(np.float32), np.ascontiguousarray(codes), sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; it is JSON."""
        return {"schema": self.schema.to_json(), "shift": self.shift.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InputCoding:
        """Undo :meth:`to_dict`."""
        return cls(Schema.from_json(data["schema"]), np.array(data["shift"]), np.array(data["scale"]))

    def _undone_scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the shift and the scale that take the schema's own back."""
        ranges, categories = self.schema.ranges, self.schema.categories
        ends = [ranges[name] for name in self.schema.roles.continuous]
        ends += [(0.0, float(len(categories[name]) - 1)) for name in self.schema.roles.ordinal]
        low, high = np.array(ends, np.float64).reshape(-1, 2).T
        width = np.where(high > low, high - low, 1.0)
        return -low / width, 1.0 / width

    def _read(self, frame: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int32]]:
        """Give continuous values and ranks in [0, 1], say where there are none, and give the codes of categories."""
        table = self.schema.encode(frame, np.zeros(len(open_frame(frame)), np.int64))  # labels play no part
        last = [max(len(self.schema.categories[name]) - 1, 1) for name in self.schema.roles.ordinal]
        numbers = np.hstack([table.continuous, table.ordinal / np.array(last, np.float64)])
        absent = np.hstack([table.continuous == MISSING_VALUE, table.ordinal == MISSING_RANK])
        return numbers, absent, table.discrete


def _input_roles(roles: Roles, frame: Any) -> Roles:
    """See as categories all that are; which columns are sensitive is for others to know."""
    opened = open_frame(frame)
    names = opened.names
    left_out = [name for name in names if roles.role_of(name) in ("ignored", "label", "row_id")]
    binned = tuple(roles.bins)
    whole = (*roles.sensitive, *roles.discrete, *roles.matched)
    missing = {name: roles.missing_in(name) for name in (*roles.continuous, *roles.ordinal)}
    missing |= {name: "apart" for name in binned if opened.column(name).array.null_count}  # a bin of their own
    return Roles(
        discrete=[name for name in whole if name not in binned],
        continuous=[*roles.continuous, *binned],
        ordinal=roles.ordinal,
        ignored=left_out,
        missing=missing,
    )
