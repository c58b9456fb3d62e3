"""The application: its commands, and what each kind of failure looks like to a person."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Annotated, Final, TextIO

import typer

from likewise import __version__
from likewise.cli._antidote import antidote
from likewise.cli._antidote_arguments import ANTIDOTE_HELP
from likewise.cli._arguments import PAIRS_HELP
from likewise.cli._audit import audit
from likewise.cli._audit_arguments import AUDIT_HELP, VERIFY_HELP
from likewise.cli._datasets import datasets
from likewise.cli._explore import explore
from likewise.cli._explore_arguments import EXPLORE_HELP
from likewise.cli._pairs import pairs
from likewise.cli._report import report
from likewise.cli._report_arguments import REPORT_HELP
from likewise.cli._text import one_line
from likewise.cli._verify import verify
from likewise.cli._wording import name_options
from likewise.exceptions import LikewiseError, LikewiseWarning, NoComparablePairs

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130  # as shells report Ctrl-C
INCONCLUSIVE: Final = 3  # as of a verdict
FAILED: Final = 4  # the machine's fault: no memory, no space, nobody reading

app = typer.Typer(
    name="likewise",
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(help=AUDIT_HELP)(audit)
app.command(help=PAIRS_HELP)(pairs)
app.command(help=VERIFY_HELP)(verify)
app.command(help=REPORT_HELP)(report)
app.command(help=ANTIDOTE_HELP)(antidote)
app.command(help=EXPLORE_HELP)(explore)
app.command()(datasets)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"likewise {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Find people who differ in a sensitive column and hardly in anything else, and measure how they are treated.

    Start with [bold]likewise audit --help[/bold], or with [bold]likewise pairs --help[/bold] if you have no scores yet.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: 0 when done, 2 when the request or its files are at fault.

    Parameters
    ----------
    args : list of str, optional
        What follows the program's name; taken from the command line if not given.

    Examples
    --------
    >>> from likewise.cli import main
    >>> try:
    ...     main(["--version"])
    ... except SystemExit as stop:
    ...     print("exit code", stop.code)
    likewise 0.1.0
    exit code 0
    """
    for stream in (sys.stdout, sys.stderr):
        # a terminal that lacks a letter shows "?" for it
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings():
        _show_warnings_in_one_line()
        status = _run(args)
    sys.exit(status)


def _run(args: list[str] | None) -> int:
    try:
        status = app(args, prog_name="likewise", standalone_mode=False)
        if sys.stdout is not None:  # it is None when the caller closed it
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except NoComparablePairs as error:
        _fail(name_options(str(error)))
        return INCONCLUSIVE
    except LikewiseError as error:
        return _fail(name_options(str(error)))
    except (BrokenPipeError, SystemExit):  # the reader, such as head, has seen enough; rich exits by itself then
        return _give_up_stdout()
    except OSError as error:
        _fail(f"the system says: {error.strerror or error}.")
        return _give_up_stdout()
    except MemoryError:
        _fail("there is not enough memory for this table. Try --ignore with columns you do not need.")
        return FAILED
    except Exception as error:
        if _comes_of_interrupt(error):
            status = INTERRUPTED
        elif isinstance(error, typer.BadParameter.__mro__[1]):  # the root of usage errors has no public name
            return _fail(_explain_usage(error))
        else:  # a fault of ours: not to be taken for a policy that fails
            traceback.print_exc()
            return FAILED
    if status == INTERRUPTED:
        _fail("stopped before the end; no file was written.")
    return status if isinstance(status, int) else 0


def _comes_of_interrupt(error: BaseException | None) -> bool:
    """See through the errors that compiled code makes of Ctrl-C."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _give_up_stdout() -> int:
    """Keep Python from writing what is left, and complaining, when it closes stdout."""
    with suppress(OSError, ValueError, AttributeError):  # a stdout that was closed or replaced needs no care
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def _explain_usage(error: Exception) -> str:
    message = str(error.format_message())  # type: ignore[attr-defined]  # every usage error has it
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "likewise"
    return f"{message.rstrip('.')}{'' if message.endswith('?') else '.'} See '{command} --help'."


def _fail(message: str) -> int:
    typer.echo(f"likewise: {one_line(message)}", err=True)
    return USAGE_ERROR


def _show_warnings_in_one_line() -> None:
    """Show our warnings to people, and leave those of other libraries to the interpreter."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, LikewiseWarning):
            typer.echo(f"likewise: {one_line(str(message))}", err=True)
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    warnings.simplefilter("always", LikewiseWarning)
