"""Evidence of an audit: directions, coverage, groups, and the two people of a pair side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from likewise._format import TOO_FEW, count_of, line_up, show_cell, show_p
from likewise.record._measures import Measure


@dataclass(frozen=True, slots=True)
class ColumnBalance:
    """How far the two people of a pair differ in one compared column, over the pairs of a transition.

    Parameters
    ----------
    column : str
    difference : float or None
        Of numbers and ranks: the target's value minus the origin's on average, as a share of the column's range.
    changed : float or None
        Of a discrete column: the share of pairs in which it differs.
    """

    column: str
    difference: float | None = None
    changed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Scores of one combination of sensitive values compared with those of another.

    A signed gap is the target's score minus the origin's; where low scores are favourable, with the opposite sign: it
    is negative where the target is worse off.

    Parameters
    ----------
    origin, target : tuple
        Two combinations of sensitive values. An audit orders them so that the target is worse off, by the adjusted gap.
    n_pairs : int
        Pairs with one person of each.
    n_lower, n_higher, n_equal : int
        Pairs in which the target is worse off than the origin (scored lower, unless that is favourable), better off,
        or scored the same.
    n_flips_down, n_flips_up : int or None
        Pairs in which only the origin is selected, and in which only the target is; None without decisions.
    mean_gap : float
        The signed mean gap.
    low, high : float or None
        Its confidence interval; None where there are too few independent pairs.
    lower_interval, higher_interval, flips_down_interval, flips_up_interval : tuple of float, or None
        Confidence intervals of the four counts, as shares of the pairs.
    adjusted_gap : float or None
        The signed gap of people who are alike in every compared column: the intercept of a regression of the pairs'
        signed gaps on their signed differences in these columns. None where it cannot be told apart from them.
    adjusted_low, adjusted_high : float or None
        Its confidence interval; None where too few people count to conclude anything.
    p_value : float or None
        The two-sided p-value of the adjusted gap, of the same estimate as its interval.
    p_adjusted : float or None
        The same, adjusted for the number of directions shown (Holm).
    balance : tuple of ColumnBalance
        How far the pairs differ in each compared column, of those that differ in any pair.
    favours_low : bool
        Whether low scores are favourable.
    lower_share, higher_share, flips_down_share, flips_up_share : float or None
        Where people are weighted: which share of the pairs those counted above are, by weight.

    Examples
    --------
    >>> from likewise.auditing import Direction
    >>> married = Direction(
    ...     origin=("Married",), target=("Divorced",), n_pairs=5, n_lower=4, n_higher=1, n_equal=0, mean_gap=-0.2
    ... )
    >>> back = married.reversed()
    >>> back.origin, back.target, back.n_lower, back.mean_gap
    (('Divorced',), ('Married',), 1, 0.2)
    >>> print(married)
    Divorced compared with Married: lower in 4 of 5 pairs, higher in 1; signed mean gap -0.2
    """

    origin: tuple[Any, ...]
    target: tuple[Any, ...]
    n_pairs: int
    n_lower: int
    n_higher: int
    n_equal: int
    n_flips_down: int | None = None
    n_flips_up: int | None = None
    mean_gap: float
    low: float | None = None
    high: float | None = None
    lower_interval: tuple[float, ...] | None = None
    higher_interval: tuple[float, ...] | None = None
    flips_down_interval: tuple[float, ...] | None = None
    flips_up_interval: tuple[float, ...] | None = None
    adjusted_gap: float | None = None
    adjusted_low: float | None = None
    adjusted_high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    balance: tuple[ColumnBalance, ...] = ()
    favours_low: bool = False
    lower_share: float | None = None
    higher_share: float | None = None
    flips_down_share: float | None = None
    flips_up_share: float | None = None

    def __str__(self) -> str:
        target, origin = (", ".join(map(str, values)) for values in (self.target, self.origin))
        worse, better = ("worse off", "better off") if self.favours_low else ("lower", "higher")
        lower, higher = _weigh(self.n_lower, self.lower_share), _weigh(self.n_higher, self.higher_share)
        counted = f"{worse} in {lower} of {count_of(self.n_pairs, 'pair')}, {better} in {higher}"
        flips = ""
        if self.n_flips_down or self.n_flips_up:
            down, up = _weigh(self.n_flips_down, self.flips_down_share), _weigh(self.n_flips_up, self.flips_up_share)
            flips = f"; only {origin} approved in {down}, only {target} in {up}"
        gaps = f"signed mean gap {self.mean_gap:.3g}"
        if self.adjusted_gap is not None:
            gaps += f", adjusted {Measure(self.adjusted_gap, self.adjusted_low, self.adjusted_high)}"
        if self.is_undecided or self.p_adjusted is not None:
            gaps += f", {TOO_FEW}" if self.p_adjusted is None else f", p (Holm) {show_p(self.p_adjusted)}"
        return f"{target} compared with {origin}: {counted}{flips}; {gaps}"

    @property
    def is_undecided(self) -> bool:
        """Whether too few people count to conclude anything, or too few for as many columns."""
        return self.p_value is None and (self.adjusted_gap is not None or bool(self.balance))

    @property
    def lean(self) -> float:
        """The side to which the target leans: the adjusted gap, or the mean where that is not known."""
        return self.mean_gap if self.adjusted_gap is None else self.adjusted_gap

    @property
    def rank(self) -> tuple[float, float, int]:
        """The clearer a direction, the lower: by p-value, then by gap and by the number of pairs."""
        return 1.0 if self.p_adjusted is None else self.p_adjusted, -abs(self.lean), -self.n_pairs

    def share_of(self, name: str) -> float | None:
        """Return the share of the pairs that are ``lower``, ``higher``, ``flips_down`` or ``flips_up``, by weight."""
        weighted: float | None = getattr(self, f"{name}_share")
        if weighted is not None:
            return weighted
        n: int | None = getattr(self, f"n_{name}")
        return None if n is None or not self.n_pairs else n / self.n_pairs

    def reversed(self) -> Direction:
        """Return the same comparison from the other side."""
        return replace(
            self,
            origin=self.target,
            target=self.origin,
            n_lower=self.n_higher,
            n_higher=self.n_lower,
            n_flips_down=self.n_flips_up,
            n_flips_up=self.n_flips_down,
            lower_share=self.higher_share,
            higher_share=self.lower_share,
            flips_down_share=self.flips_up_share,
            flips_up_share=self.flips_down_share,
            mean_gap=0.0 - self.mean_gap,
            low=_turn(self.high),
            high=_turn(self.low),
            adjusted_gap=_turn(self.adjusted_gap),
            adjusted_low=_turn(self.adjusted_high),
            adjusted_high=_turn(self.adjusted_low),
            balance=tuple(replace(one, difference=_turn(one.difference)) for one in self.balance),
            lower_interval=self.higher_interval,
            higher_interval=self.lower_interval,
            flips_down_interval=self.flips_up_interval,
            flips_up_interval=self.flips_down_interval,
        )

    @property
    def measures(self) -> dict[str, Measure]:
        """What a policy can limit of this transition, by name; control-only and target-only rates take decisions."""
        counted = {
            "control_better_rate": (self.share_of("lower"), self.lower_interval),
            "target_better_rate": (self.share_of("higher"), self.higher_interval),
        }
        if self.n_flips_up is not None:
            counted["control_only_rate"] = (self.share_of("flips_down"), self.flips_down_interval)
            counted["target_only_rate"] = (self.share_of("flips_up"), self.flips_up_interval)
        shares = {}
        for name, (share, ends) in counted.items():
            low, high = ends or (None, None)
            shares[name] = Measure(share, low, high, self.n_pairs)
        mean = Measure(self.mean_gap, self.low, self.high, self.n_pairs)
        adjusted = Measure(self.adjusted_gap, self.adjusted_low, self.adjusted_high, self.n_pairs)
        return {"signed_gap": mean, "adjusted_gap": adjusted, **shares}

    def name(self, columns: Sequence[str]) -> str:
        """Name the transition as a policy does: ``sex: Male → Female``."""
        origin, target = (
            ", ".join("(missing)" if value is None else str(value) for value in values)
            for values in (self.origin, self.target)
        )
        return f"{', '.join(columns)}: {origin} → {target}"


