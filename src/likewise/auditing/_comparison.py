"""Two audits of the same people, before and after: what changed, and what the change is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of, line_up, show_found
from likewise._json import plain
from likewise.auditing._audit import Audit
from likewise.auditing._intervals import interval_of, reach_of
from likewise.auditing._notes import TOO_FEW
from likewise.auditing._pair_measures import ScoredPairs
from likewise.auditing._paired_people import people_differences
from likewise.auditing._settings import AuditSettings
from likewise.auditing._telling import list_notes
from likewise.exceptions import ScoreError
from likewise.record._internal import Change, Measure, advise_measure

SQUEEZED_BELOW: Final = 0.9  # of the spread before
PAIRED: Final = ("gap_mean", "rank_gap_mean", "flip_rate")
HEADLINES: Final = (  # shown first, and of the rest there is to_dict
    *("gap_mean", "positive_gap_mean", "negative_gap_mean", "rank_gap_mean", "flip_rate"),
    *("roc_auc", "average_precision", "log_loss", "score_spread"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Hold what changed between two audits.

    Parameters
    ----------
    changes : mapping of str to Change
        By the name of the measure.
    notes : tuple of str
        What the numbers alone do not say: whether gaps fell because scores were squeezed together, and whether there
        are too few pairs to conclude anything.

    Examples
    --------
    >>> from likewise import audit, compare_audits, load_dataset
    >>> data = load_dataset("planted")
    >>> before = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> after = audit(
    ...     lambda people: 0.45 + 0.1 * data.scores(people), data.test.X, data.test.y, roles=data.roles, rule=data.rule
    ... )
    >>> for line in str(compare_audits(before, after)).splitlines()[:3]:  # doctest: +ELLIPSIS
    ...     print(line)
    151 pairs of 500 people
                       before ...
    gap_mean           6.16% (...)     0.62% (...)  -5.54% (...)
    >>> print(compare_audits(before, after).notes[0])  # doctest: +ELLIPSIS
    The mean gap fell by 90% (...), but the scores were squeezed together: their spread fell by 90% (...). ...
    """

    changes: Mapping[str, Change]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Change:
        """Look up one change."""
        try:
            return self.changes[name]
        except KeyError:
            raise KeyError(f"No measure is called {name!r}.{advise_measure(name, self.changes)}") from None

    def __str__(self) -> str:
        found = [(name, self.changes[name]) for name in HEADLINES if name in self.changes]
        rows = [
            (
                name,
                *(
                    show_found(name, side.value, side.low, side.high)
                    for side in (one.before, one.after, one.difference)
                ),
            )
            for name, one in found
        ]
        table = line_up([("", "before", "after", "difference"), *rows])
        return "\n".join([*self._say_size(), table, *list_notes(self.notes)])

    def _say_size(self) -> list[str]:
        """Say what the numbers rest on; before and after are of the same people."""
        pairs, people = self.changes.get("gap_mean"), self.changes.get("score_spread")
        if pairs is None or people is None:
            return []
        fewest = min(pairs.before.n, pairs.after.n)  # two samples of the pairs may differ in size
        return [f"{count_of(fewest, 'pair')} of {count_of(people.after.n, 'person', 'people')}"]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain data, ready for JSON and for a report.

        Returns
        -------
        dict
            ``changes``, by the name of the measure ``before``, ``after`` and the ``difference``; and ``notes``.

        Examples
        --------
        >>> from likewise.auditing import Change, Comparison, Measure
        >>> change = Change(Measure(0.5), Measure(0.25), Measure(-0.25))
        >>> Comparison({"gap_mean": change}, ()).to_dict()["changes"]["gap_mean"]["difference"]
        {'value': -0.25, 'low': None, 'high': None, 'n': 0}
        """
        changes = {name: asdict(change) for name, change in self.changes.items()}
        record: dict[str, Any] = plain({"changes": changes, "notes": self.notes})
        return record


def compare_audits(before: Audit, after: Audit) -> Comparison:
    """Say what changed from one audit to another: of the same people, scored by another model.

    Differences of ``gap_mean``, ``rank_gap_mean`` and ``flip_rate``, of all pairs and by label, have an interval where
    both audits measured the same pairs; those of ROC AUC, log loss, spread and what else is measured of people, where
    there are no more than 100,000 of these. Each replicate draws the same people for both models. There is none for
    the calibration error, to which chance adds unlike amounts, and none for coverage, impact ratio, quantiles, maxima
    and the baseline, nor where the second audit was made with ``n_resamples=0``.

    Parameters
    ----------
    before, after : Audit
        Of the same people, by the same rule.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from likewise import audit, compare_audits, load_dataset
    >>> data = load_dataset("planted")
    >>> how = {"roles": data.roles, "rule": data.rule}
    >>> before = audit(data.scores, data.test.X, data.test.y, **how)
    >>> after = audit(lambda people: data.scores(people, gap=0.02), data.test.X, data.test.y, **how)
    >>> change = compare_audits(before, after)["gap_mean"]
    >>> round(change.difference.value, 4), change.difference.high < 0
    (-0.0493, True)
    """
    for which in ("table_checksum", "n_rows"):
        if before.about["data"][which] != after.about["data"][which]:
            raise ScoreError("The two audits are of different people or labels. Audit both models on the same table.")
    for which in ("rule", "task", "positive", "scale"):
        if before.about[which] != after.about[which]:
            raise ScoreError(f"The two audits differ in their {which}. Give both the same.")
    if before.settings.gap_limit != after.settings.gap_limit:
        raise ScoreError("The two audits differ in their gap_limit. Give both the same.")
    shared = [name for name in after.measures if name in before.measures]
    changes = {name: _change(before[name], after[name]) for name in shared}
    for name, difference in (_paired_differences(before, after) | people_differences(before, after)).items():
        if name in changes:
            changes[name] = Change(before[name], after[name], difference)
    squeezed = note_squeeze(before.measures, after.measures)
    few = [note for note in (*after.notes, *before.notes) if TOO_FEW in note]
    return Comparison(changes, tuple(dict.fromkeys([*([squeezed] if squeezed else []), *few])))


def _change(before: Measure, after: Measure) -> Change:
    known = before.value is not None and after.value is not None
    return Change(before, after, Measure(after.value - before.value if known else None, n=after.n))  # type: ignore[operator]  # both are known


def _paired_differences(before: Audit, after: Audit) -> dict[str, Measure]:
    """Bootstrap the differences of the single pairs: most of what is uncertain about the two means is the same."""
    from likewise.auditing._resampling import resample_pairs

    one, other, settings = before.scored, after.scored, after.settings
    same = np.array_equal(one.pairs.left, other.pairs.left) and np.array_equal(one.pairs.right, other.pairs.right)
    if not same or not settings.n_resamples:
        return {}
    n_columns = len(PAIRED) if one.flips is not None and other.flips is not None else len(PAIRED) - 1
    values = _columns(other)[:, :n_columns] - _columns(one)[:, :n_columns]
    table = other.pairs.left_table
    totals, sums = resample_pairs(
        other.pairs.left,
        other.pairs.right,
        other.labels,
        values,
        n_people=len(table),
        n_groups=len(table.classes),
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    slices: dict[str, int | None] = {"": None}
    if after.question.scores.task == "binary":
        positive = int(after.question.scores.positive or 0)
        slices |= {"positive_": positive, "negative_": 1 - positive}
    found = {}
    for prefix, code in slices.items():
        chosen = np.arange(len(values)) if code is None else np.flatnonzero(other.labels == code)
        groups = slice(None) if code is None else slice(code, code + 1)
        if not len(chosen):
            continue
        with np.errstate(invalid="ignore", divide="ignore"):  # a replicate may have no such pair
            means = sums[:, groups].sum(axis=1) / totals[:, groups].sum(axis=1)[:, None]
        for position, name in enumerate(PAIRED[: values.shape[1]]):
            measure = _difference(other, chosen, values[chosen, position], means[:, position], settings)
            found[prefix + name] = measure if after.tally is None else _moved(measure, before, after, prefix + name)
    return found


def _moved(sampled: Measure, before: Audit, after: Audit, name: str) -> Measure:
    """Put the sample's interval around the difference over all pairs."""
    exact = _change(before[name], after[name]).difference
    if exact.value is None or sampled.value is None or sampled.low is None or sampled.high is None:
        return exact
    moved = exact.value - sampled.value
    return Measure(exact.value, sampled.low + moved, sampled.high + moved, exact.n)


