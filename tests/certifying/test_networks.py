"""Networks: the same promises as of other models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.certifying.people import ROLES, draw_labels, draw_people, score
from tests.sizes import some_of

from likewise import (
    AntiDROClassifier,
    Comparability,
    ConsistentClassifier,
    NetworkClassifier,
    UniformGenerator,
    certify,
    mine_pairs,
)

ROUNDED = 1e-6


@pytest.mark.parametrize("differs", some_of(["any", "all"], 2))
def test_the_worst_row_is_comparable_and_no_pair_exceeds_its_certificate(differs: str) -> None:
    random = np.random.default_rng(0)
    train, test = draw_people(random, 300), draw_people(random, 60)
    test["extra"] = 0.5 * (test["area"] == "n")
    model = NetworkClassifier((16, 16), n_iterations=300, optimizer="adam", learning_rate=0.01, random_state=0)
    model.fit(train, draw_labels(random, train))
    rule, schema = Comparability(1, 0.1, sensitive_differs=differs), ROLES.learn(train)  # type: ignore[arg-type]
    found = certify(model, test, roles=schema, rule=rule)
    none = np.zeros(len(test), np.int64)
    own, rows, table = score(model, test), score(model, found.rows), schema.encode(test, none)
    assert found.is_exact.mean() > 0.9
    np.testing.assert_allclose(found.reached, np.abs(rows - own), atol=ROUNDED)
    assert rule.holds(table, schema.encode(found.rows, none)).all()
    pairs = mine_pairs(table, rule)
    least = np.minimum(found.gaps[pairs.left], found.gaps[pairs.right])
    assert (np.abs(own[pairs.left] - own[pairs.right]) <= least + ROUNDED).all()
    rough = certify(model, test, roles=schema, rule=rule, max_splits=1)
    assert (rough.gaps >= found.gaps - ROUNDED).all()


@pytest.mark.part(2)
@pytest.mark.parametrize("kind", ["AntiDRO", "consistent"])
def test_other_models_of_likewise_are_looked_into_down_to_their_network(kind: str) -> None:
    random = np.random.default_rng(1)
    train, test = draw_people(random, 300), draw_people(random, 20)
    small: dict[str, Any] = {"n_iterations": 60, "optimizer": "adam", "learning_rate": 0.01, "random_state": 0}
    rule, schema = Comparability(1, 0.1), ROLES.learn(train)
    model: AntiDROClassifier | ConsistentClassifier
    if kind == "AntiDRO":
        model = AntiDROClassifier(UniformGenerator(ROLES, rule, random_state=0), hidden=(8,), **small)
    else:
        inner = NetworkClassifier((8,), **small)
        model = ConsistentClassifier(inner, ROLES, rule, pair_weight=1.0, random_state=0)
    model.fit(train, draw_labels(random, train))
    found = certify(model, test, roles=schema, rule=rule)
    rows, none = score(model, found.rows), np.zeros(len(test), np.int64)
    assert found.method == "network"
    assert found.is_exact.all()
    np.testing.assert_allclose(found.reached, np.abs(rows - score(model, test)), atol=ROUNDED)
    assert rule.holds(schema.encode(test, none), schema.encode(found.rows, none)).all()
