"""An audit → a folder of files; each appears only when it is whole, and the record last."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from likewise.exceptions import TableFileError

FILES: Final = ("worst_pairs.parquet", "worst_pairs.csv", "junit.xml", "audit.md", "audit.json")


def check_folder(out: Path) -> None:
    """Refuse a place that cannot be written to, before any work is done for it."""
    if out.exists() and not out.is_dir():
        raise TableFileError(f"--out is '{out}', which is a file. Name a folder; it is made if there is none.")
    there = next((one for one in (out, *out.absolute().parents) if one.exists()), out)
    if not there.is_dir():
        raise TableFileError(f"--out is '{out}', but '{there}' is a file. Name another folder.")
    if not os.access(there, os.W_OK):
        raise TableFileError(f"--out is '{out}', but the folder '{there}' may not be written to. Choose another.")
    in_the_way = [out / name for name in FILES if (out / name).is_dir()]
    if in_the_way:
        raise TableFileError(f"--out is '{out}', but '{in_the_way[0]}' is a folder. Remove it, or name another --out.")


def write_audit(out: Path, record: Mapping[str, Any], worst: Sequence[Any]) -> None:
    """Write all files under other names first, so that an old audit stays whole until the new one is."""
    import pyarrow.csv
    import pyarrow.parquet

    from likewise.auditing import cases_table
    from likewise.report import to_junit, to_markdown

    cases = cases_table(worst, record["labels"] if record["task"] == "multiclass" else None)
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    writers: tuple[Callable[[Path], Any], ...] = (
        lambda path: pyarrow.parquet.write_table(cases, path, compression="zstd"),
        lambda path: pyarrow.csv.write_csv(cases, path),
        _writer(to_junit(record)),
        _writer(to_markdown(record)),
        _writer(text),
    )
    files = dict(zip(FILES, writers, strict=True))
    parts = {name: out / f".{name}.{os.getpid()}.part" for name in files}
    is_new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, write in files.items():
            write(parts[name])
        for name, part in parts.items():
            os.replace(part, os.path.realpath(out / name))  # replace what a link points at, not the link
    except OSError as error:
        raise TableFileError(f"'{out}' cannot be written to: {error.strerror or error}.") from error
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()
        if is_new:
            with suppress(OSError):  # a folder with files in it stays
                out.rmdir()


def _writer(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(text.encode("utf-8", "replace"))
