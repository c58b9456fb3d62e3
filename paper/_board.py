"""The leaderboard: settings chosen on folds of training rows, what they give on test rows, and whole frontiers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

from paper._cells import Cell, Spec, key_of, make_spec
from paper._drawn import Frontiers, point
from paper._lines import in_order_of_appearance
from paper._protocol import FILE as PROTOCOL
from paper._protocol import Contender, Protocol
from paper._tables import Tables, markdown
from paper._verdicts import known

FILE: Final = "LEADERBOARD.md"
COMMIT: Final = "fdd0399"  # that fixed protocol.toml, before any of its cells
LATER: Final = "a77ed11"  # that added methods at its end, before any of theirs
# SHA-256 of the file in these commits, and its length in bytes
FIXED: Final = {
    5708: "c61fa3e4ba759cb4162a871a29d5c7428ab71162e5be03aec6d54e36ff7687d7",
    6775: "917a5d3618302372a31a1907972cc47c5c6d821fa14108ac5d975ecdd71c3078",
}
BASES: Final = {"linear": "LR", "boosted": "XGBoost", "network": "NN", "added": "LR"}
OURS: Final = ("ours", "pairs in the loss", "smoothed scores")  # ends of the names
PRINTED: Final = "AntiDRO, as printed"
GOALS: Final = {"adult": 1 / 3, "compas": 1 / 3, "law_school": 0.5, "oulad": 0.5, "dutch": 1.0}  # of the published gaps
NOT_RUN: Final = "not run"

Numbers = Mapping[str, Any]

INTRODUCTION: Final = f"""# Leaderboard

## How to read it

Written by `python -m paper report` from the cells in `results/`; do not edit. `{PROTOCOL}` fixes methods, settings,
splits and the rule of choice, since commit {COMMIT}, before anything was run; the rows of smoothed scores joined later
(commit {LATER}), when numbers of the others were known. Every method has the same number of settings. One is chosen in
each split, by folds of the training rows alone; the numbers are those of the chosen settings on the test rows, means
over splits. Everything but log loss and seconds is in percent.

*Gap* is the mean absolute difference of the scores of comparable people, averaged over the two labels; *rank gap* and
*excess* (the mean gap less that of same-group pairs, both over all pairs, not by person) likewise. *Flips* are pairs
with different decisions at 0.5, *worst tenth* is the mean of the largest tenth of the gaps. *Change* is that of the gap
against the plain model (LR, XGBoost or NN), with a 95 % interval from the differences within splits; as splits share
people, its variance is that of Nadeau and Bengio (2003), 1/n + test rows / training rows times that of the differences.
*Frontier* is the area below the frontier of the settings that are not dominated in the folds: gap over that of LR, from
0 to 1, against average precision (or log loss) from that of a constant score (0) to LR's (1). A method that keeps LR's
average precision with no gaps at all has 1, LR with its first setting 0. *Chosen* has the chosen settings, and in how
many splits each was chosen. *Smoothed scores* are those of the whole test table, smoothed together: not usable for one
applicant.

The methods of this project were developed on the first five data sets, with other splits, a bias that fresh splits do
not remove. Nothing was developed on the others. Most networks were trained on a GPU: their seconds do not compare with
those of the others. Most settings of SenSR and LCIFR, and those of SenSeI on the further data sets, were fitted
together, and each has its share of the time. *{NOT_RUN}*: not measured yet.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """A method in one split: the chosen setting's numbers, and the areas below its frontiers."""

    split: int
    chosen: int
    numbers: Numbers
    ap_area: float
    loss_area: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A method on a data set, with the splits in which all its settings are measured."""

    data: str
    contender: Contender
    results: tuple[Result, ...]
    points: tuple[Mapping[str, tuple[float, float]], ...]  # mean and deviation of every setting on test rows
    failed: tuple[str, ...]

    @property
    def name(self) -> str:
        """The method's."""
        return self.contender.name

    def values(self, number: Callable[[Result], float | None]) -> dict[int, float]:
        """A number by split, where there is one."""
        found = {one.split: known(number(one)) for one in self.results}
        return {split: value for split, value in found.items() if value is not None}


