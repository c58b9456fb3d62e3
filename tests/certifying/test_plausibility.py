"""How plausible worst rows are, and the worst that are plausible enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from likewise import Comparability, GibbsGenerator, Roles, UniformGenerator, certify
from likewise.exceptions import LikewiseError

ROLES = Roles(sensitive=("status", "group"), discrete="kin", continuous="age")
RULE = Comparability(1, 0.2)
WORDS = ["status", "group", "kin"]


def draw(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Draw people of whom nobody is single and a husband."""
    random = np.random.default_rng(seed)
    status = random.choice(["single", "married", "divorced"], n)
    kin = np.where(status == "married", "husband", random.choice(["alone", "child"], n))
    frame = pd.DataFrame(
        {"status": status, "group": random.choice(["a", "b"], n), "kin": kin, "age": random.integers(20, 60, n)}
    )
    return frame, (2 * (kin == "husband") + 2 * (status == "single") + random.normal(size=n) > 1).astype(int)


@pytest.fixture(scope="module")
def train() -> tuple[pd.DataFrame, Any]:
    return draw(600, 0)


@pytest.fixture(scope="module")
def generator(train: tuple[pd.DataFrame, Any]) -> GibbsGenerator:
    return GibbsGenerator(ROLES, RULE, n_iterations=300, width=32, random_state=0).fit(*train)


@pytest.fixture(scope="module")
def model(train: tuple[pd.DataFrame, Any]) -> Any:
    coding = make_column_transformer((OneHotEncoder(), WORDS), remainder="passthrough")
    return make_pipeline(coding, LogisticRegression(max_iter=1000)).fit(*train)


def is_odd(rows: pd.DataFrame) -> Any:
    return ((rows["status"] == "married") != (rows["kin"] == "husband")).to_numpy()


def test_rows_that_nobody_has_fit_worse_than_people_do(generator: GibbsGenerator) -> None:
    people = draw(200, 1)[0]
    odd = people.assign(kin=np.where(people["status"] == "married", "child", "husband"))
    assert generator.score_samples(odd).max() < np.quantile(generator.score_samples(people), 0.02)
    assert len(generator.score_samples(people.iloc[:0])) == 0
    unknown = generator.score_samples(people.iloc[:1].assign(kin="widow"))
    assert unknown[0] < generator.score_samples(people.iloc[:1])[0]


def test_the_rank_is_the_share_of_people_who_fit_no_better(generator: GibbsGenerator, model: Any) -> None:
    people = draw(100, 2)[0]
    found = certify(model, people, roles=ROLES, rule=RULE, generator=generator)
    fits, rows = generator.score_samples(people), generator.score_samples(found.rows)
    assert found.plausibility is not None
    np.testing.assert_allclose(found.plausibility, [(fits <= one + 1e-9).mean() for one in rows])
    assert is_odd(found.rows).any()
    assert (found.plausibility[is_odd(found.rows)] < 0.05).all()
    bare = certify(model, people, roles=ROLES, rule=RULE)
    assert (bare.gaps == found.gaps).all()
    assert bare.plausibility is None
    assert "plausibility" not in bare.to_frame()
    assert found.to_frame()["plausibility"].tolist() == found.plausibility.tolist()


@pytest.mark.long(2)
@pytest.mark.parametrize("differs", ["any", "all"])
def test_only_plausible_rows_are_chosen_where_asked_for(generator: GibbsGenerator, model: Any, differs: Any) -> None:
    people, rule = draw(100, 3)[0], Comparability(1, 0.2, sensitive_differs=differs)
    whole = certify(model, people, roles=ROLES, rule=rule, generator=generator)
    found = certify(model, people, roles=ROLES, rule=rule, generator=generator, min_plausibility=0.05)
    assert whole.plausibility is not None
    assert found.plausibility is not None
    assert (found.gaps == whole.gaps).all()  # which bound plausible rows, too
    assert (found.reached <= whole.reached + 1e-9).all()
    has_row = found.reached > 0
    assert has_row.mean() > 0.5
    assert not is_odd(found.rows)[has_row].any()
    assert (found.plausibility[has_row] >= 0.05).all()
    assert np.isnan(found.plausibility[~has_row]).all()
    was_plausible = whole.plausibility >= 0.05
    assert (found.is_exact >= (whole.is_exact & was_plausible)).all()
    schema, none = ROLES.learn(people), np.zeros(len(people), np.int64)
    assert rule.holds(schema.encode(people, none), schema.encode(found.rows, none))[has_row].all()
    scores = model.predict_proba(found.rows)[:, 1]
    np.testing.assert_allclose(found.reached, np.abs(scores - found.scores), atol=1e-9)
    share = found.share_within(0.2)
    assert share.n_within <= len(people) - share.n_beyond


def test_what_ranks_no_rows_is_refused_in_a_line(train: Any, generator: GibbsGenerator, model: Any) -> None:
    people = draw(20, 4)[0]

    def refuses(words: str, **how: Any) -> None:
        with pytest.raises(LikewiseError, match=words) as error:
            certify(model, people, roles=ROLES, rule=RULE, **how)
        assert "\n" not in str(error.value)

    refuses("is a UniformGenerator; give a GibbsGenerator", generator=UniformGenerator(ROLES, RULE))
    refuses("is not fitted", generator=GibbsGenerator(ROLES, RULE))
    refuses("needs a generator", min_plausibility=0.05)
    refuses("give a share of people", generator=generator, min_plausibility=5)
    fewer = Roles(sensitive="status", discrete="kin", continuous="age", ignored="group")
    other = GibbsGenerator(fewer, RULE, n_iterations=1, width=4, random_state=0).fit(*train)
    refuses("does not know column 'group'", generator=other)
