"""A name for the content of a coded table: the same on every machine, whatever frame it came from."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

import numpy as np

from likewise._json import plain
from likewise.schema._table import CodedTable

ARRAYS: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "labels")
AT_ONCE: Final = 1 << 20  # numbers brought into one form at a time


def hash_table(table: CodedTable) -> str:
    """Name the content of a coded table: its columns, what their codes stand for, and every value.

    Row ids are no part of it: they are never compared.

    Parameters
    ----------
    table : CodedTable

    Returns
    -------
    str
        64 hexadecimal digits (SHA-256).

    Examples
    --------
    >>> from likewise.schema._internal import CodedTable, hash_table
    >>> hash_table(CodedTable(labels=[0, 1])) == hash_table(CodedTable(labels=[0, 1]))
    True
    >>> hash_table(CodedTable(labels=[0, 1])) == hash_table(CodedTable(labels=[1, 0]))
    False
    """
    digest = hashlib.sha256()
    known = {"names": table.names, "categories": table.categories, "classes": table.classes}
    digest.update(json.dumps(plain(known), sort_keys=True).encode())
    for name in ARRAYS:
        digest.update(hash_array(getattr(table, name)).encode())
    return digest.hexdigest()


def hash_array(array: Any) -> str:
    """Name the content of an array of numbers, whatever their width.

    Parameters
    ----------
    array : array of int or float

    Returns
    -------
    str
        64 hexadecimal digits (SHA-256).

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.schema._internal import hash_array
    >>> hash_array(np.arange(3, dtype=np.int32)) == hash_array(np.arange(3, dtype=np.int64))
    True
    """
    values = np.asarray(array)
    kind = "<f8" if values.dtype.kind == "f" else "<i8"
    digest = hashlib.sha256(str(values.shape).encode())
    n_rows = max(AT_ONCE // max(int(np.prod(values.shape[1:])), 1), 1)
    for start in range(0, len(values) if values.ndim else 0, n_rows):  # a copy of all of them may not fit
        digest.update(np.ascontiguousarray(values[start : start + n_rows]).astype(kind).tobytes())
    if not values.ndim:
        digest.update(values.astype(kind).tobytes())
    return digest.hexdigest()
