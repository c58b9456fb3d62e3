"""What rows are called → a key for each: what is drawn for a row follows from it."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise._random import Keys, draw_seed
from likewise.exceptions import GenerationError
from likewise.generation._row_numbers import fold, fold_word
from likewise.schema._internal import open_frame

WHAT: Final = "Give whole numbers or text."


def seed_rows(row_ids: Any, frame: Any, seed: int) -> Keys:
    """Give a key for each row of a frame, of its id and a seed; ids are given, or named as a column of the frame."""
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
        raise GenerationError(f"{name} misses {array.null_count:,} of {len(array):,} ids. Name every row.")
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
    """Give 64 bits for each id, and whether they are numbers or text: 7 and "7" are two."""
    import pyarrow as pa

    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if kind != array.type:
        array = array.cast(kind)
    if pa.types.is_integer(kind):
        ids = np.asarray(array)
        return (ids.view(np.int64) if kind == pa.uint64() else ids.astype(np.int64)), "number"
    if pa.types.is_floating(kind):  # pandas makes floats of whole numbers all by itself
        floats = np.asarray(array).astype(np.float64)
        if not (np.isfinite(floats).all() and (floats == np.rint(floats)).all() and (np.abs(floats) < 2**53).all()):
            raise GenerationError(f"{name} holds numbers that are not whole, or too large to be exact. {WHAT}")
        return floats.astype(np.int64), "number"
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return np.array([_number_of(value) for value in array.to_pylist()], np.int64), "number"
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    if len(array) == 0:
        return np.empty(0, np.int64), "text"
    if not is_text and not is_bytes:
        raise GenerationError(f"{name} holds {kind} values, which are no ids. {WHAT}")
    values = array.to_pylist()
    digests = (hashlib.blake2b(value.encode() if is_text else value, digest_size=8).digest() for value in values)
    return np.frombuffer(b"".join(digests), "<i8").astype(np.int64), "text"


def _number_of(value: Decimal) -> int:
    number = int(value)
    if -(2**63) <= number < 2**63:
        return number
    digest = hashlib.blake2b(str(number).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
