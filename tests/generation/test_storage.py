"""Saved folders: complete or absent, read back bit by bit or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.exceptions import SavedModelError, TableFileError
from likewise.generation._storage import load_folder, save_folder

pytest.importorskip("safetensors")
KIND = "thing 1"
RECORD = {"seed": 3, "names": ["ä", "b"], "nested": {"none": None, "share": 0.1}}
ARRAYS: dict[str, Any] = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4).T,  # not contiguous
    "codes": np.array([1, -2], np.int64),
    "mask": np.array([True, False]),
    "empty": np.empty((0, 3)),
    "scalar": np.array(2.5),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_folder(tmp_path / "saved", KIND, RECORD, ARRAYS)
    return tmp_path / "saved"


def test_what_was_saved_is_loaded(folder: Path) -> None:
    record, arrays = load_folder(folder, KIND)
    assert record == RECORD
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert arrays[name].shape == array.shape


def test_the_same_things_make_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    save_folder(tmp_path / "again", KIND, RECORD, dict(reversed(ARRAYS.items())))
    files = sorted(path.name for path in folder.iterdir())
    assert files == sorted(path.name for path in (tmp_path / "again").iterdir())
    assert [(folder / name).read_bytes() for name in files] == [
        (tmp_path / "again" / name).read_bytes() for name in files
    ]


def test_a_saved_folder_is_replaced_and_nothing_else_is(folder: Path, tmp_path: Path) -> None:
    save_folder(folder, KIND, {"seed": 4}, {})
    assert load_folder(folder, KIND) == ({"seed": 4}, {})
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("text")
    for target in (other, tmp_path / "file"):
        with pytest.raises(TableFileError, match=r"is no file of an earlier saved model|is a file"):
            save_folder(target, KIND, {}, {})
    assert (other / "thesis.txt").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mine", "saved"]


@pytest.mark.parametrize("odd", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}])
def test_what_cannot_be_saved_leaves_the_old_folder(folder: Path, odd: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        save_folder(folder, KIND, odd, {})
    assert load_folder(folder, KIND)[0] == RECORD
    assert [path.name for path in folder.parent.iterdir()] == ["saved"]


def test_an_interrupt_leaves_the_old_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise._files._exchange", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_folder(folder, KIND, {"seed": 4}, {})
    monkeypatch.undo()
    assert load_folder(folder, KIND)[0] == RECORD
    assert [path.name for path in folder.parent.iterdir()] == ["saved"]


def test_folders_above_are_made(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "b", KIND, RECORD, {})
    assert load_folder(tmp_path / "a" / "b", KIND)[0] == RECORD


def test_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(SavedModelError, match="holds 'thing 1', not 'thing 2'"):
        load_folder(folder, "thing 2")


def test_what_is_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SavedModelError, match="Give a folder that save wrote"):
        load_folder(tmp_path / "nothing", KIND)
    (folder / "numbers.safetensors").unlink()
    with pytest.raises(SavedModelError, match="Give a folder that save wrote"):
        load_folder(folder, KIND)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"kind": "thing 1"}', '{"kind": "thing 1", "record": 3}']
)
def test_a_record_that_is_none_is_refused(folder: Path, text: str) -> None:
    (folder / "likewise.json").write_text(text)
    with pytest.raises(SavedModelError, match=r"Save it again|Give a folder that save wrote"):
        load_folder(folder, KIND)


def test_bytes_that_are_no_text_are_refused(folder: Path) -> None:
    (folder / "likewise.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SavedModelError, match="Save it again"):
        load_folder(folder, KIND)


@settings(max_examples=sized(6, 25))
@given(data=st.data())
def test_any_change_of_any_byte_is_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("saved") / "folder"
    save_folder(folder, KIND, RECORD, {"weights": np.ones(3)})
    file = folder / data.draw(st.sampled_from(["likewise.json", "numbers.safetensors"]))
    before = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(before) - 1))
    if data.draw(st.booleans()):
        after = before[:place]
    else:
        after = bytearray(before)
        after[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(bytes(after))
    try:
        assert load_folder(folder, KIND)[0] == RECORD  # blanks between words of JSON mean nothing
    except SavedModelError:
        return
    assert file.suffix == ".json"


def test_a_record_that_was_changed_is_found(folder: Path) -> None:
    text = (folder / "likewise.json").read_text("utf-8")
    (folder / "likewise.json").write_text(text.replace('"seed": 3', '"seed": 4'), "utf-8")
    with pytest.raises(SavedModelError, match="was changed or truncated after it was written"):
        load_folder(folder, KIND)


def test_a_record_with_a_number_beyond_all_is_refused(folder: Path) -> None:
    text = (folder / "likewise.json").read_text("utf-8")
    (folder / "likewise.json").write_text(text.replace('"seed": 3', '"seed": NaN'), "utf-8")
    with pytest.raises(SavedModelError):
        load_folder(folder, KIND)


def test_loading_runs_nothing(folder: Path) -> None:
    head = json.loads((folder / "likewise.json").read_text("utf-8"))
    assert set(head) >= {"kind", "record", "sha256"}
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}


def test_a_folder_gets_the_rights_of_any_new_one(tmp_path: Path) -> None:
    save_folder(tmp_path / "saved", "thing 1", {}, {})
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "saved").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_saving_deletes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    save_folder(tmp_path / "saved", "thing 1", {}, {})
    (tmp_path / "saved" / "README.md").write_text("mine")
    with pytest.raises(TableFileError, match=r"README\.md. is no file of an earlier"):
        save_folder(tmp_path / "saved", "thing 1", {}, {})
