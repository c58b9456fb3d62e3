"""A complete record of an audit, made by hand."""

from __future__ import annotations

from typing import Any

from likewise.auditing import Change, Comparison, Measure
from likewise.report import to_html

GAPS = ("gap_mean", "gap_median", "gap_q3", "gap_q95", "gap_share_above", "flip_rate", "rank_gap_mean")
SAME_GROUP = ("gap_mean", "flip_rate", "rank_gap_mean")
EXCESSES = ("excess", "excess_rank_gap", "excess_flips")


def make_measures(value: float, n: int) -> dict[str, Any]:
    """Give the measures of a slice of pairs, with their baseline."""
    found = {name: measure(value, n) for name in GAPS}
    baseline = {f"same_group_{name}": {**found[name], "n": 2 * n} for name in SAME_GROUP}
    excess = {name: measure(value / 4, n) for name in EXCESSES}
    return found | {"gap_max": measure(2 * value, n, interval=False)} | excess | baseline


def measure(value: float, n: int, *, interval: bool = True) -> dict[str, Any]:
    ends = (round(0.9 * value, 6), round(1.1 * value, 6)) if interval else (None, None)
    return {"value": value, "low": ends[0], "high": ends[1], "n": n}


def measures_of(record: dict[str, Any], label: Any = None) -> dict[str, Any]:
    """Return the measures of the pairs with a label, by name."""
    end = "" if label is None else f"[{label}]"
    return {
        name.removesuffix(end): one
        for name, one in record["measures"].items()
        if ("[" in name) == bool(end) and name.endswith(end)
    }


def put_labels(record: dict[str, Any], labels: list[Any]) -> None:
    """Give a record other labels, each with the measures of the first."""
    first = measures_of(record, record["labels"][0])
    kept = {name: one for name, one in record["measures"].items() if "[" not in name}
    record["measures"] = kept | {f"{name}[{label}]": one for label in labels for name, one in first.items()}
    record["labels"] = labels


def make_pair(row: int) -> dict[str, Any]:
    factors = [
        ("sex", "sensitive", "f", "m", None, None),
        ("job", "discrete", "cook", "cook", None, None),
        ("school", "ordinal", "low", "middle", 1, 1),
        ("age", "continuous", 30, 31.5, 0.02, 0.025),
    ]
    return {
        **{"left_row": row, "right_row": row + 7, "left_id": row, "right_id": "p-17", "label": "yes"},
        **{"left_score": 0.25, "right_score": 0.75, "gap": 0.5, "rank_gap": 0.4, "is_flip": True},
        **{"left_decision": False, "right_decision": True},
        "factors": [
            {"column": c, "role": r, "left": a, "right": b, "differs": a != b, "shift": shift, "tolerance": tolerance}
            for c, r, a, b, shift, tolerance in factors
        ],
    }


def make_direction(origin: str, target: str) -> dict[str, Any]:
    return {
        **{"origin": [origin], "target": [target], "n_pairs": 90, "n_lower": 60, "n_higher": 25, "n_equal": 5},
        **{"n_flips_down": 12, "n_flips_up": 3, "mean_gap": -0.032, "low": -0.041, "high": 0.002},
        **{
            "adjusted_gap": -0.03,
            "adjusted_low": -0.04,
            "adjusted_high": -0.02,
            "p_value": 0.0005,
            "p_adjusted": 0.001,
        },
        "balance": [{"column": "age", "difference": 0.012}, {"column": "job", "changed": 0.25}],
    }


def make_group(value: str) -> dict[str, Any]:
    rates = {"selection_rate": 0.4, "impact_ratio": 0.8, "true_positive_rate": 0.7, "false_positive_rate": None}
    return {"columns": ["sex"], "values": [value], "n_people": 500, **rates, "mean_score": 0.41}


def make_slice(n: int, n_high: int, **of: Any) -> dict[str, Any]:
    """Give a slice of the gap distribution, the first and the last of five bins filled."""
    return {
        **of,
        **{"n": n, "counts": [n - n_high, 0, 0, 0, n_high], "n_within": 2 * n, "within_counts": [2 * n, 0, 0, 0, 0]},
    }


def make_person(row: int) -> dict[str, Any]:
    comparator = {"comparator_row": row + 7, "comparator_id": "p-17", "comparator_score": 0.75}
    return {"row": row, "id": row, "label": "yes", "score": 0.25, "worst_gap": 0.5, "n_partners": 3, **comparator}


