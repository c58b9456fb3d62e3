"""Results → files; records and sealed plans."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import free_name
from likewise._files import check_file, hash_file, new_file, refuse_pipe, write_file
from likewise._json import plain
from likewise.auditing import Policy
from likewise.cli._models import ModelFile
from likewise.cli._plan import AuditPlan
from likewise.cli._tables import TableFiles, name_files
from likewise.exceptions import LikewiseError, TableFileError
from likewise.record import AuditRecord
from likewise.record._internal import (
    CommandRecord,
    DataFile,
    FormError,
    ModelOrigin,
    RecordError,
    SealedPlan,
    read_as,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from likewise.comparable import ComparablePairs
    from likewise.generation import Antidotes
    from likewise.schema import Roles

ENDINGS: Final = (".parquet", ".csv")


def is_folder(out: Path) -> bool:
    """Whether a folder of parts is meant: a name without an ending."""
    return not out.suffix


def check_table_target(out: Path, data: Path) -> None:
    """Refuse a place for a table, or a folder of its parts, that cannot be written."""
    if not is_folder(out) and out.suffix.lower() not in ENDINGS:
        raise TableFileError(
            f"--out is '{out}'. Name a file that ends in {' or '.join(ENDINGS)}, or a folder, without an ending."
        )
    if not is_folder(out) or not out.is_dir():  # which is gone on with, or refused, where its parts are known
        check_file(out, [data])


def write_sheet(out: Path, record: AuditRecord) -> None:
    """Write the review sheet of a record as CSV or as a workbook, by the suffix."""
    from likewise.auditing._internal import sheet_as_bytes

    if out.suffix.lower() not in (".csv", ".xlsx"):
        raise TableFileError(f"--out is '{out}'. Name a file that ends in .csv or .xlsx.")
    check_file(out)
    write_file(out, sheet_as_bytes(record, out.suffix))


def write_antidotes(out: Path, table: pa.Table, about: dict[str, Any], *, defuse: bool) -> int:
    """Write rows and antidotes; a Parquet file also has the facts ``about`` them. Count the formulas of a CSV file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from likewise.auditing._internal import defuse_formulas

    n_formulas = 0
    with new_file(out) as part:
        try:
            if out.suffix.lower() == ".csv":
                table = _in_csv_types(table)
                defused = defuse_formulas(table)
                n_formulas = sum(map(_count_changes, table.columns, defused.columns))
                pyarrow.csv.write_csv(defused if defuse else table, part)
            else:
                metadata = {**(table.schema.metadata or {}), b"likewise": json.dumps(plain(about)).encode()}
                pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), part, compression="zstd")
        except pa.ArrowException as error:
            raise TableFileError(f"'{out}' cannot hold this table: {error}. Write a .parquet file instead.") from error
    return n_formulas


def _count_changes(one: Any, other: Any) -> int:
    import pyarrow.compute as pc

    return (pc.sum(pc.not_equal(one, other)).as_py() or 0) if str(one.type) in ("string", "large_string") else 0


def add_provenance(together: pa.Table, antidotes: Antidotes) -> pa.Table:
    """Add three columns: whether a row is an antidote, of which row, and of which round."""
    import pyarrow as pa

    n_real = antidotes.n_sources
    is_antidote = np.arange(together.num_rows) >= n_real
    nothing = np.zeros(n_real, np.int64)
    columns = {
        "is_antidote": pa.array(is_antidote),
        "source_row": pa.array(np.concatenate([nothing, antidotes.source]), mask=~is_antidote),
        "antidote_round": pa.array(np.concatenate([nothing, antidotes.round]), mask=~is_antidote),
    }
    for name, values in columns.items():
        together = together.append_column(free_name(name, together.column_names), values)
    return together


