"""Cells are stored whole or not at all, and found again by what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper._cells import Store, StoreBusy, canonical, key_of
from tests.sizes import sized

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(st.text(), values, max_size=4)


def cell(name: str, **more: Any) -> dict[str, Any]:
    spec = {"data": "planted", "method": {"name": name}, "seed": 0, "fast": False}
    return {"key": key_of(spec), "spec": spec, **({"numbers": {"a": 0.1}} | more)}


@settings(max_examples=sized(12, 50))
@given(records)
def test_a_key_does_not_depend_on_order_and_survives_json(record: dict[str, Any]) -> None:
    turned = dict(reversed(list(record.items())))
    assert key_of(record) == key_of(turned) == key_of(json.loads(canonical(record)))


@settings(max_examples=sized(12, 50))
@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_wherever_a_line_is_cut_the_lines_before_it_stay(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, Any]], data: st.DataObject
) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    cells = [cell(str(number), numbers=numbers) for number, numbers in enumerate(found)]
    for one in cells[:-1]:
        store.append(one)
    n_whole = len(_file(store)) if len(cells) > 1 else 0
    store.append(cells[-1])
    whole = _file(store)
    cut = data.draw(st.integers(n_whole, len(whole) - 1))
    (store.folder / "planted.jsonl").write_bytes(whole[:cut])
    assert [*store.read().values()] == cells[:-1]
    store.append(cells[-1])
    assert _file(store) == whole


def _file(store: Store) -> bytes:
    return (store.folder / "planted.jsonl").read_bytes()


def test_cells_from_elsewhere_fill_gaps_and_replace_failures_only(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(cell("a"))
    store.append(cell("b", error="ValueError: no"))
    others = [cell("a", numbers={"a": 9.0}), cell("b"), cell("c"), cell("c")]
    assert store.merge(others) == 2
    assert store.read() == {one["key"]: one for one in (cell("a"), cell("b"), cell("c"))}


def test_a_cell_under_a_wrong_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not what its key says"):
        Store(tmp_path).merge([cell("a") | {"key": "0" * 64}])


def test_packed_cells_are_the_same_in_any_order_and_the_last_try_counts(tmp_path: Path) -> None:
    tries = [cell("b", error="ValueError: no"), cell("a"), cell("c")]
    for name, order in (("first", tries), ("second", tries[::-1])):
        store = Store(tmp_path / name)
        for one in order:
            store.append(one)
        store.pack()
        store.append(cell("b"))
        known = store.read()
        store.pack()
        assert store.read() == known == {one["key"]: one for one in (cell("a"), cell("b"), cell("c"))}
        assert [path.name for path in store.folder.iterdir()] == ["planted.jsonl.xz"]
    first, second = ((tmp_path / name / "planted.jsonl.xz").read_bytes() for name in ("first", "second"))
    assert first == second


def test_two_cannot_write_at_once(tmp_path: Path) -> None:
    with Store(tmp_path).locked(), pytest.raises(StoreBusy, match="Another run is writing"), Store(tmp_path).locked():
        pass
    with Store(tmp_path).locked():
        pass


def test_a_line_that_is_no_cell_is_told(tmp_path: Path) -> None:
    (tmp_path / "planted.jsonl").write_text(canonical(cell("a")) + "\nnonsense\n")
    with pytest.raises(ValueError, match=r"planted\.jsonl, line 2 is no JSON"):
        Store(tmp_path).read()
