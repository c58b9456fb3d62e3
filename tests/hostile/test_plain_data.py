"""Whatever plain data says, ``from_dict`` returns something or refuses it in one line, however deep it nests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.records import make_record

from likewise import Comparability, Policy, Roles
from likewise.auditing._internal import AuditSettings
from likewise.record import AuditRecord


def nest(around: Callable[[Any], Any]) -> Any:
    """Return nothing in very many shells."""
    found: Any = around(None)
    for _ in range(5_000):
        found = around(found)
    return found


DEEP: dict[str, Any] = {"mappings": nest(lambda inner: {"a": inner}), "lists": nest(lambda inner: [inner])}
ODD: tuple[Any, ...] = (*DEEP.values(), {"a": DEEP["lists"]}, [DEEP["mappings"]], None, 3, "x", [[1]], {"a": 1}, [{}])
ROLES = Roles(
    sensitive=["sex", "years"],
    ordinal={"size": ["S", "M"]},
    continuous=["age"],
    ignored="name",
    label="y",
    bins={"years": 3},
    missing={"age": "median"},
)
DOORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "rule": (Comparability, Comparability(must_match=("job",), limits={"age": "5"}, score_band=0.1).to_dict()),
    "roles": (Roles, ROLES.to_dict()),
    "policy": (Policy, Policy(max_gap_mean=0.1, columns={"age": {"max_part_share": 0.2}}).to_dict()),
    "settings": (AuditSettings, AuditSettings().to_dict()),
    "record": (AuditRecord, make_record()),
}


def test_an_order_of_lists_is_refused() -> None:
    assert "List its categories" in str(refuse(Roles, {"ordinal": {"size": [[1], [2]]}}))


def refuse(door: Any, data: Any) -> str | None:
    """Read data; return the refusal, which is a ValueError of one line."""
    words = None
    try:
        door.from_dict(data)
    except ValueError as error:
        words = str(error)
    assert words is None or (words and "\n" not in words)
    return words


@pytest.mark.parametrize("name", DOORS)
def test_every_value_may_be_odd(name: str) -> None:
    door, sound = DOORS[name]
    assert refuse(door, sound) is None
    for field in sound:
        for odd in ODD:
            refuse(door, sound | {field: odd})


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize("name", DOORS)
def test_what_nests_too_deeply_is_said_to(name: str, depth: str) -> None:
    door, sound = DOORS[name]
    for field in sound:
        assert "nests more than 100 levels deep" in str(refuse(door, sound | {field: DEEP[depth]}))


@pytest.mark.parametrize("odd", [None, [], [("a", 1)], "x", 3, {1: 2}, DEEP["lists"]], ids=range(7))
@pytest.mark.parametrize("name", DOORS)
def test_what_is_not_by_name_is_refused(name: str, odd: Any) -> None:
    assert refuse(DOORS[name][0], odd)
