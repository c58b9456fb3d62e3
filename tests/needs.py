"""What a test needs and a machine may lack, a data set, a browser or Spark: it is skipped then, or fails."""

from __future__ import annotations

import os
from typing import Final, NoReturn

import pytest

__all__ = ["HAS_TO_RUN", "do_without"]

HAS_TO_RUN: Final = bool(os.environ.get("LIKEWISE_TESTS_NEED_ALL"))  # as `.ci/run` sets it


def do_without(reason: str) -> NoReturn:
    """Skip a test for want of something, and say what; where everything has to run, let it fail."""
    if HAS_TO_RUN:
        pytest.fail(f"{reason}, and has to be: LIKEWISE_TESTS_NEED_ALL is set")
    pytest.skip(reason)
