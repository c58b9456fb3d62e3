"""Models from files: scored as in Python, columns met by name, nothing loaded that may run code."""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import skl2onnx
import skops.io
from numpy.typing import NDArray
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from likewise import load_dataset
from likewise.cli._models import ModelFile, load_model
from likewise.exceptions import LikewiseWarning, MissingExtra, SavedModelError, ScoreError

FEATURES = ["job-title", "age", "hours"]
TYPES = [
    ("job-title", StringTensorType([None, 1])),
    ("age", Int64TensorType([None, 1])),
    ("hours", FloatTensorType([None, 1])),
]


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    random = np.random.default_rng(0)
    n = 200
    return pa.table(
        {
            "sex": random.choice(["f", "m"], n),
            "hours": random.integers(1, 40, n) / 2,
            "age": random.integers(20, 60, n),
            "job-title": random.choice(["baker", "cook"], n),
            "hired": random.choice(["no", "yes"], n),
        }
    )


@pytest.fixture(scope="module")
def fitted(frame: pa.Table) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["job-title"]), (StandardScaler(), ["age", "hours"]))
    people = frame.select(FEATURES).to_pandas()
    return make_pipeline(columns, LogisticRegression()).fit(people, frame.column("hired").to_numpy())


@pytest.fixture(scope="module")
def truth(frame: pa.Table, fitted: Any) -> NDArray[np.float64]:
    return np.asarray(fitted.predict_proba(frame.select(FEATURES).to_pandas()))


@pytest.fixture(scope="module")
def numeric(frame: pa.Table) -> Any:
    people = np.column_stack([frame.column(name).to_numpy() for name in ("age", "hours")])
    return LogisticRegression().fit(people, frame.column("hired").to_numpy())


