"""Measures as they are called now, in results that were kept before they were renamed."""

from __future__ import annotations

import re
from typing import Any, Final

NAMES: Final = {  # of the whole audit, or of one label
    "excess_equal_gap_mean": "excess_equal",
    "excess_rank_gap_mean": "excess_rank_gap",
    "excess_gap_mean": "excess",
    "excess_flip_rate": "excess_flips",
    "within_rank_gap_mean": "same_group_rank_gap_mean",
    "within_gap_mean": "same_group_gap_mean",
    "within_flip_rate": "same_group_flip_rate",
    "signed_gap_mean": "signed_gap",
    "target_gap_mean": "signed_gap",
    "favoured_share": "target_better_rate",
    "only_approved_share": "target_only_rate",
    "coverage": "matched_share",  # among measures only
}
GONE: Final = re.compile(r"(within_)?rank_gap_(median|q3|q95|max)|(within_)?gap_over_spread|within_gap_(?!mean)\w+")
PREFIX: Final = re.compile(r"(max_|min_)?(positive|negative|mirror)_(.+)")


def rename_measures(answer: Any) -> Any:
    """Rename the measures of records, and of whatever else is kept by their names."""
    if isinstance(answer, list):
        return [rename_measures(one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    labels = _labels(answer)
    if "by_label" in answer and "measures" in answer:
        answer = {key: one for key, one in answer.items() if key != "by_label"}
    return {
        _rename(key, labels, is_measure=False): _rename_below(key, one, labels)
        for key, one in answer.items()
        if not _is_gone(key)
    }


def _rename_below(key: str, value: Any, labels: dict[str, Any]) -> Any:
    if key in ("measures", "changes", "numbers") and isinstance(value, dict) and "$array" not in value:
        return {_rename(name, labels): rename_measures(one) for name, one in value.items() if not _is_gone(name)}
    if key == "checks":  # of a label, they come after those of the whole audit
        checks = [
            one | dict(zip(("name", "part"), split, strict=True)) for one in value if (split := _split(one, labels))
        ]
        value = sorted(checks, key=lambda one: one["part"] is not None)
        return [{name: one for name, one in check.items() if name != "part" or one is not None} for check in value]
    return rename_measures(value)


def _split(check: dict[str, Any], labels: dict[str, Any]) -> tuple[str, Any]:
    name, _, part = _rename(check["name"], labels).partition("[")
    return name, part.removesuffix("]") or check.get("transition") or check.get("column")


def _labels(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the label that is the positive one, and the other; 1 and 0 where the answer does not say."""
    known, positive = answer.get("labels"), answer.get("positive")
    if isinstance(known, list) and len(known) == 2 and positive in known:
        return {"positive": positive, "negative": next(one for one in known if one != positive)}
    return {"positive": 1, "negative": 0}


def _rename(key: str, labels: dict[str, Any], *, is_measure: bool = True) -> str:
    found = PREFIX.fullmatch(key)
    sense, side, name = found.groups() if found else ("", "", key)
    if found is None or not re.match(r"(excess_|within_)*(rank_)?(gap|flip|equal|target|control)", name):
        sense, side, name = next((one for one in ("max_", "min_") if key.startswith(one)), ""), "", key
        name = name.removeprefix(sense)
    end = "" if not side else f"[{labels.get(side, side)}]"
    renamed = name if name == "coverage" and not is_measure else NAMES.get(name, name)
    return f"{sense or ''}{renamed}{end}" if side or renamed != name else key


def _is_gone(key: str) -> bool:
    return GONE.fullmatch(re.sub("^(positive|negative)_", "", key)) is not None
