"""``likewise report``: the record of an audit → a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import typer

from likewise._checks import check_choice
from likewise._files import check_file, write_file
from likewise.cli import _options as shared
from likewise.cli._console import tell
from likewise.cli._options import OUTPUT, argument, option, takes
from likewise.cli._outputs import load_json, read_record
from likewise.exceptions import ParameterError
from likewise.record import AuditRecord

HELP: Final = """Turn the record of an audit into an HTML page.

One self-contained HTML file: it opens from disk, loads nothing from elsewhere, and prints. The numbers come from the \
record; nothing is recomputed, which [bold]likewise verify[/bold] does.

[bold]--page[/bold] writes a page for a certain reader instead, as HTML or Markdown: bias-audit (selection rates, \
impact ratios and unknown values, in the style of New York City's Local Law 144) or model-risk (a section for the \
validation of a model). Neither draws a legal conclusion.

[bold]Examples[/bold]

  likewise report audit/audit.json

  likewise report audit/audit.json --page bias-audit --out summary.md

  likewise report base/audit.json antidotes/audit.json --out both.html

  likewise report january/audit.json february/audit.json march/audit.json --out trend.html

Two records or more, oldest first, give a page over time: the main measures with their intervals, what changed from \
the first to the last, new and resolved worst pairs, and coverage.

The exit code is 0 when the page is written, and 2 on invalid arguments or an unreadable record. With several records \
it is 1 when a main measure of the last is worse than of the first beyond the interval of the difference, and 3 when \
that is inconclusive: other columns, rules, tasks or units (which are named), too few pairs, or no intervals. Records \
whose dates are not oldest first are refused, unless --as-given says that the order is another, as of two models.
"""
FORMS: Final[Mapping[str, Literal["html", "markdown"]]] = {".html": "html", ".htm": "html", ".md": "markdown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What to show, and where."""

    record: list[Path] = argument("RECORD", "The audit.json to show; or several, oldest first, to compare over time.")
    page: str | None = option(None, OUTPUT, "NAME", "A page for a certain reader: bias-audit or model-risk.")
    as_given: bool = option(
        False, OUTPUT, "", "Of several records, keep the order given, although their dates say another."
    )
    out: Path | None = option(
        *(None, OUTPUT, "FILE"),
        "HTML file to write; by default report.html here (of several records, trend.html; with --page, its name). With "
        "--page, a name that ends in .md gives Markdown. A file that is there already is not replaced.",
        names="--out -o",
    )
    quiet: bool = shared.QUIET()


@takes(options=ReportOptions)
def report(options: ReportOptions) -> int:
    """Read the records, and write the page."""
    from likewise.report import to_html

    *earlier, path = options.record
    if earlier and options.page is not None:
        raise typer.BadParameter("it goes with one record; leave out the others.", param_hint="--page")
    if options.page is not None:
        return _report_page(options.page, path, options)
    out = options.out if options.out is not None else Path("trend.html" if earlier else "report.html")
    record = _read(path)
    check_file(out)
    if earlier:
        return _report_series([*map(_read, earlier), record], out, options)
    write_file(out, to_html(record))
    if not options.quiet:
        tell(f"The report is {out}.", err=True)
    return 0


def _report_series(records: list[AuditRecord], out: Path, options: ReportOptions) -> int:
    """Write the page of several audits; the exit code says whether the last is worse."""
    from likewise.auditing import compare_series
    from likewise.report import series_to_html

    series = compare_series(records, _name_records(options.record), as_given=options.as_given)
    write_file(out, series_to_html(series))
    if not options.quiet:
        found = f"From '{options.record[0]}' to '{options.record[-1]}': {series.outcome}."
        tell(found, *series.conclusions, f"The report is {out}.", err=True)
    return series.exit_code


def _name_records(paths: list[Path]) -> list[str]:
    """Name records by their folders or files, or by their whole paths where these are alike."""
    short = [path.absolute().parent.name if path.name == "audit.json" else path.stem for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _read(path: Path) -> AuditRecord:
    return read_record(path, load_json(path), to_show=True)


def _report_page(page: str, path: Path, options: ReportOptions) -> int:
    """Write a page for a certain reader; the name of the file says whether as HTML or Markdown."""
    from likewise.report import to_page
    from likewise.report._internal import PAGES

    check_choice("page", page, tuple(PAGES))
    out = options.out if options.out is not None else Path(f"{page}.html")
    form = FORMS.get(out.suffix.lower())
    if form is None:
        raise ParameterError(f"is '{out}'; with --page, give a name that ends in .html or .md.", "out")
    check_file(out)
    write_file(out, to_page(_read(path), page, form=form))
    if not options.quiet:
        tell(f"The page is {out}.", err=True)
    return 0
