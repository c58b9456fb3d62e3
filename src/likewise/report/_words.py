"""Words that every form of a report uses: titles of measures, numbers with intervals, values of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from likewise._format import show_found, show_limit, show_value

Record = Mapping[str, Any]

FORMAT: Final = "likewise audit 1"
NOTHING: Final = "-"

KEYS: Final = (
    *("likewise", "made_at", "data", "roles", "rule", "rule_in_words", "task", "positive", "labels", "threshold"),
    *("settings", "versions", "pairs", "measures", "by_label", "directions", "coverage", "groups", "fairlearn"),
    *("distributions", "person_gaps", "calibration", "score_distribution"),
    *("worst_pairs", "notes", "policy", "verdict"),
)

GAP_TITLES: Final = {
    "gap_mean": "Mean gap",
    "gap_q3": "Upper quartile (Q3)",
    "gap_median": "Median gap",
    "gap_q95": "95th percentile",
    "gap_max": "Largest gap",
    "gap_share_above": "Pairs above the gap limit",
    "flip_rate": "Pairs with two different decisions",
}
RANK_TITLES: Final = {
    "rank_gap_mean": "Mean rank gap",
    "rank_gap_median": "Median rank gap",
    "rank_gap_q3": "Upper quartile of rank gaps",
    "rank_gap_q95": "95th percentile of rank gaps",
    "rank_gap_max": "Largest rank gap",
    "gap_over_spread": "Mean gap over the spread of all scores",
}
PEOPLE_TITLES: Final = {
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1": "F1",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "calibration_error": "Calibration error",
    "score_spread": "Spread of the scores (standard deviation)",
    "r2": "R²",
    "mean_absolute_error": "Mean absolute error",
    "root_mean_squared_error": "Root mean squared error",
}
OTHER_TITLES: Final = {
    "coverage": "People with a comparable partner",
    "impact_ratio": "Impact ratio",
    "excess_gap_mean": "Mean gap beyond the baseline",
    "excess_rank_gap_mean": "Mean rank gap beyond the baseline",
    "excess_flip_rate": "Different decisions beyond the baseline",
}
OF_PEOPLE: Final = frozenset((*PEOPLE_TITLES, "coverage", "impact_ratio"))  # all others are measured on pairs
TITLES: Final = GAP_TITLES | RANK_TITLES | PEOPLE_TITLES | OTHER_TITLES


def check_record(record: Record) -> None:
    """Refuse anything but the record of an audit."""
    is_mapping = isinstance(record, Mapping)
    if not is_mapping or record.get("format") != FORMAT:
        found = f"its format is {record.get('format')!r}" if is_mapping else f"it is a {type(record).__name__}"
        raise ValueError(f"This is no record of an audit: {found}, not {FORMAT!r}. Give what Audit.to_dict() returns.")
    missing = [key for key in KEYS if key not in record]
    if missing:
        raise ValueError(f"The record of the audit lacks {', '.join(missing)}. Give what Audit.to_dict() returns.")


def title_of(name: str) -> str:
    """Name a measure as the head of a row."""
    for where in ("positive", "negative"):
        if name.startswith(f"{where}_"):
            return f"{title_of(name.removeprefix(f'{where}_'))}, {where} label"
    if name.startswith("within_"):
        return f"{title_of(name.removeprefix('within_'))}, baseline"
    return TITLES.get(name, name)


def title_of_limit(name: str) -> str:
    """Name what a limit of a policy is about."""
    return title_of(name[4:])


def say(value: Any) -> str:
    """Write any value of the data: text as it is, whole numbers as such, 0.3 for 0.30000000000000004."""
    if value is None:
        return "(missing)"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.10g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(say, value))
    return str(value) if str(value).strip() else "(empty)"


def found_in(measures: Mapping[str, Any], name: str) -> str:
    """Write a measure of the record with its interval; a dash where there is none."""
    measure = measures.get(name)
    if measure is None or measure["value"] is None:
        return NOTHING
    return show_found(name, measure["value"], measure["low"], measure["high"])


def limit_of(check: Mapping[str, Any]) -> str:
    """Write a limit with its sense."""
    return f"at {'most' if check['sense'] == 'max' else 'least'} {show_limit(check['name'][4:], check['limit'])}"


def percent(share: float | None) -> str:
    """Write a share."""
    return NOTHING if share is None else show_value("coverage", share)


def signed_percent(share: float | None) -> str:
    """Write a difference between two shares, with its sign also where that is plus."""
    if share is None:
        return NOTHING
    shown = percent(share)
    return shown if share <= 0 or shown == percent(0.0) else f"+{shown}"


def signed_found(value: float | None, low: float | None, high: float | None) -> str:
    """Write a difference between two shares with its interval."""
    shown = signed_percent(value)
    return shown if low is None or high is None else f"{shown} ({signed_percent(low)} to {signed_percent(high)})"


def probability(p: float | None) -> str:
    """Write a p value."""
    if p is None:
        return NOTHING
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
