"""Measure what training with antidotes costs, beside the plain network and beside inFairness.

Run it from the environment that ``make test`` makes::

    python benchmarks/training.py                             # some minutes
    python benchmarks/training.py --rivals /their/python      # inFairness as installed for another Python
    python benchmarks/training.py --only fits --again
    python benchmarks/training.py --report                    # only write the tables anew, from stored figures

Each question runs in a process of its own, on one thread, beside plain fits: what counts are ratios within it. Costs
are measured by a yardstick that is told of in _training_clock.py. Seconds are the processor's. Antidotes are made
before a fit and given to it; making them is timed apart. Memory is the peak above what was in use before the call:
people and antidotes are not in it. Results are stored as soon as they are there (results/training.json) and not
measured again, unless asked with --again. The readable tables are results/training.md.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from _training_cells import Cell, measure_cells, open_results, read_arguments, refuse_other_machine, run_script
from _training_report import write_report

TIMES: Final = (1, 3, 10)  # as many rows as Adult has
RIVALS: Final = ("SenSR", "SenSeI")
STEPS: Final = "10,50"  # of an attack of theirs


def main() -> None:
    options = read_arguments(__doc__)
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "training.json"
    results = open_results(path)
    if not options.report:
        refuse_other_machine(results, path)
        with tempfile.TemporaryDirectory() as folder:
            people = str(Path(folder) / "people.npz")
            if options.rivals:
                run_script(Cell("input", "_baselines_trial.py", ("input", people)))
            measure_cells(list_cells(options.rivals, people), results, path, options)
    write_report(results, path.with_suffix(".md"))
    print(f"\n{path.with_suffix('.md').read_text()}")


def list_cells(rivals: str | None, people: str) -> list[Cell]:
    script = "_training_trial.py"
    ours = [Cell(question, script, (question,)) for question in ("fits", "counts", "augmented")]
    ours += [Cell(f"rows x {times}", script, ("rows", str(times))) for times in TIMES]
    theirs = [
        Cell(f"inFairness {method}", "_baselines_rivals.py", (people, method, STEPS), rivals)
        for method in RIVALS
        if rivals
    ]
    return ours + theirs


if __name__ == "__main__":
    main()