def gap_of(numbers: Numbers, kind: str = "gap_mean") -> float | None:
    """The mean of the gaps of the two labels, as far as there are pairs of both."""
    both = [numbers.get(f"{kind}[{label}]") for label in (1, 0)]
    there = [value for value in both if value is not None]
    return fmean(there) if there else None


def choose(settings: Sequence[Numbers], reference: Numbers, protocol: Protocol) -> int:
    """Return the number of the setting to take, by numbers of the folds of training rows."""
    least_ap = reference["average_precision"] - protocol.max_ap_loss
    most_loss = reference["log_loss"] + protocol.max_log_loss_rise
    allowed = [
        number
        for number, one in enumerate(settings)
        if one["average_precision"] >= least_ap and one["log_loss"] <= most_loss and gap_of(one) is not None
    ]
    if allowed:
        return min(allowed, key=lambda number: (gap_of(settings[number]), number))
    return max(range(len(settings)), key=lambda number: (settings[number]["average_precision"], -number))


def area_below(points: Sequence[tuple[float, float]]) -> float:
    """Area below the stairs of points (gap, quality), where gaps from 0 to 1 count; no points, no area."""
    total, best, before = 0.0, 0.0, 0.0
    for gap, quality in sorted(points):
        if gap >= 1:
            break
        total += best * (gap - before)
        best, before = max(best, quality), gap
    return total + best * (1 - before)


def frontier_areas(settings: Sequence[Numbers], reference: Numbers) -> tuple[float, float]:
    """Areas of average precision and of log loss, of the settings that no other dominates in the folds."""
    base, unit = reference["base_rate"], gap_of(reference)
    constant = -base * math.log(base) - (1 - base) * math.log(1 - base)
    areas = []
    for name, worst in (("average_precision", base), ("log_loss", constant)):
        sign = 1 if name == "average_precision" else -1
        inner = [(gap_of(one["inner"]) or 0.0, -sign * one["inner"][name]) for one in settings]
        kept = [one for one, mine in zip(settings, inner, strict=True) if not any(_dominates(o, mine) for o in inner)]
        span = reference[name] - worst
        shown = [((gap_of(one) or 0.0) / unit if unit else 0.0, (one[name] - worst) / span) for one in kept]
        areas.append(area_below([(gap, max(quality, 0.0)) for gap, quality in shown]))
    return areas[0], areas[1]


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def find_entries(protocol: Protocol, cells: Mapping[str, Cell]) -> list[Entry]:
    """Put the cells of the benchmark together, also those of methods and data sets that others added."""
    specs = [cell["spec"] for cell in cells.values()]
    specs = [one for one in specs if one["method"]["kind"] == "protocol" and not one["fast"]]
    data_names = in_order_of_appearance([*protocol.data, *sorted(one["data"] for one in specs if "@" in one["data"])])
    found = [(data, one) for data in data_names for one in protocol.contenders]
    return [_enter(protocol, cells, data, one) for data, one in [*found, *_find_added(specs)]]


def _find_added(specs: Sequence[Spec]) -> list[tuple[str, Contender]]:
    methods: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for spec in specs:
        method = spec["method"]
        if "@" in method["model"]:
            known_ones = methods.setdefault((spec["data"], method["model"]), [])
            if method not in known_ones:
                known_ones.append(method)
    return [(data, Contender(model, "added", tuple(found))) for (data, model), found in sorted(methods.items())]


