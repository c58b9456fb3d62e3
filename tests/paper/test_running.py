"""A run that is killed goes on where it was; nothing is measured twice, and failures are kept and shown."""

from __future__ import annotations

import lzma
import random
import signal
import sys
import time
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import paper._running
import pytest
from paper.__main__ import main
from paper._cells import Cell, Spec, Store, key_of, unique_specs
from paper._experiments import load_experiments
from paper._report import write_results
from paper._running import Job, Outcome, generators_first, work_on
from tests.sizes import sized

N_KILLS = sized(1, 20)
N_SEEDS = sized(1, 7)
SMALL = f"""
title = "Small"
data = "planted"
seeds = {N_SEEDS}
[[row]]
name = "LR"
model = "linear"
[[row]]
name = "LR+Dis"
model = "linear"
columns = "dropped"
[[row]]
name = "LR+Anti"
model = "linear"
antidotes = {{ generator = "uniform", ratio = 0.5 }}
[[row]]
name = "LR+Anti"
block = "ours"
model = "linear"
antidotes = {{ generator = "uniform", ratio = 1.0 }}
[[row]]
name = "LR+Anti+Dis"
model = "linear"
columns = "dropped"
antidotes = {{ generator = "uniform", rounds = 2 }}
[[row]]
name = "broken"
model = "linear"
params = {{ C = -1.0 }}
"""
COUNTS = 'title = "Counts"\nkind = "statistics"\n[[row]]\nname = "planted"\ndata = "planted"\n'
GIBBS = 'antidotes = { generator = "gibbs", ratio = 0.2, params = { n_iterations = 5, width = 16 } }\n'


def make_folder(folder: Path, **files: str) -> Path:
    (folder / "experiments").mkdir(parents=True)
    for name, text in files.items():
        (folder / "experiments" / f"{name}.toml").write_text(text, "utf-8")
    return folder


def call(folder: Path, *words: str) -> int:
    return main(["--folder", str(folder), *words])


