"""Packages that only some of likewise needs: imported when used, with a plain word when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from likewise.exceptions import MissingExtra

__all__ = ["require"]


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say what needs it and how to install it.

    ``purpose`` begins the message: "Engine 'duckdb'", "A polars frame".
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is there and misses something itself
            raise MissingExtra(_broken(package, extra, purpose, error)) from error
        raise MissingExtra(
            f"{purpose} needs the package {package}, which is not installed. "
            f"Install likewise with the extra '{extra}', in a clone of it: pip install '.[{extra}]'"
        ) from error
    except (ImportError, OSError) as error:  # OSError: a shared library of the package cannot be loaded
        raise MissingExtra(_broken(package, extra, purpose, error)) from error


def _broken(package: str, extra: str, purpose: str, error: Exception) -> str:
    return (
        f"{purpose} needs the package {package}, which is installed but cannot be imported ({error}). "
        f"Install likewise with the extra '{extra}' anew, in a clone of it: pip install --force-reinstall '.[{extra}]'"
    )
