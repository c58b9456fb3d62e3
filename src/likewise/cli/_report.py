"""``likewise report``: the record of an audit → a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from likewise.cli import _arguments as shared
from likewise.cli import _report_arguments as given
from likewise.cli._audit_record import open_record
from likewise.cli._audit_writing import text_writer, write_whole
from likewise.cli._sharing import taking
from likewise.cli._text import one_line
from likewise.exceptions import LikewiseError, TableFileError

SAME_PEOPLE: Final = ("table_checksum", "n_rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What to show, and where."""

    record: given.RecordPath
    before: given.BeforePath = None
    out: given.OutFile = None
    quiet: shared.Quiet = False


@taking(reporting=Reporting)
def report(reporting: Reporting) -> int:
    """Read one record or two, and write the page."""
    out = reporting.out if reporting.out is not None else reporting.record.parent / "report.html"
    record = open_record(reporting.record)
    before = None if reporting.before is None else open_record(reporting.before)
    _check_target(out, reporting)
    page = _write(record, before, reporting)
    try:
        write_whole({out: text_writer(page)})
    except OSError as error:
        raise TableFileError(f"'{out}' cannot be written: {error.strerror or error}.") from error
    if not reporting.quiet:
        typer.echo(one_line(f"The report is in {out}."), err=True)
    return 0


def _check_target(out: Path, reporting: Reporting) -> None:
    """Refuse a place that cannot be written to, and the very records that are read."""
    if out.is_dir():
        raise TableFileError(f"--out is '{out}', which is a folder. Name a file, such as '{out / 'report.html'}'.")
    if not out.parent.is_dir():
        raise TableFileError(f"--out is '{out}', but there is no folder '{out.parent}'. Make it first.")
    if not os.access(out.parent, os.W_OK):
        raise TableFileError(f"--out is '{out}', but the folder '{out.parent}' may not be written to. Choose another.")
    read = [path for path in (reporting.record, reporting.before) if path is not None]
    if out.exists() and any(out.samefile(path) for path in read):
        raise TableFileError(f"--out is '{out}', the very record that is read. Give the page another name.")


def _write(record: dict[str, Any], before: dict[str, Any] | None, reporting: Reporting) -> str:
    from likewise.auditing import compare_records
    from likewise.report import to_html

    if before is None:
        return _lay_out(reporting.record, lambda: to_html(record))
    if any(before["data"].get(key) != record["data"].get(key) for key in SAME_PEOPLE):
        raise LikewiseError(
            f"'{reporting.before}' and '{reporting.record}' are audits of different people or labels, so nothing can "
            "be said of what changed. Audit both models on the same table."
        )
    return _lay_out(
        reporting.record, lambda: to_html(record, before=before, comparison=compare_records(before, record))
    )


def _lay_out(file: Path, write: Callable[[], str]) -> str:
    """Say in a line where a record that somebody changed cannot be shown."""
    try:
        return write()
    except LikewiseError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(".")
        raise LikewiseError(
            f"'{file}' lacks something, or has too much ({reason}). Give an audit.json as it was written."
        ) from error
