"""Measure how long the explorer takes to answer a moved threshold, from request to response, beside an audit anew.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/exploring.py             # some minutes
    python benchmarks/exploring.py --report    # only write the table anew, from stored figures

Adult scaled up to 50,000 people, as for the audits, is served by a process of its own on 127.0.0.1. Another asks it
over one connection: each move goes to thresholds that were not asked before, so nothing is answered from memory, and
its time runs from sending the question to having read the whole answer: numbers, chart, transitions and the first page
of pairs. Thresholds are chosen so that there are about so many pairs. The rival is what one would do without the
explorer: ``likewise.audit`` with the same rule, without intervals and baseline, in the process that holds people and
scores.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import platform
import resource
import socket
import statistics
import sys
import time
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

import _audit_cases
import likewise
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
N_ROWS: Final = 50_000
WANTED: Final = (10_000, 100_000, 1_000_000)
N_MOVES: Final = 40
N_AUDITS: Final = 3
MOST_MS: Final = 200
LIBRARIES: Final = ("numpy", "numba", "pandas", "pyarrow")

INTRODUCTION: Final = """# The explorer: how long a move takes

Written by `python benchmarks/exploring.py`, which says how it is measured and can be run again.
{machine}. {versions}.

Adult scaled up to {rows:,} people, scored by a logistic regression. The pairs held are {n_end:,}, at T_d = {changes}
and T_c = {shift:g}; starting took {start:.1f} s and {held:,} MB above people and scores. Milliseconds are by the clock,
from request to response: the median of {n_moves} moves, and the time that 19 of 20 stay below. *CPU* is the server's,
all threads together. *Audit anew* is the best of {n_audits}
calls of `likewise.audit` with the same rule, without intervals and baseline, by the clock.
"""

Results = dict[str, Any]


def main() -> None:
    """Measure, store and show."""
    parser = argparse.ArgumentParser(description="Measure the explorer.")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table anew")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    if not options.report:
        store(measure(), options.results / "exploring.json")
    results = json.loads((options.results / "exploring.json").read_text())
    text = write_report(results)
    (options.results / "exploring.md").write_text(text)
    print(text)


def measure() -> Results:
    """Serve in another process, and ask it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve_people, args=(there,), daemon=True)
    server.start()
    try:
        told = here.recv()
        address = urlsplit(told.pop("address"))
        asker = Asker(address.hostname or "", address.port or 0, address.path)
        cells = [measure_moves(asker, n, int(server.pid or 0)) for n in (*WANTED, told["n_end"])]
        here.send([(cell["changes"], cell["shift"]) for cell in cells])
        for cell, anew in zip(cells, here.recv(), strict=True):
            cell |= anew
    finally:
        server.terminate()
    versions = {"python": platform.python_version(), "likewise": likewise.__version__}
    versions |= {name: version(name) for name in LIBRARIES}
    return {"machine": describe_machine(), "versions": versions, **told, "cells": cells}


def serve_people(pipe: Connection) -> None:
    """Score people, serve them, and audit them anew when asked."""
    import threading

    from likewise.explore import Explorer, serve

    _audit_cases.ADULT_ROWS = N_ROWS  # type: ignore[misc]  # as there, but for the number
    data, schema, people, labels = _audit_cases.load_scaled_adult()
    table = schema.encode(people, labels)
    coefficients, intercept = _audit_cases._fit(data, schema)
    scores = 1 / (1 + np.exp(-(_audit_cases._features(table, schema) @ coefficients + intercept)))
    before, begun = peak_mb(), time.perf_counter()
    explorer = Explorer(scores, people, labels, roles=schema, rule=data.rule)
    reach = explorer.reach
    told = {
        "rows": len(table),
        "start_s": round(time.perf_counter() - begun, 2),
        "held_mb": round(peak_mb() - before),
        "n_end": reach.n_end,
        "end": [reach.end.changes, reach.end.shift],
    }
    served = {"opens_browser": False, "announce": lambda address: pipe.send({"address": address, **told})}
    threading.Thread(target=serve, args=(explorer,), kwargs=served, daemon=True).start()
    anew = []
    for changes, shift in pipe.recv():
        times = []
        for _ in range(N_AUDITS):
            begun, cpu = time.perf_counter(), time.process_time()
            how: dict[str, Any] = {"baseline": False, "n_resamples": 0}
            found = likewise.audit(scores, people, labels, roles=schema, rule=explorer.rule(changes, shift), **how)
            times.append((time.perf_counter() - begun, time.process_time() - cpu))
        same = explorer.look({"changes": changes, "shift": shift})["slices"][0]["gap_mean"] == found["gap_mean"].value
        wall, cpu = (min(one[place] for one in times) for place in (0, 1))
        anew.append({"audit_s": round(wall, 3), "audit_cpu_s": round(cpu, 3), "agrees": bool(same)})
    pipe.send(anew)


