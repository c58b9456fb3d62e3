"""What a user would write instead of calling likewise, each as well as we can write it.

Every rival takes a table and a rule, brings the table into the form that its library wants (not measured: a user has
it so already), and returns a function that finds the pairs (measured). All stand for ``sensitive_differs="any"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from _brute import Found, Rows, prepare_brute_force
from likewise import CodedTable, Comparability

CANDIDATES_AT_ONCE: Final = 1_000_000
FEW_CODES: Final = 64
SLACK: Final = 1 + 1e-6  # trees compare scaled numbers: take a little more, and let the exact test decide


Job = Callable[[], Any]


def prepare_kd_tree(table: CodedTable, rule: Comparability) -> Callable[[], Found]:
    """Scipy's KD-tree, max norm: continuous columns in units of their limit, and one number for the codes.

    Rows that differ in some set of columns have equal codes in the others, so there is a tree for each such set: leave
    out every ``changes`` columns, or keep each of ``changes + 1`` blocks, which is fewer trees with more candidates.
    """
    kept = _choose_kept_columns(table, rule)
    scaled = table.continuous / rule.continuous_limits(table)

    def find() -> Found:
        keys = []
        for columns in kept:
            code = _number_combinations(np.column_stack([table.labels, table.discrete[:, columns]]))
            for rows, tree in _plant_trees(scaled, code):
                candidates = rows[tree.query_pairs(SLACK, p=np.inf, output_type="ndarray")]
                keys += [left * len(table) + right for left, right in _keep_comparable(table, rule, candidates)]
        return _split_keys(keys, len(table), unique=len(kept) > 1)

    return find


def prepare_duckdb_signatures(table: CodedTable, rule: Comparability) -> Callable[[], Found]:
    """The expert's SQL: for each set of columns that may differ, an equi-join on the others and on neighbouring cells.

    Cells are cut in the continuous column that spreads the rows best. A pair belongs to the set that differs in it, so
    that no pair comes twice.
    """
    connection = _connect(table)
    names = [f"d{i}" for i in range(table.discrete.shape[1])]
    widths = rule.continuous_limits(table) * SLACK
    cells = np.floor(table.continuous / widths).T
    crowding = [float((np.unique(column, return_counts=True)[1] ** 2.0).sum()) for column in cells]
    cell, shift = "0", "0"
    if crowding:
        best = int(np.argmin(crowding))
        cell, shift = f"floor(c{best} / {float(widths[best])!r})::INTEGER", "unnest([-1, 0, 1])"
    other = [_any_sensitive_differs(table), *_near(table, rule)]

    def write_query(changed: tuple[str, ...]) -> str:
        same = ["label", "cell", *(name for name in names if name not in changed)]
        on = [f"a.{name} = b.{name}" for name in same] + [f"a.{name} <> b.{name}" for name in changed]
        return (
            f"SELECT a.id AS l, b.id AS r FROM (SELECT *, {cell} + {shift} AS cell FROM people) a "
            f"JOIN (SELECT *, {cell} AS cell FROM people) b ON {' AND '.join([*on, *other, 'a.id < b.id'])}"
        )

    queries = [
        write_query(changed)
        for n_changed in range(min(rule.max_discrete_changes, len(names)) + 1)
        for changed in combinations(names, n_changed)
    ]
    return lambda: _join([_fetch(connection, query) for query in queries])


def prepare_pandas_signatures(table: CodedTable, rule: Comparability) -> Callable[[], Found]:
    """For each set of columns left out, a merge in pandas on the others and a filter; unique at the end."""
    import pandas as pd

    frame = pd.DataFrame(_name_columns(table))
    names = [f"d{i}" for i in range(table.discrete.shape[1])]
    limits = rule.continuous_limits(table)

    def find() -> Found:
        keys = []
        for left_out in combinations(names, min(rule.max_discrete_changes, len(names))):
            same = ["label", *(name for name in names if name not in left_out)]
            right = frame.drop(columns=[*left_out])
            both = frame.merge(right, on=same, suffixes=("", "_right"))
            kept = both["id"] < both["id_right"]
            for i, limit in enumerate(limits):
                kept &= (both[f"c{i}"] - both[f"c{i}_right"]).abs() <= limit
            kept &= sum(both[f"s{i}"] != both[f"s{i}_right"] for i in range(table.sensitive.shape[1])) > 0
            keys.append((both["id"][kept].astype(np.int64) * len(table) + both["id_right"][kept]).to_numpy())
        return _split_keys(keys, len(table), unique=len(keys) > 1)

    return find


def _choose_kept_columns(table: CodedTable, rule: Comparability) -> list[tuple[int, ...]]:
    """Say which columns each tree holds equal: all but ``changes``, or one of ``changes + 1`` blocks."""
    columns = range(table.discrete.shape[1])
    if rule.max_discrete_changes >= len(columns):
        return [()]
    left_out = list(combinations(columns, rule.max_discrete_changes))
    # measured on the five data sets: with several continuous columns the candidates are few anyway
    if table.continuous.shape[1] >= 3 or len(left_out) > 200:
        n_blocks = rule.max_discrete_changes + 1
        return [tuple(columns[start::n_blocks]) for start in range(n_blocks)]
    return [tuple(column for column in columns if column not in out) for out in left_out]


def _plant_trees(scaled: NDArray[np.float64], code: Rows) -> Iterator[tuple[Rows, Any]]:
    """Make a tree for each code, or one that has the code as a coordinate when there are many."""
    from scipy.spatial import cKDTree

    if code.max(initial=0) >= FEW_CODES or not scaled.shape[1]:
        # codes 1 apart are 2 apart, more than the radius
        yield np.arange(len(code)), cKDTree(np.column_stack([scaled, 2.0 * code]), leafsize=32)
        return
    for one in np.unique(code):
        rows = np.flatnonzero(code == one)
        yield rows, cKDTree(scaled[rows], leafsize=32)


def _number_combinations(columns: NDArray[np.int32]) -> Rows:
    number = np.zeros(len(columns), np.int64)
    for column in columns.T:
        number = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return number


def _keep_comparable(table: CodedTable, rule: Comparability, candidates: Rows) -> Iterator[Found]:
    """Put candidates of one label to the test, the condition that drops most first."""
    limits = rule.continuous_limits(table)
    for start in range(0, len(candidates), CANDIDATES_AT_ONCE):
        left, right = candidates[start : start + CANDIDATES_AT_ONCE].T
        for keep in (
            lambda a, b: (table.sensitive[a] != table.sensitive[b]).any(axis=1),
            lambda a, b: (table.discrete[a] != table.discrete[b]).sum(axis=1) <= rule.max_discrete_changes,
            lambda a, b: (np.abs(table.continuous[a] - table.continuous[b]) <= limits).all(axis=1),
        ):
            kept = keep(left, right)
            left, right = left[kept], right[kept]
        yield left, right


def _split_keys(parts: list[Rows], n_rows: int, *, unique: bool) -> Found:
    keys = np.concatenate(parts) if parts else np.empty(0, np.int64)
    left, right = np.divmod(np.unique(keys) if unique else keys, n_rows)
    return left, right


def _join(parts: list[Found]) -> Found:
    return np.concatenate([left for left, _ in parts]), np.concatenate([right for _, right in parts])


def _name_columns(table: CodedTable) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {"id": np.arange(len(table), dtype=np.int32), "label": table.labels}
    for letter, values in (("d", table.discrete), ("s", table.sensitive), ("c", table.continuous)):
        columns |= {f"{letter}{i}": np.ascontiguousarray(column) for i, column in enumerate(values.T)}
    return columns


def _connect(table: CodedTable) -> Any:
    """Copy the table into a database in memory."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.register("given", pa.table(_name_columns(table)))
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return connection


def _fetch(connection: Any, query: str) -> Found:
    found = connection.execute(query).fetchnumpy()
    return found["l"], found["r"]


def _any_sensitive_differs(table: CodedTable) -> str:
    return "(" + " OR ".join(f"a.s{i} <> b.s{i}" for i in range(table.sensitive.shape[1])) + ")"


def _near(table: CodedTable, rule: Comparability) -> list[str]:
    return [f"abs(a.c{i} - b.c{i}) <= {float(limit)!r}" for i, limit in enumerate(rule.continuous_limits(table))]


RIVALS: Final[dict[str, Callable[[CodedTable, Comparability], Job]]] = {
    "brute force": prepare_brute_force,
    "KD-tree": prepare_kd_tree,
    "pandas merges": prepare_pandas_signatures,
    "DuckDB joins": prepare_duckdb_signatures,
}