def _enter(protocol: Protocol, cells: Mapping[str, Cell], data: str, contender: Contender) -> Entry:
    reference = next(one for one in protocol.contenders if one.name == protocol.reference).settings[0]
    results, failed = [], []
    points: list[list[Numbers]] = [[] for _ in contender.settings]
    for split in protocol.splits:
        plain = _cell(cells, protocol, data, reference, split)
        mine = [_cell(cells, protocol, data, method, split) for method in contender.settings]
        failed += [str(one["error"]) for one in mine if one is not None and "error" in one]
        if plain is None or "numbers" not in plain or any(one is None or "numbers" not in one for one in mine):
            continue
        settings = [one["numbers"] for one in mine if one is not None]
        for place, numbers in zip(points, settings, strict=True):
            place.append(numbers)
        chosen = choose([one["inner"] for one in settings], plain["numbers"]["inner"], protocol)
        areas = frontier_areas(settings, plain["numbers"])
        results.append(Result(split, chosen, settings[chosen], *areas))
    shown = tuple(
        {
            "gap": point([100 * (gap_of(one) or 0.0) for one in place]),
            "average_precision": point([100 * one["average_precision"] for one in place]),
            "log_loss": point([one["log_loss"] for one in place]),
        }
        for place in points
        if place
    )
    return Entry(data, contender, tuple(results), shown, tuple(failed))


def _cell(cells: Mapping[str, Cell], protocol: Protocol, data: str, method: dict[str, Any], split: int) -> Cell | None:
    from paper._experiments import Row

    return cells.get(key_of(make_spec(Row("", "ours", data, method, protocol.splits), split)))


def paired_change(mine: Mapping[int, float], theirs: Mapping[int, float], sizes: float) -> tuple[float, float] | None:
    """Mean of the differences within splits, and half the width of its 95 % interval; None for fewer than two."""
    from scipy.stats import t

    both = [mine[split] - theirs[split] for split in mine if split in theirs]
    if len(both) < 2:
        return None
    width = t.ppf(0.975, len(both) - 1) * stdev(both) * math.sqrt(1 / len(both) + sizes)
    return fmean(both), float(width)


COLUMNS: Final[dict[str, Callable[[Result], float | None]]] = {
    "ROC AUC": lambda one: 100 * one.numbers["roc_auc"],
    "AP": lambda one: 100 * one.numbers["average_precision"],
    "log loss": lambda one: one.numbers["log_loss"],
    "gap": lambda one: _percent(gap_of(one.numbers)),
    "rank gap": lambda one: _percent(gap_of(one.numbers, "rank_gap_mean")),
    "excess": lambda one: _percent(gap_of(one.numbers, "excess")),
    "flips": lambda one: _percent(one.numbers["flip_rate"]),
    "worst tenth": lambda one: _percent(one.numbers["worst_decile_gap_mean"]),
    "frontier, AP": lambda one: one.ap_area,
    "frontier, log loss": lambda one: one.loss_area,
    "fit, CPU s": lambda one: one.numbers["fit_s"],
}
DIGITS: Final = {"log loss": 4, "frontier, AP": 3, "frontier, log loss": 3, "fit, CPU s": 1}


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def describe_board(protocol: Protocol, cells: Mapping[str, Cell], tables: Tables) -> str:
    """Give the text of LEADERBOARD.md."""
    entries = find_entries(protocol, cells)
    parts = [INTRODUCTION, "## All data sets\n\n" + _overview(entries, protocol)]
    parts.append("## Goals\n\n" + _goals(entries, tables))
    for data in in_order_of_appearance(one.data for one in entries):
        mine = [one for one in entries if one.data == data]
        n_cells = sum(len(one.results) * len(one.contender.settings) for one in mine)
        title = _titles(entries)[data]
        parts.append(f"## {title}\n")
        if any(one.results for one in mine):
            parts.append(f"![Frontiers on {title}](figures/frontiers_{title}.png)\n\n{_table(mine, protocol)}")
        else:
            parts.append(f"{NOT_RUN}.\n")
        errors = sorted({error for one in mine for error in one.failed})
        parts += [f"- **failed**: {error}" for error in errors]
        parts.append(f"\n{n_cells:,} settings measured.\n")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _overview(entries: Sequence[Entry], protocol: Protocol) -> str:
    """Tabulate the frontiers of all methods on all data sets, with ranks over the data sets that have every method."""
    titles = _titles(entries)
    measured = {(one.name, one.data): one for one in entries if one.results}
    areas = {which: fmean(one.values(COLUMNS["frontier, AP"]).values()) for which, one in measured.items()}
    methods = [one.name for one in protocol.contenders]
    whole = [data for data in titles if all((method, data) in areas for method in methods)]
    rows = []
    for name in in_order_of_appearance(one.name for one in entries):
        ranked = whole if name in methods else []
        ranks = [1 + sum(areas[other, data] > areas[name, data] for other in methods) for data in ranked]
        shown = []
        for data in titles:
            n_splits = len(measured[name, data].results) if (name, data) in measured else 0
            few = f" ({n_splits})" if n_splits < len(protocol.splits) else ""
            shown.append(f"{areas[name, data]:.3f}{few}" if n_splits else NOT_RUN)
        rows.append([name, f"{fmean(ranks):.1f}" if ranks else "", *shown])
    words = (
        "*Frontier, AP* of the tables below; larger is better. In brackets, the number of splits where not all are "
        "measured. *Mean rank* is that among the methods of the protocol, over the data sets on which every one of "
        f"them is measured: {len(whole)} of {len(titles)}.\n\n"
    )
    return words + markdown(["method", "mean rank", *titles.values()], rows)


