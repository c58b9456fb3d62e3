"""Folders and requests with faults, and their readers: saved estimators, parts of pairs, the explorer."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import safetensors.numpy
from tests.explore.asking import start_page
from tests.hostile.cases import Case, Random, Reader
from tests.hostile.fuzzed_files import seal
from tests.hostile.mutations import change_bytes, change_data, dump

from likewise import Roles, load_dataset
from likewise.comparable import read_pairs, write_pairs
from likewise.explore import Explorer

# ---- folders ----


def _change_array(random: Random, array: Any) -> Any:
    """Change the type, the form or a number of an array."""
    way = random.randrange(7)
    if way == 0:
        with np.errstate(all="ignore"):
            return array.astype(random.choice((np.int64, np.float32, np.float64, np.uint8, np.bool_)))
    if way == 1:
        return array.reshape(-1)[: random.randrange(array.size + 1)]
    if way == 2:
        return np.repeat(array[None], random.choice((0, 1, 2)), axis=0)
    if way == 3:
        return np.concatenate([array.reshape(-1)] * 2)
    array = array.copy().reshape(-1)
    if array.size:
        odd = (-1, 2**31 - 1) if array.dtype.kind in "iub" else (np.nan, np.inf, -1.0, 1e300, 0.0)
        with np.errstate(all="ignore"):
            array[random.randrange(array.size)] = np.array(random.choice(odd)).astype(array.dtype)
    return array


def _change_schemas(random: Random, data: Any) -> Any:
    """Change the schemas inside of plain data; their checksums fit."""
    if not isinstance(data, dict):
        return data
    return {
        name: dump(seal(change_data(random, json.loads(one)))).decode()
        if name == "schema" and isinstance(one, str)
        else _change_schemas(random, one)
        for name, one in data.items()
    }


def forge_folder(random: Random, head: dict[str, Any], numbers: bytes) -> dict[str, bytes]:
    """Change the record, an array or the bytes of a saved estimator; most have a checksum that fits, as a forger's."""
    record = head["record"]
    way = random.randrange(5)
    if way < 2:
        record = json.loads(json.dumps(change_data(random, record)))
    elif way == 4:
        record = _change_schemas(random, record)
    if way in (1, 2):
        arrays = dict(safetensors.numpy.load(numbers))
        name = random.choice(sorted(arrays))
        if random.random() < 0.2:
            arrays[random.choice((name, "extra"))] = arrays.pop(name)
        else:
            arrays[name] = np.ascontiguousarray(_change_array(random, arrays[name]))
        numbers = safetensors.numpy.save(arrays)
    elif way == 3:
        numbers = change_bytes(random, numbers)
    text = json.dumps([head["kind"], record], sort_keys=True)
    told = {**head, "record": record, "sha256": hashlib.sha256(text.encode() + b"\0" + numbers).hexdigest()}
    told = change_data(random, told) if random.random() < 0.1 else told
    return {"likewise.json": dump(told), "numbers.safetensors": numbers}


KINDS: Final = (
    *(pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.list_(pa.int64()), pa.decimal128(20), pa.date64()),
    *(pa.bool_(), pa.null()),
)
NAMES: Final = (("left", "right"), ("left", "right"), ("left",), ("right", "left", "x"), ("Left", "right"))


