"""What is found beside an audit: parts of gaps, names, certificates, comparisons and series."""

from __future__ import annotations

from typing import Any

import numpy as np

import likewise
from golden._values import Page
from golden.cases._calls import ask, case, logistic, pages, piped, planted, public, settled, shown, weights
from likewise import GibbsGenerator, Policy, attribute_gaps, certify, certify_audit, compare_audits, name_people

Found = dict[str, Any]


@case("finding.attribution")
def attribution() -> Found:
    split = attribute_gaps(ask(None, logistic("planted")), logistic("planted"))
    policy = Policy(max_sensitive_part=0.05, columns={"duration": {"max_part_share": 0.1}})
    return pages(split.audit, policy=policy) | {"text": Page(str(split)), "matrix": split.matrix}


@case("finding.attribution_sampled")
def attribution_sampled() -> Found:
    data = public("compas")
    found = ask(data, logistic("compas"), sample_weight=weights(len(data.test)))
    split = attribute_gaps(found, logistic("compas"), max_columns=2, n_orders=8)
    return {"text": Page(str(split)), "summary": split.audit.to_dict()["attribution"], "matrix": split.matrix}


@case("finding.names")
def names() -> Found:
    data = planted(8_000)
    named = name_people(ask(data), false_discovery_rate=0.1)
    return pages(named.audit) | {"text": Page(str(named)), "p_values": named.p_values}


@case("finding.names_any_weighted")
def names_any_weighted() -> Found:
    data = planted(8_000)
    audited = ask(data, sample_weight=weights(len(data.test)))
    named = name_people(audited, false_discovery_rate=0.2, dependence="any", random_state=1)
    return {"text": Page(str(named)), "record": named.audit.to_dict()["named"], "p_values": named.p_values}


def vars_of(share: Any) -> Found:
    return {name: getattr(share, name) for name in ("n_within", "n_beyond", "low", "high", "value")}


def certified(model: Any, data: Any, **settings: Any) -> Found:
    found = certify(model, data.test.X.head(100), roles=data.roles.learn(data.train.X), rule=data.rule, **settings)
    known = {name: getattr(found, name) for name in ("scores", "gaps", "reached", "is_exact", "is_possible")}
    rows = found.to_frame()
    return {
        **known,
        "text": Page(str(found)),
        "rows": rows,
        "data": found.to_dict(),
        "share": vars_of(found.share_within(0.05)),
    }


def trees(name: str) -> Any:
    """Return a small model of trees that is not fitted."""
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(8, max_depth=5, random_state=0)
    if name == "tree":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=6, random_state=0)
    if name == "gradient_boosting":
        from sklearn.ensemble import GradientBoostingClassifier

        return GradientBoostingClassifier(n_estimators=30, random_state=0)
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1, random_state=0)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=20, num_leaves=12, n_jobs=1, verbose=-1, random_state=0)


def register(name: str) -> None:
    @case(f"certificate.{name}")
    def certify_trees() -> Found:
        data = public("compas")
        model = piped(trees(name)).fit(data.train.X, data.train.y)
        return certified(model, data, max_splits=300)


for _name in ("forest", "tree", "gradient_boosting", "xgboost", "lightgbm"):
    register(_name)


@case("certificate.linear")
def linear() -> Found:
    return certified(logistic("planted"), planted()) | {
        "beyond": certified(logistic("planted"), planted(), within_range=False)["gaps"]
    }


@case("certificate.plausible", slow=True)
def plausible() -> Found:
    data = planted()
    generator = GibbsGenerator(data.roles, data.rule, n_iterations=100, width=32, random_state=0, device="cpu")
    generator.fit(data.train.X, data.train.y)
    return certified(logistic("planted"), data, generator=generator, min_plausibility=0.05)


@case("certificate.audit")
def certificate_audit() -> Found:
    both = certify_audit(ask(public("adult", 3_000, 600), logistic("adult")), logistic("adult"))
    policy = Policy(max_certified_mean=0.4, min_certified_share=0.2)
    return pages(both.audit, policy=policy) | {"text": Page(str(both))}


@case("finding.comparison")
def comparison() -> Found:
    data = public("compas")
    scores = logistic("compas").predict_proba(data.test.X)[:, 1]
    before, after = (ask(data, one) for one in (scores, 0.4 + 0.3 * scores + 0.02 * np.sin(50 * scores)))
    found = compare_audits(before, after)
    return {"data": found.to_dict(), "text": Page(str(found)), "html": Page(after.to_html(before=before), True)}


@case("finding.comparison_weighted")
def comparison_weighted() -> Found:
    data = public("compas")
    scores, weight = logistic("compas").predict_proba(data.test.X)[:, 1], weights(len(data.test))
    before, after = (ask(data, one, sample_weight=weight) for one in (scores, scores**2))
    return {"data": compare_audits(before, after).to_dict()}


@case("finding.comparison_streamed")
def comparison_streamed() -> Found:
    data = public("compas")
    rule = settled(data.rule, max_continuous_shift=0.1)
    scores = logistic("compas").predict_proba(data.test.X)[:, 1]
    before, after = (ask(data, one, rule=rule, max_pairs=300) for one in (scores, 0.9 * scores))
    return {"data": compare_audits(before, after).to_dict()}


@case("finding.series")
def series() -> Found:
    data = planted()
    records = [ask(data, lambda people, gap=gap: data.scores(people, gap=gap)).record for gap in (0.1, 0.2, 0.3)]
    found = likewise.auditing.compare_series(records, ["January", "February", "March"])
    return {"data": found.to_dict(), "html": Page(likewise.report.series_to_html(found), True)}


@case("finding.direct")
def direct() -> Found:
    """What is measured without an audit."""
    auditing = likewise.auditing
    data = planted()
    found = ask(data)
    scores = data.scores(data.test.X)
    return {
        "known": {name: kind.words for name, kind in auditing.MEASURES.items()},
        "cases": auditing.cases_table(found.worst),
        "review": auditing.review_table(found.record),
        "ranks": auditing.rank_scores(scores),
        "adjusted": auditing.adjust_p_values([0.01, 0.04, 0.03]),
        "best": shown(found)["text"],
    }
