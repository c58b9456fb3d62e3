"""Options that several commands have in common, listed once: each group is a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Any, get_type_hints


def taking(**groups: type) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Let a command take the fields of dataclasses as options, and hand it one object for each group of them."""

    def decorate(command: Callable[..., int | None]) -> Callable[..., int | None]:
        @wraps(command)
        def gather(**given: Any) -> int | None:
            wanted = {name: [one.name for one in fields(group)] for name, group in groups.items()}
            return command(
                **{name: group(**{key: given[key] for key in wanted[name]}) for name, group in groups.items()}
            )

        options = [option for group in groups.values() for option in _options(group)]
        gather.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # this is what typer reads
        gather.__annotations__ = {}
        return gather

    return decorate


def _options(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=_default(one), annotation=hints[one.name])
        for one in fields(group)
    ]


def _default(option: Field[Any]) -> Any:
    if option.default is not MISSING:
        return option.default
    return option.default_factory() if option.default_factory is not MISSING else inspect.Parameter.empty
