"""Linear models in closed form, and networks: bounds of the highest score in boxes, split until they are reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from likewise._checks import parameter
from likewise.certifying._inputs import CodedInputs, InnerModel, NetworkInputs, NumberInputs, ReadInputs
from likewise.certifying._neighbourhood import DOWN, UP, CodedColumn, Codes, ExtremeRows, Neighbourhood, Numbers
from likewise.exceptions import ScoreError
from likewise.nets._internal import BaseNetworkClassifier

MODULES: Final = ("sklearn.linear_model", "sklearn.svm", "sklearn.discriminant_analysis")
BLOCKED: Final = -np.inf
ENOUGH: Final = 1e-8  # two margins this near are one
MOST_COMBINATIONS: Final = 50_000  # of categories, for one person
BOXES_AT_A_TIME: Final = 2_048


def linear_weights(last: Any) -> Numbers | None:
    """Return the weight of each input, if a model is linear and has one score."""
    kind = type(last)
    if not kind.__module__.startswith(MODULES) or kind.__name__ in ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"):
        return None
    weights = getattr(last, "coef_", None)
    if weights is None:
        return None
    weights = np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, np.float64)
    if weights.ndim == 2 and len(weights) > 1:
        raise ScoreError(
            f"This {kind.__name__} has {len(weights)} scores per person; a certificate is about one. Certify a model "
            "of two labels, or of one outcome."
        )
    return weights.reshape(-1)


def search_linear(inputs: ReadInputs, weights: Numbers) -> ExtremeRows:
    """Return the comparable rows with the highest and with the lowest score of each person; both are exact.

    The score is a sum over columns. Each sensitive, ordinal and continuous column takes its best value, and those
    discrete columns change that gain most.
    """
    around = inputs.around
    rows = ExtremeRows.start(around)
    for direction, sign in ((UP, 1.0), (DOWN, -1.0)):
        for number in inputs.numbers:
            rows.numbers[number.column.name][direction] = _best_end(inputs, number, sign * weights, direction)
        parts = [_best_codes(one, sign * weights, direction) for one in inputs.coded]
        by_name = {part.name: part for part in parts}
        for part in parts:
            if part.kind == "ordinal":
                rows.codes[part.name][direction] = part.best
        discrete = [part for part in parts if part.kind == "discrete"]
        _change_most(rows, discrete, around.rule.max_discrete_changes, direction)
        _set_sensitive(rows, around, by_name, direction)
    return rows


def _best_end(inputs: ReadInputs, one: NumberInputs, weights: Numbers, direction: int) -> Numbers:
    """Return the end of each person's interval at which a column adds most; the own number if the ends are alike."""
    column, people = one.column, np.arange(len(inputs.around))
    signs = np.sign(weights[one.inputs])
    if len(one.inputs) and signs.min() < 0 < signs.max():
        raise ScoreError(
            f"The model has inputs of opposite weight for column '{column.name}', so its score may be highest between "
            "two numbers. Encode the column once."
        )
    ends = [column.low[direction], column.high[direction]]
    sums = []
    for end in ends:
        frame = inputs.around.rows(people, {}, {column.name: end})
        sums.append(inputs.model.encode(frame).where_absent(0.0)[:, one.inputs] @ weights[one.inputs])
    best = np.where(sums[1] > sums[0], ends[1], ends[0])
    return np.where((sums[1] == sums[0]) | np.isnan(best), column.own, best)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What a column of categories can add to each person's score."""

    name: str
    kind: str
    own: Codes
    best: Codes  # the own one included
    gain: Numbers
    other: Codes  # the best that is not the own one; -1 without any
    other_gain: Numbers  # may be a loss


def _best_codes(one: CodedInputs, weights: Numbers, direction: int) -> _Part:
    column = one.column
    values = one.values if one.absent is None else np.where(one.absent, 0.0, one.values)
    added = np.nan_to_num(values) @ weights[one.inputs]  # per code; a missing rank has its own, which never changes
    is_open = np.append(one.is_known, False)[None, :] & np.ones((len(column.own), 1), np.bool_)
    people, codes = np.arange(len(column.own)), np.arange(column.n_codes + 1)[None, :]
    if column.kind == "ordinal":
        is_open &= (codes >= column.low[direction][:, None]) & (codes <= column.high[direction][:, None])
    elif not column.may_change:
        is_open[:] = False
    is_open[people, column.own] = False
    gains = np.where(is_open, added[None, :] - added[column.own][:, None], BLOCKED)
    other = gains.argmax(axis=1)
    other_gain = gains[people, other]
    improves = other_gain > 0
    best, gain = np.where(improves, other, column.own), np.where(improves, other_gain, 0.0)
    return _Part(
        column.name, column.kind, column.own, best, gain, np.where(other_gain > BLOCKED, other, -1), other_gain
    )


