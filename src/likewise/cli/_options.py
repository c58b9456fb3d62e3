"""Options of the commands: how one is declared, the groups they come in, and those that several commands share."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

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

REQUIRED: Final = MISSING
OPTION_NAMES: Final = {
    **{"n_resamples": "--resamples", "random_state": "--seed"},
    **{"ignored": "--ignore", "y": "--label", "sample_weight": "--weight"},
    **{"confirmed": "--confirm", "matched": "--must-match"},
}
OF_RULE_FILE: Final = ("max_ordinal_shift", "sensitive_differs", "no_better", "score_band")  # and of no option

Command = Callable[..., int | None]


def option_name(parameter: str) -> str:
    """Return the option of a parameter of the library: ``--seed`` for ``random_state``."""
    return OPTION_NAMES.get(parameter, f"--{parameter.replace('_', '-')}")


def spell_option(parameter: str, value: Any) -> str:
    """Write a parameter and its value as an option: ``--task binary``, ``--bins age=4``."""
    if parameter in OF_RULE_FILE:
        return f"{parameter if value is None else f'{parameter} = {value!r}'} in the file of --rule"
    if isinstance(value, Mapping):
        value = ",".join(f"{column}={one}" for column, one in value.items())
    if isinstance(value, list):
        value = shlex.quote(",".join(map(str, value)))
    return option_name(parameter) if value is None else f"{option_name(parameter)} {value}"


def option(default: Any, panel: str, metavar: str, text: str, *, names: str = "", **settings: Any) -> Any:
    """Declare a field of a dataclass as an option, by default named after it; a flag has an empty ``metavar``."""
    return _declare(default, names, rich_help_panel=panel, metavar=metavar, help=text, **settings)


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
    option, *(None, SCORES, "FILE"), "Model that scores the rows: .onnx or .skops. Each needs the extra of its name."
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
        @wraps(command)
        def gather(**given: Any) -> int | None:
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
        gather.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # this is what typer reads
        gather.__annotations__ = {}
        return gather

    return decorate


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
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")


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
    ]


def _typer_info(one: Field[Any]) -> Any:
    names, settings = one.metadata["names"], one.metadata["settings"]
    if names is None:
        return typer.Argument(**settings)
    return typer.Option(*(names or option_name(one.name)).split(), **settings)