def _forge_part(random: Random, n_rows: int) -> bytes:
    """Write a sound Parquet file of something else than pairs."""
    n = int(random.choice((0, 1, n_rows, n_rows + 1)))
    columns: dict[str, Any] = {}
    for name in random.choice(NAMES):
        values: list[Any] = [random.randrange(12) for _ in range(n)]
        odd = random.choice((-1, 2**31, 2**62, None, 10**6))
        values[:1] = [odd][:n]
        kind = random.choice(KINDS)
        try:
            columns[name] = pa.array([[one] for one in values] if pa.types.is_list(kind) else values, kind)
        except (pa.ArrowException, TypeError, OverflowError, ValueError):
            columns[name] = pa.array([str(one) for one in values])
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def fuzz_parts(folder: Path) -> Reader:
    """Folders of pairs: the record, and the parts; most parts have the checksum that the record says."""
    data = load_dataset("planted", n_rows=200)
    table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
    write_pairs(table, data.rule, folder / "sound", pairs_per_part=50)
    about = json.loads((folder / "sound" / "_about.json").read_text())
    parts = sorted((folder / "sound").glob("part-*"))
    forged = folder / "forged"

    def draw(random: Random) -> Case:
        files = {}
        told = json.loads(json.dumps(about))
        place = random.randrange(len(parts))
        way = random.randrange(4)
        if way > 0:
            sound = parts[place].read_bytes()
            content = _forge_part(random, told["parts"][place]["n_rows"]) if way == 1 else change_bytes(random, sound)
            files[parts[place].name] = content
            if random.random() < 0.9:
                told["parts"][place]["sha256"] = hashlib.sha256(content).hexdigest()
            if way == 1:
                n_rows = pyarrow.parquet.read_metadata(io.BytesIO(content)).num_rows
                told["found"]["n_pairs"] += n_rows - told["parts"][place]["n_rows"]
                told["parts"][place]["n_rows"] = n_rows
        if way == 0 or random.random() < 0.2:
            told = change_data(random, told)
        return Case({**files, "_about.json": dump(told)})

    def read(case: Case) -> None:
        shutil.rmtree(forged, ignore_errors=True)
        shutil.copytree(folder / "sound", forged)
        case.write(forged)
        for pairs in read_pairs(forged, table, data.rule):
            assert len(pairs.left) == len(pairs.right)

    return Reader(draw, read)


# ---- requests ----


def fuzz_requests(_: Path) -> Reader:
    """Bodies that are posted to the explorer of a table with a model."""
    ages = np.arange(24) % 6 + 20
    people = pa.table(
        {"sex": ["f", "m"] * 12, "job": ["cook", "smith", "cook"] * 8, "age": ages, "hired": ["no", "yes", "yes"] * 8}
    )
    roles = Roles(sensitive="sex", discrete="job", continuous="age", label="hired")

    def model(frame: Any) -> Any:
        return np.clip(np.asarray(frame["age"], np.float64) / 60, 0, 1)

    explorer = Explorer(model, people, roles=roles)
    client = start_page(explorer)
    at = {"changes": 1, "shift": 0.2}
    pair = explorer.look(at)["pairs"][0]
    rows = {"left": pair["left_row"], "right": pair["right_row"]}
    filters = {"limit": 0.1, "transition": 0, "label": 1, "least_gap": 0.0}
    look = {**at, **filters, "sort": "gap", "is_rising": True, "page": 0, "size": 5}
    bodies: dict[str, dict[str, Any]] = {
        **dict.fromkeys(("look", "split", "pairs.csv", "policy.toml"), look),
        **{"about": {}, "pair": {**rows, **at}, "parts": rows},
        "what-if": {**rows, "side": "left", "changed": {"age": 23, "job": "smith", "sex": "m"}},
    }

    def draw(random: Random) -> Case:
        what = random.choice(sorted(bodies))
        body = dump(change_data(random, bodies[what] if random.random() < 0.9 else {"": bodies}))
        if random.random() < 0.15:
            body = change_bytes(random, body)
        return Case({"body": body}, {"what": what})

    def read(case: Case) -> None:
        what, body = case.how["what"], case.files["body"]
        headers = {"content-type": "application/json", "x-likewise-token": client.token}
        answer = client.request("POST", f"/{client.token}/api/{what}", headers=headers, body=body)
        if answer.status_code not in (200, 400, 413, 422):
            raise RuntimeError(f"{what}: {answer.status_code} {answer.content[:200]!r} to {body[:300]!r}")
        if answer.status_code == 200 and what not in ("pairs.csv", "policy.toml"):
            answer.json()

    return Reader(draw, read)