def _columns(scored: ScoredPairs) -> NDArray[np.float64]:
    flips = [] if scored.flips is None else [scored.flips]
    return np.column_stack([scored.gaps, scored.rank_gaps, *flips]).astype(np.float64)


def _difference(
    scored: ScoredPairs,
    chosen: NDArray[np.intp],
    values: NDArray[np.float64],
    means: NDArray[np.float64],
    settings: AuditSettings,
) -> Measure:
    mean = float(values.mean())
    rows = scored.pairs.left[chosen], scored.pairs.right[chosen]
    reach = reach_of(*rows, values - mean, len(scored.pairs.left_table), settings.confidence)
    interval = interval_of(mean, reach * (means - mean), settings.confidence, -np.inf, np.inf)
    low, high = interval or (None, None)
    return Measure(mean, low, high, len(values))


def note_squeeze(before: Mapping[str, Measure], after: Mapping[str, Measure]) -> str | None:
    """Say in words when gaps fell with the spread of all scores."""
    old, new, old_spread, new_spread = (
        measures[name].value for name in ("gap_mean", "score_spread") for measures in (before, after)
    )
    if not old or not old_spread or new is None or new_spread is None:
        return None
    if new >= old or new_spread > SQUEEZED_BELOW * old_spread:
        return None
    relative = (
        "the scores have no spread left to measure gaps by"
        if new_spread == 0
        else f"Measured by the spread, gaps {_verb(old / old_spread, new / new_spread)}"
    )
    ranks = _verb(before["rank_gap_mean"].value or 0.0, after["rank_gap_mean"].value or 0.0)
    return (
        f"The mean gap fell by {100 * (1 - new / old):.0f}% ({100 * old:.2f} to {100 * new:.2f}), but the scores were "
        f"squeezed together: their spread fell by {100 * (1 - new_spread / old_spread):.0f}% ({old_spread:.3g} to "
        f"{new_spread:.3g}). {relative[0].upper()}{relative[1:]}; in ranks, they {ranks}."
    )


def _verb(old: float, new: float) -> str:
    if old == 0 or abs(new / old - 1) < 0.01:
        return "are as before"
    change = 100 * (new / old - 1)
    return f"{'grew' if change > 0 else 'fell'} by {abs(change):.0f}%"
