"""Saved generators: what a folder gives back, and which folders are refused."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from likewise import Roles, generation
from likewise.exceptions import GenerationError, SavedModelError
from likewise.generation._internal import BaseGenerator
from likewise.generation._storage import load_folder, save_folder

if TYPE_CHECKING:
    from tests.generation.conftest import Check, Make

SIMPLE = Roles(sensitive="sex", discrete="job", continuous="age")


def load(kind: str, path: Path) -> BaseGenerator:
    where = {} if kind == "UniformGenerator" else {"device": "cpu"}
    loaded = getattr(generation, kind).load(path, **where)
    assert isinstance(loaded, BaseGenerator)
    return loaded


@pytest.fixture
def saved(fitted: Any, tmp_path: Path) -> tuple[str, Path]:
    fitted.save(tmp_path / "saved")
    return type(fitted).__name__, tmp_path / "saved"


@pytest.mark.long(3)
def test_a_saved_generator_makes_the_same_antidotes(
    fitted: BaseGenerator, saved: tuple[str, Path], people: pa.Table, promised: Check
) -> None:
    loaded = load(*saved)
    one, other = (generator.generate(people, rounds=2) for generator in (fitted, loaded))
    assert one.frame.equals(other.frame)
    assert one.source.tobytes() == other.source.tobytes()
    promised(loaded, people, None, other)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    assert loaded.fit(people).generate(people, rounds=2).frame.equals(one.frame)


def test_what_is_loaded_is_saved_as_it_was(saved: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = saved
    loaded: Any = load(kind, folder)
    loaded.save(tmp_path / "again")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".likewise-files.json",
        "likewise.json",
        "numbers.safetensors",
    ]
    for file in folder.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


def test_no_rule_and_no_seed_are_saved(kind: str, make: Make, few: pa.Table, labels: list[int], tmp_path: Path) -> None:
    generator: Any = make(kind, SIMPLE, None, seed=None).fit(few, labels)
    generator.save(tmp_path / "saved")
    loaded = load(kind, tmp_path / "saved")
    assert loaded.rule is None
    assert loaded.random_state is None
    one, other = (each.generate(few, labels, random_state=1) for each in (generator, loaded))
    assert one.frame.equals(other.frame)


def test_nothing_is_saved_before_fit(kind: str, make: Make, tmp_path: Path) -> None:
    generator: Any = make(kind)
    with pytest.raises(GenerationError, match=f"This {kind} is not fitted. Call fit first."):
        generator.save(tmp_path / "saved")
    assert not any(tmp_path.iterdir())


def refused(kind: str, path: Path) -> str:
    with pytest.raises(SavedModelError) as told:
        load(kind, path)
    assert "\n" not in str(told.value)
    assert str(path) in str(told.value)
    return str(told.value)


@pytest.mark.parametrize("name", ["likewise.json", "numbers.safetensors"])
def test_a_folder_that_was_changed_or_cut_short_is_refused(saved: tuple[str, Path], name: str) -> None:
    file = saved[1] / name
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-2] + b"!" + whole[-1:], b""):
        file.write_bytes(damaged)
        assert "Save it again" in refused(*saved)
    file.unlink()
    assert "Give a folder that save wrote" in refused(*saved)


def test_no_folder_and_one_of_another_kind_are_refused(saved: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = saved
    assert "Cannot load from" in refused(kind, tmp_path / "nowhere")
    for other in {"UniformGenerator", "GibbsGenerator", "AdversarialGenerator"} - {kind}:
        assert f"holds '{kind} 1', not '{other} 1'" in refused(other, folder)


@pytest.mark.long(3)
def test_a_folder_that_lacks_something_or_contradicts_itself_is_refused(saved: tuple[str, Path]) -> None:
    kind, folder = saved
    record, arrays = load_folder(folder, f"{kind} 1")
    params, combinations = record["params"], arrays["targets.combinations"]
    lacking: list[Any] = [(without(record, name), arrays) for name in record]
    lacking += [(record, without(arrays, name)) for name in arrays]
    odd: Any = ({}, without(params, "random_state"), params | {"hue": 1}, params | {"roles": 1}, None, 3)
    wrong = ("schema", "{}"), ("roles", None), ("rule", {"hue": 1}), ("bins", {"age": 9}), ("bins", {"job": 1})
    changed: list[Any] = [(record | {"params": one}, arrays) for one in odd]
    changed += [(record | {name: value}, arrays) for name, value in wrong]
    changed += [
        (record, arrays | {"targets.combinations": codes})
        for codes in (combinations[:, :1], combinations[:2], combinations + 1, combinations - 1)
    ]
    for parts in (*lacking, *changed):
        save_folder(folder, f"{kind} 1", *parts)
        assert "lacks something or has too much" in refused(kind, folder)


def without(parts: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if key != name}


class Trap:
    """Leave a trace when unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def test_nothing_in_a_folder_is_run(saved: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = saved
    trap = pickle.dumps(Trap(tmp_path / "trace"))
    head = json.loads((folder / "likewise.json").read_text("utf-8"))
    text = json.dumps([head["kind"], head["record"]], sort_keys=True)
    head["sha256"] = hashlib.sha256(text.encode() + b"\0" + trap).hexdigest()  # the checksum is no protection
    (folder / "likewise.json").write_text(json.dumps(head), "utf-8")
    (folder / "numbers.safetensors").write_bytes(trap)
    assert "cannot be read" in refused(kind, folder)
    assert not (tmp_path / "trace").exists()
    pickle.loads(trap)
    assert (tmp_path / "trace").exists()
