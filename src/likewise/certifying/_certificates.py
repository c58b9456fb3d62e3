"""The result: how far anybody comparable can be from each person, with the row that shows it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_number, free_name
from likewise._files import write_file
from likewise._format import count_of, show_points
from likewise._json import plain
from likewise._shares import exact_interval
from likewise.comparable import Comparability
from likewise.exceptions import ParameterError
from likewise.schema._internal import open_frame

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Method = Literal["linear", "trees"]

FORMAT: Final = "likewise certificates 1"
ADDED: Final = ("score", "comparable_score", "gap_bound", "gap_reached", "is_exact", "is_possible", "plausibility")


@dataclass(frozen=True, slots=True)
class CertifiedShare:
    """The share of people whose worst possible gap is within a limit, with an interval for the population.

    Parameters
    ----------
    limit : float
    n_people, n_within, n_beyond : int
        How many people; of how many it is proved that every comparable person is within the limit; of how many a
        comparable row beyond it was found. The others are undecided.
    low, high : float
        A Clopper-Pearson interval: its low end counts undecided people as beyond, its high end as within the limit.
    confidence : float

    Examples
    --------
    >>> from likewise.certifying import CertifiedShare
    >>> CertifiedShare(0.1, n_people=100, n_within=90, n_beyond=8, low=0.82, high=0.97, confidence=0.95).value
    0.9
    """

    limit: float
    n_people: int
    n_within: int
    n_beyond: int
    low: float
    high: float
    confidence: float

    @classmethod
    def of(cls, limit: float, gaps: Numbers, reached: Numbers, confidence: float, tie: float = 0.0) -> CertifiedShare:
        """Count people by the bounds of their gaps and by the gaps that were reached; on a ``tie``, they are within."""
        n, n_within, n_beyond = len(gaps), int((gaps <= limit + tie).sum()), int((reached > limit + tie).sum())
        low, high = exact_interval(n_within, n, confidence)[0], exact_interval(n - n_beyond, n, confidence)[1]
        return cls(float(limit), n, n_within, n_beyond, low, high, float(confidence))

    @property
    def value(self) -> float:
        """The certified share of these people."""
        return self.n_within / self.n_people


@dataclass(frozen=True, slots=True, eq=False)
class Certificates:
    """How far anybody comparable can be from each person, whether such a person is in the table or not.

    :func:`likewise.certify` returns it. Arrays have one entry per person, in the order of the table.

    Parameters
    ----------
    scores : array of float
        The model's score of each person.
    gaps : array of float
        The certificate: no comparable row has a score further from the person's.
    reached : array of float
        The gap of the worst row found, by the model's own scores: the certificate is at least that.
    rows : frame
        That row of each person; the person's own, where nobody comparable is possible.
    row_scores : array of float
        The model's score of that row.
    is_exact : array of bool
        Whether the bound is reached, up to the rounding of the model's own arithmetic (1e-6).
    is_possible : array of bool
        Whether anybody comparable is possible at all. Where not, the gap is 0.
    method : {"linear", "trees"}
    rule : Comparability
    description : str
        The rule in words.
    is_probability : bool
        Whether scores are probabilities, so that gaps are in percentage points.
    fixed_columns : tuple of str
        Columns that the model sees and the rule does not compare: they stay as they are.
    refused_categories : mapping of column name to number
        Categories that the model cannot score, which no comparable row has.
    plausibility : array of float, optional
        With a generator: how plausible the worst row of each person is, as the share of these people whose own values
        fit each other no better. NaN without such a row.
    min_plausibility : float
        Only rows that are at least so plausible were chosen as worst rows; the bounds hold for all rows.

    Examples
    --------
    >>> from sklearn.compose import make_column_selector, make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from likewise import certify, load_dataset
    >>> data = load_dataset("planted")
    >>> numbers = make_column_selector(dtype_include="number")
    >>> coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder())
    >>> model = make_pipeline(coding, LogisticRegression()).fit(data.train.X, data.train.y)
    >>> found = certify(model, data.test.X, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> bool(found.is_exact.all()), len(found)
    (True, 500)
    >>> found.share_within(0.2).n_beyond + found.share_within(0.2).n_within
    500
    """

    scores: Numbers
    gaps: Numbers
    reached: Numbers
    rows: Any
    row_scores: Numbers
    is_exact: Flags
    is_possible: Flags
    method: Method
    rule: Comparability
    description: str
    is_probability: bool
    fixed_columns: tuple[str, ...]
    refused_categories: Mapping[str, int]
    plausibility: Numbers | None = None
    min_plausibility: float = 0.0

    def __len__(self) -> int:
        return len(self.scores)

    def share_within(self, limit: float, *, confidence: float = 0.95) -> CertifiedShare:
        """Return the share of people whose worst possible gap is at most ``limit``.

        Parameters
        ----------
        limit : float
            A gap, such as 0.1 for 10 percentage points.
        confidence : float
            Of the interval for the population that the people were drawn from.

        Returns
        -------
        CertifiedShare
        """
        check_number("limit", limit, least=0.0)
        check_number("confidence", confidence, above=0.0, below=1.0)
        if self.is_probability and limit > 1:
            raise ParameterError(
                f"is {limit:g}, but gaps between probabilities are at most 1. For 10% give 0.1.", "limit"
            )
        return CertifiedShare.of(limit, self.gaps, self.reached, confidence)

    def to_frame(self) -> Any:
        """Return the worst comparable row of each person as a frame of the user's library, with the numbers beside it.

        Returns
        -------
        frame
            The columns of the table, then ``score`` (of the person), ``comparable_score`` (of the row), ``gap_bound``,
            ``gap_reached``, ``is_exact``, ``is_possible`` and, with a generator, ``plausibility``; an underscore is
            added to names that are taken.
        """
        frame = nw.from_native(self.rows, eager_only=True)
        values = [self.scores, self.row_scores, self.gaps, self.reached, self.is_exact, self.is_possible]
        values += [] if self.plausibility is None else [self.plausibility]
        backend = frame.implementation
        for name, one in zip(ADDED, values, strict=False):
            added = nw.new_series(free_name(name, frame.columns), one.tolist(), backend=backend)
            frame = frame.with_columns(added)
        return frame.to_native()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, JSON-ready: one entry per person under ``people``."""
        opened = open_frame(self.to_frame())
        columns = {name: opened.cells(name, np.arange(len(self))) for name in opened.names}
        about: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("method", "description", "is_probability", "fixed_columns", "min_plausibility")
        }
        about |= {"rule": self.rule.to_dict(), "refused_categories": dict(self.refused_categories)}
        data: dict[str, Any] = plain({"format": FORMAT, **about, "people": columns})
        return data

    def save(self, path: str | Path) -> None:
        """Write everything to a ``.json`` file, or the table of :meth:`to_frame` to a ``.csv`` file.

        Parameters
        ----------
        path : str or Path
            A file that is not there yet.
        """
        file = Path(path)
        if file.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
            write_file(path, text + "\n")
        elif file.suffix == ".csv":
            write_file(path, nw.from_native(self.to_frame(), eager_only=True).write_csv)
        else:
            raise ParameterError(f"is {str(path)!r}; give a name that ends in .json or .csv.", "path")

    def __str__(self) -> str:
        show = show_points if self.is_probability else "{:,.4g}".format
        gaps = np.sort(self.gaps)
        middle = float(np.median(gaps))
        lines = [
            f"{count_of(len(self), 'person', 'people')} certified, {self.is_exact.mean():.1%} exactly ({self.method}). "
            + self.description,
            f"Worst possible gap: mean {show(float(gaps.mean()))}, median {show(middle)}, "
            f"highest {show(float(gaps[-1]))}.",
        ]
        if self.is_probability:
            share = self.share_within(0.1)
            lines.append(
                f"Within {show(share.limit)} of everybody comparable: {share.value:.1%} of people (in the population "
                f"{share.low:.1%} to {share.high:.1%} at {share.confidence:.0%} confidence)."
            )
        n_alone = int((~self.is_possible).sum())
        if n_alone:
            lines.append(f"Nobody comparable is possible for {count_of(n_alone, 'person', 'people')}: their gap is 0.")
        if self.plausibility is not None:
            lines.append(self._describe_plausibility(self.plausibility))
        if self.fixed_columns:
            lines.append(f"Not in the rule, so kept as they are: {', '.join(self.fixed_columns)}.")
        if self.refused_categories:
            counts = self.refused_categories.items()
            listed = ", ".join(f"{count_of(n, 'category', 'categories')} of {name}" for name, n in counts)
            lines.append(f"The model cannot score, so nobody has: {listed}.")
        return "\n".join(lines)

    def _describe_plausibility(self, ranks: Numbers) -> str:
        if not self.min_plausibility:
            middle = float(np.nanmedian(ranks)) if self.is_possible.any() else math.nan
            return (
                f"Plausibility of the worst rows: the median row fits as well as the values of {middle:.1%} of people."
            )
        n_without = int((self.is_possible & np.isnan(ranks)).sum())
        return (
            f"Worst rows are among those that fit as well as the values of {self.min_plausibility:.1%} of people; none "
            f"was found for {count_of(n_without, 'person', 'people')}. Bounds hold for all rows."
        )
