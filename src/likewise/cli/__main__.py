"""Run the command line with ``python -m likewise.cli``."""

from likewise.cli import main

if __name__ == "__main__":
    main()
