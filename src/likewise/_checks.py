"""Checks of plain arguments, whose errors carry the name of the argument, and how messages name parameters."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from likewise.exceptions import ParameterError

Spelling = Callable[[str, Any], str]
MOST = 2**64  # beyond it are no counts, and no seeds
MOST_NESTED = 100  # levels: plain data of ours has fewer than 20, and Python itself follows about 900
MISSPELT = 0.75  # similarity, from 0 to 1, of a name and its likely misspelling


def _in_python(name: str, value: Any) -> str:
    return name if value is None else f"{name}={value!r}"


_spelling: ContextVar[Spelling] = ContextVar("spelling", default=_in_python)


def parameter(name: str, value: Any = None) -> str:
    """Name a parameter in a message, with a value where one is advised: ``max_pairs``, ``task='binary'``."""
    return _spelling.get()(name, value)


@contextmanager
def name_parameters(spelling: Spelling) -> Iterator[None]:
    """Name parameters in another way, such as ``--max-pairs``."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, Hashable) or value not in choices:  # arrays are compared by element
        raise ParameterError(f"is {value!r}; choose one of {', '.join(map(repr, choices))}.", name)


def check_count(name: str, value: int | None, *, or_none: bool = True, least: int = 0) -> None:
    """Refuse anything but an integer of at least ``least``, or None where allowed."""
    import numpy as np  # here: the first screen of the command line does without

    if value is None and or_none:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"is {value!r}; give a whole number, {least} or more.", name)
    if value >= MOST:
        raise ParameterError("is too large; give a whole number of at most 19 digits.", name)


def check_flag(name: str, value: object) -> None:
    """Refuse anything but a boolean: a text such as "no" would count as true."""
    import numpy as np

    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"is {value!r}; give True or False.", name)


def is_number(value: object) -> bool:
    """Whether a value is a number, of Python's or NumPy's, and not a boolean."""
    import numpy as np

    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def check_plain_data(data: object, what: str, error: type[Exception], form: str = "plain data by name") -> None:
    """Refuse plain data that is not by name, or nests too deeply."""
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        found = "with names that are not text" if isinstance(data, Mapping) else f"not a {type(data).__name__}"
        raise error(f"{what} is {form}, {found}.")
    if nests_too_deeply(data):
        raise error(f"{what} nests more than {MOST_NESTED} levels deep; nothing of ours does.")


def nests_too_deeply(data: object) -> bool:
    """Whether plain data has so many levels that neither a reader nor a message could follow."""
    level: list[Any] = [data]
    for _ in range(MOST_NESTED + 1):
        level = [one for one in level if isinstance(one, Mapping | list | tuple)]
        level = [inner for one in level for inner in (one.values() if isinstance(one, Mapping) else one)]
    return any(isinstance(one, Mapping | list | tuple) for one in level)


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name for a new column: with underscores at its end where it is taken."""
    while name in taken:
        name += "_"
    return name


def suggest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'race'?" for a likely misspelling, else an empty text."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=MISSPELT)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""


def check_number(
    name: str, value: object, *, least: float | None = None, above: float | None = None, below: float | None = None
) -> None:
    """Refuse anything but a finite number within limits."""
    import numpy as np

    try:
        number = float(value) if isinstance(value, int | float | np.integer | np.floating) else float("nan")
    except OverflowError:  # an integer beyond the range of floats
        number = float("inf")
    fits = (
        np.isfinite(number)
        and not isinstance(value, bool)
        and (least is None or number >= least)
        and (above is None or number > above)
        and (below is None or number < below)
    )
    if not fits:
        limits = {"{:g} or more": least, "more than {:g}": above, "less than {:g}": below}
        wanted = " and ".join(words.format(limit) for words, limit in limits.items() if limit is not None)
        raise ParameterError(f"is {value!r}; give a number{f', {wanted}' if wanted else ''}.", name)
