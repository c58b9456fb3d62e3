"""Measure SenSR, SenSeI and LCIFR of ours beside inFairness's, with the same number of inner steps.

Run it from the environment that ``make test`` makes::

    python benchmarks/baselines.py                             # some minutes
    python benchmarks/baselines.py --rivals /their/python      # inFairness as installed for another Python
    python benchmarks/baselines.py --only "SenSeI;inFairness SenSeI" --again
    python benchmarks/baselines.py --report                    # only write the tables anew, from stored figures

Both have the same inputs (Adult's training rows as the network sees them), the same projector, network, batches,
optimizer and number of steps in an attack, and compute on one thread. Seconds are the processor's. Ours are fitted
through the public classes; a step is what is left when all that is done once a fit, or when it looks at its scores,
is taken away. inFairness is run in a plain torch loop. Each method is measured beside plain steps of its own, in a
process of its own, by a yardstick that is told of in _training_clock.py. Results are stored as soon as they are there
(results/baselines.json) and not measured again, unless asked with --again. The readable tables are
results/baselines.md.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from _baselines_report import OURS, STEPLESS, STEPS, write_report
from _training_cells import Cell, measure_cells, open_results, read_arguments, refuse_other_machine, run_script


def main() -> None:
    options = read_arguments(__doc__)
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "baselines.json"
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
    cells, steps = [], ",".join(map(str, STEPS))
    for theirs, ours in OURS.items():
        if rivals and theirs:
            cells.append(Cell(f"inFairness {theirs}", "_baselines_rivals.py", (people, theirs, steps), rivals))
        cells += [Cell(one, "_baselines_trial.py", (one, steps)) for one in ours]
    cells.append(Cell(STEPLESS, "_baselines_trial.py", (STEPLESS, "0")))
    cells.append(Cell("subspace", "_baselines_trial.py", ("subspace", "0")))
    if rivals:
        cells.append(Cell("inFairness subspace", "_baselines_rivals.py", (people, "subspace", "0"), rivals))
    return cells


if __name__ == "__main__":
    main()
