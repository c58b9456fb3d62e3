"""The explorer: people, scores and a rule in; answers to the page's requests out, as plain data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count, check_number, suggest
from likewise._format import describe_direction
from likewise._json import plain
from likewise._version import __version__
from likewise.auditing._internal import (
    PAGE_SETTINGS,
    AuditSettings,
    describe_rule,
    find_among,
    gap_between,
    leave_out_pairs,
    mean_of,
)
from likewise.comparable import Comparability, mine_pairs
from likewise.exceptions import RuleError, ScoreError
from likewise.explore._exports import MAX_EXPORTED, write_csv, write_toml
from likewise.explore._pairs import (
    ChosenPairs,
    HeldPairs,
    Selection,
    choose_pairs,
    filter_pairs,
    hold_pairs,
    measure_partners,
    measure_slices,
    measure_transitions,
    share_of,
    take_page,
)
from likewise.explore._people import (
    GapParts,
    can_score,
    compare_people,
    describe_factor,
    list_fields,
    name_people,
    say_decision,
    score_changed,
)
from likewise.explore._thresholds import (
    WHOLE_RANGE,
    ThresholdRange,
    Thresholds,
    check_input,
    find_baseline,
    find_reach,
    list_tolerances,
    rule_at,
)
from likewise.schema import Roles, Schema
from likewise.schema._internal import open_frame

MAX_TRANSITIONS: Final = 200  # listed on the page
BASELINE: Final = (
    "Baseline: same-group pairs, which are equal in the sensitive columns and within the same tolerances. Their scores "
    "differ anyway. Excess: how much further people are from comparable people of other groups than of their own, over "
    "all who have both kinds of partners."
)

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """The pairs and numbers at some thresholds, cached as paging asks for them again."""

    key: tuple[Any, ...]
    holds: NDArray[np.bool_]
    numbers: Plain
    mean_weight: float  # of its pairs


class Explorer:
    """The pairs of a loose rule, held in memory to answer for every stricter rule at once.

    Parameters
    ----------
    scores, X, y, roles, rule, sample_weight
        As for :func:`likewise.audit`. The page starts at the ``rule``.
    max_pairs : int
        The most pairs to hold; the thresholds end where there would be more.
    model : optional
        The model for what-if questions and for gaps split over columns: anything with ``predict_proba`` or ``predict``,
        or a function from a frame to scores; ``scores`` itself, if it is one.
    title : str
        The title of the page.
    origin : str, optional
        A description of where the scores come from.
    progress : function, optional
        Called with the name of a step and the share of it that is done.
    **settings
        ``task``, ``positive``, ``favourable``, ``reference``, ``threshold``, ``approval_rate``, ``scale`` and
        ``gap_limit``, as for :func:`likewise.audit`.

    Examples
    --------
    >>> from likewise import load_dataset
    >>> from likewise.explore import Explorer
    >>> data = load_dataset("planted")
    >>> schema = data.roles.learn(data.train.X)
    >>> explorer = Explorer(data.scores, data.test.X, data.test.y, roles=schema, rule=data.rule)
    >>> answer = explorer.look({"changes": 1, "shift": 0.025})
    >>> answer["n_pairs"], round(answer["slices"][0]["gap_max"], 3)
    (134, 0.1)
    """

    @AuditSettings.listed_by(PAGE_SETTINGS)
    def __init__(
        self,
        scores: Any,
        X: Any,
        y: Any = None,
        *,
        roles: Roles | Schema,
        rule: Comparability | None = None,
        sample_weight: Any = None,
        max_pairs: int = 2_000_000,
        model: Any = None,
        title: str = "People",
        origin: str | None = None,
        progress: Callable[[str, float], None] | None = None,
        **settings: Any,
    ) -> None:
        column = sample_weight if isinstance(sample_weight, str) else None
        settings |= {"sample_weight": column, "max_pairs": max_pairs}
        measured = AuditSettings.of_arguments(settings, PAGE_SETTINGS)
        report = progress or (lambda step, share: None)
        asked = Comparability() if rule is None else rule
        report("Scoring", 0.0)
        checked = check_input(scores, X, y, measured, sample_weight, roles=roles, rule=asked)
        self._question = replace(checked.question, rule=asked)
        self._note = None if checked.record.collapse is None else str(checked.record.collapse)
        self._frame, self._limit = open_frame(X), float(measured.gap_limit)
        self._title, self._origin = title, origin or self._question.origin
        self._model = model if model is not None else scores if can_score(scores) else None
        table = self._question.table
        report("Finding how far the thresholds go", 0.0)
        self._reach = find_reach(self._question.counted, asked, max_pairs)
        self._tolerances = {one.column: one for one in list_tolerances(table, asked, self._reach)}
        report("Finding comparable pairs", 0.0)
        self._held = self._hold(asked)
        report("Finding pairs equal in the sensitive columns", 0.0)
        self._baseline = find_baseline(self._question, asked, self._reach.end, most=max_pairs)
        self._fields = list_fields(self._question.schema, X, {**self._question.schema.categories, **table.categories})
        self._lock, self._model_lock = threading.Lock(), threading.Lock()
        self._parts = None if self._model is None else GapParts(self._question, measured, self._model, self._held)
        self._last: _Answer | None = None
        self._answer(Selection(changes=self._reach.start.changes, shift=self._reach.start.shift, limit=self._limit))

    def _hold(self, asked: Comparability) -> HeldPairs:
        """Find and measure the pairs of the loosest rule, less those that an audit by it leaves out."""
        table, scores, loosest = self._question.table, self._question.scores, rule_at(asked, self._reach.end)
        listed = find_among(scores.counting, table, lambda some: [mine_pairs(some, loosest, when_too_many="error")])
        (pairs,) = listed
        if asked.asks_more:
            (pairs,) = leave_out_pairs([pairs], self._question, asked)
            self._reach = replace(self._reach, n_end=len(pairs))
        return hold_pairs(pairs, asked, scores)

    @property
    def reach(self) -> ThresholdRange:
        """Where the thresholds start and end."""
        return self._reach

    def rule(self, changes: int, shift: float, tolerances: Mapping[str, float] | None = None) -> Comparability:
        """Return the rule at these thresholds; an audit with it has the numbers of the page.

        ``tolerances`` are of single columns, in their units; the others follow the ``shift``.
        """
        return rule_at(self._question.rule, self._point(changes, shift, tolerances or {}))

    def about(self) -> Plain:
        """Return what does not depend on the thresholds."""
        question, reach, held = self._question, self._reach, self._held
        scores, table = question.scores, question.table
        labels = table.classes.tolist() if scores.has_labels else []
        limits = dict(zip(table.names["continuous"], question.rule.continuous_shifts(table).tolist(), strict=True))
        moving = [name for name in limits if name not in question.rule.limits]
        return {
            "likewise": __version__,
            "title": self._title,
            "n_rows": len(table),
            "origin": self._origin,
            "task": scores.task,
            "label": question.schema.roles.label,
            "labels": plain(labels),
            "positive": scores.positive,
            "threshold": scores.threshold,
            "in_points": scores.task != "regression",
            "weights": None if question.weights is None else question.weights.origin,
            "has_baseline": self._baseline is not None,
            "baseline_note": self._describe_baseline(),
            "favours_low": scores.favours_low,
            "direction": "" if scores.values.ndim > 1 else describe_direction(scores.threshold, scores.favours_low),
            "has_reference": bool(self._question.reference),
            "scale": scores.scale,
            "sensitive": list(table.names["sensitive"]),
            "limit": self._limit,
            "changes": {"start": reach.start.changes, "end": reach.end.changes, "most": reach.most_changes},
            "shift": {
                "start": reach.start.shift,
                "end": reach.end.shift,
                "asked": reach.asked.shift,
                "columns": moving,
                "limits": [round(limits[name], 12) for name in moving] if held.distances.is_relative else None,
            },
            "tolerances": [plain(asdict(one)) for one in self._tolerances.values()],
            "why": reach.why,
            "note": self._note,
            "n_held": len(held),
            "edges": held.edges.tolist(),
            "has_model": self._model is not None,
            "fields": [plain(asdict(field)) for field in self._fields.values()],
            "has_ids": question.schema.roles.row_id is not None,
            "most_exported": MAX_EXPORTED,
        }

    def look(self, selection: Selection | Mapping[str, Any]) -> Plain:
        """Return the numbers at some thresholds, and one page of the selected pairs."""
        selection = Selection.of(selection)
        held, answer = self._held, self._answer(selection)
        kept = filter_pairs(held, answer.holds, selection)
        chosen = np.flatnonzero(kept) if selection.is_filtered else None
        n_kept = answer.numbers["n_pairs"] if chosen is None else len(chosen)
        selected: Plain = {"n": n_kept, "counts": None, "gap_mean": None}
        if chosen is not None and n_kept:
            weights = None if held.weights is None else held.weights[chosen]
            counts: NDArray[Any] = np.bincount(held.bins[chosen], weights, len(held.edges) - 1)
            counts = counts if weights is None else counts / answer.mean_weight
            selected |= {"counts": counts.tolist(), "gap_mean": mean_of(held.gaps[chosen], weights)}
        if selection.transition is not None and selection.transition < len(held.names):
            selected["transition"] = [plain(held.combinations[one]) for one in held.names[selection.transition]]
        selected |= self._beside(selection, answer)
        page = min(selection.page, max(n_kept - 1, 0) // selection.size)
        places = take_page(held, kept, selection, first=page * selection.size, n=selection.size)
        return {**answer.numbers, "selection": selected, "page": page, "pairs": self._list(places)}

    def pair(
        self, left: int, right: int, changes: int, shift: float, tolerances: Mapping[str, float] | None = None
    ) -> Plain:
        """Return the two people of a pair side by side, with the tolerances of the rule."""
        place, point = self._find(left, right), self._point(changes, shift, tolerances or {})
        rule, table, held = rule_at(self._question.rule, point), self._question.table, self._held
        factors, n_changes = compare_people(self._frame, table, rule, left, right)
        return {
            **self._list(np.array([place]))[0],
            "left_decision": say_decision(self._question, left),
            "right_decision": say_decision(self._question, right),
            "factors": [describe_factor(factor, rule, len(table.names["sensitive"])) for factor in factors],
            "n_changes": n_changes,
            "max_changes": rule.max_discrete_changes,
            "is_comparable": bool(held.distances.within(point)[place]),
        }

    def what_if(self, left: int, right: int, side: str, changed: Mapping[str, Any]) -> Plain:
        """Change fields of one of two people, and score that person again."""
        if self._model is None:
            raise ScoreError("There is no model: only scores were given.")
        if side not in ("left", "right") or not isinstance(changed, Mapping):
            raise ScoreError("Choose whom of the two to change, and which fields.")
        self._find(left, right)
        unknown = [name for name in changed if name not in self._fields]
        if unknown:
            raise ScoreError(f"There is no compared column '{unknown[0]}'.")
        values = {name: self._fields[name].read(given) for name, given in changed.items()}
        row, other = (left, right) if side == "left" else (right, left)
        scores = self._question.scores
        with self._model_lock:  # not every model is thread-safe
            found = score_changed(self._model, self._question.frame, scores, row, values)
        before, theirs = scores.values[[row]], scores.values[[other]]
        after = found if len(found) == 1 else found[None]  # one score, or those of all classes
        outside = [name for name, value in values.items() if self._fields[name].is_outside(value)]
        return {
            "before": plain(scores.values[row]),
            "after": float(found[0]) if len(found) == 1 else found.tolist(),
            "gap_before": float(gap_between(before, theirs)[0]) / scores.scale,
            "gap_after": float(gap_between(after, theirs)[0]) / scores.scale,
            "decision_before": scores.decide(float(before[0])) if scores.values.ndim == 1 else None,
            "decision_after": scores.decide(float(found[0])) if scores.values.ndim == 1 else None,
            "outside": outside,
        }

    def parts(self, left: int, right: int) -> Plain:
        """Split the gap of a pair over the columns in which the two people differ; needs a model."""
        place, parts = self._find(left, right), self._know_parts()
        with self._model_lock:
            return parts.of_pair(place)

    def split(self, selection: Selection | Mapping[str, Any]) -> Plain:
        """Split the mean gap of the selected pairs over columns, or that of a draw of them; needs a model."""
        selection, parts = Selection.of(selection), self._know_parts()
        chosen = np.flatnonzero(filter_pairs(self._held, self._answer(selection).holds, selection))
        with self._model_lock:
            return parts.of_pairs(chosen)

    def _know_parts(self) -> GapParts:
        if self._parts is None:
            raise ScoreError("There is no model: only scores were given.")
        return self._parts

    def to_csv(self, selection: Selection | Mapping[str, Any]) -> bytes:
        """Return the selected pairs as CSV, in the order of the page, up to a limit."""
        selection = Selection.of(selection)
        kept = filter_pairs(self._held, self._answer(selection).holds, selection)
        places = take_page(self._held, kept, selection, first=0, n=MAX_EXPORTED)
        return write_csv(self._held, self._frame, self._question.schema.roles.row_id, places)

    def to_toml(self, selection: Selection | Mapping[str, Any]) -> str:
        """Return the rule and a starting policy as TOML."""
        selection = Selection.of(selection)
        numbers = self._answer(selection).numbers
        rule = self.rule(selection.changes, selection.shift, selection.tolerances)
        words = describe_rule(rule, self._question.schema, self._question.scores)
        return write_toml(rule, numbers["slices"], numbers["matched_share"], words)

    def _point(self, changes: int, shift: float, tolerances: Mapping[str, float]) -> Thresholds:
        check_count("changes", changes, or_none=False)
        check_number("shift", shift, least=0.0)
        end = self._reach.end
        if changes > end.changes and end.changes < self._reach.most_changes:
            raise RuleError(f"At most {end.changes} discrete changes are in reach, not {changes}.")
        if shift > end.shift and end.shift < WHOLE_RANGE and self._question.table.names["continuous"]:
            raise RuleError(f"A shift of at most {end.shift:g} is in reach, not {shift:g}.")
        for name, amount in tolerances.items():
            if name not in self._tolerances:
                raise RuleError(f"Column '{name}' has no tolerance of its own here.{suggest(name, self._tolerances)}")
            check_number("tolerances", amount, least=0.0)
            if amount > self._tolerances[name].most:
                raise RuleError(f"At most {self._tolerances[name].most:g} is in reach of '{name}', not {amount:g}.")
        limits = [(name, self._tolerances[name].limit(amount)) for name, amount in sorted(tolerances.items())]
        return Thresholds(int(changes), float(shift), tuple(limits))

    def _answer(self, selection: Selection) -> _Answer:
        point = self._point(selection.changes, selection.shift, selection.tolerances)
        key = (point, selection.limit)
        with self._lock:
            if self._last is None or self._last.key != key:
                holds = self._held.distances.within(point)
                chosen = choose_pairs(self._held, holds)
                numbers = self._measure(point, holds, chosen, selection.limit)
                self._last = _Answer(key, holds, numbers, chosen.mean_weight)
            return self._last

    def _measure(self, point: Thresholds, holds: NDArray[np.bool_], chosen: ChosenPairs, limit: float) -> Plain:
        held, question = self._held, self._question
        directions, n_directions = measure_transitions(held, chosen, MAX_TRANSITIONS, self._question.reference)
        partners, baseline = measure_partners(held, chosen), None
        if self._baseline is not None:
            between = replace(held.pairs, left=held.pairs.left[holds], right=held.pairs.right[holds])
            baseline = self._baseline.measure(point, between, held.gaps[holds])
        return {
            "changes": point.changes,
            "shift": point.shift,
            "limit": limit,
            "rule": describe_rule(rule_at(question.rule, point), question.schema, question.scores),
            "n_pairs": chosen.whole.n,
            "matched_share": share_of(partners[0]),
            "partners": partners[:MAX_TRANSITIONS],
            "slices": measure_slices(held, chosen, limit, baseline),
            "counts": chosen.bins.tolist(),
            "directions": [{"number": number, **plain(asdict(one))} for number, one in directions],
            "n_directions": n_directions,
        }

    def _beside(self, selection: Selection, answer: _Answer) -> Plain:
        """Return the excess of the pairs of one label; of other parts no same-group pairs are known."""
        if selection.label is None or selection.transition is not None or selection.least_gap > 0:
            return {}
        measured = answer.numbers["slices"][1 + selection.label : 2 + selection.label]
        return {name: one[name] for one in measured for name in ("excess",) if name in one}

    def _describe_baseline(self) -> str | None:
        """Return what the baseline is, or why there is none; None where the rule itself asks for same-group pairs."""
        if self._baseline is not None:
            return BASELINE
        if self._question.rule.sensitive_differs == "none":
            return None
        return "The same-group baseline is not shown: it has too many pairs to hold. An audit measures it."

    def _list(self, places: NDArray[np.int64]) -> list[Plain]:
        held, scores = self._held, self._question.scores
        left, right = held.pairs.left[places], held.pairs.right[places]
        row_id = self._question.schema.roles.row_id
        ids = [name_people(self._frame, row_id, rows) for rows in (left, right)]
        return [
            {
                "left_row": int(left[k]),
                "right_row": int(right[k]),
                "left_id": ids[0][k],
                "right_id": ids[1][k],
                "left_is": plain(held.combinations[held.of_people[left[k]]]),
                "right_is": plain(held.combinations[held.of_people[right[k]]]),
                "label": int(held.labels[place]),
                "left_score": plain(scores.values[left[k]]),
                "right_score": plain(scores.values[right[k]]),
                "gap": float(held.gaps[place]),
                "rank_gap": float(held.rank_gaps[place]),
                "flip": None if held.flips is None else bool(held.flips[place]),
                "changes": int(held.distances.changes[place]),
                "shift": float(held.distances.shifts[place]),
            }
            for k, place in enumerate(places.tolist())
        ]

    def _find(self, left: Any, right: Any) -> int:
        """Return the position of a pair by its rows; pairs are sorted by row."""
        check_count("left", left, or_none=False)
        check_count("right", right, or_none=False)
        pairs = self._held.pairs
        most = len(self._question.table)
        begin, end = np.searchsorted(pairs.left, [min(left, most), min(left, most) + 1])
        place = int(begin + np.searchsorted(pairs.right[begin:end], min(right, most)))
        if place >= end or pairs.right[place] != right:
            raise RuleError(f"Rows {left:,} and {right:,} are no pair held here.")
        return place