class Asker:
    """One connection to the page's program."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=60)
        self._connection.connect()  # browsers do not wait for small packets to fill, and neither does this
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._path = path
        self._headers = {"content-type": "application/json", "x-likewise-token": path.strip("/")}

    def look(self, **wish: Any) -> tuple[Results, float]:
        """Ask, and say how many milliseconds it took."""
        begun = time.perf_counter()
        self._connection.request("POST", f"{self._path}api/look", json.dumps(wish), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        taken = 1000 * (time.perf_counter() - begun)
        if response.status != 200:
            raise SystemExit(body.decode())
        return json.loads(body), taken


def measure_moves(asker: Asker, n_wanted: int, server: int) -> Results:
    """Move the shift by little around the threshold with about so many pairs, then filter and turn pages there."""
    changes, shift = find_thresholds(asker, n_wanted)
    shifts = np.round(shift * (1 - 0.02 * np.arange(1, N_MOVES + 1) / N_MOVES), 9)
    cpu = cpu_seconds(server)
    moves = [asker.look(changes=changes, shift=float(one)) for one in shifts]
    cpu = (cpu_seconds(server) - cpu) / N_MOVES
    held = {"changes": changes, "shift": float(shifts[-1])}
    pages = [asker.look(**held, page=page)[1] for page in range(1, 21)]
    filtered = [asker.look(**held, label=one % 2, least_gap=0.05 + 0.01 * one)[1] for one in range(20)]
    times = [taken for _, taken in moves]
    return {
        "n_pairs": round(statistics.mean(answer["n_pairs"] for answer, _ in moves)),
        "changes": changes,
        "shift": shift,
        "move_ms": round(statistics.median(times), 1),
        "slowest_ms": round(sorted(times)[int(0.95 * N_MOVES) - 1], 1),
        "move_cpu_ms": round(1000 * cpu, 1),
        "page_ms": round(statistics.median(pages), 1),
        "filter_ms": round(statistics.median(filtered), 1),
    }


def find_thresholds(asker: Asker, n_wanted: int) -> tuple[int, float]:
    """Halve the way to the shift with about so many pairs, at as many discrete changes as are in reach."""
    about = asker_ends(asker)
    changes, low, high = about[0], 0.0, about[1]
    if asker.look(changes=changes, shift=high)[0]["n_pairs"] <= n_wanted:
        return changes, high
    while changes and asker.look(changes=changes, shift=0.0)[0]["n_pairs"] > n_wanted:
        changes -= 1
    for _ in range(14):
        middle = (low + high) / 2
        is_more = asker.look(changes=changes, shift=middle)[0]["n_pairs"] > n_wanted
        low, high = (low, middle) if is_more else (middle, high)
    return changes, round(high, 6)


def asker_ends(asker: Asker) -> tuple[int, float]:
    """Ask where the thresholds end."""
    connection = asker._connection
    connection.request("POST", f"{asker._path}api/about", "{}", asker._headers)
    about = json.loads(connection.getresponse().read())
    return about["changes"]["end"], about["shift"]["end"]


def cpu_seconds(process: int) -> float:
    """Read what a process has used so far, all threads together."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb() -> float:
    """Give the most memory this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def write_report(results: Results) -> str:
    """Write the table."""
    cells = results["cells"]
    million = min(cells, key=lambda cell: abs(cell["n_pairs"] - 1_000_000))
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    met = "yes" if million["move_ms"] <= MOST_MS else "**no**"
    lines = [
        INTRODUCTION.format(
            machine=results["machine"],
            versions=versions,
            rows=results["rows"],
            n_end=results["n_end"],
            changes=results["end"][0],
            shift=results["end"][1],
            start=results["start_s"],
            held=results["held_mb"],
            n_moves=N_MOVES,
            n_audits=N_AUDITS,
        ),
        "## Target\n",
        "| a move at a million pairs | wanted | found | met |",
        "| --- | --- | --- | --- |",
        f"| {million['n_pairs']:,} pairs among {results['rows']:,} people | \u2264 {MOST_MS} ms | "
        f"{million['move_ms']:.0f} ms | {met} |\n",
        "## Moves\n",
        "| pairs | move, ms | 19 of 20 below, ms | CPU, ms | a page, ms | a filter, ms | audit anew, s | "
        "times a move | same mean gap |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in cells:
        ratio = 1000 * cell["audit_s"] / cell["move_ms"]
        lines.append(
            f"| {cell['n_pairs']:,} | {cell['move_ms']:.0f} | {cell['slowest_ms']:.0f} | {cell['move_cpu_ms']:.0f} | "
            f"{cell['page_ms']:.0f} | {cell['filter_ms']:.0f} | {cell['audit_s']:.2f} | {ratio:.0f}x | "
            f"{'yes' if cell['agrees'] else '**no**'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
