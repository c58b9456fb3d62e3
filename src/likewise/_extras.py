"""Optional packages: imported where they are used, with one clear line when one is missing."""

from __future__ import annotations

import importlib
import json
from importlib import metadata
from pathlib import Path
from types import ModuleType

from likewise.exceptions import MissingExtra


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or raise an error that names the extra to install.

    ``purpose`` begins the message: "A polars frame", "Pairs in Spark".
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is there and misses something itself
            raise MissingExtra(_broken(package, extra, purpose, error)) from error
        raise MissingExtra(
            f"{purpose} needs the package {package}, which is not installed. Install it with: {pip_command(extra)}"
        ) from error
    except (ImportError, OSError) as error:  # OSError: a shared library of the package cannot be loaded
        raise MissingExtra(_broken(package, extra, purpose, error)) from error


def pip_command(extra: str, options: str = "") -> str:
    """Return the command that installs an extra, of the clone that this code comes from or of the published package."""
    target = ".[{}]" if _is_clone() else "likewise[{}]"
    return f"pip install {options}'{target.format(extra)}'" + (" (in the clone of likewise)" if _is_clone() else "")


def _broken(package: str, extra: str, purpose: str, error: Exception) -> str:
    return (
        f"{purpose} needs the package {package}, which is installed but cannot be imported ({error}). "
        f"Install it again with: {pip_command(extra, '--force-reinstall ')}"
    )


def _is_clone() -> bool:
    """Whether this code is in a source tree (editable installs are) or was installed from one by ``pip install .``."""
    here = Path(__file__).resolve()
    if here.parents[1].name == "src" and (here.parents[2] / "pyproject.toml").is_file():
        return True
    try:
        origin = metadata.distribution("likewise").read_text("direct_url.json")  # there is none if an index served it
    except metadata.PackageNotFoundError:
        return False
    return origin is not None and "dir_info" in json.loads(origin)
