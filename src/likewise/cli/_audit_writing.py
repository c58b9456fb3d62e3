"""An audit → a folder of files; each appears only when it is whole, and the record last."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from likewise.exceptions import TableFileError

FILES: Final = (
    *("worst_pairs.parquet", "worst_pairs.csv", "review_sheet.csv", "junit.xml", "audit.md", "report.html"),
    "audit.json",
)


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

    from likewise.auditing import cases_table, review_table
    from likewise.auditing._internal import defuse_formulas
    from likewise.report import to_html, to_junit, to_markdown

    labels = record["labels"] if record["task"] == "multiclass" else None
    cases, sheet = cases_table(worst, labels), review_table(worst, labels=labels)
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    writers: tuple[Callable[[Path], Any], ...] = (
        lambda path: pyarrow.parquet.write_table(cases, path, compression="zstd"),
        lambda path: pyarrow.csv.write_csv(defuse_formulas(cases), path),
        lambda path: pyarrow.csv.write_csv(defuse_formulas(sheet), path),
        text_writer(to_junit(record)),
        text_writer(to_markdown(record)),
        text_writer(to_html(record)),
        text_writer(text),
    )
    is_new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_whole({out / name: write for name, write in zip(FILES, writers, strict=True)})
    except OSError as error:
        raise TableFileError(f"'{out}' cannot be written to: {error.strerror or error}.") from error
    finally:
        if is_new:
            with suppress(OSError):  # a folder with files in it stays
                out.rmdir()


def write_whole(files: Mapping[Path, Callable[[Path], Any]]) -> None:
    """Write files under other names, and give them their own once all of them are whole."""
    targets = {Path(os.path.realpath(path)): write for path, write in files.items()}  # what a link points at
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in targets}
    try:
        for path, write in targets.items():
            write(parts[path])
        for path, part in parts.items():
            os.replace(part, path)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()


def text_writer(text: str) -> Callable[[Path], Any]:
    """Give a function that writes a text in UTF-8, with a question mark for half a letter."""
    return lambda path: path.write_bytes(text.encode("utf-8", "replace"))
