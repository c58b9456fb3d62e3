"""The checksum of a coded table that is in no memory: its rows go by in order, and only digests stay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._json import plain
from likewise.schema import CodedTable
from likewise.spark._columns import map_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ARRAYS: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "labels")


def hash_frame(coded: DataFrame, reference: CodedTable, n_rows: int) -> str:
    """Give what ``likewise.schema.hash_table`` gives of the whole table, to be compared with any other audit of it."""
    columns = {kind: [f"{kind}_{i}" for i in range(len(reference.names[kind]))] for kind in ARRAYS if kind != "labels"}
    columns["labels"] = ["label"]
    shapes = {kind: (n_rows, len(names)) for kind, names in columns.items()} | {"labels": (n_rows,)}
    digests = {kind: hashlib.sha256(str(shape).encode()) for kind, shape in shapes.items()}
    packed = map_batches(coded.orderBy("row"), _Packing(columns), dict.fromkeys(ARRAYS, "binary"))
    for row in packed.toLocalIterator():  # one partition after the other, in the order of rows
        for kind in ARRAYS:
            digests[kind].update(row[kind])
    known = {"names": reference.names, "categories": reference.categories, "classes": reference.classes}
    whole = hashlib.sha256(json.dumps(plain(known), sort_keys=True).encode())
    for kind in ARRAYS:
        whole.update(digests[kind].hexdigest().encode())
    return whole.hexdigest()


class _Packing:
    """Write the codes of a batch as the bytes that are hashed: row by row, numbers of eight bytes."""

    def __init__(self, columns: dict[str, list[str]]) -> None:
        self._columns = columns

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            packed = {}
            for kind in ARRAYS:
                arrays = [batch.column(name).to_numpy(zero_copy_only=False) for name in self._columns[kind]]
                values = np.column_stack(arrays) if arrays else np.empty((0, 0))
                packed[kind] = [values.astype("<f8" if kind == "continuous" else "<i8").tobytes()]
            yield pa.RecordBatch.from_pydict(packed)
