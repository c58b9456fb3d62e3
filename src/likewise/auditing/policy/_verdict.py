"""Whether an audit meets a policy, judged on the ends of the confidence intervals; also as a test."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from likewise._checks import check_choice, suggest
from likewise._format import count_of
from likewise.auditing.inference._intervals import FEWEST_PEOPLE
from likewise.auditing.people._bounds import FEWEST_OF_LABEL, OF_RAREST, OF_SQUARES
from likewise.auditing.policy._policy import (
    Policy,
    hint_percent,
    plain_transition,
    read_policy,
    split_limit,
)
from likewise.exceptions import MissingExtra, PolicyError
from likewise.record._internal import (
    MEASURES,
    MIRROR,
    Attribution,
    Check,
    ColumnDirections,
    Direction,
    Measure,
    MeasureKind,
    Note,
    NoteKind,
    Outcome,
    Sense,
    Verdict,
    key_of,
    name_people,
    of_every_part,
    show_limit,
    show_value,
    split_key,
)

LIMIT_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; a gap on the limit meets it
MOST_TIMES: Final = 1000  # as many people: beyond, a number would mislead
MOST_DECIMALS: Final = 12
N_SHOWN: Final = 3
N_LISTED: Final = 10
PARTS: Final = ("part", "part_share")
REVERSED: Final = 0.5  # ROC AUC below which the scores are of another label
WITHOUT_LABELS: Final = ("matched_share", "score_spread", "impact_ratio")  # mean the same whatever the label is


def _is_of_pairs(kind: MeasureKind) -> bool:
    """Whether a measure is about people who are comparable: found ones, or any that the rule allows."""
    return kind.family != "people"


def _is_directed(kind: MeasureKind) -> bool:
    """Whether a measure is about who is worse off."""
    return kind.family == "direction" or kind.name == "impact_ratio"


def _is_of_labels(kind: MeasureKind) -> bool:
    return kind.family != "certified" and kind.name not in WITHOUT_LABELS


# the notes that a pass is doubted for, and the measures that each is about
DOUBTS: Final[Mapping[NoteKind, Callable[[MeasureKind], bool]]] = {
    "collapsed": _is_of_pairs,
    "label_is_decision": _is_of_labels,
    "derived_column": _is_of_pairs,
    "alike_groups": lambda kind: _is_of_pairs(kind) or kind.name == "impact_ratio",
    "alike_values": _is_of_pairs,
    "favourable_assumed": _is_directed,
}


def judge(
    measures: Mapping[str, Measure],
    policy: Policy | str | Path,
    *,
    notes: Sequence[Note] = (),
    points: bool = False,
    directions: Sequence[Direction] = (),
    by_column: Sequence[ColumnDirections] = (),
    sensitive: Sequence[str] = (),
    attribution: Attribution | None = None,
    columns: Collection[str] = (),
    n_people: int | None = None,
) -> Verdict:
    """Judge measures, ``directions`` between values of ``sensitive`` columns, and parts of ``columns``, by a policy.

    ``by_column`` are those of each of several sensitive columns alone.

    A limit is met when the whole confidence interval meets it, and broken when the whole interval lies beyond it;
    otherwise, without an interval, or with too few pairs, it is inconclusive. So is one that would be met but for one
    of the audit's ``notes`` (``DOUBTS``), which is then the reason, and one of labels where people with the
    positive label are scored lower. With ``points``, gaps are said in percentage points. With ``n_people``, the
    number audited, a reason says how many more an inconclusive limit needs.
    """
    policy = read_policy(policy)
    scored = "log_loss" in measures  # which only probabilities have
    sides: dict[tuple[str, ...], Sequence[Direction]] = {tuple(sensitive): directions}
    sides |= {(one.column,): one.directions for one in by_column}
    of_controls = list(_spread_limits(policy.limits, measures))
    left = {name: one for name, one in policy.limits.items() if all(name not in limits for _, limits, _ in of_controls)}
    asked: list[tuple[str | None, Mapping[str, float], Mapping[str, Measure]]] = [(None, left, measures), *of_controls]
    for label, limits in policy.labels.items():
        names = [one[4:] for one in limits]
        known = {name: measures[key_of(name, label)] for name in names if key_of(name, label) in measures}
        asked.append((label, limits, known))
    for transition, limits in policy.transitions.items():
        found, named = find_transition(transition, sides)
        asked.append((named, limits, found.measures))
    for column, limits in policy.columns.items():
        asked.append((column, limits, find_parts(column, attribution, columns)))
    checks = tuple(
        _check(
            Check(name, Measure(None), limit, split_limit(name)[0], "inconclusive", "", part),
            known,
            policy,
            points,
            scored,
        )
        for part, limits, known in asked
        for name, limit in limits.items()
    )
    checks = tuple(_doubt(_add_need(check, n_people), measures, notes) for check in checks)
    outcomes = {one.outcome for one in checks}
    outcome: Outcome = "fail" if "fail" in outcomes else "pass" if outcomes == {"pass"} else "inconclusive"
    return Verdict(outcome, checks, policy.to_dict())


def find_transition(asked: str, directions: Mapping[tuple[str, ...], Sequence[Direction]]) -> tuple[Direction, str]:
    """Return the direction that a policy names, from either side, and its name; its columns may be left out."""
    sides = [
        (side, side.name(columns))
        for columns, some in directions.items()
        for one in some
        for side in (one, one.reversed())
    ]
    names = [plain_transition(name) for _, name in sides]
    found = [
        side
        for side, name in zip(sides, names, strict=True)
        if asked in (name, plain_transition(side[0].name(())).removeprefix(": "))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise PolicyError(f"'{asked}' names {len(found)} transitions: values of sensitive columns hold its signs.")
    if not sides:
        raise PolicyError(
            f"There is no transition '{asked}': no pair differs in a sensitive column, or people have a score for each "
            "label."
        )
    listed = [f"'{name}'" for name in names[::2]]
    more = f" and {len(listed) - N_LISTED:,} more" if len(listed) > N_LISTED else ""
    raise PolicyError(
        f"There is no transition '{asked}'.{suggest(asked, names)} There are {', '.join(listed[:N_LISTED])}{more}, and "
        "the same the other way round."
    )


def find_parts(column: str, attribution: Attribution | None, known: Collection[str]) -> Mapping[str, Measure]:
    """Return what a column makes of the mean gap; nothing where gaps are not split, and 0 where it is not looked at."""
    if column not in known:
        raise PolicyError(
            f"The policy limits column '{column}', which the audit does not have.{suggest(column, known)}"
        )
    if attribution is None:
        return {}
    for one in attribution.columns:
        if one.column == column:
            return {"part": one.part or Measure(None), "part_share": one.part_share or Measure(None)}
    n = attribution.n_pairs
    return dict.fromkeys(PARTS, Measure(None) if column in attribution.seen else Measure(0.0, 0.0, 0.0, n))


def _spread_limits(
    limits: Mapping[str, float], measures: Mapping[str, Measure]
) -> Iterator[tuple[str, Mapping[str, float], Mapping[str, Measure]]]:
    """Yield a limit on target and control for each column, where several have a control."""
    for name, limit in limits.items():
        of = split_limit(name)[1]
        for key in of_every_part([of], measures) if of not in measures and MEASURES[of].family == "direction" else ():
            part = split_key(key)[1]
            if part is not None and part != MIRROR:
                yield part, {name: limit}, {of: measures[key]}


def _check(
    check: Check, measures: Mapping[str, Measure], policy: Policy, points: bool, are_probabilities: bool
) -> Check:
    """Judge one limit by the measures of the part that it is on."""
    kind, limit = MEASURES[check.of], check.limit
    if abs(limit) > 1 and kind.unit == "gap" and are_probabilities:
        hint = hint_percent(limit)
        at = "at most 1" if limit > 0 else "at least -1"
        raise PolicyError(f"{check.name} is {limit:g}, but gaps between probabilities are always {at}.{hint}")
    found = measures.get(check.of)
    unknown = _why_not(check, found, policy.min_pairs)
    if found is None or unknown:
        return replace(check, measure=found or Measure(None), reason=unknown)
    outcome = _compare(found, limit, check.sense)
    return replace(
        check, measure=found, outcome=outcome, reason=_reason(kind.name, found, limit, check.sense, outcome, points)
    )


def _doubt(check: Check, measures: Mapping[str, Measure], notes: Sequence[Note]) -> Check:
    """Make a pass inconclusive that a note, or the order of the scores, gives away."""
    reason = _why_doubted(check.of, measures, notes)
    return check if check.outcome != "pass" or not reason else replace(check, outcome="inconclusive", reason=reason)


def _why_doubted(name: str, measures: Mapping[str, Measure], notes: Sequence[Note]) -> str:
    """Return why nothing passes by a measure; nothing if it may."""
    kind = MEASURES[name]
    doubts = [note.text for note in notes if note.kind in DOUBTS and DOUBTS[note.kind](kind)]
    auc = measures.get("roc_auc", Measure(None)).high
    if auc is not None and auc < REVERSED and (_is_of_labels(kind) or name == "impact_ratio"):
        doubts.append(f"ROC AUC is at most {show_value('roc_auc', auc)}: the scores may be of the other label.")
    return doubts[0] if doubts else ""


def _why_not(check: Check, found: Measure | None, min_pairs: int) -> str:
    """Return why a measure cannot be judged; nothing if it can."""
    kind = MEASURES[check.of]
    if found is None:
        return f"This audit does not measure {key_of(kind.name, check.part)}: {_why_absent(kind, check.part)}."
    n = count_of(found.n, "pair") if kind.counted_in == "pairs" else count_of(found.n, "person", "people")
    if found.value is None or not math.isfinite(found.value):
        return f"It could not be measured on {n}."
    if kind.counted_in == "pairs" and found.n < min_pairs:
        return f"Only {n}; the policy requires at least {min_pairs:,}."
    if found.low is None and found.high is None and not kind.is_fact:
        return (
            f"{show_value(kind.name, found.value)} has no confidence interval, so no limit is judged by it: that takes "
            f"an audit with resamples{_what_else(kind)}."
        )
    return ""


def _why_absent(kind: MeasureKind, part: str | None) -> str:
    if part is not None and kind.is_by_label:
        return f"no row has the label {part}, or labels are not matched"
    if kind.family == "direction":
        return "no reference (control) group is named"
    if kind.family == "certified":
        return "nobody is certified. certify_audit, or likewise audit --certify, does it"
    if kind.family in ("column", "explained"):
        return "its gaps are not split over columns. attribute_gaps, or likewise audit --attribute, does it"
    return "its task or its settings leave it out"


def _what_else(kind: MeasureKind) -> str:
    """Return what an interval of a measure takes besides resamples."""
    if kind.name in OF_RAREST:
        return f" and at least {FEWEST_OF_LABEL} people of each label"
    if kind.name in OF_SQUARES:
        return ", and more people where a few outweigh all others"
    sides = " on each side of the pairs" if kind.counted_in == "pairs" else ""
    return f" and at least {FEWEST_PEOPLE:g} people{sides}"


def _ends(found: Measure) -> tuple[float, float]:
    """Return the interval, or the value twice; the value is always inside."""
    value = math.nan if found.value is None else found.value
    if found.low is None and found.high is None:
        return value, value
    low, high = (-math.inf if found.low is None else found.low), (math.inf if found.high is None else found.high)
    return min(low, value), max(high, value)


def _compare(found: Measure, limit: float, sense: Sense) -> Outcome:
    low, high = _ends(found)
    if sense == "min":  # at least 0.8 is at most -0.8, seen from below
        low, high, limit = -high, -low, -limit
    if high <= limit + LIMIT_TOLERANCE:
        return "pass"
    return "fail" if low > limit + LIMIT_TOLERANCE else "inconclusive"


def _reason(name: str, found: Measure, limit: float, sense: Sense, outcome: Outcome, points: bool) -> str:
    decimals = _decimals_needed(name, found, limit)
    shown = found.show(name, decimals, points=points)
    allowed = f"the {'highest' if sense == 'max' else 'lowest'} allowed, {show_limit(name, limit, points=points)}"
    if outcome == "inconclusive" and name == "certified_max":
        return f"{shown} cannot be told from {allowed}: it is a bound, which no row found reaches. Allow more splits."
    if outcome == "inconclusive":
        return f"{shown} cannot be told from {allowed}, at this confidence: the interval reaches to both sides."
    verbs = {"max": {"pass": "is within", "fail": "is above"}, "min": {"pass": "reaches", "fail": "is below"}}
    return f"{shown} {verbs[sense][outcome]} {allowed}."


def _add_need(check: Check, n_people: int | None) -> Check:
    """Estimate how many more people would decide a limit: the interval narrows with the root of their number."""
    value, limit = check.measure.value, check.limit
    end = check.measure.high if value is not None and value < limit else check.measure.low
    is_bound = MEASURES[check.of].family == "certified"  # which more people do not sharpen
    if (
        is_bound
        or check.outcome != "inconclusive"
        or n_people is None
        or value is None
        or end is None
        or math.isinf(end)
    ):
        return check
    if abs(limit - value) <= LIMIT_TOLERANCE or (end - limit) * (limit - value) < 0:
        return check
    times = ((end - value) / (limit - value)) ** 2
    more = _round_up(n_people * (times - 1))
    need = f"about {more:,} more people" if times <= MOST_TIMES else f"more than {MOST_TIMES:,} times as many people"
    return replace(check, reason=f"{check.reason} If the value stays as it is, {need} would decide it.")


def _round_up(number: float) -> int:
    """Round up to two digits: the number is a rough one."""
    step = int(10 ** max(math.floor(math.log10(max(number, 1))) - 1, 0))
    return math.ceil(round(number / step, 6)) * step


def _decimals_needed(name: str, found: Measure, limit: float) -> int | None:
    """Write as many decimals as it takes to see on which side of the limit the numbers are."""
    numbers = [one for one in (found.value, found.low, found.high) if one is not None]
    apart = [one for one in numbers if abs(one - limit) > LIMIT_TOLERANCE]
    choices: tuple[int | None, ...] = (None, *range(3, MOST_DECIMALS))
    for decimals in choices:
        if all(show_value(name, one, decimals) != show_value(name, limit, decimals) for one in apart):
            return decimals
    return None


class Judged(Protocol):
    """What of an audit is needed here."""

    @property
    def worst(self) -> Sequence[Any]:
        """The pairs with the largest gaps."""

    def judge(self, policy: Policy) -> Verdict:
        """Judge the audit by a policy."""


def assert_passes(
    audit: Judged,
    policy: Policy | str | Path,
    *,
    inconclusive: Literal["fail", "skip", "pass"] = "fail",
    rows: bool = False,
) -> None:
    """Fail a test whose audit does not meet a policy.

    Parameters
    ----------
    audit : Audit
    policy : Policy, or path of a TOML file
    inconclusive : {"fail", "skip", "pass"}
        What to do when it cannot be told: fail as well, skip the test (with pytest), or let it pass.
    rows : bool
        Whether the message shows the worst pairs, with their values. By default it does not: it ends in logs.

    Raises
    ------
    AssertionError
        With every check that is not met, and its numbers.

    Examples
    --------
    In a test file:

    >>> from likewise.auditing import Policy, assert_passes
    >>> def test_similar_people_are_treated_alike(audit):
    ...     assert_passes(audit, Policy(max_excess=0.02, max_flip_rate=0.05))
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    check_choice("inconclusive", inconclusive, ("fail", "skip", "pass"))
    verdict = audit.judge(read_policy(policy))
    if verdict.outcome == "pass" or (verdict.outcome == "inconclusive" and inconclusive == "pass"):
        return
    if verdict.outcome == "inconclusive" and inconclusive == "skip":
        _skip(str(verdict))
    raise AssertionError(_message(verdict, audit.worst if rows else ()))


