"""What is to be measured: one TOML file an experiment, read and checked before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from paper._registry import GENERATORS, MODELS, OWN_SPLIT, dataset_names

HERE: Final = Path(__file__).parent

KINDS: Final = ("models", "statistics", "efficacy", "convergence")
BLOCKS: Final = ("paper", "ours")
COLUMNS: Final = ("all", "dropped", "projected")
RULES: Final = ("all", "any", "none")
MADE: Final = ("original", "random", "sensei", "antidotes")

EXPERIMENT_KEYS: Final = ("title", "order", "kind", "data", "seeds", "published", "rules", "note", "row")
ROW_KEYS: Final = ("name", "block", "data", "rules", "seeds", "published", "series", "value")
METHOD_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "models": ("model", "columns", "params", "antidotes", "tune"),
    "statistics": (),
    "efficacy": ("made", "antidotes", "params"),
    "convergence": ("antidotes",),
}

Method = dict[str, Any]


class ExperimentError(Exception):
    """A file of an experiment is not as it should be; the message says where."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table, or one point of a figure: a method on a data set, with some seeds.

    ``method`` is what decides the numbers, every choice spelled out; ``published`` the data set and method of
    published.csv to hold it against, if any; ``series`` and ``value`` place it in a figure.
    """

    name: str
    block: str
    data: str
    method: Method
    seeds: tuple[int, ...]
    published: tuple[str, str] | None = None
    series: str = ""
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure."""

    name: str
    title: str
    kind: str
    order: int
    rows: tuple[Row, ...]
    note: str = ""


def load_experiments(folder: Path = HERE / "experiments", names: Iterable[str] = ()) -> list[Experiment]:
    """Read the experiments of a folder in the order they ask for, or only those that are named."""
    paths = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    wanted = list(names) or [*paths]
    for name in wanted:
        if name not in paths:
            raise ExperimentError(f"There is no experiment {name!r} in {folder}.{_suggest(name, paths)}")
    return sorted((read_experiment(paths[name]) for name in wanted), key=lambda found: (found.order, found.name))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, or say that it is none."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExperimentError(f"{path.name} is no TOML: {error}.") from None


def read_experiment(path: Path) -> Experiment:
    """Read one file; what is wrong in it is told with file, row and key."""
    given = read_toml(path)
    there = Place(path.name)
    there.know(given, EXPERIMENT_KEYS)
    kind = there.choose(given, "kind", KINDS, "models")
    rows = there.take(given, "row", list, [])
    if not rows:
        raise ExperimentError(f"{path.name} has no [[row]].")
    found = tuple(_read_row(there.row(row, number), row, given, kind) for number, row in enumerate(rows, start=1))
    seen: set[tuple[str, str, str]] = set()
    for row in found:
        if (row.data, row.block, row.name) in seen:
            raise ExperimentError(f"{path.name} has two rows {row.name!r} in block {row.block!r} on {row.data}.")
        seen.add((row.data, row.block, row.name))
    return Experiment(
        name=path.stem,
        title=there.take(given, "title", str),
        kind=kind,
        order=there.take(given, "order", int, 99),
        rows=found,
        note=" ".join(there.take(given, "note", str, "").split()),
    )


def _read_row(there: Place, row: Mapping[str, Any], experiment: Mapping[str, Any], kind: str) -> Row:
    there.know(row, (*ROW_KEYS, *METHOD_KEYS[kind]))
    shared = {key: experiment[key] for key in ("data", "rules", "seeds") if key in experiment}
    whole = {**shared, **row}
    method = READERS[kind](there, whole)
    data = there.choose(whole, "data", dataset_names())
    n_seeds = there.take(whole, "seeds", int, 1)
    if n_seeds < 1:
        raise there.wrong("seeds", n_seeds, "give 1 or more")
    value = there.take(whole, "value", (int, float), None)
    return Row(
        name=there.take(whole, "name", str),
        block=there.choose(whole, "block", BLOCKS, "paper"),
        data=data,
        method=method,
        seeds=(0,) if is_sure(method, data) else tuple(range(n_seeds)),
        published=_read_published(there, row, there.take(experiment, "published", str, None)),
        series=there.take(whole, "series", str, ""),
        value=None if value is None else float(value),
    )


def is_sure(method: Method, data: str) -> bool:
    """Whether one seed is enough: all would give the same numbers, or the numbers are those of one split."""
    if method["kind"] == "statistics":
        return True
    if data not in OWN_SPLIT:
        return False
    if method["kind"] == "models":
        return MODELS[method["model"]].is_sure and method["antidotes"] is None and method["tune"] is None
    return method.get("made") == "original"


def _read_published(there: Place, row: Mapping[str, Any], data: str | None) -> tuple[str, str] | None:
    if "published" not in row:
        return None if data is None else (data, str(row["name"]))
    given = there.take(row, "published", dict)
    there.know(given, ("data", "method"), inside="published")
    return there.take(given, "data", str), there.take(given, "method", str)


