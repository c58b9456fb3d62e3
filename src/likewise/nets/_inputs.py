"""Network inputs: scaled numbers, and one indicator per category."""

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
NONE: Final = -1  # code of a category that training did not have: no indicator is on


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Rows in little memory: scaled numbers, and one code per group of indicators (-1 where none is on)."""

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
        """Number of inputs of the network."""
        return int(self.numbers.shape[1]) + sum(self.sizes)

    def dense(self) -> NDArray[np.float32]:
        """Return all inputs, with every indicator written out."""
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
    """Encode frames as network inputs, with the categories and ranges of the training frame.

    Continuous and ordinal columns are scaled numbers; every other column becomes indicators, one per training category.
    A missing number that is kept apart is 0 and has an indicator. ``shift`` is subtracted from the numbers in [0, 1],
    which are then divided by ``scale``.
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
        """Learn categories and ranges; without roles, they are inferred from the values.

        Sensitive and matched columns are encoded like discrete ones, binned columns like continuous ones. Ignored
        columns, the label and the row id are left out. ``scaling`` maps the training range of a number to [0, 1]
        ("range"), its mean to 0 and standard deviation to 1 ("deviation"), or leaves numbers as they are ("none").
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
        """Names of the inputs, in order."""
        return (*self._number_names, *(name for _, names in self.groups for name in names))

    @property
    def _number_names(self) -> tuple[str, ...]:
        return (*self.schema.roles.continuous, *self.schema.roles.ordinal)

    def positions(self, column: str) -> NDArray[np.intp]:
        """Return the positions of the inputs that encode a column."""
        owners = [*self._number_names, *(owner for owner, names in self.groups for _ in names)]
        return np.flatnonzero([owner == column for owner in owners])

    def encode(self, frame: Any) -> Inputs:
        """Encode a frame that has the columns of the training frame."""
        numbers, absent, codes = self._read(frame)
        scaled = np.where(absent, 0.0, (numbers - self.shift) / self.scale)
        sizes = tuple(len(names) for _, names in self.groups)
        is_apart = [self.schema.roles.missing_in(name) == "apart" for name in self._number_names]
        codes = np.hstack([codes, np.where(absent[:, is_apart], 0, NONE).astype(np.int32)])
        codes[codes >= np.array(sizes, np.int32)] = NONE
        return Inputs(scaled.astype(np.float32), np.ascontiguousarray(codes), sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {"schema": self.schema.to_json(), "shift": self.shift.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InputCoding:
        """Undo :meth:`to_dict`."""
        return cls(Schema.from_json(data["schema"]), np.array(data["shift"]), np.array(data["scale"]))

    def _undone_scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shift and scale that undo the scaling of the schema."""
        ranges, categories = self.schema.ranges, self.schema.categories
        ends = [ranges[name] for name in self.schema.roles.continuous]
        ends += [(0.0, float(len(categories[name]) - 1)) for name in self.schema.roles.ordinal]
        low, high = np.array(ends, np.float64).reshape(-1, 2).T
        width = np.where(high > low, high - low, 1.0)
        return -low / width, 1.0 / width

    def _read(self, frame: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int32]]:
        """Return numbers and ranks in [0, 1], where they are missing, and the codes of categories."""
        table = self.schema.encode(frame, np.zeros(len(open_frame(frame)), np.int64))  # labels do not matter
        last = [max(len(self.schema.categories[name]) - 1, 1) for name in self.schema.roles.ordinal]
        numbers = np.hstack([table.continuous, table.ordinal / np.array(last, np.float64)])
        absent = np.hstack([table.continuous == MISSING_VALUE, table.ordinal == MISSING_RANK])
        return numbers, absent, table.discrete


def _input_roles(roles: Roles, frame: Any) -> Roles:
    """Return the roles as a network needs them: every category discrete, sensitive or not."""
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


LARGEST: Final = 2.0**53  # whole numbers beyond this are ids, which float64 cannot distinguish


def guess_roles(frame: Any, **given: Any) -> Roles:
    """Infer a role for every column that has none; numbers are kept, also those that look like ids.

    A model may learn from whole numbers that enumerate the rows, and must not depend on which rows it is fitted to.
    """
    opened, asked = open_frame(frame), Roles(ignored=given.pop("ignored", ())).ignored
    given.setdefault("missing", "refuse")  # a network takes numbers only
    guessed = Roles.infer(frame, **given, ignored=[name for name in asked if name in opened.names])
    left_out = [opened.column(name) for name in guessed.ignored if name in guessed.reasons]  # by us, not by the caller
    numbers = [
        one.name
        for one in left_out
        if one.dtype.family == "numbers" and not one.is_empty and (np.abs(one.present().astype(float)) < LARGEST).all()
    ]
    ignored = dict.fromkeys((*asked, *(name for name in guessed.ignored if name not in numbers)))
    return replace(guessed, continuous=(*guessed.continuous, *numbers), ignored=tuple(ignored))
