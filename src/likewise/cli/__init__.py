"""The command line: ``likewise audit``, ``pairs``, ``verify``, ``report``, ``antidote``, ``explore``, ``datasets``."""

import sys

from likewise.cli._interrupts import report_interrupt, watch_interrupts

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: 0 on success, 2 on invalid arguments or an unreadable file.

    Parameters
    ----------
    args : list of str, optional
        Arguments after the program's name; by default those of the process.

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
    try:
        with watch_interrupts():
            from likewise.cli._main import run  # not earlier: Ctrl-C may come while this is imported

            status = run(args)
    except KeyboardInterrupt:
        status = report_interrupt()
    sys.exit(status)
