"""What every generator promises, whatever it learned: tested on the frame that a user gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.sizes import sized

from likewise import Comparability, Roles
from likewise.exceptions import FewAntidotes, GenerationError, SchemaError
from likewise.generation import UniformGenerator
from likewise.generation._internal import BaseGenerator, fingerprint
from likewise.schema._internal import open_frame

if TYPE_CHECKING:
    from tests.generation.conftest import Check, Make

SIMPLE = Roles(sensitive="sex", discrete="job", continuous="age")


@pytest.mark.long(3)
def test_antidotes_keep_all_promises(fitted: BaseGenerator, people: pa.Table, promised: Check) -> None:
    for rounds in (1, 3):
        antidotes = fitted.generate(people, rounds=rounds)
        assert len(antidotes) > 100  # of none, anything can be promised
        promised(fitted, people, None, antidotes)


@pytest.mark.parametrize("limit", ["5000", "10 %", "0.03 of range"])
def test_limits_in_units_hold_for_antidotes(limit: str, promised: Check) -> None:
    random = np.random.default_rng(0)
    people = pa.table({"sex": random.choice(["f", "m"], 60), "income": random.integers(20_000, 90_000, 60)})
    days = [datetime(2026, 1, 1) + timedelta(int(day)) for day in random.integers(0, 90, 60)]
    people = people.append_column("applied", pa.array(days)).append_column("y", pa.array([0, 1] * 30))
    rule = Comparability(limits={"income": limit, "applied": "30 days"})
    roles = Roles(sensitive="sex", continuous=["income", "applied"], label="y")
    generator = UniformGenerator(roles, rule, random_state=0)
    antidotes = generator.fit(people).generate(people)
    assert len(antidotes) > 50
    promised(generator, people, None, antidotes)


@pytest.mark.long(3)
def test_frames_of_every_library_come_back_as_they_went_in(
    fitted: BaseGenerator,
    people: pa.Table,
    convert: Callable[[pa.Table], Any],
    promised: Check,
    dtypes_of: Callable[[Any], list[str]],
) -> None:
    X = convert(people)
    antidotes = fitted.generate(X)
    promised(fitted, X, None, antidotes)
    assert dtypes_of(antidotes.frame) == dtypes_of(X)
    stacked, y = antidotes.append_to(X)
    assert dtypes_of(stacked) == dtypes_of(X)
    assert len(stacked) == len(y) == len(people) + len(antidotes)


@pytest.mark.long(3)
def test_the_library_of_the_frame_changes_no_value(fitted: BaseGenerator, people: pa.Table) -> None:
    X = people.to_pandas()
    one, other = fitted.generate(people), clone(fitted).fit(X).generate(X)
    assert one.table.discrete.tolist() == other.table.discrete.tolist()
    assert one.table.continuous.tolist() == other.table.continuous.tolist()
    assert one.source.tolist() == other.source.tolist()


@pytest.mark.long(3)
def test_the_same_seed_gives_the_same_bytes(kind: str, make: Make, people: pa.Table) -> None:
    one, other = (make(kind).fit(people).generate(people, rounds=2) for _ in range(2))
    assert one.frame.equals(other.frame)
    assert one.source.tobytes() == other.source.tobytes()
    assert one.round.tobytes() == other.round.tobytes()


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", ["GibbsGenerator", "AdversarialGenerator"])
def test_the_number_of_threads_changes_nothing(kind: str, make: Make, people: pa.Table) -> None:
    torch = pytest.importorskip("torch")
    before, found, many = torch.get_num_threads(), set(), pa.concat_tables([people] * 8)
    try:
        for n_threads in sized((1, 3), (1, 2, 3)):
            torch.set_num_threads(n_threads)
            # wide enough for torch to share the work out
            wide: Any = make(kind).set_params(batch_size=1_024, width=256, n_iterations=2)
            antidotes = wide.fit(many).generate(people)
            found.add((fingerprint(wide), antidotes.source.tobytes()))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1


def test_another_seed_gives_other_antidotes(fitted: BaseGenerator, people: pa.Table) -> None:
    one, other = (fitted.generate(people, rounds=2, random_state=seed) for seed in (1, 2))
    again = fitted.generate(people, rounds=2, random_state=1)
    assert one.frame.equals(again.frame)
    assert not len(one) or not one.frame.equals(other.frame)


def test_a_ratio_gives_exactly_that_many(people: pa.Table, make: Make, promised: Check) -> None:
    generator = make("UniformGenerator").fit(people)
    for ratio in (0.45, 1, 0.333, 12.5):
        antidotes = generator.generate(people, ratio=ratio)
        assert len(antidotes) == round(ratio * len(people))
        promised(generator, people, None, antidotes)


def test_what_cannot_be_reached_is_said(few: pa.Table, labels: list[int], make: Make) -> None:
    rule = Comparability(max_discrete_changes=0, max_continuous_shift=0)
    generator = make("UniformGenerator", SIMPLE, rule).fit(few, labels)
    with pytest.warns(FewAntidotes, match="Only 60 distinct antidotes could be generated for 60 rows, not 120"):
        antidotes = generator.generate(few, labels, ratio=2)
    assert len(antidotes) == 60


def test_rounds_add_and_are_numbered(fitted: BaseGenerator, people: pa.Table) -> None:
    one, three = fitted.generate(people), fitted.generate(people, rounds=3)
    assert set(one.round.tolist()) <= {0}
    assert set(three.round.tolist()) <= {0, 1, 2}
    assert len(three) >= len(one)
    first = three.frame.filter(pa.array(three.round == 0))
    numbers = [name for name in first.column_names if name != "age"]  # of a group, any number may be drawn
    assert first.select(numbers).equals(one.frame.select(numbers))


def test_every_other_combination_is_asked_for(fitted: BaseGenerator, people: pa.Table) -> None:
    # two sexes and three groups of age: five others
    assert fitted.generate(people).n_raw == 5 * len(people)
    assert fitted.generate(people, rounds=2).n_raw == 10 * len(people)


@pytest.mark.long(3)
@pytest.mark.parametrize("differs", ["any", "all"])
def test_sensitive_columns_differ_as_the_rule_says(
    kind: str, differs: Any, make: Make, roles: Roles, rule: Comparability, people: pa.Table, promised: Check
) -> None:
    generator = make(kind, roles, replace(rule, sensitive_differs=differs)).fit(people)
    antidotes = generator.generate(people)
    promised(generator, people, None, antidotes)
    differing = (antidotes.table.sensitive != antidotes.sources.sensitive).sum(axis=1)
    assert (differing >= (2 if differs == "all" else 1)).all()


def test_a_group_of_numbers_comes_back_as_numbers_of_that_group(fitted: BaseGenerator, people: pa.Table) -> None:
    antidotes = fitted.generate(people, rounds=2)
    ages = antidotes.frame.column("age").to_numpy()
    groups = antidotes.table.sensitive[:, 1]
    assert (np.digitize(ages, [30, 50]) == groups).all()
    assert set(ages.tolist()) <= set(people.column("age").to_pylist())


@pytest.mark.long(3)
def test_labels_apart_and_inside_the_frame_mean_the_same(
    kind: str, make: Make, roles: Roles, people: pa.Table, promised: Check
) -> None:
    X, y = people.drop_columns("hired"), people.column("hired")
    inside = make(kind).fit(people).generate(people)
    generator = make(kind, replace(roles, label=None)).fit(X, y)
    apart = generator.generate(X, y)
    promised(generator, X, y, apart)
    assert apart.frame.equals(inside.frame.drop_columns("hired"))
    assert apart.y.tolist() == inside.y.tolist() == inside.frame.column("hired").to_pylist()


def test_row_ids_are_those_of_the_source(kind: str, make: Make, roles: Roles, people: pa.Table) -> None:
    generator = make(kind, replace(roles, ignored=(), row_id="note")).fit(people)
    antidotes = generator.generate(people)
    ids = people.column("note").to_numpy(zero_copy_only=False)
    assert antidotes.frame.column("note").to_pylist() == ids[antidotes.source].tolist()
    assert antidotes.table.row_ids.tolist() == ids[antidotes.source].tolist()


@pytest.mark.long(4)
@pytest.mark.parametrize("policy", ["median", "apart"])
def test_missing_amounts_and_ranks(
    kind: str, policy: Any, make: Make, promised: Check, convert: Callable[[pa.Table], Any], people: pa.Table
) -> None:
    gone = pa.array(np.random.default_rng(0).random(len(people)) < 0.3)
    table = people.select(["sex", "size", "income", "years"])
    for name in ("size", "income", "years"):
        values = pa.compute.if_else(gone, None, table.column(name))
        table = table.set_column(table.column_names.index(name), name, values)
    X, y = convert(table), people.column("hired")
    roles = Roles(sensitive="sex", ordinal={"size": ["S", "M", "L"]}, continuous=["income", "years"], missing=policy)
    generator = make(kind, roles, Comparability(max_continuous_shift=0.3)).fit(X, y)
    antidotes = generator.generate(X, y)
    promised(generator, X, y, antidotes)
    if policy == "apart":
        own = np.isin(antidotes.source, np.flatnonzero(gone))
        incomes = open_frame(antidotes.frame).cells("income", np.arange(len(antidotes)))
        assert [income is None for income in incomes] == own.tolist()


def test_missing_sensitive_values_are_values(kind: str, make: Make, promised: Check) -> None:
    X = pd.DataFrame({"sex": ["f", None] * 20, "age": [20, 21, 22, 23] * 10, "y": [0, 0, 1, 1] * 10})
    rule = Comparability(max_continuous_shift=0.4)
    generator = make(kind, Roles(sensitive="sex", continuous="age", label="y"), rule).fit(X)
    antidotes = generator.generate(X)
    promised(generator, X, None, antidotes)


@pytest.mark.long(3)
def test_dtypes_of_pandas_survive(
    kind: str, make: Make, promised: Check, dtypes_of: Callable[[Any], list[str]], people: pa.Table
) -> None:
    n = len(people)
    X = pd.DataFrame(
        {
            "sex": pd.Categorical(people.column("sex").to_pylist(), categories=["m", "f", "x"]),
            "job": pd.array(people.column("job").to_pylist(), dtype="string"),
            "grade": pd.Categorical([i % 3 for i in range(n)], categories=[2, 1, 0], ordered=True),
            "member": pd.array([True, False, None] * (n // 3), dtype="boolean"),
            "income": pd.array(people.column("income").to_pylist(), dtype="Float64"),
            "years": pd.array([i % 9 for i in range(n)], dtype="Int16"),
            "share": np.round(np.linspace(0, 1, n), 3).astype("float32"),
            "seen": pd.date_range("2024-01-01", periods=n, freq="D", tz="Europe/Berlin"),
            "at": pd.date_range("2024-01-01", periods=n, freq="h"),
            "thing": [object() for _ in range(n)],
        },
        index=pd.RangeIndex(500, 500 + n),
    )
    roles = Roles(
        sensitive=["sex"],
        discrete=["job", "member"],
        ordinal={"grade": [0, 1, 2]},
        continuous=["income", "years", "share", "seen", "at"],
        ignored="thing",
    )
    y = people.column("hired").to_pandas()
    generator = make(kind, roles, Comparability(max_continuous_shift=0.4)).fit(X, y)
    antidotes = generator.generate(X, y)
    comparable = X.drop(columns="thing")
    promised(generator, comparable, y, replace(antidotes, frame=antidotes.frame.drop(columns="thing")))
    assert dtypes_of(antidotes.frame) == dtypes_of(X)
    things = X["thing"].to_list()
    assert antidotes.frame["thing"].to_list() == [things[row] for row in antidotes.source]
    assert antidotes.frame.index.equals(pd.RangeIndex(len(antidotes)))
    assert dtypes_of(antidotes.append_to(X, y)[0]) == dtypes_of(X)


def test_dtypes_of_polars_and_pyarrow_survive(
    make: Make, promised: Check, dtypes_of: Callable[[Any], list[str]], labels: list[int]
) -> None:
    random = np.random.default_rng(0)
    X = pl.DataFrame(
        {
            "sex": pl.Series(random.choice(["f", "m"], 60), dtype=pl.Enum(["m", "f"])),
            "job": pl.Series(random.choice(["a", "b"], 60), dtype=pl.Categorical),
            "age": pl.Series(random.integers(20, 60, 60), dtype=pl.UInt8),
            "at": [datetime(2024, 1, 1) + timedelta(hours=i) for i in range(60)],
            "tags": [["a", "b"]] * 60,
        }
    )
    arrow = pa.table(
        {
            "sex": pa.array(random.choice(["f", "m"], 60), pa.string_view()),
            "job": pa.array(random.choice(["a", "b"], 60), pa.large_string()).dictionary_encode(),
            "age": pa.array(random.integers(20, 60, 60), pa.uint8()),
            "at": pa.array(np.arange(60), pa.timestamp("s")),
            "tags": pa.array([f"t{i}" for i in range(60)], pa.string_view()),
        }
    )
    for frame in (X, arrow):
        roles = Roles(sensitive="sex", discrete="job", continuous=["age", "at"], ignored="tags")
        generator = make("UniformGenerator", roles, None).fit(frame, labels)
        antidotes = generator.generate(frame, labels)
        assert len(antidotes) == 60
        assert dtypes_of(antidotes.frame) == dtypes_of(frame)
        assert dtypes_of(antidotes.append_to(frame, labels)[0]) == dtypes_of(frame)
        promised(generator, frame, labels, antidotes)


def test_people_outside_the_training_range_and_unseen_categories(
    kind: str, make: Make, promised: Check, few: pa.Table, labels: list[int]
) -> None:
    generator = make(kind, SIMPLE, Comparability(max_continuous_shift=0.2)).fit(few, labels)
    X = pd.DataFrame({"sex": ["f", "x", "m"], "job": ["judge", "cook", "smith"], "age": [12, 300, 25]})
    antidotes = generator.generate(X, [1, 0, 7], rounds=4)
    promised(generator, X, [1, 0, 7], antidotes)
    assert set(antidotes.y.tolist()) <= {0, 1, 7}
    assert not {"x"} & set(antidotes.frame["sex"])


def test_a_frame_of_narrower_types_than_training_had(make: Make, few: pa.Table, labels: list[int]) -> None:
    generator = make("UniformGenerator", SIMPLE, None).fit(few, labels)
    X = pd.DataFrame({"sex": pd.Categorical(["f"] * 3), "job": ["cook"] * 3, "age": [20.0, 25.0, 29.5]})
    antidotes = generator.generate(X, [0, 0, 1])
    stacked, _ = antidotes.append_to(X, [0, 0, 1])
    assert stacked["sex"].tolist() == ["f"] * 3 + ["m"] * 3
    assert isinstance(stacked["sex"].dtype, pd.CategoricalDtype)
    enum = pl.DataFrame({"sex": pl.Series(["f"], dtype=pl.Enum(["f"])), "job": ["cook"], "age": [20]})
    stacked, _ = generator.generate(enum, [1]).append_to(enum, [1])
    assert stacked["sex"].to_list() == ["f", "m"]


def test_a_value_finer_than_training_had_stays_as_it_is(make: Make) -> None:
    train = pd.DataFrame({"sex": ["f", "m"], "share": [0.1, 0.9]})
    generator = make("UniformGenerator", Roles(sensitive="sex", continuous="share"), Comparability(0, 0.0))
    generator.fit(train, [0, 1])
    antidotes = generator.generate(pd.DataFrame({"sex": ["f"], "share": [0.123456]}), [1])
    assert antidotes.frame["share"].tolist() == [0.123456]


def test_a_type_that_cannot_hold_what_was_made_gives_way(make: Make, promised: Check, labels: list[int]) -> None:
    random = np.random.default_rng(0)
    steps = np.arange(60) / 60 * 1.1
    train = pd.DataFrame({"sex": random.choice(["f", "m"], 60), "job": random.integers(0, 3, 60), "age": steps})
    rule = Comparability(max_continuous_shift=10 / 59)  # ten steps and not a hair more
    generator = make("UniformGenerator", SIMPLE, rule).fit(train, labels)
    truths = train.assign(job=train["job"] == 1)  # there is no third truth value
    promised(generator, truths, labels, generator.generate(truths, labels, rounds=3))
    for kind in ("UniformGenerator", "GibbsGenerator"):
        generator = make(kind, SIMPLE, rule).fit(train, labels)
        short = train.astype({"age": "float32"})
        promised(generator, short, labels, generator.generate(short, labels, rounds=20))


def test_a_fit_that_failed_leaves_nothing_behind(kind: str, make: Make, few: pa.Table, labels: list[int]) -> None:
    generator = make(kind, SIMPLE, Comparability(max_continuous_shift=0.3)).fit(few, labels)

    def fail(table: object) -> None:
        raise KeyboardInterrupt

    generator._learn = fail  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        generator.fit(few, labels)
    with pytest.raises(GenerationError, match="is not fitted"):
        generator.generate(few, labels)
    assert not [name for name in vars(generator) if name.endswith("_") and not name.startswith("_")]


def test_a_ratio_is_reached_where_most_rounds_give_nothing(make: Make, few: pa.Table, labels: list[int]) -> None:
    generator = make("GibbsGenerator", SIMPLE, Comparability(max_continuous_shift=0.3)).fit(few, labels)
    for seed in range(5):
        assert len(generator.generate(few.slice(0, 1), labels[:1], ratio=2, random_state=seed)) == 2


@pytest.mark.long(4)
@pytest.mark.parametrize("n", [0, 1])
def test_no_people_and_one(
    fitted: BaseGenerator, people: pa.Table, n: int, convert: Callable[[pa.Table], Any], promised: Check
) -> None:
    X = convert(people.slice(0, n))
    for amount in ({}, {"rounds": 2}, {"ratio": 1 if n == 0 else 0.2}):
        antidotes = fitted.generate(X, **amount)
        assert antidotes.n_sources == n
        promised(fitted, X, None, antidotes)
        assert antidotes.coverage <= 1
        stacked, _ = antidotes.append_to(X)
        assert len(stacked) == n + len(antidotes)


def test_generators_are_estimators(kind: str, make: Make, people: pa.Table, roles: Roles) -> None:
    generator = make(kind)
    other = clone(generator)
    assert {**other.get_params(), "random_state": 3} == other.set_params(random_state=3).get_params()
    assert generator.get_params()["roles"] == roles
    assert not hasattr(clone(generator.fit(people)), "schema_")
    assert generator.n_features_in_ == len(generator.feature_names_in_) == 9


def test_nothing_is_made_before_fit(kind: str, make: Make, people: pa.Table) -> None:
    with pytest.raises(GenerationError, match=f"This {kind} is not fitted. Call fit first."):
        make(kind).generate(people)


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ({"rounds": 1, "ratio": 0.5}, "rounds and ratio both set"),
        ({"rounds": 0}, "rounds is 0; give a whole number, 1 or more"),
        ({"rounds": 1.5}, "rounds is 1.5; give a whole number"),
        ({"ratio": 0}, "ratio is 0; give a number of antidotes per row"),
        ({"ratio": float("nan")}, "ratio is nan"),
        ({"ratio": "half"}, "ratio is 'half'"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_odd_amounts_are_refused(fitted: BaseGenerator, people: pa.Table, amount: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted.generate(people, **amount)


def test_odd_parameters_and_frames_are_refused(kind: str, make: Make, people: pa.Table, fitted: BaseGenerator) -> None:
    with pytest.raises(TypeError, match=r"roles is a str; give a likewise\.Roles"):
        make(kind, "sex").fit(people)
    with pytest.raises(TypeError, match=r"rule is a float; give a likewise\.Comparability"):
        make(kind, rule=0.1).fit(people)
    with pytest.raises(SchemaError, match="no labels"):
        fitted.generate(people.drop_columns("hired"))
    with pytest.raises(SchemaError, match="years"):
        fitted.generate(people.drop_columns("years"))
    with pytest.raises(SchemaError, match="no rows"):
        make(kind).fit(people.slice(0, 0))


@st.composite
def cases(draw: st.DrawFn) -> tuple[pd.DataFrame, list[int], Roles, Comparability]:
    """Draw small tables of any shape, and rules for them."""
    n = draw(st.integers(2, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    widths = {kind: draw(st.integers(0, 3)) for kind in ("discrete", "ordinal", "matched", "continuous")}
    columns: dict[str, Any] = {"s0": ["a", "b", *random.choice(["a", "b", "c"], n - 2)]}
    n_sensitive = draw(st.integers(1, 2))
    if n_sensitive == 2:
        columns["s1"] = [1, 2, *random.choice([1, 2], n - 2)]
    decimals = draw(st.integers(0, 3))
    for kind, width in widths.items():
        for i in range(width):
            name = f"{kind}{i}"
            if kind == "continuous":
                columns[name] = random.uniform(-5, 5, n).round(decimals).astype(float if decimals else int)
            else:
                columns[name] = random.integers(0, 3, n)
    names = {kind: [f"{kind}{i}" for i in range(width)] for kind, width in widths.items()}
    ordinal: Any = {name: [0, 1, 2] for name in names.pop("ordinal")}
    roles = Roles(sensitive=[f"s{i}" for i in range(n_sensitive)], ordinal=ordinal, **names)  # type: ignore[arg-type]
    able = [*names["discrete"], *ordinal, *names["continuous"]]
    rule = Comparability(
        max_discrete_changes=draw(st.integers(0, 4)),
        max_continuous_shift=draw(
            st.sampled_from([0.0, 0.025, 0.3, 1.0])
            | st.lists(st.floats(0, 1), min_size=widths["continuous"], max_size=widths["continuous"])
        ),
        max_ordinal_shift=draw(st.sampled_from([0, 1, 1.5, 2])),
        sensitive_differs=draw(st.sampled_from(["any", "all"])),
        must_match=tuple(draw(st.lists(st.sampled_from(able), unique=True, max_size=2))) if able else (),
    )
    return pd.DataFrame(columns), random.integers(0, 2, n).tolist(), roles, rule


@settings(max_examples=sized(6, 40))
@given(case=cases(), seed=st.integers(0, 2**63))
def test_uniform_keeps_all_promises_on_any_table(case: Any, seed: int, promised: Check) -> None:
    X, y, roles, rule = case
    generator = UniformGenerator(roles, rule, random_state=seed).fit(X, y)
    antidotes = generator.generate(X, y)
    promised(generator, X, y, antidotes)
    assert antidotes.kept == 1 or len(antidotes) == 0  # nothing is made in vain
    promised(generator, X, y, generator.generate(X, y, rounds=3))
