"""The command line: ``likewise audit``, ``pairs``, ``verify``, ``report``, ``antidote``, ``explore``, ``datasets``."""

import sys

# From here on Ctrl-C is one line and exit code 130. Before, while Python itself and the package's first file start, no
# line of the command line has run yet: Python answers, with a traceback, and nothing was read or written.
try:
    from likewise.cli._interrupts import report_interrupt, watch_interrupts
except KeyboardInterrupt:
    if sys.stderr is not None:
        print("likewise: interrupted; every file is whole, or was not written.", file=sys.stderr)
    sys.exit(130)

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Run the command line, by default with the arguments of the process, and exit with the code of the command."""
    try:
        with watch_interrupts():
            from likewise.cli._main import run  # not earlier: Ctrl-C may come while this is imported

            status = run(args)
    except KeyboardInterrupt:
        status = report_interrupt()
    sys.exit(status)
