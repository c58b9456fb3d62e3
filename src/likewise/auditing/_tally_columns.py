"""A tally as plain columns, so that any engine that can group, add and take maxima can merge tallies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._tally import ROUNDED, PairTally, TallyShape
from likewise.auditing._tally_transitions import ADDED, COUNTED

Columns = dict[str, NDArray[Any]]

BY_LABEL: Final = ("gap", "rank_gap", "flip", "above")
HISTOGRAMS: Final = ("gap_buckets", "rank_gap_buckets", "gap_bins")
WHAT: Final = (*BY_LABEL, *HISTOGRAMS, *COUNTED, *ADDED)  # what a row counts; its number is the place here


def tally_to_columns(tally: PairTally) -> Columns:
    """Give everything a tally has counted by label and by transition as rows that merge by adding.

    Parameters
    ----------
    tally : PairTally

    Returns
    -------
    dict of str to array
        ``what`` (int8) and ``key`` (int64) say what a row counts; of rows equal in both, ``n`` (int64) and ``total``
        (float64) are added, and the largest ``most`` (float64) stays. Single people and single pairs are apart, in
        :func:`people_to_columns`, ``tally.worst.to_columns()`` and ``tally.kept.to_columns()``.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import PairBatch, PairTally, TallyShape, tally_from_columns, tally_to_columns
    >>> shape = TallyShape(n_people=2, n_labels=1, n_combinations=2, largest=1.0, limit=0.1, n_worst=5, n_kept=10)
    >>> gaps = np.array([0.25])
    >>> tally = PairTally(shape)
    >>> tally.add(PairBatch(left=np.array([0]), right=np.array([1]), labels=np.array([0]), gaps=gaps, rank_gaps=gaps))
    >>> columns = tally_to_columns(tally)
    >>> twice = {name: np.tile(column, 2) for name, column in columns.items()}
    >>> tally_from_columns(shape, twice).n
    array([2])
    """
    parts = list(_list_parts(tally))
    names = ("what", "key", "n", "total", "most")
    return {name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(names)}


def people_to_columns(tally: PairTally) -> Columns:
    """Give what a tally keeps of the people who are in any of its pairs, a row each.

    Parameters
    ----------
    tally : PairTally

    Returns
    -------
    dict of str to array
        ``row`` (int64) says who; of rows of one person, ``n`` (int64) is added, the largest ``most`` (float64) stays,
        and of ``rounded`` (int64) and ``minus_partner`` (int64) those of the row where the two, in this order, are
        largest.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import PairBatch, PairTally, TallyShape, people_to_columns
    >>> shape = TallyShape(n_people=9, n_labels=1, n_combinations=2, largest=1.0, limit=0.1, n_worst=5, n_kept=10)
    >>> gaps = np.array([0.25])
    >>> tally = PairTally(shape)
    >>> tally.add(PairBatch(left=np.array([2]), right=np.array([7]), labels=np.array([0]), gaps=gaps, rank_gaps=gaps))
    >>> people_to_columns(tally)["row"], people_to_columns(tally)["minus_partner"]
    (array([2, 7]), array([-7, -2]))
    """
    rows = np.flatnonzero(tally.n_pairs_of)
    worst = tally.worst_gap_of[rows]
    return {
        "row": rows,
        "n": tally.n_pairs_of[rows],
        "most": worst,
        "rounded": np.rint(worst * ROUNDED).astype(np.int64),
        "minus_partner": -tally.partner_of[rows].astype(np.int64),
    }


def tally_from_columns(
    shape: TallyShape,
    columns: Mapping[str, NDArray[Any]],
    people: Mapping[str, NDArray[Any]] | None = None,
    worst: Mapping[str, NDArray[Any]] | None = None,
    kept: Mapping[str, NDArray[Any]] | None = None,
) -> PairTally:
    """Make a tally of columns, merged or not.

    Parameters
    ----------
    shape : TallyShape
        Of all the tallies that the columns came from.
    columns : mapping of str to array
        As :func:`tally_to_columns` gives them.
    people : mapping of str to array, optional
        As :func:`people_to_columns` gives them, with at most one row a person.
    worst : mapping of str to array, optional
        Pairs among which the worst are, as ``tally.worst.to_columns()`` gives them.
    kept : mapping of str to array, optional
        Pairs among which those with the lowest keys are, as ``tally.kept.to_columns()`` gives them.

    Returns
    -------
    PairTally

    Examples
    --------
    >>> from likewise.auditing._internal import PairTally, TallyShape, tally_from_columns, tally_to_columns
    >>> shape = TallyShape(n_people=9, n_labels=1, n_combinations=2, largest=1.0, limit=0.1, n_worst=5, n_kept=10)
    >>> tally_from_columns(shape, tally_to_columns(PairTally(shape))).n_total
    0
    """
    tally = PairTally(shape)
    what, keys = np.asarray(columns["what"]), np.asarray(columns["key"]).astype(np.int64)
    n, total, most = (np.asarray(columns[name]) for name in ("n", "total", "most"))
    of = {name: np.flatnonzero(what == place) for place, name in enumerate(WHAT)}
    for place, name in enumerate(("gap", "rank_gap")):
        np.add.at(tally.totals[place], keys[of[name]], total[of[name]])
        np.maximum.at(tally.most[place], keys[of[name]], most[of[name]])
    for name, counted in {"gap": tally.n, "flip": tally.n_flips, "above": tally.n_above}.items():
        np.add.at(counted, keys[of[name]], n[of[name]])
    for name in HISTOGRAMS:
        np.add.at(getattr(tally, name).reshape(-1), keys[of[name]], n[of[name]])
    _take_transitions(tally, {name: (keys[of[name]], n[of[name]], total[of[name]]) for name in (*COUNTED, *ADDED)})
    if people is not None:
        rows = np.asarray(people["row"])
        tally.n_pairs_of[rows] = people["n"]
        tally.worst_gap_of[rows] = people["most"]
        tally.partner_of[rows] = -np.asarray(people["minus_partner"])
    if worst is not None:
        tally.worst.add(*(np.asarray(worst[name]) for name in ("left", "right", "gap", "rank_gap")))
    if kept is not None:
        tally.kept.add(np.asarray(kept["left"]), np.asarray(kept["right"]))
    return tally


def _list_parts(tally: PairTally) -> Iterator[tuple[NDArray[Any], ...]]:
    labels = np.arange(tally.shape.n_labels)
    nothing = np.zeros(len(labels), np.int64)
    by_label = {
        "gap": (tally.n, tally.totals[0], tally.most[0]),
        "rank_gap": (nothing, tally.totals[1], tally.most[1]),
        "flip": (tally.n_flips, None, None),
        "above": (tally.n_above, None, None),
    }
    for name, (n, total, most) in by_label.items():
        yield _part(name, labels, n, total, most)
    for name in HISTOGRAMS:
        counts = getattr(tally, name).reshape(-1)
        occurring = np.flatnonzero(counts)
        yield _part(name, occurring, counts[occurring])
    found = tally.transitions
    for place, name in enumerate(COUNTED):
        yield _part(name, found.keys, found.counts[:, place])
    for place, name in enumerate(ADDED):
        yield _part(name, found.keys, np.zeros(len(found.keys), np.int64), found.sums[:, place])


def _part(name: str, keys: NDArray[Any], n: Any, total: Any = None, most: Any = None) -> tuple[NDArray[Any], ...]:
    nothing = np.zeros(len(keys))
    what = np.full(len(keys), WHAT.index(name), np.int8)
    return what, keys.astype(np.int64), n, nothing if total is None else total, nothing if most is None else most


def _take_transitions(tally: PairTally, parts: Mapping[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]) -> None:
    keys = np.unique(np.concatenate([found for found, _, _ in parts.values()]))
    counts, sums = np.zeros((len(keys), len(COUNTED)), np.int64), np.zeros((len(keys), len(ADDED)))
    for names, values, place in ((COUNTED, counts, 1), (ADDED, sums, 2)):
        for column, name in enumerate(names):
            np.add.at(values[:, column], np.searchsorted(keys, parts[name][0]), parts[name][place])
    tally.transitions.take(keys, counts, sums)