def read_model(there: Place, row: Mapping[str, Any]) -> Method:
    """Read the method of a row that fits a model."""
    model = there.choose(row, "model", MODELS)
    kind = MODELS[model]
    columns = there.choose(row, "columns", COLUMNS, "all")
    antidotes = _read_antidotes(there, row, needs_amount="tune" not in row)
    if not kind.any_columns and columns != "all":
        raise there.wrong("columns", columns, f"{model!r} needs all columns")
    if kind.antidotes == "none" and antidotes is not None:
        raise there.wrong("antidotes", row["antidotes"], f"{model!r} takes none")
    if kind.antidotes == "by row" and antidotes is None:
        raise there.wrong("antidotes", None, f"{model!r} needs some")
    return {
        "kind": "models",
        "model": model,
        "columns": columns,
        "params": there.take(row, "params", dict, {}),
        "antidotes": antidotes,
        "tune": _read_tune(there, row, antidotes),
        "rules": _read_rules(there, row),
    }


def _read_rules(there: Place, row: Mapping[str, Any]) -> list[str]:
    rules = there.take(row, "rules", list, ["any"])
    for rule in rules:
        if rule not in RULES:
            raise there.wrong("rules", rules, f"choose among {', '.join(RULES)}")
    if "any" not in rules:
        raise there.wrong("rules", rules, "'any', the paper's rule, has to be among them")
    return sorted(set(rules), key=RULES.index)


def _read_antidotes(there: Place, row: Mapping[str, Any], *, needs_amount: bool = True) -> Method | None:
    if "antidotes" not in row:
        return None
    given = there.take(row, "antidotes", dict)
    there.know(given, ("generator", "params", "ratio", "rounds"), inside="antidotes")
    ratio = there.take(given, "ratio", (int, float), None)
    rounds = there.take(given, "rounds", int, None)
    if (ratio is None) == (rounds is None) and (needs_amount or ratio is not None):
        raise there.wrong("antidotes", given, "give one of ratio and rounds")
    return {
        "generator": there.choose(given, "generator", GENERATORS),
        "params": there.take(given, "params", dict, {}),
        "ratio": None if ratio is None else float(ratio),
        "rounds": rounds,
    }


def _read_tune(there: Place, row: Mapping[str, Any], antidotes: Method | None) -> Method | None:
    if "tune" not in row:
        return None
    given = there.take(row, "tune", dict)
    there.know(given, ("grid", "max_loss", "utility", "unfairness", "folds"), inside="tune")
    grid = there.take(given, "grid", dict)
    if not grid or not all(isinstance(values, list) and values for values in grid.values()):
        raise there.wrong("tune", given, "grid needs a list of values for each parameter")
    if antidotes is None:
        raise there.wrong("tune", given, "only methods with antidotes are tuned")
    return {**given, "max_loss": float(there.take(given, "max_loss", (int, float)))}


def _read_statistics(there: Place, row: Mapping[str, Any]) -> Method:
    return {"kind": "statistics", "rules": _read_rules(there, row)}


def _read_efficacy(there: Place, row: Mapping[str, Any]) -> Method:
    made = there.choose(row, "made", MADE)
    antidotes = _read_antidotes(there, row)
    if (made == "antidotes") != (antidotes is not None):
        raise there.wrong("antidotes", antidotes, "they go with made = 'antidotes', and with nothing else")
    return {"kind": "efficacy", "made": made, "antidotes": antidotes, "params": there.take(row, "params", dict, {})}


def _read_convergence(there: Place, row: Mapping[str, Any]) -> Method:
    antidotes = _read_antidotes(there, row, needs_amount=False)
    if antidotes is None or GENERATORS[antidotes["generator"]].load is None:
        raise there.wrong("antidotes", row.get("antidotes"), "name a generator that learns")
    return {"kind": "convergence", "antidotes": antidotes}


READERS: Final = {
    "models": read_model,
    "statistics": _read_statistics,
    "efficacy": _read_efficacy,
    "convergence": _read_convergence,
}


class Place:
    """Where something was read, for errors that name it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def row(self, row: Any, number: int) -> Place:
        """Go to a row."""
        if not isinstance(row, dict):
            raise ExperimentError(f"{self._name}, row {number} is no table; write [[row]].")
        return Place(f"{self._name}, row {number} ({row.get('name', 'no name')})")

    def wrong(self, key: str, found: object, advice: str) -> ExperimentError:
        """Make the error of a wrong value."""
        return ExperimentError(f"{self._name}: {key} is {found!r}; {advice}.")

    def know(self, given: Mapping[str, Any], known: Iterable[str], inside: str = "") -> None:
        """Refuse keys that are not known."""
        for key in given:
            if key not in known:
                whole = f"{inside}.{key}" if inside else key
                raise ExperimentError(f"{self._name}: there is no key {whole!r}.{_suggest(key, known)}")

    def take(self, given: Mapping[str, Any], key: str, kind: Any, *default: Any) -> Any:
        """Take a value of a kind."""
        if key not in given:
            if default:
                return default[0]
            raise ExperimentError(f"{self._name}: {key} is missing.")
        value = given[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            raise self.wrong(key, value, f"give a {' or '.join(one.__name__ for one in kinds)}")
        return value

    def choose(self, given: Mapping[str, Any], key: str, choices: Iterable[str], *default: str) -> str:
        """Take one of some names."""
        value: str = self.take(given, key, str, *default)
        if value not in choices:
            raise self.wrong(key, value, f"choose one of {', '.join(choices)}")
        return value


def _suggest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(known)}."
