"""A key per row from its id, and random numbers that depend on the key alone."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from math import prod
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise._random import STEP, Keys, draw_seed, stir
from likewise.exceptions import GenerationError
from likewise.schema._internal import open_frame

N_BITS: Final = 53  # of a float64


def fold(keys: Keys, more: Any) -> Keys:
    """Return keys that also depend on a number, one for all rows or one per row."""
    other = np.asarray(more).astype(np.int64, copy=False).view(np.uint64) + np.uint64(STEP)
    return stir(keys ^ stir(np.atleast_1d(other)))


def fold_word(keys: Keys, word: str) -> Keys:
    """Return keys for one purpose."""
    return fold(keys, crc32(word.encode()))


def ask_keys(keys: Keys, number: int | NDArray[np.int64], wanted: NDArray[np.int32]) -> Keys:
    """Return a key per requested row: of its source's key, the round, and the requested sensitive values."""
    keys = fold(keys, number)
    for codes in wanted.T:
        keys = fold(keys, codes.astype(np.int64))
    return keys


class RowNumbers:
    """Random numbers per row from its key, with the methods of NumPy's generators; the first axis is rows."""

    def __init__(self, keys: Keys, purpose: str) -> None:
        self._keys = fold_word(keys, purpose)
        self._n_drawn = 0

    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Draw numbers from 0 to 1."""
        shape = size if isinstance(size, tuple) else (size,)
        n_each = prod(shape[1:])
        counters = np.arange(self._n_drawn + 1, self._n_drawn + n_each + 1, dtype=np.uint64) * np.uint64(STEP)
        self._n_drawn += n_each
        drawn = stir(self._keys[:, None] + counters) >> np.uint64(64 - N_BITS)
        return (drawn.astype(np.float64) * 2.0**-N_BITS).reshape(shape)

    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw numbers between two limits."""
        return low + (high - low) * self.random(size)

    def integers(self, low: Any, high: Any, size: Any = None, dtype: Any = np.int64, *, endpoint: bool = False) -> Any:
        """Draw whole numbers from low to below high, or including high."""
        shape = np.broadcast_shapes(np.shape(low), np.shape(high)) if size is None else size
        n_values = np.asarray(high, np.int64) - low + endpoint
        return (low + (self.random(shape) * n_values).astype(np.int64)).astype(dtype)


WHAT: Final = "Give whole numbers or text."


def seed_rows(row_ids: Any, frame: Any, seed: int) -> Keys:
    """Return a key per row from its id and a seed; ids are given, or a column of the frame."""
    opened = open_frame(frame)
    if isinstance(row_ids, str):
        if row_ids not in opened.names:
            raise GenerationError(
                f"row_ids is '{row_ids}', but the frame has no such column.{suggest(row_ids, opened.names)} Name a "
                "column, or give an id for each row."
            )
        array, name = opened.column(row_ids).array, f"Column '{row_ids}'"
    else:
        array, name = _as_arrow(row_ids), "row_ids"
        if len(array) != len(opened):
            raise GenerationError(f"row_ids has {len(array):,} ids for {len(opened):,} rows. Give one for each row.")
    if array.null_count:
        raise GenerationError(f"{name} lacks {array.null_count:,} of {len(array):,} ids. Give an id for every row.")
    numbers, kind = _as_numbers(array, name)
    start = np.array([draw_seed(seed, "by row")], np.uint64)
    return fold(fold_word(start, kind), numbers)


def _as_arrow(row_ids: Any) -> Any:
    import pyarrow as pa

    if isinstance(row_ids, pa.ChunkedArray | pa.Array):
        return row_ids
    to_arrow = getattr(row_ids, "to_arrow", None)  # polars
    try:
        return pa.array(row_ids) if to_arrow is None else to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise GenerationError(f"row_ids, {type(row_ids).__name__}, cannot be read as ids. {WHAT}") from None


def _as_numbers(array: Any, name: str) -> tuple[NDArray[np.int64], str]:
    """Return 64 bits per id, and whether ids are numbers or text: 7 and "7" differ."""
    import pyarrow as pa

    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if kind != array.type:
        array = array.cast(kind)
    if pa.types.is_integer(kind):
        ids = np.asarray(array)
        return (ids.view(np.int64) if kind == pa.uint64() else ids.astype(np.int64)), "number"
    if pa.types.is_floating(kind):  # pandas may turn whole numbers into floats
        floats = np.asarray(array).astype(np.float64)
        if not (np.isfinite(floats).all() and (floats == np.rint(floats)).all() and (np.abs(floats) < 2**53).all()):
            raise GenerationError(f"{name} has numbers that are not whole, or too large to be exact. {WHAT}")
        return floats.astype(np.int64), "number"
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return np.array([_number_of(value) for value in array.to_pylist()], np.int64), "number"
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    if len(array) == 0:
        return np.empty(0, np.int64), "text"
    if not is_text and not is_bytes:
        raise GenerationError(f"{name} has values of type {kind}, which cannot be ids. {WHAT}")
    values = array.to_pylist()
    digests = (hashlib.blake2b(value.encode() if is_text else value, digest_size=8).digest() for value in values)
    return np.frombuffer(b"".join(digests), "<i8").astype(np.int64), "text"


def _number_of(value: Decimal) -> int:
    number = int(value)
    if -(2**63) <= number < 2**63:
        return number
    digest = hashlib.blake2b(str(number).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
