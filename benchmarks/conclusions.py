"""Simulate how often an audit draws each of its conclusions where nobody is treated differently, and where somebody is.

Run it from the environment that ``make test`` makes, or wherever the package and what it needs can be imported::

    python benchmarks/conclusions.py                      # what is missing
    python benchmarks/conclusions.py --only "near; few" --again
    python benchmarks/conclusions.py --report             # only write the page anew, from stored figures

Tables are drawn from each population (``_populations.py``) and audited as anybody would. Where nobody is treated
differently, whatever is concluded is false: the first sentence, that scores differ more between groups, an excess above
zero, a significant direction, a group that differs in the regression beside the pairs, a person named, a later table
that is worse than an earlier one, and that a second model of the same people, which only adds noise, has another
excess. The truth of other measures is their mean over all tables. With the limit of a policy at the truth, a measure
passes wrongly if its whole interval is better than the truth, and fails wrongly if the whole interval is worse. Where
group b is treated differently, the same conclusions are right: their share is the power.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from scipy.special import expit, logit

from _harness import Record, answer, head, markdown
from _populations import POPULATIONS, Draw
from likewise import Audit, audit, compare_audits, name_people
from likewise.auditing import compare_series
from likewise.exceptions import LikewiseError, LikewiseWarning

NAME: Final = "conclusions"
TABLES: Final = 240
MEASURES: Final = ("gap_mean", "flip_rate", "rank_gap_mean", "excess", "excess_flips", "direction", "regression")
NULL: Final = ("excess", "excess_flips", "direction", "regression")  # 0 where nobody is treated differently
SIGNIFICANT: Final = 0.05
MOST_FALSE: Final = 0.05
PASSED: Final = 0.035
COVERED: Final = 0.92
FEWEST: Final = 0.1  # of the tables have to have an interval, to say what intervals are worth
RATE: Final = 0.05  # of false names that is asked for
CONCLUSIONS: Final = {
    "said": "first sentence: more",
    "excess": "excess above 0",
    "flips": "excess of flips above 0",
    "significant": "direction significant",
    "regressed": "regression: b differs",
    "worse": "later table worse",
    "changed": "second model has another excess",
    "named": "falsely named",
    "found": "named of those lowered",
}
FALSE: Final = ("worse", "named")  # wrong in every population: two tables of one are treated alike
SAID: Final = "Scores differ more"
TITLE: Final = "What an audit concludes where nothing is"
WORDS: Final = """How often a conclusion is drawn, in percent of the tables of a population. Where nobody is treated
differently that is how often it is wrong, and should be at most 5 %; where group b is scored lower, how often it is
found. The first sentence says more only where the excess of pairs equal in all discrete columns is above zero, too. A
later table is treated as the earlier one, so that it is never worse; a second model of the same people adds noise to
all of them. Falsely named is the mean share of those
named who are not scored lower, where 5 % were asked for; the last column is the share of those lowered who are named.
In the table of intervals: the share of nominal 95 % intervals that cover the truth, which should be at least 0.92, and
in brackets how often a policy with its limit at the truth passes wrongly, at most 3.5 %; populations whose tables
are not treated alike, as other cells are lowered in each, are left out there. A dash: no table has it, or too few
people count to conclude anything. Where 12 branches are uneven, fewer than ten count on one side. Shares depend on no
machine: three populations (*near, no noise*, *few, 10* and *few, 20*) were drawn on another than the one named above.
"""


def measure(name: str, n_tables: int) -> Record:
    """Audit tables of a population, and count what is concluded."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        tables = [one for one in pool.map(partial(conclude, name), range(n_tables), chunksize=5) if one is not None]
    found: Record = {"tables": n_tables, "audited": len(tables), "conclusions": {}, "measures": {}}
    for conclusion in CONCLUSIONS:
        drawn = [told for one in tables if (told := one["conclusions"][conclusion]) is not None]
        found["conclusions"][conclusion] = float(np.mean(drawn)) if drawn else None
    for measured in MEASURES:
        estimates = [ends for one in tables if (ends := one["measures"][measured])[0] is not None]
        is_null = measured in NULL and not POPULATIONS[name].is_treated
        truth = 0.0 if is_null or not estimates else float(np.mean([value for value, *_ in estimates]))
        found["measures"][measured] = count(truth, [(low, high) for _, low, high in estimates if low is not None])
    return found


