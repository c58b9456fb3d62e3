"""Saved models and logs of searches with faults, and their readers."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import skops.io
from skl2onnx import to_onnx
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from tests.hostile.cases import Case, Random, Reader
from tests.hostile.fuzzed_folders import forge_folder
from tests.hostile.mutations import change_bytes, change_data, dump

from likewise import (
    AdversarialGenerator,
    AugmentedClassifier,
    Comparability,
    ConsistentClassifier,
    GibbsGenerator,
    NetworkClassifier,
    Roles,
    SmoothedScores,
    UniformGenerator,
    load_dataset,
)
from likewise.baselines import ProjectSensitive
from likewise.cli._models import load_model
from likewise.frontier import FrontierSearch, replay_search
from likewise.generation import load_generator

Saved = tuple[dict[str, Any], bytes, Callable[[Path], Any]]


# ---- saved estimators ----


def _saved(folder: Path, made: Any, use: Callable[[Path], Any]) -> Saved:
    made.save(folder)
    head = json.loads((folder / "likewise.json").read_text())
    return head, (folder / "numbers.safetensors").read_bytes(), use


def _fuzz_folders(folder: Path, saved: list[Saved]) -> Reader:
    forged = folder / "forged"
    forged.mkdir()

    def draw(random: Random) -> Case:
        which = random.randrange(len(saved))
        head, numbers, _ = saved[which]
        return Case(forge_folder(random, head, numbers), {"which": which})

    def read(case: Case) -> None:
        case.write(forged)
        found = saved[case.how["which"]][2](forged)
        assert np.isfinite(found).all(), "scores that are not finite"

    return Reader(draw, read)


def fuzz_generators(folder: Path) -> Reader:
    """Saved generators. What loads has to generate."""
    data = load_dataset("planted", n_rows=200)
    small: dict[str, Any] = {"n_iterations": 2, "device": "cpu"}

    def use(path: Path) -> Any:
        return load_generator(path, device="cpu").generate(data.train.X[:5], data.train.y[:5]).source

    saved = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three steps teach nothing
        for kind, how in ((UniformGenerator, {}), (GibbsGenerator, {}), (AdversarialGenerator, small)):
            made = kind(data.roles, data.rule, random_state=0, **how).fit(data.train.X, data.train.y)
            saved.append(_saved(folder / kind.__name__, made, use))
    return _fuzz_folders(folder, saved)


# ---- model files ----


def fuzz_models(folder: Path) -> Reader:
    """Model files as ``likewise audit --model`` takes them: ONNX, and skops, with models of ours. What loads scores."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(80, 3)).astype(np.float32)
    people = pa.table({f"x{place}": numbers[:, place] for place in range(3)})
    people = people.append_column("sex", [random.choice(["f", "m"], 80)])
    labels = (numbers[:, 0] + random.normal(size=80) > 0).astype(int)
    small = RandomForestClassifier(2, max_depth=2, random_state=0)
    fitted = [make_pipeline(StandardScaler(), one).fit(numbers, labels) for one in (LogisticRegression(), small)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three steps teach nothing
        ours = [model.fit(people.to_pandas(), labels) for model in _our_models()]
    sound = {
        "onnx": [to_onnx(one, numbers[:1]).SerializeToString() for one in fitted],
        "skops": [skops.io.dumps(one) for one in (fitted[0], *ours)],  # no trees, whose indices nobody checks
    }

    def draw(random: Random) -> Case:
        kind = random.choice(sorted(sound))
        content = random.choice(sound[kind])
        if random.random() < 0.1:
            kind = "onnx" if kind == "skops" else "skops"
        content = _change_archive(random, content) if random.random() < 0.5 else change_bytes(random, content)
        return Case({f"model.{kind}": content})

    def read(case: Case) -> None:
        (path,) = case.write(folder)
        model = load_model(path, [])
        named = getattr(getattr(model.scoring, "estimator", None), "feature_names_in_", ())
        model.score(people, apart=[], features=[] if len(named) else ["x0", "x1", "x2"])

    return Reader(draw, read)


def _our_models() -> list[Any]:
    roles, rule = Roles(sensitive="sex", continuous=["x0", "x1", "x2"]), Comparability(max_continuous_shift=0.2)
    schema = roles.learn(pa.table({"sex": ["f", "m"], "x0": [-3.0, 3.0], "x1": [-3.0, 3.0], "x2": [-3.0, 3.0]}))
    network = NetworkClassifier(hidden=(4,), n_iterations=3, roles=roles, device="cpu", random_state=0)
    gibbs = GibbsGenerator(roles, rule, n_iterations=3, width=4, device="cpu")
    return [
        AugmentedClassifier(network, gibbs, random_state=0),
        ConsistentClassifier(network, schema, rule),
        SmoothedScores(network, roles, rule),
        make_pipeline(ProjectSensitive(roles), LogisticRegression()),
    ]


def _change_archive(random: Random, content: bytes) -> bytes:
    """Change what is inside a skops file, and leave the archive around it whole; bytes of anything else."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return change_bytes(random, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(("schema.json", "schema.json", *sorted(files)))
    if name == "schema.json":
        files[name] = dump(change_data(random, json.loads(files[name])))
    else:
        files[name] = change_bytes(random, files[name])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, one in files.items():
            archive.writestr(zipfile.ZipInfo(name), one)
    return made.getvalue()


# ---- logs ----


def fuzz_logs(folder: Path) -> Reader:
    """Logs of searches, replayed; most lines have the checksum that fits what they say."""
    data = load_dataset("planted", n_rows=200)
    coding = make_column_transformer(
        (OrdinalEncoder(), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    model = ConsistentClassifier(make_pipeline(coding, LogisticRegression(max_iter=20)), data.roles, data.rule)
    how: dict[str, Any] = {"max_loss": 0.5, "n_resamples": 40, "folds": 2, "random_state": 0, "progress": False}
    log = folder / "sound.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FrontierSearch(model, {"pair_weight": [1.0]}, log=log, **how).fit(data.train.X, data.train.y)
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    def draw(random: Random) -> Case:
        place = random.randrange(len(lines))
        told = [change_data(random, one) if number == place else one for number, one in enumerate(lines)]
        if random.random() < 0.9:
            told = _seal_lines(told)
        content = b"".join(dump(one).replace(b"\n", b" ") + b"\n" for one in told)
        return Case({"log.jsonl": change_bytes(random, content) if random.random() < 0.1 else content})

    def read(case: Case) -> None:
        (path,) = case.write(folder)
        str(replay_search(path, data.train.X, data.train.y, estimator=model, progress=False))

    return Reader(draw, read)


def _seal_lines(lines: list[Any]) -> list[Any]:
    """Return lines with the checksums of what they say, as far as they have one."""
    sealed, before = list[Any](), ""
    for line in lines:
        try:
            inner = {name: one for name, one in json.loads(dump(line)).items() if name != "checksum"}
            text = json.dumps(inner, ensure_ascii=False, allow_nan=False)
            before = hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
        except (ValueError, AttributeError, RecursionError):
            return [*sealed, line]
        sealed.append(inner | {"checksum": before})
    return sealed
