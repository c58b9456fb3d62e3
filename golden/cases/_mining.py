"""Pairs: listed, counted, grouped, sampled, in chunks and in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import likewise
from golden._values import Page, digest
from golden.cases._calls import case, planted, public, settled
from likewise import Comparability, count_pairs, group_pairs, iter_pairs, mine_pairs, sample_pairs

Found = dict[str, Any]
RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "loose": {"max_discrete_changes": 2, "max_continuous_shift": 0.1},
    "exact": {"max_discrete_changes": 0, "max_continuous_shift": 0.0},
    "same_group": {"sensitive_differs": "none"},
    "all": {"sensitive_differs": "all"},
}


def table(name: str) -> Any:
    data = planted() if name == "planted" else public(name)
    return data.roles.learn(data.train.X).encode(data.train.X, data.train.y)


def listed(pairs: Any) -> Found:
    told = {"left": pairs.left, "right": pairs.right, "n_total": pairs.n_total, "error": pairs.n_total_error}
    sensitive = pairs.left_table.sensitive[pairs.left], pairs.right_table.sensitive[pairs.right]
    n_differing = np.count_nonzero(sensitive[0] != sensitive[1], axis=1).astype(np.int32)
    return told | {"text": Page(repr(pairs)), "label": pairs.label, "n_differing": n_differing}


def register(name: str) -> None:
    @case(f"mining.{name}")
    def mine() -> Found:
        rule, people = planted().rule if name == "planted" else public(name).rule, table(name)
        return {kind: listed(mine_pairs(people, settled(rule, **changes))) for kind, changes in RULES.items()}


for _name in ("planted", "adult", "compas", "law_school", "dutch"):
    register(_name)


@case("mining.limits")
def limits() -> Found:
    by_column = {"age": 0.1, "income": 0.05, "amount": 0.02, "duration": 0.1, "savings": 0.3}
    asked: dict[str, Any] = {"income": "3000", "age": "5 %", "amount": "2 % of middle range", "savings": 250}
    rules = {name: Comparability(limits={name: one}, max_continuous_shift=0.1) for name, one in asked.items()}
    rules["by_column"] = Comparability(1, by_column, must_match=("region",))
    return {name: listed(mine_pairs(table("planted"), rule)) for name, rule in rules.items()}


@case("mining.two_tables")
def two_tables() -> Found:
    data = public("compas")
    schema = data.roles.learn(data.train.X)
    left, right = (schema.encode(some.X, some.y) for some in (data.train, data.test))
    counted = count_pairs(left, right, data.rule)
    drawn = sample_pairs(left, right, data.rule, n=200, random_state=1)
    return {"pairs": listed(mine_pairs(left, right, data.rule)), "total": counted.total, "drawn": listed(drawn)}


@case("mining.counts")
def counts() -> Found:
    rule = settled(public("adult").rule, max_continuous_shift=0.1)
    found = count_pairs(table("adult"), rule)
    by = {"label": found.by_label, "transition": found.by_transition}
    return {name: {str(key): n for key, n in sorted(one.items(), key=str)} for name, one in by.items()} | {
        "total": found.total,
        "text": Page(str(found)),
    }


@case("mining.groups")
def groups() -> Found:
    found = group_pairs(table("dutch"), public("dutch").rule)
    whole = {"n_pairs": found.n_pairs, "n_total": found.n_total, "sizes": found.sizes}
    return whole | {"left": found.left, "right": found.right, "group_of": found.group_of}


@case("mining.samples")
def samples() -> Found:
    rule, people = settled(public("adult").rule, **RULES["loose"]), table("adult")
    return {
        "counted": listed(sample_pairs(people, rule, n=500)),
        "estimated": listed(sample_pairs(people, rule, n=500, total="estimate", random_state=2)),
        "limited": listed(mine_pairs(people, rule, limit=500)),
    }


@case("mining.chunks")
def chunks() -> Found:
    rule = settled(public("adult").rule, max_continuous_shift=0.1)
    found = list(iter_pairs(table("adult"), rule, memory_limit="6 MB"))
    return {"n": len(found), "total": sum(map(len, found)), "first": listed(found[0])}


@case("mining.files")
def files() -> Found:
    rule = settled(public("compas").rule, max_continuous_shift=0.1)
    likewise.comparable.write_pairs(table("compas"), rule, "pairs", pairs_per_part=1_000)
    found = list(likewise.comparable.read_pairs("pairs", table("compas"), rule))
    written = {path.name: digest(path.read_bytes()) for path in sorted(Path("pairs").iterdir())}
    return {"files": written, "n": [len(one) for one in found], "first": listed(found[0]), "tables": Path("pairs")}


@case("mining.advice")
def advice() -> Found:
    comparable, people = likewise.comparable, table("adult")
    strict = Comparability(0, 0.0, must_match=("education", "occupation", "race"))
    n = mine_pairs(people, strict).n_total or 0
    return {
        "none": comparable.explain_no_pairs(strict, people),
        "few": comparable.explain_few_pairs(strict, people, n),
        "wide": comparable.explain_wide_limits(Comparability(1, 0.2), people),
    }


@case("mining.spark", slow=True)
def spark() -> Found:
    from golden.cases._spark import people, roles

    found = likewise.spark.mine_pairs(people(), roles=roles(), rule=planted().rule, label="repaid").toPandas()
    return {"pairs": found.sort_values(list(found.columns)).reset_index(drop=True)}


@case("schema.planted")
def schema() -> Found:
    data, found = planted(), {}
    for name in ("planted", "adult", "compas", "law_school", "oulad", "dutch"):
        data = planted() if name == "planted" else public(name)
        learned = data.roles.learn(data.train.X)
        inferred = likewise.Roles.infer(data.train.X, sensitive=data.roles.sensitive)
        coded = learned.encode(data.train.X.head(200), data.train.y.head(200))
        found[name] = {
            **{"roles": Page(data.roles.describe()), "inferred": Page(inferred.describe()), "text": Page(str(learned))},
            **{"decoded": learned.decode(coded), "data": data.checksum, "rule": Page(data.rule.describe(learned))},
        }
    return found