def _turn(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


@dataclass(frozen=True, slots=True)
class ColumnDirections:
    """The directions between the values of one sensitive column, whatever the other sensitive columns do.

    Parameters
    ----------
    column : str
    directions : tuple of Direction
        ``origin`` and ``target`` have one value each. A pair that differs in several sensitive columns counts in each.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> data = load_dataset("planted")  # two columns are sensitive
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> for part in found.column_directions:
    ...     worst = min(part.directions, key=lambda one: one.mean_gap)
    ...     print(worst.name([part.column]), round(worst.mean_gap, 3), worst.n_pairs)
    group: blue → green -0.1 41
    gender: female → male 0.0 71
    """

    column: str
    directions: tuple[Direction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many people of a group are matched; an audit covers matched people only.

    Parameters
    ----------
    columns : tuple of str
        The sensitive columns that define the group; empty for all people.
    values : tuple
        The group's values in ``columns``.
    label : optional
        The label of these people, where the group is defined by label.
    n_people : int
        How many there are.
    n_with_partner : int
        How many are matched: in at least one comparable pair.
    weighted_share : float or None
        Where people are weighted, the share who are matched, by weight.

    Examples
    --------
    >>> from likewise.auditing import Coverage
    >>> women = Coverage(columns=("sex",), values=("female",), n_people=8, n_with_partner=6)
    >>> women.share
    0.75
    >>> print(women)
    sex female: 6 of 8 people are matched (75%)
    """

    columns: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    label: Any = None
    n_people: int
    n_with_partner: int
    weighted_share: float | None = None

    @property
    def share(self) -> float | None:
        """The share of these people who are matched, by their weights; None where there is nobody."""
        if self.weighted_share is not None:
            return self.weighted_share
        return self.n_with_partner / self.n_people if self.n_people else None

    def __str__(self) -> str:
        who = [f"{column} {value}" for column, value in zip(self.columns, self.values, strict=True)]
        who += [] if self.label is None else [f"label {self.label}"]
        of_them = f"{self.n_with_partner:,} of {count_of(self.n_people, 'person', 'people')} are matched"
        return f"{', '.join(who) or 'all'}: {of_them}{'' if self.share is None else f' ({self.share:.0%})'}"


@dataclass(frozen=True, slots=True)
class GroupRate:
    """Decisions and scores of one group: people who share a sensitive value, or several.

    Parameters
    ----------
    columns : tuple of str
        One sensitive column; all of them for an intersection.
    values : tuple
        The group's value in each of the columns.
    n_people : int
    selection_rate : float or None
        The share of the group that is selected; None without decisions, and with more than two labels.
    impact_ratio : float or None
        The selection rate divided by that of the reference group or, where none is named, by the highest among the
        groups of the same columns (the adverse impact ratio); None where that is 0.
    true_positive_rate, false_positive_rate : float or None
        The share selected among people with the favourable label, and with the other, so that the selection rate lies
        between the two; None where nobody has that label. The favourable label is the positive one unless low scores
        are favourable.
    mean_score : float or None
        None with more than two labels.
    is_reference : bool
        Whether this is a control group, with whose rate the others' are compared.
    selection_interval, impact_interval : tuple of float, or None
        Confidence intervals of the two: Wilson's of the rate; of the ratio by the delta method on its logarithm, with a
        half added to each count. None where none was asked for, and of the ratio of the group compared with.
    weight : float or None
        Where people are weighted, the sum of the group's weights, with a mean of 1 over all people; rates and mean are
        then weighted.
    n_effective : float or None
        And how many people of equal weight would leave the selection rate as uncertain.
    n_selected : int or None
        How many people of the group are selected, whatever they weigh; None where there is no selection rate.
    scoring_rate : float or None
        The share of the group on the favourable side of the median score of everybody; None where scores are decisions,
        and with more than two labels.

    Examples
    --------
    >>> from likewise.auditing import GroupRate
    >>> print(GroupRate(("sex",), ("Female",), n_people=40, selection_rate=0.25, impact_ratio=0.5))
    sex Female: 40 people, selection rate 25.0%, adverse impact ratio 0.5
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]
    n_people: int
    selection_rate: float | None = None
    impact_ratio: float | None = None
    true_positive_rate: float | None = None
    false_positive_rate: float | None = None
    mean_score: float | None = None
    is_reference: bool = False
    selection_interval: tuple[float, ...] | None = None
    impact_interval: tuple[float, ...] | None = None
    weight: float | None = None
    n_effective: float | None = None
    n_selected: int | None = None
    scoring_rate: float | None = None

    def __str__(self) -> str:
        who = ", ".join(f"{column} {value}" for column, value in zip(self.columns, self.values, strict=True))
        found = [count_of(self.n_people, "person", "people")]
        found += [] if self.selection_rate is None else [f"selection rate {self.selection_rate:.1%}"]
        found += [] if self.impact_ratio is None else [f"adverse impact ratio {self.impact_ratio:.3g}"]
        found += [] if self.mean_score is None else [f"mean score {self.mean_score:.3g}"]
        return f"{who}: {', '.join(found)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """The values of two people in one column.

    Parameters
    ----------
    column : str
    role : {"sensitive", "discrete", "ordinal", "matched", "continuous"}
    left, right : object
        The values of the two people in the user's table; None where missing.
    differs : bool
        Whether they differ under the rule: two ages in one bin are equal.
    shift : float or None
        How far apart they are: as a share of the training range if continuous, in ranks if ordinal.
    tolerance : float or None
        The largest shift that the rule allows.
    tie : float
        How much more makes a tie, by the precision of the column's numbers; 0 where only equal values are comparable.
    difference, limit : float or None
        How far apart the two values are, and may be, in units of the column or in days; a limit relative to the value
        is that of this pair. None unless the rule has a limit in units for the column.
    unit : {"units", "days"} or None
        What these two are in.

    Examples
    --------
    >>> from likewise.auditing import Factor
    >>> factor = Factor(column="age", role="continuous", left=30, right=31, differs=True, shift=0.02, tolerance=0.025)
    >>> factor.shift <= factor.tolerance
    True
    """

    column: str
    role: str
    left: Any
    right: Any
    differs: bool
    shift: float | None = None
    tolerance: float | None = None
    tie: float = 0.0
    difference: float | None = None
    limit: float | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCase:
    """Two comparable people side by side, with their scores.

    Parameters
    ----------
    left_row, right_row : int
        Their rows, counted from 0.
    left_id, right_id : object
        Their row identifiers; the rows themselves without an identifier column.
    label : object
        The label of both; None in regression, where labels are not matched.
    left_score, right_score : float, or tuple of float
        The model's scores; with more than two labels, one probability per label.
    gap : float
        Between the two scores; in regression, in units of the scale.
    rank_gap : float
        Between the two ranks among all scored people.
    is_flip : bool or None
        Whether the decisions differ; None without decisions.
    factors : tuple of Factor
        All compared columns, sensitive ones first.
    left_decision, right_decision : object
        "approved" or "denied", or the decision in the user's words; with more than two labels, the predicted label.
        None without decisions.

    Examples
    --------
    >>> from likewise.auditing import Factor, PairCase
    >>> sex = Factor(column="sex", role="sensitive", left="f", right="m", differs=True)
    >>> job = Factor(column="job", role="discrete", left="cook", right="cook", differs=False)
    >>> case = PairCase(left_row=3, right_row=8, left_id=3, right_id=8, label="yes", left_score=0.25, right_score=0.75,
    ...                 gap=0.5, rank_gap=0.4, is_flip=True, factors=(sex, job))
    >>> case.differing
    ('sex',)
    >>> print(case)
              row 3  row 8
       label  yes    yes
       score  0.25   0.75
    *  sex    f      m
       job    cook   cook
    Gap 0.5, rank gap 0.4; the decisions differ.
    """

    left_row: int
    right_row: int
    left_id: Any
    right_id: Any
    label: Any
    left_score: float | tuple[float, ...]
    right_score: float | tuple[float, ...]
    gap: float
    rank_gap: float
    is_flip: bool | None
    factors: tuple[Factor, ...]
    left_decision: Any = None
    right_decision: Any = None

    @property
    def differing(self) -> tuple[str, ...]:
        """The columns in which the two differ."""
        return tuple(factor.column for factor in self.factors if factor.differs)

    def __str__(self) -> str:
        kind, *names = name_people(self)
        rows = [("", "", *(f"{kind} {name}" for name in names))]
        rows += [] if self.label is None else [("", "label", str(self.label), str(self.label))]
        rows += [("", "score", show_cell(self.left_score), show_cell(self.right_score))]
        rows += [
            ("*" if one.differs else "", one.column, show_cell(one.left), show_cell(one.right)) for one in self.factors
        ]
        decisions = "; the decisions differ" if self.is_flip else ""
        return f"{line_up(rows)}\nGap {self.gap:.4g}, rank gap {self.rank_gap:.4g}{decisions}."


def _weigh(n: int | None, share: float | None) -> str:
    """Format a number of pairs, with their share by weight where people are weighted."""
    return f"{n or 0:,}{'' if share is None else f' ({share:.1%} by weight)'}"


def name_people(case: PairCase) -> tuple[str, str, str]:
    """Return "id" or "row" and the names of two people: their identifiers where there are any, or their rows."""
    ids, rows = (case.left_id, case.right_id), (case.left_row, case.right_row)
    if ids == rows:
        return "row", f"{rows[0]:,}", f"{rows[1]:,}"
    return "id", show_cell(ids[0]), show_cell(ids[1])