def _change_most(rows: ExtremeRows, parts: list[_Part], n_changes: int, direction: int) -> None:
    """Change the columns that gain most, as many as the rule allows."""
    if not parts:
        return
    gains = np.stack([part.gain for part in parts])
    ranks = (-gains).argsort(axis=0, kind="stable").argsort(axis=0)
    for part, rank in zip(parts, ranks, strict=True):
        rows.codes[part.name][direction] = np.where(rank < n_changes, part.best, part.own)


def _set_sensitive(rows: ExtremeRows, around: Neighbourhood, parts: dict[str, _Part], direction: int) -> None:
    """Let every, or at least one sensitive column differ, as the rule asks; free where the model does not see it."""
    asked = around.rule.sensitive_differs
    if asked == "none":
        return
    columns = [column for column in around.coded if column.kind == "sensitive"]
    n = len(around)
    for column in columns:
        part = parts.get(column.name)
        if part is None:  # the model does not see it: any other value
            parts[column.name] = part = _Part(
                column.name,
                "sensitive",
                column.own,
                column.own,
                np.zeros(n),
                np.where(column.n_codes > 1, (column.own + 1) % max(column.n_codes, 1), -1),
                np.full(n, 0.0 if column.n_codes > 1 else BLOCKED),
            )
        chosen = part.other if asked == "all" else part.best
        rows.codes[column.name][direction] = np.where(chosen < 0, column.own, chosen)
        if asked == "all":
            rows.is_possible[direction] &= part.other >= 0
    if asked == "any":
        losses = np.stack([parts[column.name].other_gain for column in columns])
        own = np.all([rows.codes[column.name][direction] == column.own for column in columns], axis=0)
        cheapest = losses.argmax(axis=0)
        rows.is_possible[direction] &= losses.max(axis=0) > BLOCKED
        for at, column in enumerate(columns):
            forced = own & (cheapest == at) & (parts[column.name].other >= 0)
            codes = rows.codes[column.name][direction]
            rows.codes[column.name][direction] = np.where(forced, parts[column.name].other, codes)


class Layer(NamedTuple):
    """Weights and biases of a linear layer; a ReLU follows, except after the last."""

    weights: Numbers
    biases: Numbers


def read_network(inner: InnerModel) -> tuple[InnerModel, list[Layer]] | None:
    """Return the layers of a network of likewise, and the model with its own coding as a step; None for others."""
    last = inner.last
    if not isinstance(last, BaseNetworkClassifier) or inner.steps:
        return None
    kinds = [type(one).__name__ for one in last.network_]
    if kinds[::2] != ["Linear"] * len(kinds[::2]) or kinds[1::2] != ["ReLU"] * len(kinds[1::2]) or len(kinds) % 2 == 0:
        raise ScoreError(
            f"The network of this {type(last).__name__} has layers {', '.join(kinds)}; what can be looked into: linear "
            "layers with ReLU between them."
        )
    layers = [
        Layer(*(np.asarray(one.detach().cpu().numpy(), np.float64) for one in (layer.weight, layer.bias)))
        for layer in list(last.network_)[::2]
    ]
    return replace(inner, steps=(NetworkInputs(last.coding_),)), layers


