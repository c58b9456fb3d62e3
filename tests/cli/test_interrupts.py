"""Ctrl-C is exit code 130 and one line, in whatever form it surfaces, and the line is true of the files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import likewise
from likewise.cli.commands import _audit, _pairs

SAID = "likewise: interrupted; every file is whole, or was not written.\n"

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race")
AT_IMPORT = """
import os, signal, sys
class Stop:
    def find_spec(self, name, *rest):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
from likewise.cli import main
main(["datasets"])
"""


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C interrupt, here and in what tests start: a run in the background may have been told to ignore it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def interrupt(*_: object, **__: object) -> Any:
    """Receive Ctrl-C as a compiled library does that forgets where it came from."""
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    raise RuntimeError("Query interrupted")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["likewise.cli._interrupts", "typer", "rich.table", "likewise.datasets"])
def test_ctrl_c_while_it_starts(name: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(likewise.__file__).parents[1])}
    code = AT_IMPORT.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == SAID


def test_ctrl_c_that_a_library_turned_into_its_own_error(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pairs, "search", interrupt)
    outcome = run("pairs", csv, *ASKED, "--quiet", "--out", csv.with_name("x.csv"))
    assert (outcome.code, outcome.stderr) == (130, SAID)
    assert [path.name for path in csv.parent.iterdir()] == ["people.csv"]


def test_files_that_were_written_before_are_whole(run: Run, scored_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = scored_csv.with_name("audit")
    monkeypatch.setattr(_audit, "print_result", interrupt)
    outcome = run("audit", scored_csv, *ASKED, "--scores", "p", "--resamples", "0", "--out", out, "--quiet")
    assert (outcome.code, outcome.stderr) == (130, SAID)
    assert (out / "audit.json").is_file()


def long_loop(path: Path, n_rounds: int) -> Path:
    """Write a model that adds to a number again and again before it answers 0.5."""
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto

    def scalar(name: str, kind: int) -> Any:
        return helper.make_tensor_value_info(name, kind, [])

    constants = {"step": (kinds.FLOAT, 1e-9), "rounds": (kinds.INT64, n_rounds), "go": (kinds.BOOL, True)}
    constants |= {"start": (kinds.FLOAT, 0.0), "zero": (kinds.FLOAT, 0.0), "half": (kinds.FLOAT, 0.5)}
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["still"]),
            helper.make_node("Add", ["sum", "step"], ["more"]),
        ],
        "body",
        [scalar("i", kinds.INT64), scalar("on", kinds.BOOL), scalar("sum", kinds.FLOAT)],
        [scalar("still", kinds.BOOL), scalar("more", kinds.FLOAT)],
    )
    nodes = [
        helper.make_node("Loop", ["rounds", "go", "start"], ["total"], body=body),
        helper.make_node("Mul", ["total", "zero"], ["nothing"]),
        helper.make_node("Mul", ["hours", "zero"], ["none"]),
        helper.make_node("Add", ["none", "half"], ["halves"]),
        helper.make_node("Add", ["halves", "nothing"], ["probabilities"]),
    ]
    graph = helper.make_graph(
        nodes,
        "long",
        [helper.make_tensor_value_info("hours", kinds.FLOAT, [None, 1])],
        [helper.make_tensor_value_info("probabilities", kinds.FLOAT, [None, 1])],
        [helper.make_tensor(name, kind, [], [value]) for name, (kind, value) in constants.items()],
    )
    opset = helper.make_opsetid("", 17)
    path.write_bytes(helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString())
    return path


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_model_that_takes_long_can_be_stopped(run: Run, csv: Path) -> None:
    model = long_loop(csv.with_name("long.onnx"), 10)
    asked = (*ASKED, "--ignore", "name", "--resamples", "0", "--model", model)
    assert run("audit", csv, *asked, "--quiet").code == 0
    long_loop(model, 10**9)
    stop = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    stop.start()
    outcome = run("audit", csv, *asked, "--quiet")
    stop.join()
    assert (outcome.code, outcome.stderr) == (130, SAID)


def test_another_run_begins_anew(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(_pairs, "search", interrupt)
        assert run("pairs", csv, *ASKED, "--quiet").code == 130
    assert signal.getsignal(signal.SIGINT) is usual
    assert run("pairs", csv, *ASKED, "--quiet").code == 0