def write_onnx(path: Path, model: Any, types: list[Any], **options: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path.write_bytes(skl2onnx.to_onnx(model, initial_types=types, **options).SerializeToString())
    return path


def ask(path: Path, frame: pa.Table, *, features: list[str] | None = None, trusted: list[str] | None = None) -> Any:
    return load_model(path, trusted or []).score(frame, apart=["hired"], features=features or [])


@pytest.mark.parametrize("zipmap", [True, False])
def test_onnx_inputs_meet_columns_by_name_whatever_their_order(
    frame: pa.Table, fitted: Any, truth: NDArray[np.float64], tmp_path: Path, zipmap: bool
) -> None:
    path = write_onnx(tmp_path / "m.onnx", fitted, TYPES, options={"zipmap": zipmap})
    found = ask(path, frame)
    assert found.classes_ == ["no", "yes"]
    np.testing.assert_allclose(found.predict_proba(frame), truth, atol=1e-5)
    coded = frame.set_column(3, "job-title", frame.column("job-title").dictionary_encode())
    np.testing.assert_array_equal(ask(path, coded).probabilities, found.probabilities)


def test_codes_reach_a_model_as_the_text_they_are_or_one_line_says_what_it_got(
    frame: pa.Table, fitted: Any, numeric: Any, tmp_path: Path
) -> None:
    people = frame.select(FEATURES).to_pandas()
    people["job-title"] = np.where(people["job-title"] == "baker", "007", "7")  # as numbers, one and the same
    coded = frame.set_column(3, "job-title", pa.array(people["job-title"]))
    model = clone(fitted).fit(people, frame.column("hired").to_numpy())
    found = load_model(write_onnx(tmp_path / "m.onnx", model, TYPES), []).score(
        coded, apart=["hired"], features=[], text={"job-title": "leading zeros"}
    )
    np.testing.assert_allclose(found.probabilities, model.predict_proba(people), atol=1e-5)
    skops.io.dump(numeric, tmp_path / "m.skops")  # of a matrix of numbers
    ages = frame.set_column(2, "age", pc.utf8_lpad(frame.column("age").cast(pa.string()), 4, "0"))
    asked: dict[str, Any] = {"apart": ["hired"], "features": ["age", "hours"]}
    with pytest.warns(LikewiseWarning, match=r"gets column 'age', .* as numbers: .* add --text age\.") as told:
        given = load_model(tmp_path / "m.skops", []).score(ages, text={"age": "leading zeros"}, **asked)
    assert len(told) == 1
    np.testing.assert_array_equal(
        given.probabilities, ask(tmp_path / "m.skops", frame, features=["age", "hours"]).probabilities
    )


def test_one_unnamed_input_takes_the_columns_in_order_if_they_fit(
    frame: pa.Table, numeric: Any, tmp_path: Path
) -> None:
    path = write_onnx(tmp_path / "m.onnx", numeric, [("X", FloatTensorType([None, 2]))])
    narrow = frame.select(["age", "hired", "hours"])
    people = np.column_stack([frame.column(name).to_numpy() for name in ("age", "hours")])
    expected = numeric.predict_proba(people)
    np.testing.assert_allclose(ask(path, narrow).probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(ask(path, frame, features=["age", "hours"]).probabilities, expected, atol=1e-5)
    with pytest.raises(ScoreError, match=r"takes 2 columns, without naming them; there are 4: 'sex', .* --set feat"):
        ask(path, frame)
    with pytest.raises(ScoreError, match=r"Column 'sex' holds string values, but the model in .* takes numbers"):
        ask(path, frame, features=["sex", "age"])


def test_a_regression_of_either_kind_gives_its_predictions(frame: pa.Table, tmp_path: Path) -> None:
    people, pay = frame.select(["age", "hours"]), frame.column("age").to_numpy() * 100.0
    model = LinearRegression().fit(people.to_pandas(), pay)
    onnx = write_onnx(tmp_path / "m.onnx", model, [("X", FloatTensorType([None, 2]))])
    skops.io.dump(model, tmp_path / "m.skops")
    for path in (onnx, tmp_path / "m.skops"):
        found = ask(path, people)
        assert found.classes_ is None
        np.testing.assert_allclose(np.ravel(found.probabilities), pay, rtol=1e-5)


def test_skops_gives_what_the_model_gives(
    frame: pa.Table, fitted: Any, numeric: Any, truth: NDArray[np.float64], tmp_path: Path
) -> None:
    skops.io.dump(fitted, tmp_path / "named.skops")
    found = ask(tmp_path / "named.skops", frame)
    assert found.classes_ == ["no", "yes"]
    np.testing.assert_array_equal(found.probabilities, truth)
    skops.io.dump(numeric, tmp_path / "plain.skops")
    assert ask(tmp_path / "plain.skops", frame, features=["age", "hours"]).probabilities.shape == (200, 2)
    with pytest.raises(ScoreError, match="takes 2 columns, without naming them"):
        ask(tmp_path / "plain.skops", frame)


@pytest.mark.parametrize("kind", ["onnx", "skops"])
def test_columns_that_the_table_lacks_are_named(frame: pa.Table, fitted: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"m.{kind}"
    if kind == "onnx":
        write_onnx(path, fitted, TYPES)
    else:
        skops.io.dump(fitted, path)
    renamed = frame.rename_columns(["sex", "hour", "age", "job", "hired"])
    with pytest.raises(ScoreError, match=r"columns that the table lacks: 'job.title', 'hours'\.") as refused:
        ask(path, renamed)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["onnx", "skops"])
def test_a_list_of_columns_is_refused_where_the_model_names_them(
    frame: pa.Table, fitted: Any, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"m.{kind}"
    if kind == "onnx":
        write_onnx(path, fitted, TYPES)
    else:
        skops.io.dump(fitted, path)
    with pytest.raises(ScoreError, match=r"names the columns it takes.*Leave out --set features"):
        ask(path, frame, features=["age", "hours", "job-title"])


def test_what_a_model_complains_of_is_a_whole_sentence(frame: pa.Table, tmp_path: Path) -> None:
    people = frame.select(["age", "hours"])
    skops.io.dump(LogisticRegression().fit(people.to_pandas(), frame["hired"].to_numpy()), tmp_path / "m.skops")
    hours = pa.array([None, *frame["hours"].to_pylist()[1:]])
    with pytest.raises(ScoreError, match=r"ValueError: Input X contains NaN\. Check that the columns hold what"):
        ask(tmp_path / "m.skops", people.set_column(1, "hours", hours))


WRONG = {
    "text for numbers": ("age", pa.array(["x"] * 200), "'age' holds string values, but .* takes numbers"),
    "numbers for text": ("job-title", pa.array([1] * 200), "'job-title' holds int64 values, but .* takes text"),
    "fractions for whole": ("age", pa.array([1.5] * 200), "'age' holds double values, but .* takes whole numbers"),
    "missing numbers": ("age", pa.array([None] + [1] * 199), "'age' lacks 1 values"),
    "missing text": ("job-title", pa.array([None] + ["cook"] * 199), "'job-title' lacks 1 values"),
    "unknown category": ("job-title", pa.array(["king"] * 200), "cannot score this table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_columns_of_the_wrong_type_are_named(frame: pa.Table, fitted: Any, tmp_path: Path, case: str) -> None:
    name, values, words = WRONG[case]
    path = write_onnx(tmp_path / "m.onnx", fitted, TYPES)
    if case == "unknown category":  # ONNX scores it; scikit-learn refuses
        path = tmp_path / "m.skops"
        skops.io.dump(fitted, path)
    with pytest.raises(ScoreError, match=words) as refused:
        ask(path, frame.set_column(frame.column_names.index(name), name, values))
    assert "\n" not in str(refused.value)


def test_whole_numbers_and_truth_values_may_be_written_otherwise(frame: pa.Table, fitted: Any, tmp_path: Path) -> None:
    path = write_onnx(tmp_path / "m.onnx", fitted, TYPES)
    as_fractions = frame.set_column(2, "age", frame.column("age").cast(pa.float64()))
    np.testing.assert_array_equal(ask(path, as_fractions).probabilities, ask(path, frame).probabilities)


def test_the_pipeline_of_the_readme_needs_no_trust(tmp_path: Path) -> None:
    data = load_dataset("planted")
    words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    columns = make_column_transformer((OneHotEncoder(), words), (StandardScaler(), numbers))
    model = make_pipeline(columns, LogisticRegression()).fit(data.train.X, data.train.y)
    skops.io.dump(model, tmp_path / "lr.skops")
    found = ask(tmp_path / "lr.skops", pa.Table.from_pandas(data.test.X))
    np.testing.assert_array_equal(found.probabilities, model.predict_proba(data.test.X))


class Stranger(DummyClassifier):  # type: ignore[misc]  # scikit-learn ships no types
    pass


def test_types_that_nobody_vouched_for_are_not_loaded(frame: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "m.skops"
    people = frame.select(["age", "hours"]).to_pandas()
    skops.io.dump(Stranger().fit(people, frame.column("hired").to_numpy()), path)
    (strange,) = skops.io.get_untrusted_types(file=path)
    with pytest.raises((ScoreError, SavedModelError)) as refused:
        load_model(path, ["some.Other"])
    assert f"--trust {strange}" in str(refused.value)
    loaded = load_model(path, [strange])
    assert loaded.describe()["trusted"] == [strange]
    assert loaded.score(frame, apart=["hired"], features=[]).classes_ == ["no", "yes"]


class Trap:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path(self.trace),))


@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.pt", "M.PICKLE", "m.onnx", "m.skops", "m.bin", "m"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_refused_under_any_name_and_never_run(tmp_path: Path, name: str, protocol: int) -> None:
    path, trace = tmp_path / name, tmp_path / "trace"
    path.write_bytes(pickle.dumps(Trap(str(trace)), protocol))
    with pytest.raises((ScoreError, SavedModelError)) as refused:
        load_model(path, [])
    assert not trace.exists()
    if protocol >= 2 or name not in ("m.onnx", "m.skops", "m.bin", "m"):
        assert "may run code" in str(refused.value)
        assert "skops.io.dump" in str(refused.value)
        assert "skl2onnx" in str(refused.value)


def zipped(path: Path, content: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", content)


def test_files_that_are_no_models_are_refused_in_a_line(tmp_path: Path, frame: pa.Table) -> None:
    (tmp_path / "folder.onnx").mkdir()
    for name in ("empty.onnx", "empty.skops"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "text.onnx").write_text("hello")
    (tmp_path / "text.skops").write_text("hello")
    (tmp_path / "model.h5").write_text("hello")
    zipped(tmp_path / "zip.skops", "hello")
    skops.io.dump({"a": 1}, tmp_path / "dict.skops")
    fitted = LinearSVC().fit([[0], [1]], [0, 1])
    skops.io.dump(fitted, tmp_path / "svc.skops")
    expected = {
        "folder.onnx": "is a folder",
        "empty.onnx": "cannot be loaded as an ONNX model",
        "empty.skops": "cannot be loaded as a skops file",
        "text.onnx": "cannot be loaded as an ONNX model",
        "text.skops": "cannot be loaded as a skops file",
        "zip.skops": "cannot be loaded as a skops file",
        "model.h5": "Give an .onnx or a .skops file",
        "dict.skops": "not a model that can score",
        "svc.skops": "has no predict_proba",
        "text.onxx": "Did you mean 'text.onnx'?",
    }
    for name, words in expected.items():
        with pytest.raises((ScoreError, SavedModelError)) as refused:
            load_model(tmp_path / name, [])
        assert words in str(refused.value), name
        assert "\n" not in str(refused.value)


def test_trust_is_for_skops_files_only(tmp_path: Path, numeric: Any) -> None:
    path = write_onnx(tmp_path / "m.onnx", numeric, [("X", FloatTensorType([None, 2]))])
    with pytest.raises(ScoreError, match=r"--trust is for \.skops files"):
        load_model(path, ["a.B"])


def test_an_output_that_cannot_be_told_is_refused(tmp_path: Path, numeric: Any) -> None:
    types = [("X", FloatTensorType([None, 2]))]
    path = write_onnx(tmp_path / "m.onnx", numeric, types, options={"zipmap": "columns"})
    with pytest.raises(ScoreError, match="unclear which are the probabilities"):
        load_model(path, [])


@pytest.mark.parametrize(("module", "kind"), [("onnxruntime", "onnx"), ("skops.io", "skops")])
def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, kind: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"m.{kind}"
    path.write_bytes(b"anything")
    with pytest.raises(MissingExtra, match=rf"\[{kind}\]"):
        load_model(path, [])


def test_a_model_is_described_by_its_checksum(tmp_path: Path, numeric: Any) -> None:
    path = write_onnx(tmp_path / "m.onnx", numeric, [("X", FloatTensorType([None, 2]))])
    loaded = load_model(path, [])
    assert isinstance(loaded, ModelFile)
    assert loaded.describe() == {
        "file": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "trusted": [],
    }


def test_what_a_model_warns_of_is_passed_on(frame: pa.Table, tmp_path: Path) -> None:
    columns = make_column_transformer((OneHotEncoder(handle_unknown="warn"), ["job-title"]))
    people = frame.select(["job-title"]).to_pandas()
    fitted = make_pipeline(columns, LogisticRegression()).fit(people, frame.column("hired").to_numpy())
    skops.io.dump(fitted, tmp_path / "m.skops")
    strange = frame.set_column(3, "job-title", pa.array(["king"] * 200))
    with pytest.warns(LikewiseWarning, match=r"The model in '.*' warns: Found unknown categories"):
        ask(tmp_path / "m.skops", strange)