def count(truth: float, intervals: list[tuple[float, float]]) -> Record:
    """Count intervals that cover the truth, are better and are worse; better is nearer to zero, or below."""
    better = sum(high < truth - 1e-9 for _, high in intervals)
    worse = sum(low > truth + 1e-9 for low, _ in intervals)
    if truth < 0:  # a signed gap
        better, worse = worse, better
    return {"truth": truth, "n": len(intervals), "passed": better, "failed": worse}


def conclude(name: str, number: int) -> Record | None:
    """Audit a table, and say what is concluded; None of a table without pairs."""
    random = np.random.default_rng([number, *name.encode()])
    drawn, later = POPULATIONS[name].draw(random), POPULATIONS[name].draw(random)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikewiseWarning)
        try:
            found, after = examine(drawn), examine(later, baseline=False)
        except LikewiseError:
            return None
        named, lowered = share_named(found, drawn)
    ends = {measured: tell(found, measured) for measured in MEASURES[:-2]}
    (direction, p_value), effect = tell_direction(found), tell_effect(found)
    above = {key: is_above(ends[of]) for key, of in (("excess", "excess"), ("flips", "excess_flips"))}
    told = {
        **above,
        "significant": None if p_value is None else p_value < SIGNIFICANT,
        "regressed": None if effect[1] is None or effect[2] is None else not effect[1] <= 0 <= effect[2],
        "said": found.record.conclusions[0].startswith(SAID) if found.record.conclusions else None,
        "changed": tell_change(found, drawn, random),
        "worse": compare_series([found.record, after.record], as_given=True).outcome == "worse",
        "named": named,
        "found": lowered,
    }
    return {"measures": {**ends, "direction": direction, "regression": effect}, "conclusions": told}


def examine(drawn: Draw, **how: Any) -> Audit:
    """Audit a table."""
    if drawn.clusters is not None and "cluster" in inspect.signature(audit).parameters:
        how["cluster"] = drawn.clusters
    settings: Any = {"roles": drawn.roles, "rule": drawn.rule, "n_worst": 0, **drawn.how, **how}
    return audit(drawn.scores, drawn.frame, drawn.labels, **settings)


def tell(found: Audit, measured: str) -> tuple[float | None, ...]:
    """Return a measure and its interval."""
    one = found.measures.get(measured)
    return (None, None, None) if one is None else (one.value, one.low, one.high)


def tell_direction(found: Audit) -> tuple[tuple[float | None, ...], float | None]:
    """Return how far group b is above group a, with the interval and what tests say of it."""
    for direction in found.directions:
        told = direction if direction.target == ("b",) else direction.reversed()
        return (told.adjusted_gap, told.adjusted_low, told.adjusted_high), told.p_adjusted
    return (None, None, None), None


def tell_effect(found: Audit) -> tuple[float | None, ...]:
    """Return by how much more group b is scored than group a by the regression beside the pairs, with the interval."""
    for one in found.record.regression:
        sign = 1 if one.group == "b" else -1
        low, high = (None if end is None else sign * end for end in (one.low, one.high)[::sign])
        return None if one.effect is None else sign * one.effect, low, high
    return None, None, None


def tell_change(found: Audit, drawn: Draw, random: np.random.Generator) -> bool | None:
    """Tell whether a second model, which adds noise to the scores of all, is found to have another excess."""
    noise, scores = random.normal(size=len(drawn.scores)), drawn.scores
    if drawn.how.get("task") == "regression":
        moved = scores * np.exp(0.2 * noise)
    elif np.isin(scores, (0.0, 1.0)).all():
        moved = np.where(noise > 1.6, 1 - scores, scores)
    else:
        moved = expit(logit(np.clip(scores, 1e-9, 1 - 1e-9)) + 0.3 * noise)
    change = compare_audits(found, examine(replace(drawn, scores=moved))).changes.get("excess")
    if change is None or change.difference.low is None or change.difference.high is None:
        return None if change is None or change.difference.value is None else False
    return not change.difference.low <= 0 <= change.difference.high


def is_above(ends: tuple[float | None, ...]) -> bool | None:
    """Tell whether an interval is above zero; None without a value."""
    return None if ends[0] is None else bool(ends[1] is not None and ends[1] > 0)


