"""Results → files, whole or not at all, and refused early where they cannot be written; records and sealed plans."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import free_name
from likewise._folders import ONE_AT_A_TIME, clear_leftovers, hash_file, put_in_place, remove, unfinished_name
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
AUDIT_FILES: Final = (
    *("worst_pairs.parquet", "review_sheet.csv", "junit.xml", "audit.md", "report.html", "audit.json"),
)
Writers = dict[str, Callable[[Path], Any]]  # by name of the file; the record comes last


def is_folder(out: Path) -> bool:
    """Whether a folder of parts is meant: a name without an ending."""
    return not out.suffix


def check_table_target(out: Path, data: Path) -> None:
    """Refuse a place for a table, or a folder of its parts, that cannot be written."""
    if is_folder(out):
        if out.exists() and not out.is_dir():
            raise TableFileError(f"--out is '{out}', which is a file. Name a folder, or a .parquet or .csv file.")
    elif out.suffix.lower() not in ENDINGS:
        raise TableFileError(
            f"--out is '{out}'. Name a file that ends in {' or '.join(ENDINGS)}, or a folder, without an ending."
        )
    elif out.exists() and not out.is_file():
        raise TableFileError(f"--out is '{out}', which is a folder or device. Name a file.")
    check_file_target(out, data)


def check_file_target(out: Path, *read: Path) -> None:
    """Refuse a place in a folder that cannot be written, and the files that are ``read``."""
    folder = out.parent
    if not folder.is_dir():
        raise TableFileError(f"--out is '{out}', but there is no folder '{folder}'. Create it first.")
    if out.is_file() and any(path.exists() and out.samefile(path) for path in read):
        raise TableFileError(f"--out is '{out}', which is the input. Choose another name.")
    if not os.access(folder, os.W_OK):
        raise TableFileError(f"--out is '{out}', but the folder '{folder}' is not writable. Choose another.")


def check_audit_target(out: Path) -> None:
    """Refuse a folder that the files of an audit cannot be written to."""
    if out.exists() and not out.is_dir():
        raise TableFileError(f"--out is '{out}', which is a file. Name a folder; it is created if needed.")
    there = next((one for one in (out, *out.absolute().parents) if one.exists()), out)
    if not there.is_dir():
        raise TableFileError(f"--out is '{out}', but '{there}' is a file. Name another folder.")
    if not os.access(there, os.W_OK):
        raise TableFileError(f"--out is '{out}', but the folder '{there}' is not writable. Choose another.")
    in_the_way = [out / name for name in AUDIT_FILES if (out / name).is_dir()]
    if in_the_way:
        raise TableFileError(f"--out is '{out}', but '{in_the_way[0]}' is a folder. Remove it, or name another --out.")


@contextmanager
def replacing(out: Path, named: Path | None = None) -> Iterator[Path]:
    """Yield a temporary name, which becomes ``out`` if all goes well; errors call it ``named``."""
    target = Path(os.path.realpath(out))  # replace what a link points at, not the link
    clear_leftovers(target)
    part = unfinished_name(target)
    try:
        yield part
        os.replace(part, target)
    except OSError as error:
        raise TableFileError(f"'{named or out}' cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


def write_text(out: Path, text: str) -> None:
    """Write a text in UTF-8; half a surrogate pair becomes a question mark."""
    with replacing(out) as part:
        _write_page(text, part)


def _write_page(text: str, path: Path) -> None:
    path.write_bytes(text.encode("utf-8", "replace"))


def write_audit(out: Path, record: AuditRecord) -> None:
    """Write all files of an audit; an old audit stays until the new one is whole, and the record comes last."""
    import pyarrow.parquet

    from likewise.auditing import cases_table
    from likewise.auditing._internal import sheet_as_bytes
    from likewise.report import to_junit

    labels = record.labels if record.task == "multiclass" else None
    cases = cases_table(record.worst_pairs, labels)
    tables: Writers = {
        "worst_pairs.parquet": lambda path: pyarrow.parquet.write_table(cases, path, compression="zstd"),
        "review_sheet.csv": lambda path: path.write_bytes(sheet_as_bytes(record, ".csv")),
        "junit.xml": partial(_write_page, to_junit(record)),
    }
    _write_folder(out, tables | _pages(record))


def write_sheet(out: Path, record: AuditRecord) -> None:
    """Write the review sheet of a record as CSV or as a workbook, by the suffix; an old file is not replaced."""
    from likewise.auditing._internal import sheet_as_bytes

    if out.suffix.lower() not in (".csv", ".xlsx"):
        raise TableFileError(f"--out is '{out}'. Name a file that ends in .csv or .xlsx.")
    if out.exists():
        raise TableFileError(f"--out is '{out}', which is there already and may be filled in. Name a new file.")
    data = sheet_as_bytes(record, out.suffix)
    with replacing(out) as part:
        part.write_bytes(data)


def write_reviewed(out: Path, record: AuditRecord) -> None:
    """Write a record with its reviews, and its report, to a folder that has neither."""
    _write_folder(out, _pages(record))


def check_reviewed_target(out: Path) -> None:
    """Refuse a folder that cannot be written to, or that has an audit in it: a review replaces nothing."""
    check_audit_target(out)
    there = [out / name for name in AUDIT_FILES if (out / name).exists()]
    if there:
        raise TableFileError(f"--out is '{out}', but '{there[0]}' is there already. Name a new folder.")


def _pages(record: AuditRecord) -> Writers:
    from likewise.report import to_html, to_markdown

    text = json.dumps(record.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    pages = {"audit.md": to_markdown(record), "report.html": to_html(record), "audit.json": text}
    return {name: partial(_write_page, page) for name, page in pages.items()}


def _write_folder(out: Path, writers: Writers) -> None:
    try:
        if _can_be_replaced(out):
            _write_whole(Path(os.path.realpath(out)), writers)
        else:
            _write_into(out, writers)
    except OSError as error:
        raise TableFileError(f"'{out}' cannot be written: {error.strerror or error}.") from error


def _can_be_replaced(out: Path) -> bool:
    """Return whether a folder has nothing but an audit in it, and nobody works in it."""
    target = Path(os.path.realpath(out))
    if not target.exists():
        return True
    is_ours = all(one.name in AUDIT_FILES or one.name.endswith(".part") for one in target.iterdir())
    is_used = target in (Path.cwd(), *Path.cwd().parents) or target.is_mount()
    return is_ours and not is_used and os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)


def _write_whole(target: Path, writers: Writers) -> None:
    """Write a folder beside, and let it change places with an older one: no kill leaves a mixture of the two."""
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(target)
    made = unfinished_name(target)
    try:
        made.mkdir()
        if target.exists():
            made.chmod(target.stat().st_mode)
        for name, write in writers.items():
            write(made / name)
        put_in_place(made, target)
    finally:
        remove(made)


def _write_into(out: Path, writers: Writers) -> None:
    """Write an audit among other files; without its record, which goes first and comes last, it is none."""
    with ONE_AT_A_TIME, ExitStack() as stack:  # which renames in the opposite order
        parts = [stack.enter_context(replacing(out / name, out)) for name in reversed(writers)]
        for write, part in zip(writers.values(), reversed(parts), strict=True):
            write(part)
        (out / AUDIT_FILES[-1]).unlink(missing_ok=True)


def write_antidotes(out: Path, table: pa.Table, about: dict[str, Any], *, defuse: bool) -> int:
    """Write rows and antidotes; a Parquet file also has the facts ``about`` them. Count the formulas of a CSV file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from likewise.auditing._internal import defuse_formulas

    n_formulas = 0
    with replacing(out) as part:
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
    with replacing(out) as part:
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
    read_by = {"encoding": reading.encoding, "delimiter": reading.delimiter, "decimal": reading.decimal}
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