class NetworkSearch:
    """People and layers: the first layer is a sum over columns."""

    def __init__(self, inputs: ReadInputs, layers: list[Layer]) -> None:
        self._inputs, self._layers, self._around = inputs, layers, inputs.around
        for one in inputs.numbers:
            if len(one.inputs) > 1:
                raise ScoreError(f"The network has {len(one.inputs)} inputs for column '{one.column.name}'.")
        self._numbers = [one for one in inputs.numbers if len(one.inputs)]
        first = layers[0].weights
        self._tables = {one.column.name: np.nan_to_num(one.values) @ first[:, one.inputs].T for one in inputs.coded}
        self._columns = {one.column.name: one for one in inputs.coded}
        self._own = inputs.own.values @ first.T + layers[0].biases
        slopes = [self._slope(at) for at in range(len(self._numbers))]
        self._slopes = np.array([first[:, one.inputs[0]] * a for one, a in zip(self._numbers, slopes, strict=True)]).T

    def _slope(self, at: int) -> float:
        """Return by how much an input rises with its number, which the coding scales."""
        one = self._numbers[at]
        ends = np.array([np.nanmin(one.column.low), np.nanmax(one.column.high)])
        people = np.full(2, one.base)
        found = self._inputs.model.encode(self._around.rows(people, {}, {one.column.name: ends})).values
        return float((found[1, one.inputs[0]] - found[0, one.inputs[0]]) / (ends[1] - ends[0]))

    def own_sums(self) -> Numbers:
        """Return everybody's margin."""
        return _forward(self._own, self._layers)

    def run(self, max_splits: int, report: Callable[[str, float], None]) -> ExtremeRows:
        """Search the neighbourhood of everybody."""
        rows = ExtremeRows.start(self._around)
        bound, n = np.zeros((2, len(self._around))), len(self._around)
        unseen = [one.name for one in self._around.coded if one.name not in self._columns]
        for person in range(n):
            for direction, sign in ((UP, 1.0), (DOWN, -1.0)):
                codes = self._combinations(person, direction)
                if not len(codes):
                    rows.is_possible[direction, person] = False
                    continue
                at, numbers, highest = self._search(person, direction, sign, codes, max_splits)
                bound[direction, person] = sign * highest
                for name, code in zip(self._columns, codes[at], strict=True):
                    rows.codes[name][direction, person] = code
                for one, number in zip(self._numbers, numbers, strict=True):
                    kept = one.column.own[person]
                    rows.numbers[one.column.name][direction, person] = kept if np.isnan(kept) else number
            report("Searching for higher and lower scores", (person + 1) / n)
        for direction in (UP, DOWN):
            rows.settle_unseen(unseen, direction)
        return replace(rows, bound=bound)

    def _options(self, column: CodedColumn, person: int, direction: int) -> list[int]:
        own = int(column.own[person])
        first, last = own, own
        if column.kind == "ordinal":
            first, last = int(column.low[direction, person]), int(column.high[direction, person])
        elif column.may_change:
            first, last = 0, column.n_codes - 1
        is_known = self._columns[column.name].is_known
        return [own, *(code for code in range(first, last + 1) if code != own and is_known[code])]

    def _combinations(self, person: int, direction: int) -> Codes:
        """List every combination of categories that the rule allows a comparable person."""
        columns = [one.column for one in self._columns.values()]
        options = [self._options(column, person, direction) for column in columns]
        differs, n_changes = self._around.rule.sensitive_differs, self._around.rule.max_discrete_changes
        sensitive = [at for at, column in enumerate(columns) if column.kind == "sensitive"]
        unseen = [one for one in self._around.coded if one.kind == "sensitive" and one.name not in self._columns]
        is_free = any(one.n_codes > 1 for one in unseen)
        for at in sensitive:
            if differs != "any":
                options[at] = options[at][:1] if differs == "none" else options[at][1:]
        discrete = [at for at, column in enumerate(columns) if column.kind == "discrete" and len(options[at]) > 1]
        rest = [at for at in range(len(columns)) if at not in discrete]
        free = list(product(*(options[at] for at in rest)))
        if differs == "any" and not is_free:
            own = [(rest.index(at), options[at][0]) for at in sensitive]
            free = [one for one in free if any(one[at] != code for at, code in own)]
        changes: list[dict[int, int]] = []
        for n in range(min(n_changes, len(discrete)) + 1):
            for some in combinations(discrete, n):
                if len(changes) + prod(len(options[at]) - 1 for at in some) > MOST_COMBINATIONS:
                    raise ScoreError(
                        f"The rule allows more than {MOST_COMBINATIONS:,} combinations of categories, too many "
                        f"for a network. Lower {parameter('max_discrete_changes')}."
                    )
                changes += [dict(zip(some, one, strict=True)) for one in product(*(options[at][1:] for at in some))]
        whole = np.array([one[0] if one else -1 for one in options], np.int64)
        found = np.tile(whole, (len(free) * len(changes), 1))
        if rest:
            found[:, rest] = np.repeat(np.array(free, np.int64).reshape(len(free), len(rest)), len(changes), axis=0)
        for at in discrete:
            found[:, at] = np.tile([one.get(at, options[at][0]) for one in changes], len(free))
        return found

    def _search(
        self, person: int, direction: int, sign: float, codes: Codes, max_splits: int
    ) -> tuple[int, Numbers, float]:
        """Return the best combination, its numbers, and an upper bound of the margin, for a sign."""
        tables = zip(self._tables.values(), codes.T, strict=True)
        own = [one.column.own[person] for one in self._columns.values()]
        sums = self._own[person] + sum(
            (table[some] - table[mine] for (table, some), mine in zip(tables, own, strict=True)), np.zeros(1)
        )
        mine = np.array([np.nan_to_num(one.column.own[person]) for one in self._numbers])
        ends = [
            np.array([np.nan_to_num(getattr(one.column, end)[direction, person]) for one in self._numbers])
            for end in ("low", "high")
        ]
        combo, low, high = np.arange(len(codes)), *(np.tile(end, (len(codes), 1)) for end in ends)
        layers = [*self._layers[:-1], Layer(*(sign * one for one in self._layers[-1]))]
        best, best_at, best_numbers, given_up, n_splits = -np.inf, 0, mine, -np.inf, 0
        while len(combo):
            bounds, corners = self._bound(sums[combo], low, high, mine, layers)
            values = _forward(sums[combo] + (corners - mine) @ self._slopes.T, layers)
            at = int(values.argmax())
            if values[at] > best:
                best, best_at, best_numbers = float(values[at]), int(combo[at]), corners[at]
            kept = np.flatnonzero(bounds > best + ENOUGH)
            if n_splits + len(kept) > max_splits:
                given_up = float(bounds[kept].max(initial=-np.inf))
                break
            n_splits += len(kept)
            combo, low, high = self._halve(combo[kept], low[kept], high[kept])
        return best_at, best_numbers, max(best, given_up)

    def _halve(self, combo: Codes, low: Numbers, high: Numbers) -> tuple[Codes, Numbers, Numbers]:
        """Split boxes in the number that moves the first layer most; between whole numbers, where there are such."""
        if not len(combo):
            return combo, low, high
        rows = np.arange(len(combo))
        widest = ((high - low) * np.abs(self._slopes).sum(axis=0)).argmax(axis=1)
        is_whole = np.array([one.column.is_whole for one in self._numbers])[widest]
        middle = (low[rows, widest] + high[rows, widest]) / 2
        below, above = high.copy(), low.copy()
        below[rows, widest] = np.where(is_whole, np.floor(middle), middle)
        above[rows, widest] = np.where(is_whole, np.floor(middle) + 1, middle)
        return np.concatenate([combo, combo]), np.concatenate([low, above]), np.concatenate([below, high])

    def _bound(
        self, sums: Numbers, low: Numbers, high: Numbers, mine: Numbers, layers: list[Layer]
    ) -> tuple[Numbers, Numbers]:
        """Bound the margin in boxes, and return the corner of each that the bound points to.

        Every neuron is a linear function of the numbers, give or take an error: that of a ReLU whose sign is not sure.
        """
        bounds, corners = [], []
        for start in range(0, len(sums), BOXES_AT_A_TIME):
            some = slice(start, start + BOXES_AT_A_TIME)
            centre, radius = (low[some] + high[some]) / 2, (high[some] - low[some]) / 2
            middle = sums[some] + (centre - mine) @ self._slopes.T
            slopes, error = radius[:, None, :] * self._slopes[None], np.zeros_like(middle)
            for layer in layers[1:]:
                reach = np.abs(slopes).sum(axis=2) + error
                least, most = middle - reach, middle + reach
                crosses = (least < 0) & (most > 0)
                share = np.where(crosses, most / np.where(crosses, most - least, 1.0), least >= 0)
                lift = np.where(crosses, -share * least / 2, 0.0)
                middle, slopes, error = share * middle + lift, share[:, :, None] * slopes, share * error + lift
                middle = middle @ layer.weights.T + layer.biases
                slopes = np.einsum("oh,bhk->bok", layer.weights, slopes)
                error = error @ np.abs(layer.weights).T
            bounds.append(middle[:, 0] + np.abs(slopes[:, 0]).sum(axis=1) + error[:, 0])
            corners.append(np.where(slopes[:, 0] >= 0, high[some], low[some]))
        return np.concatenate(bounds), np.concatenate(corners)


def _forward(sums: Numbers, layers: list[Layer]) -> Numbers:
    """Return the margins that sums of the first layer lead to."""
    found = sums
    for layer in layers[1:]:
        found = np.maximum(found, 0.0) @ layer.weights.T + layer.biases
    return np.asarray(found[:, 0])