def _in_csv_types(table: pa.Table) -> pa.Table:
    """Convert types that CSV files do not have: dictionaries, and text in views."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = pa.large_string() if str(kind) == "string_view" else kind
        if kind != field.type:
            table = table.set_column(position, field.name, table.column(position).cast(kind))
    return table


@contextmanager
def open_pairs(
    out: Path, frame: pa.Table, roles: Roles, about: dict[str, Any]
) -> Iterator[Callable[[ComparablePairs], None]]:
    """Yield a function that writes pairs to a file as they come."""
    import pyarrow.csv
    import pyarrow.parquet

    from likewise.auditing._internal import defuse_formulas

    lay_out = _pair_columns(frame, roles)
    empty = lay_out([], [])
    schema = empty.schema.with_metadata({"likewise": json.dumps(plain(about))})
    with new_file(out) as part:
        if out.suffix.lower() == ".csv":
            with pyarrow.csv.CSVWriter(str(part), defuse_formulas(empty).schema) as writer:
                yield lambda pairs: writer.write_table(defuse_formulas(lay_out(pairs.left, pairs.right)))
        else:
            with pyarrow.parquet.ParquetWriter(str(part), schema, compression="zstd") as writer:
                yield lambda pairs: writer.write_table(lay_out(pairs.left, pairs.right))


def _pair_columns(frame: pa.Table, roles: Roles) -> Callable[[Any, Any], pa.Table]:
    """Return a function from rows to the columns of pairs: rows, ids, label, and the sensitive values of both."""
    import pyarrow as pa

    label = None if roles.label is None else _whole_column(frame, roles.label)
    titles = {} if roles.row_id is None else {"id": roles.row_id}
    n_ids = 2 * len(titles)
    for name in roles.sensitive:
        title = name
        while title in ("row", *titles):  # a sensitive column may be called 'row'
            title += "_"
        titles[title] = name
    whole = {title: _whole_column(frame, name) for title, name in titles.items()}

    def lay_out(left: Any, right: Any) -> pa.Table:
        rows = {"left": pa.array(left, pa.int64()), "right": pa.array(right, pa.int64())}
        sides = [(f"{side}_{title}", one.take(at)) for title, one in whole.items() for side, at in rows.items()]
        numbers = [(f"{side}_row", at) for side, at in rows.items()]
        labels = [] if label is None else [("label", label.take(rows["left"]))]
        return pa.table(dict([*numbers, *sides[:n_ids], *labels, *sides[n_ids:]]))

    return lay_out


def _whole_column(frame: pa.Table, name: str) -> pa.Array:
    import pyarrow as pa

    column = frame.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if str(column.type) == "string_view":  # pyarrow can neither take rows of these nor write them as CSV
        column = column.cast(pa.string())
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def complete_record(
    found: AuditRecord,
    plan: AuditPlan,
    reading: TableFiles,
    model: ModelFile | None,
    files: list[DataFile] | None = None,
) -> AuditRecord:
    """Add files, model and command; ``files`` with checksums where they are not on this machine."""
    files = hash_files(reading) if files is None else files
    is_one = len(files) == 1
    scores = found.data.scores
    if len(plan.scores) > 1:
        columns, labels = ", ".join(f"'{name}'" for name in plan.scores), ", ".join(map(str, found.labels))
        scores = f"columns {columns} for the labels {labels}"
    if model is not None:
        scores = f"model file '{Path(model.file).name}'"
    data = replace(
        found.data,
        file=name_files([str(one.file) for one in files]),
        sha256=files[0].sha256 if is_one else None,
        scores=scores,
        files=tuple(files),
        model=None if model is None else read_as(ModelOrigin, model.describe()),
    )
    completed = replace(
        found,
        made_at=now(),
        data=data,
        versions={**found.versions, **({} if model is None else model.scoring.versions())},
        command=record_command(plan, reading),
    )
    return AuditRecord.of(completed)  # with plain values only, as a file holds them


def record_command(plan: AuditPlan, reading: TableFiles) -> CommandRecord:
    """Return how the table is read and scored, in plain values."""
    read_by: dict[str, Any] = {"encoding": reading.encoding, "delimiter": reading.delimiter, "decimal": reading.decimal}
    read_by["missing_values"] = reading.missing_values or []
    return read_as(CommandRecord, plain({**read_by, **plan.to_dict()}))


def now() -> str:
    """Return the time, in a form that sorts as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hash_files(reading: TableFiles) -> list[DataFile]:
    """Return each file with its checksum."""
    return [DataFile(file=str(file), sha256=hash_file(file)) for file in reading.files()]


def load_json(path: Path, what: str = "the record of an audit", usual: str = "audit.json") -> Any:
    """Read the plain data of a file, which is ``what`` and usually has the name ``usual``."""
    if path.is_dir():
        raise LikewiseError(f"'{path}' is a folder. Name the {usual} in it.")
    refuse_pipe(path)
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_refuse_constant)
    except OSError as error:
        raise LikewiseError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        reason = " ".join(str(error).split())[:200].rstrip(".") if is_text else "it is not UTF-8 text"
        article = "an" if usual.startswith("a") else "a"
        raise LikewiseError(f"'{path}' is not {what}: {reason}. Give {article} {usual}.") from error


def read_record(path: Path, data: Mapping[str, Any], *, to_show: bool = False) -> AuditRecord:
    """Read the plain data of an audit.json as a typed record; ``to_show`` if its parts must fit each other."""
    try:
        return AuditRecord.of(data) if to_show else AuditRecord.from_dict(data)
    except RecordError as error:
        raise LikewiseError(
            f"'{path}' is not the record of an audit: {error.fault}. Give an audit.json as it was written."
        ) from error


def read_plan(path: Path) -> SealedPlan:
    """Read a sealed plan; refuse one that was changed, or sealed later than now."""
    try:
        plan = SealedPlan.from_dict(load_json(path, "a sealed plan", "plan.json"))
    except FormError as error:
        raise LikewiseError(f"'{path}' is not a sealed plan: {error}. Give a plan.json as it was written.") from error
    if plan.sealed_at > now():
        raise LikewiseError(
            f"'{path}' was sealed at {plan.sealed_at}, and it is {now()} now. Correct the clock of this machine."
        )
    if not plan.command.scores and plan.model is None:
        raise LikewiseError(f"'{path}' names neither a column of scores nor a model. Seal the plan again.")
    try:
        AuditPlan.from_record(plan, plan.command)
        _ = None if plan.policy is None else Policy.from_dict(plan.policy)
    except LikewiseError as error:
        raise LikewiseError(f"'{path}' cannot be followed: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise LikewiseError(f"'{path}' is incomplete or was altered: {error!r}. Seal the plan again.") from error
    return plan


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
