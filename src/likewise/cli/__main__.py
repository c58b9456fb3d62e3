"""Let ``python -m likewise.cli`` be the command."""

from likewise.cli import main

if __name__ == "__main__":
    main()