def _skip(reason: str) -> None:
    __tracebackhide__ = True
    try:
        import pytest
    except ImportError as error:
        raise MissingExtra(
            "assert_passes(..., inconclusive='skip') needs the package pytest, which cannot be imported. "
            "Install it with: pip install pytest"
        ) from error
    pytest.skip(reason)


def _message(verdict: Verdict, worst: Sequence[Any]) -> str:
    lines = [verdict.headline]
    lines += [
        f"  {check.outcome}: {check.full_name}: {check.reason}"
        for check in (*verdict.select("fail"), *verdict.select("inconclusive"))
    ]
    if worst:
        lines += ["The worst pairs:", *(f"  {_describe(case)}" for case in worst[:N_SHOWN])]
    return "\n".join(lines)


def _describe(case: Any) -> str:
    """Return a pair on one line: who, how far apart, and in what they differ."""
    kind, left, right = name_people(case)
    people = f"{kind}s {left} and {right}, label {reprlib.repr(case.label)}"
    scores = f"scores {_score(case.left_score)} and {_score(case.right_score)}, gap {case.gap:.4g}"
    differing = [
        f"{factor.column} {reprlib.repr(factor.left)} / {reprlib.repr(factor.right)}"
        for factor in case.factors
        if factor.differs
    ]
    return "; ".join([f"{people}: {scores}", *differing])


def _score(score: Any) -> str:
    return f"{score:.4g}" if isinstance(score, int | float) else f"({', '.join(f'{one:.4g}' for one in score)})"
