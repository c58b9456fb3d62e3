"""A missing optional package is one clear line that names the command to install it."""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import pytest

from likewise import _extras
from likewise._extras import pip_command, require
from likewise.exceptions import LikewiseError, MissingExtra


def test_an_installed_module_is_imported() -> None:
    assert require("json", extra="json", purpose="This test") is json
    assert require("json.decoder", extra="json", purpose="This test") is sys.modules["json.decoder"]


@pytest.mark.parametrize("module", ["nowhere_to_be_found", "nowhere_to_be_found.inner"])
def test_a_missing_package_is_named_with_what_needs_it_and_how_to_install_it(module: str) -> None:
    with pytest.raises(MissingExtra) as caught:
        require(module, extra="polars", purpose="A polars frame")
    assert str(caught.value) == (
        "A polars frame needs the package nowhere_to_be_found, which is not installed. "
        "Install it with: pip install '.[polars]' (in the clone of likewise)"
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
    assert "pip install --force-reinstall '.[torch]'" in str(caught.value)
    assert str(caught.value.__cause__) in str(caught.value)


FROM_CLONE = "pip install '.[torch]' (in the clone of likewise)"
FROM_INDEX = "pip install 'likewise[torch]'"


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (None, FROM_INDEX),
        ('{"url": "file:///a/likewise-0.1.0-py3-none-any.whl", "archive_info": {}}', FROM_INDEX),
        ('{"url": "file:///home/a/likewise", "dir_info": {}}', FROM_CLONE),
    ],
    ids=["package index", "wheel file", "folder"],
)
def test_the_command_is_for_where_likewise_was_installed_from(
    direct_url: str | None, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pip_command("torch") == FROM_CLONE  # the tests run in the source tree
    (tmp_path / "likewise-0.1.0.dist-info").mkdir()
    if direct_url is not None:
        (tmp_path / "likewise-0.1.0.dist-info" / "direct_url.json").write_text(direct_url, "utf-8")
    installed = Distribution.at(tmp_path / "likewise-0.1.0.dist-info")
    monkeypatch.setattr(_extras, "__file__", str(tmp_path / "likewise" / "_extras.py"))
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: installed)
    assert pip_command("torch") == command


def test_the_command_is_for_the_published_package_where_nothing_says_how_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_extras, "__file__", str(tmp_path / "likewise" / "_extras.py"))
    monkeypatch.setattr("importlib.metadata.distribution", find_none)
    assert pip_command("torch") == FROM_INDEX


def test_it_is_both_an_import_error_and_an_error_of_ours() -> None:
    assert issubclass(MissingExtra, ImportError)
    assert issubclass(MissingExtra, LikewiseError)
