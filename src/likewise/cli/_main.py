"""The application: its commands, and how each kind of failure is reported."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
import warnings
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final, TextIO, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from likewise._checks import name_parameters
from likewise._format import one_line, tame
from likewise._memory import address_limit
from likewise._progress import hush
from likewise._version import __version__
from likewise.cli._interrupts import INTERRUPTED, comes_of_interrupt, report_interrupt
from likewise.cli._options import option_name, spell_option
from likewise.exceptions import LikewiseError, LikewiseWarning, NoComparablePairs, ParameterError

USAGE_ERROR: Final = 2
INCONCLUSIVE: Final = 3  # as for a verdict
FAILED: Final = 4  # the machine: no memory, no space, a closed pipe; or a bug
LEAST_ADDRESSES: Final = 900_000_000  # bytes: an audit of 200 rows ran at 920 MB and not at 770 MB, on two cores
MACHINE_FAULTS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)  # a full or broken disk
NO_SUCH_NAME: Final = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)  # no file can be called so
NOT_ALLOWED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)

COMMANDS: Final = {
    "audit": "Measure score gaps between comparable people; apply a policy.",
    "plan": "Seal rule, columns and policy of an audit before its scores are seen.",
    "pairs": "Find all comparable pairs of people in a table.",
    "verify": "Recompute an audit and compare it with its record.",
    "review": "Merge filled-in review sheets into the record of an audit.",
    "report": "Turn the record of an audit into an HTML page.",
    "antidote": "Generate comparable synthetic records to train a model on.",
    "explore": "Explore pairs, rule and model on a local page.",
    "datasets": "List the data sets that likewise can load.",
}
SOUND_WIDTH: Final = re.compile(r"[2-9][0-9]|[1-9][0-9]{2,3}")  # of a terminal, in letters
HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}


class LazyCommands(TyperGroup):
    """Commands that are imported when they run, so that the list of them needs no heavy library."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Replace the entry of the list by the command itself."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if name is None or command is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command, and return it as an application of its own."""
    limit = address_limit()
    if limit is not None:
        # Where it cannot start its threads, OpenBLAS raises the signal of Ctrl-C
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if limit < LEAST_ADDRESSES:  # the libraries would crash while they are loaded, without a word or for ever
            raise MemoryError
    return _build_command(name)


@cache  # a process that runs many, as tests do, builds each once: that takes longer than many a command
def _build_command(name: str) -> Any:
    module = import_module(f"likewise.cli.commands._{name}")
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False, context_settings=HELP_OPTIONS)
    alone.command(name, help=module.HELP, epilog=getattr(module, "MORE", None))(getattr(module, name))
    return get_command(alone)


app = typer.Typer(
    name="likewise",
    cls=LazyCommands,
    rich_markup_mode=None,  # the first screen needs no rich, which takes longer to import than all else
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"likewise {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, metavar="", help="Print the version.")
    ] = False,
) -> None:
    """Find comparable people who differ in a sensitive attribute, and measure how differently they are treated.

    Start with likewise audit --help, or with likewise pairs --help if you have no scores yet.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(args: list[str] | None) -> int:
    """Run the command line, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # a terminal that lacks a letter shows "?" for it
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if not SOUND_WIDTH.fullmatch(os.environ.get("COLUMNS", "80")):
        del os.environ["COLUMNS"]  # as where nothing is known of the terminal
    with ExitStack() as stack:
        for redirect, stream in ((redirect_stdout, sys.stdout), (redirect_stderr, sys.stderr)):
            if stream is not None:
                stack.enter_context(redirect(cast(TextIO, TameStream(stream))))
        return _run(args)


class TameStream:
    """A stream in which data, printed by whatever library, are no commands to a service that keeps it as a log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text of whole lines."""
        return self._stream.write(tame(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _run(args: list[str] | None) -> int:
    with warnings.catch_warnings(), name_parameters(spell_option), hush():  # commands show their own progress
        _print_warnings_in_one_line()
        try:
            _refuse_odd_bytes(sys.argv[1:] if args is None else args)
            status = app(args, prog_name="likewise", standalone_mode=False)
            if sys.stdout is not None:  # it is None when the caller closed it
                sys.stdout.flush()
            return report_interrupt() if status == INTERRUPTED else status if isinstance(status, int) else 0
        except BaseException as error:
            if isinstance(error, typer.Abort) or comes_of_interrupt(error):
                return report_interrupt()
            return _explain(error)


def _refuse_odd_bytes(args: list[str]) -> None:
    for text in args:
        if text.encode("utf-8", "replace").decode() != text:  # Latin-1 of an old disk, say
            raise LikewiseError(f"{text!r} is not text in UTF-8. Rename the file or the folder.")


def _explain(error: BaseException) -> int:
    """Print what went wrong in one line, but for a bug of ours, and return the exit code."""
    if isinstance(error, LikewiseError):
        _say(f"{option_name(error.parameter)} {error.problem}" if isinstance(error, ParameterError) else str(error))
        return INCONCLUSIVE if isinstance(error, NoComparablePairs) else FAILED if _is_machine(error) else USAGE_ERROR
    if isinstance(error, BrokenPipeError | SystemExit):  # the reader, such as head, has seen enough; rich exits then
        return _close_stdout()
    if isinstance(error, OSError):
        where = "" if error.filename is None else f" of '{os.fsdecode(error.filename)}'"
        _say(f"the operating system reports{where}: {error.strerror or error}.")
        is_wrong_name = error.errno in NO_SUCH_NAME or (bool(where) and error.errno in NOT_ALLOWED)
        return USAGE_ERROR if is_wrong_name else _close_stdout()
    if isinstance(error, MemoryError):
        _say(_explain_memory(None))
        return FAILED
    if isinstance(error, typer.BadParameter.__mro__[1]):  # the root of usage errors has no public name
        _say(_explain_usage(error))
        return USAGE_ERROR
    if address_limit() is not None:  # libraries have many words for it, such as a thread that cannot be started
        _say(_explain_memory(error))
        return FAILED
    traceback.print_exception(error)  # a bug: not to be taken for a policy that fails
    return FAILED


def _explain_memory(error: BaseException | None) -> str:
    limit = address_limit()
    if limit is None:
        return "out of memory: there is not enough for this table. Try --ignore with columns you do not need."
    found = "" if error is None else f" ({type(error).__name__}: {error})"
    return (
        f"out of memory: this process is limited to {limit / 1e6:,.0f} MB of addresses (ulimit -v){found}. "
        f"Raise the limit; {LEAST_ADDRESSES / 1e6:,.0f} MB are the least, for a small table."
    )


def _is_machine(error: BaseException | None) -> bool:
    """Whether the machine failed, such as a full disk, rather than the request."""
    while error is not None and not (isinstance(error, OSError) and error.errno in MACHINE_FAULTS):
        error = error.__cause__
    return error is not None


def _close_stdout() -> int:
    """Keep Python from writing the rest, and failing, when it closes stdout."""
    with suppress(OSError, ValueError, AttributeError):  # a stdout that was closed or replaced needs no care
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def _explain_usage(error: BaseException) -> str:
    message = str(error.format_message())  # type: ignore[attr-defined]  # every usage error has it
    message = message.replace(": Value error, ", ": ")  # how typer begins what it says of a choice
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "likewise"
    return f"{message.rstrip('.')}{'' if message.endswith('?') else '.'} See '{command} --help'."


def _say(message: str) -> None:
    typer.echo(f"likewise: {one_line(message)}", err=True)


def _print_warnings_in_one_line() -> None:
    """Print warnings of likewise as messages, and leave those of other libraries to the interpreter."""
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
            _say(str(message))
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    warnings.simplefilter("always", LikewiseWarning)
