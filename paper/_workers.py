"""Processes that work on one task at a time; one that dies takes only its own task with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any, Final

from paper._cells import Spec

THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Task:
    """A cell to be measured, or the generator of a cell to be trained."""

    spec: Spec
    only_generator: bool = False
    beside: tuple[Spec, ...] = ()  # further settings of the method, fitted together with it


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task: a cell, the package that is lacking, or the reason why the process died."""

    task: Task
    cell: dict[str, Any] | None = None
    lacking: str | None = None
    died: str | None = None
    beside: tuple[dict[str, Any], ...] = ()  # the cells of further settings


def work_on(task: Task, work: Path, device: str) -> Outcome:
    """Do a task in this process."""
    from paper._measuring import measure, measure_together, train_generator
    from paper._registry import Lacking

    try:
        if task.beside:
            first, *others = measure_together((task.spec, *task.beside), work, device)
            return Outcome(task, cell=first, beside=tuple(others))
        job = train_generator if task.only_generator else measure
        return Outcome(task, cell=job(task.spec, work, device))
    except Lacking as error:
        return Outcome(task, lacking=str(error))


class Workers:
    """So many processes; each has one task or none."""

    def __init__(self, n: int, work: Path, device: str) -> None:
        self._n, self._work, self._device = n, work, device
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, Task] = {}

    @property
    def n_free(self) -> int:
        """How many tasks could be started now."""
        return self._n - len(self._busy)

    @property
    def n_busy(self) -> int:
        """How many tasks are being worked on."""
        return len(self._busy)

    def start(self, task: Task) -> None:
        """Hand out a task."""
        worker = self._idle.pop() if self._idle else _Worker(self._work, self._device)
        worker.send(task)
        self._busy[worker] = task

    def wait(self, seconds: float | None) -> Iterator[Outcome]:
        """Give what is done, as soon as something is, or nothing after so many seconds."""
        ears = {worker.connection: worker for worker in self._busy}
        for ready in connection.wait([*ears], seconds):
            worker = ears[ready]  # type: ignore[index]  # only connections were waited for
            task = self._busy.pop(worker)
            try:
                outcome: Outcome = worker.connection.recv()
            except (EOFError, OSError):
                yield Outcome(task, died=worker.cause_of_death())
            else:
                self._idle.append(worker)
                yield outcome

    def kill(self) -> None:
        """End all of them at once; what they work on is lost."""
        for worker in [*self._idle, *self._busy]:
            worker.kill()
        self._idle, self._busy = [], {}


class _Worker:
    def __init__(self, work: Path, device: str) -> None:
        context = get_context("spawn")  # torch and OpenMP do not survive a fork
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, work, device), daemon=True)
        with _one_thread_each():
            self._process.start()
        other.close()

    def send(self, task: Task) -> None:
        self.connection.send(task)

    def cause_of_death(self) -> str:
        self._process.join(timeout=10)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"The process was ended by {signal.Signals(-code).name}, as for want of memory."
        return f"The process ended with code {code}."

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


class _one_thread_each:  # noqa: N801  # read as a verb
    """Start processes that use one thread each: several with several wait for each other."""

    def __enter__(self) -> None:
        self._before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))

    def __exit__(self, *error: object) -> None:
        for name, value in self._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(ear: Any, work: Path, device: str) -> None:
    """Work on what comes until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = ear.recv()
        except EOFError:
            return
        ear.send(work_on(task, work, device))


def _end_with_parent() -> None:
    """End at once when the parent is killed: nobody waits for the result, and the next run wants the processor."""
    parent = parent_process()
    while parent is not None and parent.is_alive():
        parent.join(1.0)
        time.sleep(0.05)
    os._exit(1)