def _table(entries: Sequence[Entry], protocol: Protocol) -> str:
    by_name = {one.name: one for one in entries}
    heads = ["method", "splits", *COLUMNS, "change of the gap", "coverage", "chosen"]
    rows = []
    for entry in entries:
        if not entry.results:
            rows.append([entry.name, NOT_RUN, *[""] * (len(heads) - 2)])
            continue
        cells = [entry.name, f"{len(entry.results)} of {len(protocol.splits)}"]
        cells += [_show(entry.values(number), DIGITS.get(title, 2)) for title, number in COLUMNS.items()]
        rows.append([*cells, _change(entry, by_name), _show(entry.values(_coverage), 1), _chosen(entry)])
    return markdown(heads, rows)


def _coverage(one: Result) -> float | None:
    return _percent(one.numbers["matched_share"])


def _show(values: Mapping[int, float], digits: int) -> str:
    return f"{fmean(values.values()):.{digits}f}" if values else "n/a"


def _change(entry: Entry, by_name: Mapping[str, Entry]) -> str:
    base = by_name.get(BASES.get(entry.contender.family, ""))
    if base is None or base is entry:
        return ""
    numbers = entry.results[0].numbers
    found = paired_change(
        entry.values(COLUMNS["gap"]), base.values(COLUMNS["gap"]), numbers["n_test"] / numbers["n_train"]
    )
    return "" if found is None else f"{found[0]:+.2f} ± {found[1]:.2f}"


def _chosen(entry: Entry) -> str:
    """The settings that were chosen, by their number, with how often."""
    counts = {number: sum(one.chosen == number for one in entry.results) for number in range(len(entry.points))}
    return ", ".join(f"{number + 1} ({n})" for number, n in counts.items() if n)


