"""How gaps split over columns, asked of the model when the page wants to know: of one pair, or of a draw of many."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._json import plain
from likewise.auditing._internal import AuditSettings, Question, mean_of
from likewise.exceptions import ScoreError
from likewise.explain._internal import (
    MAX_COLUMNS,
    N_ORDERS,
    NOT_COMPARED,
    Mixer,
    open_mixer,
    roles_of,
    split_pairs,
    sum_parts,
)
from likewise.explore._pairs import HeldPairs

Plain = dict[str, Any]
Places = NDArray[np.int64]
MOST_PAIRS: Final = 20_000  # of which gaps are split at once
MOST_MIXTURES: Final = 1 << 18  # that the model is asked for at once, at most; a logistic regression takes a second


class GapParts:
    """Splits the gaps of held pairs over the columns in which the two people differ, by asking the model."""

    def __init__(self, question: Question, settings: AuditSettings, model: Any, held: HeldPairs) -> None:
        self._question, self._settings, self._model, self._held = question, settings, model, held

    def of_pair(self, place: int) -> Plain:
        """Return the parts of one gap, which add up to it, the largest first; those of no gap may cancel out."""
        left, right = self._rows(np.array([place]))
        split = split_pairs(self._mixer, self._question, left, right)
        parts = split.towards(self._held.gaps[[place]]) if self._held.gaps[place] else split.parts
        roles, names = roles_of(self._question), self._mixer.names
        listed = [(names[split.columns[at]], float(parts[at])) for at in np.argsort(-np.abs(parts), kind="stable")]
        return {
            "gap": float(self._held.gaps[place]),
            "parts": [{"column": name, "role": roles.get(name, NOT_COMPARED), "part": part} for name, part in listed],
            "n_orders": N_ORDERS if len(listed) > MAX_COLUMNS else None,
        }

    def of_pairs(self, places: Places) -> Plain:
        """Return what each column adds to the mean gap of some pairs; of many, of as many as one can wait for."""
        if not len(places):
            raise ScoreError("No pair is selected, so there is no gap to split.")
        drawn = self._draw(places)
        left, right = self._rows(drawn)
        split = split_pairs(self._mixer, self._question, left, right)
        gaps, weights = self._held.gaps[drawn], self._weights(drawn)
        return {
            "n_pairs": len(places),
            "n_split": len(drawn),
            "n_estimated": int((split.n_columns > MAX_COLUMNS).sum()),
            "max_columns": MAX_COLUMNS,
            "n_orders": N_ORDERS,
            "mean_gap": mean_of(gaps, weights),
            "mean_gap_of_all": mean_of(self._held.gaps[places], self._weights(places)),
            "columns": [plain(asdict(one)) for one in sum_parts(split, self._mixer, self._question, gaps, weights)],
        }

    @cached_property
    def _mixer(self) -> Mixer:
        """The people in the columns that the model sees; it is asked for everybody once, to see that it is the one."""
        pairs = self._held.pairs
        people = np.unique(np.concatenate([pairs.left, pairs.right])).astype(np.int64)
        return open_mixer(self._question, self._settings, self._model, people)

    def _draw(self, places: Places) -> Places:
        """Draw pairs at random so that the model is asked for a bounded number of rows; all, where these are few."""
        drawn = places
        if len(places) > MOST_PAIRS:
            drawn = np.random.default_rng(0).choice(places, MOST_PAIRS, replace=False)
        n_columns = self._mixer.count_differences(*self._rows(drawn)).astype(np.float64)
        costs = np.where(n_columns <= MAX_COLUMNS, np.exp2(np.minimum(n_columns, MAX_COLUMNS)), N_ORDERS * n_columns)
        n = max(int(MOST_MIXTURES / costs.mean()), 1)
        return np.sort(drawn if n >= len(drawn) else np.random.default_rng(1).choice(drawn, n, replace=False))

    def _rows(self, places: Places) -> tuple[Places, Places]:
        pairs = self._held.pairs
        return pairs.left[places].astype(np.int64), pairs.right[places].astype(np.int64)

    def _weights(self, places: Places) -> NDArray[np.float64] | None:
        return None if self._held.weights is None else self._held.weights[places]
