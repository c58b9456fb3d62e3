"""Options of the commands: how one is declared, the groups they come in, and those that several commands share."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from likewise._checks import suggest
from likewise._files import address_of
from likewise.exceptions import TableFileError

FILE: Final = "Table file"
COLUMNS: Final = "Columns (roles are inferred unless given)"
RULE: Final = "Comparability rule"
SCORES: Final = "Scores"
MEASURES: Final = "Decisions and measures"
LARGE: Final = "Large tables"
OUTPUT: Final = "Output"
PLAN: Final = "Plan"
RARE: Final = "Seldom needed"
SET: Final = "set_by_name"

REQUIRED: Final = MISSING
OPTION_NAMES: Final = {
    **{"n_resamples": "--resamples", "random_state": "--seed"},
    **{"ignored": "--ignore", "y": "--label", "sample_weight": "--weight"},
    **{"confirmed": "--confirm", "matched": "--must-match"},
}
BY_SET: Final = ("scale", "gap_limit", "max_pairs", "pairs", "task", "approval_rate", "features", "rows", "delimiter")
OF_RULE_FILE: Final = ("max_ordinal_shift", "sensitive_differs", "no_better", "score_band")  # and of no option

CONVERT: Final[Mapping[str, Callable[[str], Any]]] = {"float": float, "int": int, "Path": Path, "bool": int}

Command = Callable[..., int | None]


def option_name(parameter: str) -> str:
    """Return the option of a parameter of the library: ``--seed`` for ``random_state``."""
    usual = f"{'--set ' if parameter in BY_SET else '--'}{parameter.replace('_', '-')}"
    return OPTION_NAMES.get(parameter, usual)


def spell_option(parameter: str, value: Any) -> str:
    """Write a parameter and its value as an option: ``--set task=binary``, ``--bins age=4``."""
    if parameter in OF_RULE_FILE:
        return f"{parameter if value is None else f'{parameter} = {value!r}'} in the file of --rule"
    if isinstance(value, Mapping):
        value = ",".join(f"{column}={one}" for column, one in value.items())
    if isinstance(value, list):
        value = shlex.quote(",".join(map(str, value)))
    if value is None:
        return option_name(parameter)
    return f"{option_name(parameter)}{'=' if parameter in BY_SET else ' '}{value}"


def option(default: Any, panel: str, metavar: str, text: str, *, names: str = "", **settings: Any) -> Any:
    """Declare a field of a dataclass as an option, by default named after it; a flag has an empty ``metavar``."""
    return _declare(default, names, rich_help_panel=panel, metavar=metavar, help=text, **settings)


def first(default: Any, panel: str, metavar: str, text: str, *, names: str = "", **settings: Any) -> Any:
    """Declare an option that a newcomer needs: help shows it above all panels."""
    declared = option(default, panel, metavar, text, names=names, **settings)
    return field(default=declared.default, metadata={**declared.metadata, "is_first": True})


def argument(metavar: str, text: str, default: Any = REQUIRED) -> Any:
    """Declare a field of a dataclass as an argument, required unless it has a default."""
    return _declare(default, None, metavar=metavar, help=text, show_default=False)


def _declare(default: Any, names: str | None, **settings: Any) -> Any:
    metadata = {"names": names, "settings": settings}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


JSON: Final = partial(option, *(False, OUTPUT, "", "Print one JSON object instead of tables."), names="--json")
QUIET: Final = partial(
    option, *(False, OUTPUT, "", "Print no column roles, notes or progress on stderr."), names="--quiet -q"
)
MODEL: Final = partial(
    first, *(None, SCORES, "FILE"), "Instead of scores: a model, .onnx or .skops (extras of these names)."
)
TRUST: Final = partial(
    option,
    *(None, SCORES, "TYPE"),
    "A type in the .skops file that you have inspected and trust, such as package.Class. May be repeated.",
)


def takes(**groups: type) -> Callable[[Command], Command]:
    """Let a command take the fields of dataclasses as options; it is called with one object per group.

    A group that is ``typer.Context`` is passed on as it is: it knows which options were given.
    """

    def decorate(command: Command) -> Command:
        by_set = {one.name: one for group in groups.values() if is_dataclass(group) for one in _set_fields(group)}

        @wraps(command)
        def gather(**given: Any) -> int | None:
            given |= {name: default_of(one) for name, one in by_set.items()}
            given |= _read_set(given.pop(SET, None), by_set)
            _refuse_addresses(given)
            return command(
                **{
                    name: given[name]
                    if group is typer.Context
                    else group(**{one.name: given[one.name] for one in fields(group)})
                    for name, group in groups.items()
                }
            )

        parameters = [
            one
            for name, group in groups.items()
            for one in (
                [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=group)]
                if group is typer.Context
                else _parameters(group)
            )
        ]
        parameters += [_set_parameter(by_set)] if by_set else []
        gather.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # this is what typer reads
        gather.__annotations__ = {}
        return gather

    return decorate


def _set_fields(group: type) -> list[Field[Any]]:
    return [one for one in fields(group) if one.name in BY_SET and one.metadata.get("names") == ""]


def _set_parameter(by_set: Mapping[str, Field[Any]]) -> inspect.Parameter:
    """Return the option for what is seldom set; its help lists the names."""
    about = [f"{name}: {one.metadata['settings']['help']}" for name, one in by_set.items()]
    info = typer.Option(
        "--set", metavar="NAME=VALUE", rich_help_panel=RARE, help="Any of these; repeat it for more. " + " ".join(about)
    )
    annotation = Annotated[list[str] | None, info]
    return inspect.Parameter(SET, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _read_set(given: list[str] | None, by_set: Mapping[str, Field[Any]]) -> dict[str, Any]:
    """Read NAME=VALUE by the type of the field, a list by its commas."""
    values: dict[str, Any] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in by_set or not (sign and value):
            hint = suggest(name, by_set) or f" Names are {', '.join(map(repr, by_set))}."
            raise typer.BadParameter(f"it is '{text}', not NAME=VALUE.{hint}", param_hint="--set")
        values[name] = _convert(by_set[name], value)
    return values


def _convert(one: Field[Any], text: str) -> Any:
    kind = str(one.type)
    if kind.startswith("list"):
        return [text]
    if kind.startswith("bool") and text in ("true", "false"):
        return text == "true"
    convert = next((make for name, make in CONVERT.items() if kind.startswith(name)), str)
    try:
        return convert(text)
    except ValueError:
        kind = {"float": "a number", "int": "a whole number"}.get(kind.partition(" ")[0], "true or false")
        raise typer.BadParameter(f"{one.name} is '{text}'; give {kind}.", param_hint="--set") from None


def _refuse_addresses(given: Mapping[str, Any]) -> None:
    """Refuse addresses such as s3a:// in the place of files."""
    for name, value in given.items():
        for path in value if isinstance(value, list) else [value]:
            address = address_of(path) if isinstance(path, Path) else None
            if address is not None:
                what = f"{option_name(name)} is '{address}', which" if name == "out" else f"'{address}'"
                raise TableFileError(
                    f"{what} is not on this machine. Give a local path, and copy between the two yourself; "
                    "likewise.spark.audit, in Python, reads data where they are."
                )


def given_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that were given on the command line."""
    by_set = [text.partition("=")[0].replace("-", "_") for text in context.params.get(SET) or ()]
    sources = {name: context.get_parameter_source(name) for name in context.params}
    on_line = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    return frozenset([*by_set, *on_line])


def default_of(one: Field[Any]) -> Any:
    """The value an option has when it is not given, ``MISSING`` for one that is required."""
    return one.default_factory() if one.default_factory is not MISSING else one.default


def panel_of(one: Field[Any]) -> str | None:
    """The group that an option comes in, None for an argument."""
    panel: str | None = one.metadata["settings"].get("rich_help_panel")
    return panel


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default_of(one) is MISSING else default_of(one),
            annotation=Annotated[hints[one.name], _typer_info(one)],
        )
        for one in fields(group)
        if one not in _set_fields(group)
    ]


def _typer_info(one: Field[Any]) -> Any:
    names, settings = one.metadata["names"], one.metadata["settings"]
    if names is None:
        return typer.Argument(**settings)
    if one.metadata.get("is_first"):
        settings = {**settings, "rich_help_panel": None}
    return typer.Option(*(names or option_name(one.name)).split(), **settings)