def share_named(found: Audit, drawn: Draw) -> tuple[float | None, float | None]:
    """Return which share of those named is not scored lower, and which share of those scored lower is named."""
    if drawn.lowered is None:
        return None, None
    rows = [one.row for one in name_people(found, false_discovery_rate=RATE)]
    n_right = int(drawn.lowered[rows].sum())
    has_partners = np.unique(np.concatenate([found.pairs.left, found.pairs.right]))
    n_lowered = int(drawn.lowered[has_partners].sum())
    return 1 - n_right / len(rows) if rows else 0.0, n_right / n_lowered if n_lowered else None


def write_page(figures: Record) -> str:
    """Write how often each conclusion is drawn, what intervals are worth, and whatever misses its goal."""
    cells = {name: cell for name, cell in figures["cells"].items() if cell["status"] == "done" and name in POPULATIONS}
    if not cells:
        return f"# {TITLE}\n\nNot measured yet: `python benchmarks/conclusions.py`.\n"
    parts, missed = [head(TITLE, "conclusions", figures, WORDS)], []
    for is_treated, title in ((False, "Nobody is treated differently"), (True, "Somebody is treated differently")):
        rows = []
        for name, cell in cells.items():
            if POPULATIONS[name].is_treated == is_treated:
                rows.append([name, cell["tables"], *map(show_share, list_conclusions(name, cell).values())])
                asked = FALSE if is_treated else CONCLUSIONS
                missed += [f"{name}: {line}" for line in list_false(list_conclusions(name, cell), cell, asked)]
        parts.append(f"## {title}\n\n{markdown(['population', 'tables', *CONCLUSIONS.values()], rows)}")
    steady = {name: cell for name, cell in cells.items() if POPULATIONS[name].is_steady}
    rows = [[name, *(show_interval(cell["measures"].get(one)) for one in MEASURES)] for name, cell in steady.items()]
    parts.append(f"## Intervals\n\n{markdown(['population', *MEASURES], rows)}")
    missed += [f"{name}: {line}" for name, cell in steady.items() for line in list_missed(cell)]
    told = [f"- {line}" for line in missed] or ["Nothing."]
    parts.append("\n".join(["## Beyond a goal, by chance or not\n", *told, ""]))
    about = [f"- {name}: {POPULATIONS[name].about}." for name in cells]
    return "\n".join([*parts, "## Populations\n", *about, ""])


def list_conclusions(name: str, cell: Record) -> Record:
    """Return how often each conclusion is drawn; of tables that are not treated alike, one may well be worse."""
    unsteady = () if POPULATIONS[name].is_steady else ("worse",)
    return {key: None if key in unsteady else cell["conclusions"].get(key) for key in CONCLUSIONS}


def show_share(share: float | None) -> str:
    """Format a share of tables."""
    return "-" if share is None else f"{share:.1%}"


def show_interval(one: Record | None) -> str:
    """Format what the intervals of a measure are worth."""
    if one is None or one["n"] == 0:
        return "-"
    return f"{cover(one):.3f} ({one['passed'] / one['n']:.1%})"


def cover(one: Record) -> float:
    """Return which share of the intervals cover the truth."""
    return float(1 - (one["passed"] + one["failed"]) / one["n"])


def list_false(told: Record, cell: Record, conclusions: Iterable[str]) -> list[str]:
    """Name those of the conclusions that are drawn too often."""
    shares = {key: told[key] for key in conclusions}
    return [
        f"{CONCLUSIONS[key]} in {share:.1%}, {beyond(share, MOST_FALSE, cell['audited'])}"
        for key, share in shares.items()
        if share is not None and share > MOST_FALSE
    ]


def list_missed(cell: Record) -> list[str]:
    """Name the measures whose intervals are worth too little."""
    found = []
    for measured, one in cell["measures"].items():
        if one["n"] < max(FEWEST * cell["tables"], 1):
            continue
        passed = one["passed"] / one["n"]
        if cover(one) < COVERED:
            found.append(f"{measured} covers {cover(one):.3f}, {beyond(cover(one), COVERED, one['n'])}")
        if passed > PASSED:
            found.append(f"{measured} passes wrongly in {passed:.1%}, {beyond(passed, PASSED, one['n'])}")
    return found


def beyond(share: float, limit: float, n: int) -> str:
    """Say how many standard errors a share is beyond its limit."""
    return f"{abs(share - limit) / math.sqrt(limit * (1 - limit) / n):.1f} standard errors beyond"


CELLS: Final = {name: [name, TABLES] for name in POPULATIONS}

if __name__ == "__main__":
    answer(NAME, __doc__, CELLS, measure, write_page)