def _goals(entries: Sequence[Entry], tables: Tables) -> str:
    """Hold the chosen settings of our methods against AntiDRO: the published rows, or else ours of it as printed."""
    rows = []
    rivals = {one.data: _means(one) for one in entries if one.name == PRINTED and one.results and one.data in GOALS}
    rivals |= {data: table["AntiDRO"] for data, table in tables.items() if "AntiDRO" in table}
    networks = {one.data: one.values(COLUMNS["log loss"]) for one in entries if one.name == BASES["network"]}
    for entry in entries:
        rival = rivals.get(entry.data)
        share = GOALS.get(entry.data)
        if share is None or not entry.results or not entry.name.endswith(OURS):
            continue
        got = _means(entry)
        own, plain = entry.values(COLUMNS["log loss"]), networks.get(entry.data, {})
        both = [(own[split], plain[split]) for split in own.keys() & plain.keys()]
        loss = "n/a" if not both else f"{fmean(one for one, _ in both):.4f} ({fmean(one for _, one in both):.4f})"
        shown = [f"{value:.2f}" for value in got.values()]
        if rival is None:
            rows.append([entry.data, entry.name, *shown, loss, "nothing to compare with"])
            continue
        lacks = [name for name in ("roc_auc", "average_precision") if got[name] < rival[name]]
        lacks += [name for name in ("gap_mean[1]", "gap_mean[0]") if got[name] > share * rival[name]]
        lacks += [] if both and fmean(one - other for one, other in both) <= 0 else ["log loss"]
        shown = [
            f"{text} ({rival[name] * (share if 'gap' in name else 1):.2f})"
            for text, name in zip(shown, got, strict=True)
        ]
        words = (
            "no: " + ", ".join(name.replace("_", " ").replace("[", " (label ").replace("]", ")") for name in lacks)
            if lacks
            else "**yes**"
        )
        rows.append([entry.data, entry.name, *shown, loss, words])
    words = (
        "Target (in brackets): at least the ROC AUC and average precision of the published AntiDRO row, mean gaps of "
        "at most a third of its on Adult and COMPAS, half on Law School and OULAD, as much on Dutch, and a log loss no "
        "worse than the plain network's in the same splits. The published rows have another split. The paper prints no "
        "numbers for COMPAS; the row there is our run of AntiDRO as printed, in the same splits.\n\n"
    )
    heads = ["data", "method", "ROC AUC", "AP", "positive gap", "negative gap", "log loss", "reached"]
    return words + (markdown(heads, rows) if rows else f"{NOT_RUN}.\n")


def _means(entry: Entry) -> dict[str, float]:
    """Means over splits of what the goals are about, in percent."""
    names = ("roc_auc", "average_precision", "gap_mean[1]", "gap_mean[0]")
    return {name: 100 * fmean([one.numbers[name] for one in entry.results]) for name in names}


def find_frontiers(protocol: Protocol, cells: Mapping[str, Cell]) -> list[Frontiers]:
    """Work out a figure for each data set of which there is something."""
    entries = find_entries(protocol, cells)
    found = []
    for data in in_order_of_appearance(one.data for one in entries):
        mine = {one.name: one.points for one in entries if one.data == data}
        if any(mine.values()):
            note = "every setting, mean over splits; left and up (left panel), left and down (right panel) is better"
            title = _titles(entries)[data]
            found.append(
                Frontiers(f"frontiers_{title}", f"Gap against average precision and log loss, {title}", note, mine)
            )
    return found


def _titles(entries: Sequence[Entry]) -> dict[str, str]:
    """What each data set is called: one that was added by its name, with its digits only where two have that name."""
    names = in_order_of_appearance(one.data for one in entries)
    short = [name.partition("@")[0] for name in names]
    return {name: name if short.count(one) > 1 else one for name, one in zip(names, short, strict=True)}


def write_board(protocol: Protocol, cells: Mapping[str, Cell], tables: Tables, folder: Path) -> Path:
    """Write LEADERBOARD.md into a folder."""
    path = folder / FILE
    path.write_text(describe_board(protocol, cells, tables), "utf-8", newline="\n")
    return path


def is_as_fixed(folder: Path) -> bool:
    """Whether protocol.toml still is what was fixed."""
    given = (folder / PROTOCOL).read_bytes()
    parts = {length: hashlib.sha256(given[:length]).hexdigest() for length in (*FIXED, len(given))}
    return parts == FIXED