def start(folder: Path, *words: str) -> BaseProcess:
    """Run in a process that has all imports behind it, so that a kill hits the work and not the imports."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["paper._running", "paper._measuring", "paper.__main__"])
    run = context.Process(target=main, args=(["--folder", str(folder), *words],))
    run.start()
    return run


def lines(folder: Path) -> list[bytes]:
    files = sorted((folder / "results").glob("*.jsonl*"))
    contents = [lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes() for path in files]
    return [line for content in contents for line in content.splitlines()]


def cut_last_line(folder: Path, n_bytes: int) -> None:
    for path in (folder / "results").glob("*.jsonl"):
        path.write_bytes(path.read_bytes()[: -n_bytes or None])


def substance(cell: Cell) -> dict[str, Any]:
    """What a cell says, without how long it took."""
    return {name: value for name, value in cell.items() if name not in ("seconds", "cpu_s")}


def report(folder: Path) -> str:
    cells = Store(folder / "results").read()
    path = write_results(load_experiments(folder / "experiments"), cells, folder, has_figures=False)
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_folder(tmp_path_factory.mktemp("undisturbed"), small=SMALL, counts=COUNTS)
    assert call(folder, "run") == 1  # one row is broken
    return folder


@pytest.mark.slow
def test_killed_many_times_the_results_are_the_same(undisturbed: Path, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "killed", small=SMALL, counts=COUNTS)
    dice = random.Random(0)
    for _ in range(N_KILLS):
        n_wanted = len(lines(folder)) + dice.choice([0, 1, 1, 2])
        run = start(folder, "run")
        wait_for(lambda n=n_wanted: len(lines(folder)) >= n)
        time.sleep(dice.uniform(0, 0.3))
        run.kill()
        run.join()
        assert run.exitcode == -signal.SIGKILL
        cut_last_line(folder, dice.choice([0, 0, 0, 5]))  # as a crash of the machine might
    call(folder, "run")
    killed, whole = (Store(one / "results").read() for one in (folder, undisturbed))
    assert {key: substance(cell) for key, cell in killed.items()} == {key: substance(whole[key]) for key in whole}
    assert len(lines(folder)) == len(killed)  # none was stored twice
    assert report(folder) == report(undisturbed)


def test_what_is_there_is_not_measured_again(undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(spec: Spec, job: Job, work: Path, device: str) -> Outcome:
        raise AssertionError(f"{spec} was asked for again")

    before = lines(undisturbed)
    monkeypatch.setattr(paper._running, "work_on", refuse)
    assert call(undisturbed, "run") == 0
    assert lines(undisturbed) == before


def test_a_cell_that_two_experiments_share_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = '[[row]]\nname = "LR"\nmodel = "linear"\n'
    head = 'data = "planted"\nseeds = 3\n'
    folder = make_folder(tmp_path, one=f'title = "A"\n{head}{row}', two=f'title = "B"\n{head}{row}block = "ours"\n')
    seen: list[str] = []

    def watch(spec: Spec, job: Job, work: Path, device: str) -> Outcome:
        seen.append(key_of(spec))
        return work_on(spec, job, work, device)

    monkeypatch.setattr(paper._running, "work_on", watch)
    assert call(folder, "run") == 0
    assert len(seen) == len({*seen}) == len(lines(folder)) == 3  # one a seed, as each draws its own split


def test_a_failed_cell_is_stored_shown_and_tried_again_when_asked(
    undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = [cell for cell in Store(undisturbed / "results").read().values() if "error" in cell]
    assert [cell["spec"]["method"]["params"] for cell in failed] == [{"C": -1.0}] * N_SEEDS
    assert all("InvalidParameterError" in cell["error"] for cell in failed)
    assert "InvalidParameterError" in report(undisturbed)
    call(undisturbed, "status")
    assert "InvalidParameterError" in capsys.readouterr().out
    assert call(undisturbed, "run", "--again-failed") == 1
    tried = capsys.readouterr().out
    assert all(f"broken, seed {seed}: failed: InvalidParameterError" in tried for seed in range(N_SEEDS))


def test_a_second_run_is_refused_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_folder(tmp_path, counts=COUNTS)
    with Store(folder / "results").locked():
        assert call(folder, "run") == 2
    assert capsys.readouterr().out.startswith("Another run is writing to ")
    assert lines(folder) == []


def test_wrong_words_are_answered_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_folder(tmp_path, counts=COUNTS)
    assert call(folder, "run", "count") == 2
    assert call(folder, "run", "--only", "plant") == 2
    assert "Did you mean 'counts'?" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        call(folder, "run", "--jobs", "0")


def test_what_a_machine_lacks_is_left_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    row = '[[row]]\nname = "XGBoost"\nmodel = "xgboost"\n'
    folder = make_folder(tmp_path, trees=f'title = "Trees"\ndata = "planted"\n{row}')
    assert call(folder, "run") == 0
    assert "1 cells are left for a machine that has more: xgboost" in capsys.readouterr().out
    assert lines(folder) == []


def test_a_generator_is_trained_once_and_the_longest_cells_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f'[[row]]\nname = "{model}"\nmodel = "{model}"\n' for model in ("linear", "network", "lcifr")]
    rows += [f'[[row]]\nname = "{model}+Anti"\nmodel = "{model}"\n{GIBBS}' for model in ("linear", "network")]
    folder = make_folder(tmp_path, some='title = "A"\ndata = "planted"\n' + "".join(rows))
    specs = unique_specs(load_experiments(folder / "experiments"))
    assert len(generators_first(specs, tmp_path / "work")) == 1
    seen: list[tuple[str, str]] = []

    def watch(spec: Spec, job: Job, work: Path, device: str) -> Outcome:
        seen.append((job, spec["method"]["model"]))
        return Outcome(spec, {"seconds": 0.0} if job == "train" else {"key": key_of(spec), "spec": spec, "error": "no"})

    monkeypatch.setattr(paper._running, "work_on", watch)
    call(folder, "run")
    assert seen[0][0] == "train"
    assert seen[1:] == [("measure", model) for model in ("lcifr", "network", "network", "linear", "linear")]


@pytest.mark.slow
def test_processes_end_with_the_run_and_the_time_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = '[[row]]\nname = "NN"\nmodel = "network"\nparams = { n_iterations = 10000000 }\n'
    folder = make_folder(tmp_path, long=f'title = "Long"\ndata = "planted"\nseeds = 2\n{row}')
    run = start(folder, "run", "--jobs", "2")
    assert run.pid is not None
    workers = wait_for(lambda: len(found) == 2 and found if (found := children(run.pid or 0)) else [])
    run.kill()
    run.join()
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    assert call(folder, "run", "--jobs", "2", "--minutes", "0.02") == 0
    assert "The time is over, 2 cells to go" in capsys.readouterr().out
    assert lines(folder) == []


def children(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    found = [int(child) for child in listed.read_text().split()] if listed.exists() else []
    return [child for child in found if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes()]


def wait_for(look: Any, seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come about in time")
