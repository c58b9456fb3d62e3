"""What the figures show, as plain numbers: worked out here, drawn elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any, Final

from paper._experiments import Experiment
from paper._lines import Line
from paper._published import Numbers
from paper._registry import OWN_SPLIT
from paper._tables import Tables, published_of

LABELS: Final = {"positive": "positive label", "negative": "negative label"}
RULE_WORDS: Final = {"all": "all sensitive columns differ", "any": "at least one differs", "none": "none differs"}
BASE_MODELS: Final = {"linear": "logistic regression", "network": "networks"}
PRINTED_AS: Final = {"SenSeI": "SenSeI", "LCIFR": "LCIFR", "Anti": "NN+Anti", "AntiDRO": "AntiDRO"}
ENDS: Final = ("whislo", "q1", "med", "q3", "whishi")  # what matplotlib calls the five quantiles of a box
TRADED: Final = ("roc_auc", "average_precision", "gap_mean[1]", "gap_mean[0]")

BOX_WORDS: Final = "boxes: quartiles, whiskers: 5 % and 95 %, averaged over seeds; below: "

Point = tuple[float, float]  # mean and standard deviation


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure's name and title, and what its marks mean."""

    name: str
    title: str
    note: str

    def digest(self) -> str:
        """Hash everything that is drawn, to the digits that can be seen."""
        written = json.dumps(_rounded(asdict(self)), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(written.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class BoxMethod:
    """A method's boxes by rule and label, and its utilities."""

    name: str
    kind: str  # others, antidotes, ours
    boxes: Mapping[str, Mapping[str, float] | None]
    utilities: Mapping[str, Point]


@dataclass(frozen=True, slots=True)
class Boxes(Picture):
    """Gaps by rule and label."""

    rules: Sequence[str]
    utilities: Mapping[str, str]
    methods: Sequence[BoxMethod]


@dataclass(frozen=True, slots=True)
class TradeOff(Picture):
    """Series of points, in the order of what they are steered by; single points that the paper prints."""

    series: Mapping[str, Sequence[Mapping[str, Point]]]
    published: Mapping[str, Numbers]


@dataclass(frozen=True, slots=True)
class Convergence(Picture):
    """By generator and kind of column: iterations, means, deviations."""

    panels: Mapping[str, Mapping[str, tuple[list[float], list[float], list[float]]]]


@dataclass(frozen=True, slots=True)
class Random(Picture):
    """By series: share of rows added, and numbers."""

    series: Mapping[str, Sequence[tuple[float, Mapping[str, Point]]]]
    published: Mapping[str, Sequence[tuple[float, Numbers]]]


@dataclass(frozen=True, slots=True)
class Frontiers(Picture):
    """By method: gap, average precision and log loss of its settings; none where it was not run."""

    series: Mapping[str, Sequence[Mapping[str, Point]]]


def list_pictures(experiment: Experiment, lines: Sequence[Line], tables: Tables) -> list[Picture]:
    """Work out the figures of an experiment from what there is; none where there is nothing."""
    there = [line for line in lines if line.measured]
    if not there:
        return []
    if experiment.kind == "convergence":
        return [_convergence(experiment, there)]
    if experiment.name.startswith("tradeoff"):
        return [_trade_off(experiment, lines, tables)]
    if experiment.name == "random":
        return [_random(experiment, there, tables)]
    if any(len(line.row.method.get("rules", ())) > 1 for line in there) and experiment.kind == "models":
        return _boxes(experiment, there)
    return []


def _boxes(experiment: Experiment, lines: Sequence[Line]) -> list[Picture]:
    utilities = {"roc_auc": "ROC AUC, %", "average_precision": "average precision, %", "log_loss": "log loss"}
    found: list[Picture] = []
    for base, words in BASE_MODELS.items():
        mine = [line for line in lines if (line.row.method["model"] == "linear") == (base == "linear")]
        if mine:
            methods = [_box_method(line, tuple(utilities)) for line in mine]
            rules = [rule for rule in RULE_WORDS if rule in mine[0].row.method["rules"]]
            title, note = f"{experiment.title}: gaps between comparable people, {words}", BOX_WORDS + _bars(mine)
            found.append(Boxes(f"{experiment.name}_{base}", title, note, rules, utilities, methods))
    return found


def _bars(lines: Sequence[Line]) -> str:
    """Say what bars are, and where they include the split."""
    has_split = all(line.row.data in OWN_SPLIT for line in lines)
    return "mean ± standard deviation over seeds" + ("" if has_split else ", each with a split of its own")


def _box_method(line: Line, utilities: Sequence[str]) -> BoxMethod:
    has_antidotes, is_ours = line.row.method["antidotes"] is not None, line.row.block == "ours"
    kind = ("ours" if is_ours else "antidotes") if has_antidotes else "others"
    boxes = {
        f"{rule} {side}": average_box([numbers["rules"][rule][side] for numbers in line.measured])
        for rule in line.row.method["rules"]
        for side in LABELS
    }
    name = f"{line.row.name} (ours)" if is_ours else line.row.name
    return BoxMethod(name, kind, boxes, {number: point(line.values(number)) for number in utilities})


def average_box(boxes: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Average the quantiles of several seeds, in percent; nothing if there were no pairs."""
    if any(box["quantiles"] is None for box in boxes):
        return None
    averages = [100.0 * mean(level) for level in zip(*(box["quantiles"] for box in boxes), strict=True)]
    return {**dict(zip(ENDS, averages, strict=True)), "mean": 100.0 * mean(box["mean"] for box in boxes)}


def point(values: Sequence[float]) -> Point:
    """Mean and deviation; of one value there is none to see."""
    return (mean(values) if values else float("nan"), stdev(values) if len(values) > 1 else 0.0)


def _trade_off(experiment: Experiment, asked: Sequence[Line], tables: Tables) -> TradeOff:
    lines = [line for line in asked if line.measured]
    series: dict[str, list[Mapping[str, Point]]] = {}
    for line in sorted((line for line in lines if line.row.series), key=_steered):  # a stable sort keeps the series
        series.setdefault(line.row.series, []).append({name: point(line.values(name)) for name in TRADED})
    order = dict.fromkeys(line.row.series for line in lines if line.row.series)
    printed = tables.get(lines[0].row.data, {})
    published = {name: printed[row] for name, row in PRINTED_AS.items() if name in series and row in printed}
    ordered = {name: series[name] for name in order}
    n_whole = sum(line.is_whole for line in asked)
    lacking = "" if n_whole == len(asked) else f"\nnot complete: {n_whole} of {len(asked)} points have all their seeds"
    return TradeOff(experiment.name, experiment.title, _bars(lines) + lacking, ordered, published)


def _steered(line: Line) -> float:
    return line.row.value if line.row.value is not None else 0.0


def _convergence(experiment: Experiment, lines: Sequence[Line]) -> Convergence:
    panels: dict[str, Any] = {}
    for line in lines:
        n_records = min(len(numbers["iteration"]) for numbers in line.measured)
        iterations = [float(number) for number in line.measured[0]["iteration"][:n_records]]
        panels[line.row.name] = {}
        for kind in line.measured[0]["ratio"]:
            runs = [numbers["ratio"][kind][:n_records] for numbers in line.measured]
            points = [point(values) for values in zip(*runs, strict=True)]
            panels[line.row.name][kind] = (iterations, [one[0] for one in points], [one[1] for one in points])
    return Convergence(experiment.name, experiment.title, _bars(lines), panels)


def _random(experiment: Experiment, lines: Sequence[Line], tables: Tables) -> Random:
    names = ("gap_mean[1]", "roc_auc")
    series: dict[str, list[tuple[float, Mapping[str, Point]]]] = {}
    published: dict[str, list[tuple[float, Numbers]]] = {}
    for line in sorted(lines, key=_steered):
        name = (line.row.series or "random") + (", ours" if line.row.block == "ours" else "")
        series.setdefault(name, []).append((_steered(line), {one: point(line.values(one)) for one in names}))
        printed = published_of(line, tables)
        if printed is not None:
            published.setdefault(name, []).append((_steered(line), printed))
    return Random(experiment.name, experiment.title, _bars(lines), series, published)


def _rounded(value: Any) -> Any:
    """Leave out digits that nobody sees, and that may differ between machines."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return {str(key): _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
