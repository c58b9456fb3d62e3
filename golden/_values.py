"""What is kept of an answer: plain data, pages as lines, arrays and files by checksums and some values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

# of the moment and the machine
LEFT_OUT: Final = {"versions", "made_at", "sealed_at", "likewise", "seconds"}
OF_LAST_DIGITS: Final = {"checksum", "scores"}  # of the lines of a log: each changes with the last digits of any number
MOMENTS: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?( UTC|Z|\+00:00)?")
MOST_VALUES: Final = 300  # of an array; of a longer one, as many of them at equal distances
MOST_ITEMS: Final = 60  # of numbers; a longer list of them is an array
MOST_LINES: Final = 1_000  # of a file of text; of a longer one, as many at equal distances


@dataclass(frozen=True)
class Page:
    """A text that people read: compared by its lines."""

    text: str
    is_html: bool = False


def plain(value: Any) -> Any:
    """Return what is kept of an answer, ready for JSON."""
    if isinstance(value, Page):
        lines = visible_lines(value.text) if value.is_html else value.text.splitlines()
        return {"$lines": [MOMENTS.sub("MOMENT", line.rstrip()) for line in lines]}
    if isinstance(value, Path):
        return plain_file(value)
    if isinstance(value, bytes):
        return {"$bytes": digest(value), "size": len(value)}
    if isinstance(value, np.ndarray):
        return plain_array(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items() if key not in LEFT_OUT}
    if isinstance(value, str | int | float | None):
        return MOMENTS.sub("MOMENT", value) if isinstance(value, str) else value
    if isinstance(value, Iterable) and not hasattr(value, "columns"):
        items = list(value)
        is_long = len(items) > MOST_ITEMS and all(type(one) in (int, float) for one in items)
        return plain_array(np.array(items)) if is_long else [plain(one) for one in items]
    return plain_table(value)


def digest(content: bytes) -> str:
    """Return a short checksum."""
    return hashlib.sha256(content).hexdigest()[:16]


def plain_array(array: Any) -> dict[str, Any]:
    """Describe an array by type, shape, checksum, moments and some values."""
    array = np.asarray(array)
    flat = array.ravel()
    about: dict[str, Any] = {"type": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind in "biuf":
        wide = np.ascontiguousarray(flat, np.float64 if array.dtype.kind == "f" else np.int64)
        about |= {"checksum": digest(wide.tobytes())}
        known = wide[np.isfinite(wide)].astype(np.float64)
        about |= {name: float(getattr(known, name)()) for name in ("min", "mean", "max", "std") if len(known)}
        shown: Any = wide if array.dtype.kind != "f" else [float(f"{one:.12g}") for one in sample(wide, MOST_VALUES)]
    else:
        words = [str(one) for one in flat]
        shown = words
        about |= {"checksum": digest("\0".join(words).encode())}
    return {"$array": about | {"values": [plain(one) for one in sample(shown, MOST_VALUES)]}}


def sample(values: Any, most: int) -> Any:
    """Return all of few values, of many some at equal distances."""
    return values if len(values) <= most else [values[at] for at in np.linspace(0, len(values) - 1, most).astype(int)]


def plain_table(table: Any) -> dict[str, Any]:
    """Describe a table (pandas, polars or pyarrow) by its columns."""
    arrow = table if isinstance(table, pa.Table) else None
    if arrow is None:
        arrow = table.to_arrow() if hasattr(table, "to_arrow") else pa.Table.from_pandas(table, preserve_index=False)
    return {name: plain_column(arrow.column(name)) for name in arrow.column_names}


def plain_column(column: Any) -> dict[str, Any]:
    """Describe a column of a table; one with gaps as words."""
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    known = column.to_numpy() if is_number and not column.null_count else np.array(column.to_pylist(), dtype=object)
    return plain_array(known)


def plain_file(path: Path) -> Any:
    """Describe a file by its kind, and a folder by its files."""
    if path.is_dir():
        return {one.relative_to(path).as_posix(): plain(one) for one in sorted(path.rglob("*")) if one.is_file()}
    content = path.read_bytes()
    if path.suffix == ".json":
        return plain(json.loads(content))
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in content.splitlines()]
        return [plain({key: one for key, one in line.items() if key not in OF_LAST_DIGITS}) for line in lines]
    if path.suffix in (".html", ".md", ".xml", ".toml"):
        return plain(Page(content.decode(), path.suffix == ".html"))
    if path.suffix in (".csv", ".tsv"):
        lines = content.decode().splitlines()
        return {"n_lines": len(lines), **plain(Page("\n".join(sample(lines, MOST_LINES))))}
    if path.suffix == ".parquet":
        return {"table": plain_table(pyarrow.parquet.read_table(path)), "file": plain(content)}
    return plain(content)


class _Visible(HTMLParser):
    """Collects what a page shows."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Count what is hidden, and begin a line at what is no part of one."""
        self.hidden += tag in ("script", "style")
        if tag not in ("a", "b", "bdi", "code", "em", "i", "span", "strong", "sub", "sup", "tspan", "wbr"):
            self.parts.append("\t" if tag in ("td", "th") else "\n")

    def handle_endtag(self, tag: str) -> None:
        """Come back from what is hidden."""
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        """Keep what is shown."""
        if not self.hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def visible_lines(html: str) -> list[str]:
    """Return the text of a page by line, cells of a row in one line."""
    parser = _Visible()
    parser.feed(html)
    lines = "".join(parser.parts).split("\n")
    return [line for line in (re.sub(r"\s*\t\s*", " | ", one.strip()) for one in lines) if line]
