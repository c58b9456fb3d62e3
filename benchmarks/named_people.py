"""Simulate how many of the people that ``name_people`` names are not worse off, where it is known who is.

Run it from the environment that ``make test`` makes::

    python benchmarks/named_people.py --tables 200    # some minutes

Every table has people of two groups in cells of equal columns, with scores that vary by chance. In some cells, the
people of the one group are scored lower than that. Named falsely is whoever is named and is not one of them. The
populations: nobody is lowered; a tenth, or half, of the cells; few partners whom everybody shares (hubs); long tails of
chance; chance that is larger in some cells than in others; people with weights that differ widely (log-normal, sigma
1.5).
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import likewise
from _harness import RESULTS, write_figures

NAME: Final = "named_people"
RATES: Final = (0.05, 0.1, 0.2)
N_PEOPLE: Final = 800
SHIFT: Final = 0.3
CHANCE: Final = 0.03
ROLES: Final = likewise.Roles(sensitive="group", discrete=["cell"])
RULE: Final = likewise.Comparability(max_discrete_changes=0)
TEXT: Final = """# Who is named

Written by `python benchmarks/named_people.py`, which says what is simulated and can be run again. {tables} tables of
{people:,} people of each population; {versions}. The false discovery rate is the mean share of people named who are not
worse off (0 where nobody is named), with its standard error; power is the share of those worse off who are named.

| population | asked for | positive dependence | power | any dependence | power |
| --- | --- | --- | --- | --- | --- |
"""

Results = dict[str, Any]
Floats = NDArray[np.float64]
Random = np.random.Generator


def draw(
    random: Random, share: float, *, n_hubs: int = 0, tail: bool = False, uneven: bool = False, weighted: bool = False
) -> Results:
    """Draw people, their scores, and who is worse off."""
    cells = random.integers(0, 10 if n_hubs else 40, N_PEOPLE)
    group = np.where(random.random(N_PEOPLE) < 0.5, "b", "a")
    if n_hubs:  # a handful of partners in each cell
        group = np.full(N_PEOPLE, "b")
        for cell in range(10):
            group[np.flatnonzero(cells == cell)[:n_hubs]] = "a"
    chance = random.standard_t(3, N_PEOPLE) if tail else random.standard_normal(N_PEOPLE)
    size = CHANCE * (np.where(cells % 4 == 0, 3.0, 1.0) if uneven else 1.0)
    is_lower = (group == "b") & (random.random(cells.max() + 1) < share)[cells]
    scores = np.clip(0.6 + 0.004 * (cells % 40) + size * chance - SHIFT * is_lower, 0, 1)
    frame = pd.DataFrame({"group": group, "cell": [f"cell {cell}" for cell in cells]})
    weights = random.lognormal(0, 1.5, N_PEOPLE) if weighted else None
    return {"frame": frame, "scores": scores, "is_lower": is_lower, "weights": weights}


POPULATIONS: Final[dict[str, Callable[[Random], Results]]] = {
    "nobody": lambda random: draw(random, 0.0),
    "a tenth": lambda random: draw(random, 0.1),
    "half": lambda random: draw(random, 0.5),
    "hubs, nobody": lambda random: draw(random, 0.0, n_hubs=3),
    "hubs, a fifth": lambda random: draw(random, 0.2, n_hubs=3),
    "long tails": lambda random: draw(random, 0.1, tail=True),
    "uneven chance": lambda random: draw(random, 0.1, uneven=True),
    "weights, nobody": lambda random: draw(random, 0.0, weighted=True),
    "weights, a tenth": lambda random: draw(random, 0.1, weighted=True),
}


def main() -> None:
    """Simulate, store and show."""
    parser = argparse.ArgumentParser(description="Simulate how many people are named falsely.")
    parser.add_argument("--tables", type=int, default=200, help="of each population")
    options = parser.parse_args()
    versions = {"python": platform.python_version(), "likewise": likewise.__version__, "numpy": version("numpy")}
    found: Results = {"tables": options.tables, "versions": versions, "populations": {}}
    for number, (name, population) in enumerate(POPULATIONS.items()):
        found["populations"][name] = simulate(population, number, options.tables)
    write_figures(NAME, found)
    (RESULTS / f"{NAME}.md").write_text(write_page(found), "utf-8")


def simulate(population: Callable[[Random], Results], number: int, n_tables: int) -> Results:
    """Return false shares and power of every rate and kind of dependence, table by table."""
    found: Results = {f"{rate} {kind}": {"false": [], "power": []} for rate in RATES for kind in ("positive", "any")}
    for table in range(n_tables):
        people = population(np.random.default_rng([number, table]))
        how: Results = {"n_resamples": 0, "baseline": False, "sample_weight": people["weights"]}
        audit = likewise.audit(people["scores"], people["frame"], roles=ROLES, rule=RULE, **how)
        is_tested = np.zeros(N_PEOPLE, np.bool_)
        is_tested[np.concatenate([audit.pairs.left, audit.pairs.right])] = True
        n_lower = int((people["is_lower"] & is_tested).sum())
        for rate in RATES:
            for kind in ("positive", "any"):
                named = likewise.name_people(audit, false_discovery_rate=rate, dependence=kind, random_state=table)
                right = sum(bool(people["is_lower"][one.row]) for one in named)
                cell = found[f"{rate} {kind}"]
                cell["false"].append((len(named) - right) / max(len(named), 1))
                cell["power"].append(right / n_lower if n_lower else None)
    return {
        name: {
            "false": float(np.mean(cell["false"])),
            "error": float(np.std(cell["false"]) / np.sqrt(n_tables)),
            "power": mean_of_known(cell["power"]),
        }
        for name, cell in found.items()
    }


def mean_of_known(powers: list[float | None]) -> float | None:
    """Return the mean over the tables in which anybody is worse off."""
    known = [power for power in powers if power is not None]
    return float(np.mean(known)) if known else None


def write_page(results: Results) -> str:
    """Write the table."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lines = []
    for name, cells in results["populations"].items():
        for rate in RATES:
            shown = []
            for kind in ("positive", "any"):
                cell = cells[f"{rate} {kind}"]
                power = "-" if cell["power"] is None else f"{cell['power']:.2f}"
                shown += [f"{cell['false']:.3f} ± {cell['error']:.3f}", power]
            lines.append(f"| {name} | {rate:g} | {' | '.join(shown)} |")
    return TEXT.format(tables=results["tables"], people=N_PEOPLE, versions=versions) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
