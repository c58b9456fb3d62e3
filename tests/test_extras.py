"""A missing optional package is one plain sentence, never a traceback from elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from likewise._extras import require
from likewise.exceptions import LikewiseError, MissingExtra


def test_an_installed_module_is_imported() -> None:
    assert require("json", extra="json", purpose="This test") is json
    assert require("json.decoder", extra="json", purpose="This test") is sys.modules["json.decoder"]


@pytest.mark.parametrize("module", ["nowhere_to_be_found", "nowhere_to_be_found.inner"])
def test_a_missing_package_is_named_with_what_needs_it_and_how_to_install_it(module: str) -> None:
    with pytest.raises(MissingExtra) as caught:
        require(module, extra="duckdb", purpose="Engine 'duckdb'")
    assert str(caught.value) == (
        "Engine 'duckdb' needs the package nowhere_to_be_found, which is not installed. "
        "Install likewise with the extra 'duckdb', in a clone of it: pip install '.[duckdb]'"
    )


@pytest.mark.parametrize(
    "source",
    ["import nowhere_to_be_found", "raise ImportError('libthing.so is too old')", "raise OSError('libthing.so')"],
)
def test_a_package_that_is_there_but_broken_is_not_called_missing(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_for_this_test.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match="is installed but cannot be imported") as caught:
        require("broken_for_this_test", extra="torch", purpose="A network")
    assert ".[torch]" in str(caught.value)
    assert str(caught.value.__cause__) in str(caught.value)


def test_it_is_both_an_import_error_and_an_error_of_ours() -> None:
    assert issubclass(MissingExtra, ImportError)
    assert issubclass(MissingExtra, LikewiseError)
