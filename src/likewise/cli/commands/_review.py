"""``likewise review``: the record of an audit → a review sheet; filled-in sheets → the record with its reviews."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from likewise._files import Put, new_folder
from likewise.cli import _options as shared
from likewise.cli._console import tell
from likewise.cli._options import OUTPUT, REQUIRED, argument, option, takes
from likewise.cli._outputs import load_json, read_record, write_sheet
from likewise.exceptions import LikewiseError, ReviewError
from likewise.record import AuditRecord

HELP: Final = """Write the review sheet of an audit, or merge filled-in sheets into its record.

[bold]likewise audit --out[/bold] writes review_sheet.csv, one row per pair; [bold]likewise review sheet[/bold] writes \
it once more, as CSV or as a workbook (.xlsx, with the extra xlsx). Reviewers fill in reviewer, date, \
disposition and reason; each may have a copy. The disposition is one of

  resolved    the difference was an error and has been corrected

  explained   a legitimate reason accounts for the difference

  unresolved  neither, so far

and pairs that nobody has reviewed stay empty. Sheets are read as spreadsheets write them (semicolons, other \
encodings, rows and columns in any order); a lost, doubled or foreign row is named, and then nothing is written.

[bold]Example[/bold]

  likewise review sheet audit/ --out review.xlsx

  likewise review merge audit/ lee.xlsx okafor.csv --out reviewed/

After a merge, the folder has audit.json with all reviews (those of an earlier merge are kept), report.html and \
audit.md. The exit code is 0 when they are written; 1 when a sheet does not agree with the record or is filled in \
wrongly; 2 on invalid arguments or an unreadable file.
"""
DIFFERS: Final = 1
N_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """What to merge, and where to."""

    action: Literal["sheet", "merge"] = argument("sheet|merge", "Write a sheet, or merge filled-in ones.")
    audit: Path = argument("AUDIT", "Folder that likewise audit --out wrote, or its audit.json.")
    sheets: list[Path] | None = argument("SHEET", "For merge: filled-in review sheets, CSV or .xlsx.", None)
    out: Path = option(
        *(REQUIRED, OUTPUT, "PATH", "New file for the sheet (.csv, .xlsx), or new folder for the reviewed audit."),
        names="--out -o",
    )
    quiet: bool = shared.QUIET()


@takes(options=ReviewOptions)
def review(options: ReviewOptions) -> int:
    """Write a sheet; or read sheets back, and write the record with its reviews, or say what is wrong."""
    if bool(options.sheets) != (options.action == "merge"):
        wrong = "needs filled-in sheets. Name some" if options.action == "merge" else "takes no sheets. Leave them out"
        raise LikewiseError(f"review {options.action} {wrong}.")
    path = options.audit / "audit.json" if options.audit.is_dir() else options.audit
    record = read_record(path, load_json(path), to_show=True)
    if options.action == "sheet":
        write_sheet(options.out, record)
        if not options.quiet:
            tell(f"The review sheet is in {options.out}.", err=True)
        return 0
    with new_folder(options.out, None, options.sheets or ()) as put:
        return _merge(record, options, put)


def _merge(record: AuditRecord, options: ReviewOptions, put: Put) -> int:
    from likewise.auditing import merge_reviews

    try:
        merged = merge_reviews(record, *(options.sheets or ()))
    except ReviewError as error:
        tell(*(f"likewise: {fault}" for fault in error.faults[:N_SHOWN]), err=True)
        more = f"... and {len(error.faults) - N_SHOWN:,} more. " if len(error.faults) > N_SHOWN else ""
        tell(f"likewise: {more}Nothing was written.", err=True)
        return DIFFERS
    from likewise.auditing._internal import reviewed_files

    put(reviewed_files(merged))
    tell(merged.review_summary, *merged.review_summary.agreements)
    if not options.quiet:
        tell(f"The reviewed audit is in {options.out}.", err=True)
    return 0