def make_summaries() -> dict[str, Any]:
    edges = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    no, yes = ({"of": "label", "label": label, "is_positive": label == "yes"} for label in ("no", "yes"))
    halves = {
        "edges": [0.0, 0.5, 1.0],
        "slices": [{"label": "no", "counts": [500, 100]}, {"label": "yes", "counts": [150, 250]}],
    }
    return {
        "distributions": {
            "edges": edges,
            "slices": [make_slice(233, 40, of="all"), make_slice(40, 10, **no), make_slice(193, 30, **yes)],
        },
        "person_gaps": {
            **{"edges": edges, "counts": [100, 50, 20, 13, 10], "n_people": 193, "mean": 0.14, "median": 0.09},
            **{"q95": 0.42, "worst": [make_person(row) for row in range(12)]},
        },
        "calibration": [
            {"n": 650, "low": 0.01, "high": 0.49, "mean_score": 0.25, "observed": 0.23},
            {"n": 350, "low": 0.5, "high": 0.98, "mean_score": 0.72, "observed": 0.71},
        ],
        "score_distribution": halves,
    }


def make_record() -> dict[str, Any]:
    """Return a record without the keys that may be left out."""
    everybody: dict[str, Any] = {"columns": [], "values": [], "label": None, "n_people": 1000, "n_with_partner": 193}
    women = {"columns": ["sex"], "values": ["f"], "label": None, "n_people": 480, "n_with_partner": 90}
    yes, no = make_measures(0.316, 193), make_measures(0.21, 40)
    people = {"roc_auc": measure(0.84, 1000), "brier": measure(0.16, 1000), "score_spread": measure(0.25, 1000)}
    by_label = {f"{name}[{label}]": one for label, m in (("no", no), ("yes", yes)) for name, one in m.items()}
    return {
        **{"format": "likewise audit 2", "likewise": "0.1.0", "made_at": "2026-03-01T12:00:00Z"},
        "data": {
            **{"file": "people.csv", "sha256": "ab12", "n_rows": 1000, "table_checksum": "cd34"},
            **{"scores_checksum": "ef56", "scores": "column 'p'"},
        },
        "roles": {"sensitive": ["sex"], "discrete": ["job"], "continuous": ["age"], "label": "paid"},
        "rule": {"max_discrete_changes": 1, "max_continuous_shift": 0.025},
        "rule_in_words": "Comparable people have the same paid; different sex.",
        **{"task": "binary", "positive": "yes", "labels": ["no", "yes"], "threshold": 0.5, "scale": 1.0},
        "settings": {
            **{
                "n_resamples": 1000,
                "confidence": 0.95,
                "seed": 7,
                "intervals": "people",
                "gap_limit": 0.1,
                "max_pairs": 5_000_000,
            },
            **{"baseline": True, "approval_rate": None},
        },
        "versions": {"python": "3.12.1", "numpy": "2.1.0"},
        "pairs": {"n": 233, "n_total": 466, "n_within": 466, "n_within_total": 466},
        "measures": {**make_measures(0.3, 233), **by_label, **people, "matched_share": measure(0.193, 1000)},
        "directions": [make_direction("m", "f")],
        "coverage": [everybody, women],
        "groups": [make_group("f"), make_group("m")],
        "fairlearn": {"demographic_parity_difference": 0.1},
        **make_summaries(),
        "worst_pairs": [make_pair(row) for row in range(12)],
        "notes": ["Half of the pairs were measured."],
        "note_kinds": ["sampled"],
        "verdict": None,
    }


def compare_plain(before: dict[str, Any], after: dict[str, Any], *notes: Any) -> Comparison:
    """Compare the measures of two records, without intervals."""
    pairs = {name: (Measure(**one), Measure(**after["measures"][name])) for name, one in before["measures"].items()}
    differences = {
        name: None if None in (old.value, new.value) else new.value - old.value  # type: ignore[operator]
        for name, (old, new) in pairs.items()
    }
    return Comparison({name: Change(*both, Measure(differences[name])) for name, both in pairs.items()}, notes)


def to_html_of_both(record: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """Give the page of a record, compared with another, or with itself."""
    before = record if before is None else before
    return to_html(record, before=before, comparison=compare_plain(before, record))
