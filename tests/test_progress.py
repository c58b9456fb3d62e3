"""Progress of long work: shown where somebody watches, silent everywhere else, and never twice."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from likewise import _progress
from likewise._progress import follow, hush, tell
from likewise.exceptions import ParameterError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stderr a terminal, and bars appear at once; not a fixture, as pytest sets stderr before each test."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_progress, "SECONDS", 0.0)
    monkeypatch.setattr(_progress, "_in_notebook", lambda: False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv(_progress.SWITCH, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return screen


def work(progress: Any = None) -> None:
    with follow("Baking", 2, progress) as show:
        show(1, "half done")
        show(2, "done")


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    work()
    assert "Baking: done" in terminal.getvalue()


@pytest.mark.parametrize("progress", [False, lambda *news: None], ids=["False", "a function"])
def test_who_shows_progress_himself_gets_no_bar(monkeypatch: pytest.MonkeyPatch, progress: Any) -> None:
    terminal = watch(monkeypatch)
    work(progress)
    assert terminal.getvalue() == ""


def test_work_inside_other_work_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    with follow("Cooking", 1) as show:
        work()
        show(1, "")
    assert "Cooking" in terminal.getvalue()
    assert "Baking" not in terminal.getvalue()
    with hush():
        work()
    assert "Baking" not in terminal.getvalue()
    work()
    assert "Baking" in terminal.getvalue()


def test_short_work_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    monkeypatch.setattr(_progress, "SECONDS", 60.0)
    work()
    assert terminal.getvalue() == ""


def test_a_log_and_a_switch_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    monkeypatch.setenv(_progress.SWITCH, "0")
    work()
    assert terminal.getvalue() == ""
    monkeypatch.delenv(_progress.SWITCH)
    monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    work()
    assert terminal.getvalue() == ""


def test_a_notebook_without_tqdm_shows_a_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], **how: Any) -> Any:
        assert how == {"raw": True, "display_id": True}
        shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    kernel = SimpleNamespace(kernel=object())
    module = SimpleNamespace(get_ipython=lambda: kernel, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(_progress, "SECONDS", 0.0)
    monkeypatch.setattr(_progress, "_has_tqdm", lambda: False)
    monkeypatch.delenv(_progress.SWITCH, raising=False)
    work()
    assert shown == ["Baking ...", "Baking ... 50%, half done", "Baking ... 100%, done", ""]


def test_an_odd_argument_gets_one_line() -> None:
    with pytest.raises(ParameterError, match="progress is 'yes'; give a function, or False"):
        work("yes")
    tell(False, 1)
    told: list[Any] = []
    tell(told.append, 1)
    assert told == [1]


def test_an_audit_and_a_network_show_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    from likewise import NetworkClassifier, audit, load_dataset

    data = load_dataset("planted", n_rows=400)
    audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=0)
    assert "Audit: " in terminal.getvalue()
    quick: dict[str, Any] = {"n_iterations": 10, "hidden": (4,), "device": "cpu", "random_state": 0}
    NetworkClassifier(roles=data.roles, **quick, progress=False).fit(data.train.X, data.train.y)
    assert "NetworkClassifier" not in terminal.getvalue()
    NetworkClassifier(roles=data.roles, **quick).fit(data.train.X, data.train.y)
    assert "Fitting NetworkClassifier: loss" in terminal.getvalue()
