"""Populations to draw tables from, of each of which is known who is treated differently: mostly nobody.

A draw is one table to audit. Group "b" is scored lower by ``effect`` on the scale of the logit, or only the people that
are ``lowered`` are; without either nobody is treated differently, whatever else the groups differ in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from likewise import Comparability, Roles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Random = np.random.Generator
EXACT: Final = Comparability(max_discrete_changes=0)
CASES: Final = Roles(sensitive="group", discrete=["case"])


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One table, the scores of its people, and how it is audited."""

    people: dict[str, Any]
    scores: Floats
    roles: Roles = CASES
    rule: Comparability = EXACT
    how: dict[str, Any] = field(default_factory=dict)
    labels: Ints | None = None
    lowered: Flags | None = None  # who is scored lower, where only some are
    clusters: Ints | None = None

    @property
    def frame(self) -> pa.Table:
        return pa.table(self.people)


@dataclass(frozen=True, slots=True)
class Population:
    """How people of one kind come about; where nobody is treated differently, every conclusion is a false one."""

    about: str
    draw: Callable[[Random], Draw]
    is_treated: bool = False
    is_steady: bool = True  # all its tables are treated alike, so that measures have one truth


def name_groups(is_b: Any) -> NDArray[np.str_]:
    """Return "b" for some, "a" for the others."""
    return np.where(is_b, "b", "a")


def draw_near(
    random: Random,
    n: int = 400,
    *,
    share: float = 0.4,
    shift: float = 1.0,
    noise: float = 0.5,
    effect: float = 0.0,
    tolerance: float = 0.6,
    steep: float = 1.0,
    shape: Callable[[Floats], Floats] = expit,
    branches: int = 0,
    uneven: bool = False,
    told: bool = True,
    household: str = "",
    weighted: float = 0.0,
    approved: float | None = None,
    **how: Any,
) -> Draw:
    """Draw people with two numbers that scores depend on, of which one is lower by ``shift`` in group b."""
    is_b = random.random(n) < share
    clusters = None
    if branches:
        clusters = random.integers(branches, size=n)
        is_b = random.random(n) < np.linspace(0.05, 0.85, branches)[clusters] if uneven else is_b
    if household:
        clusters = np.repeat(np.arange(n), random.integers(1, 4, n))[:n]
        is_b = is_b[clusters] if household == "alike" else is_b
    first, second = random.normal(size=(2, n))
    first -= shift * is_b
    chance = noise * random.normal(size=n)
    if clusters is not None:
        chance += 0.5 * random.normal(size=n)[clusters]
    scores = shape(steep * (first + 0.5 * second + 0.4) + chance - effect * is_b)
    how |= {"sample_weight": np.exp(weighted * random.normal(size=n))} if weighted else {}
    how |= {} if approved is None else {"approval_rate": approved}
    clusters = clusters if told else None
    rule = Comparability(limits={"first": tolerance, "second": tolerance})
    roles = Roles(sensitive="group", continuous=["first", "second"])
    people = {"group": name_groups(is_b), "first": first, "second": second}
    return Draw(people, scores, roles, rule, how, clusters=clusters)


def draw_ages(random: Random, n: int = 400, *, effect: float = 0.0, steps: bool = False) -> Draw:
    """Draw people whose age is known in bins, one apart at most; group b is twelve years younger."""
    is_b = random.random(n) < 0.4
    age = np.floor((np.clip(45 + 12 * random.normal(size=n) - 12 * is_b, 18, 80) - 18) / 8).astype(int)
    income = random.normal(size=n)
    falls = -1.5 * (age >= 5) + 0.8 * (age <= 1) if steps else -0.5 * (age - 3.0)
    scores = expit(falls + 0.5 * income + 0.5 * random.normal(size=n) - effect * is_b)
    roles = Roles(sensitive="group", ordinal={"age": list(range(8))}, continuous=["income"])
    rule = Comparability(max_ordinal_shift=1, limits={"income": 0.6})
    return Draw({"group": name_groups(is_b), "age": age, "income": income}, scores, roles, rule)


def draw_kinds(random: Random, n: int = 400, *, changes: int, effect: float = 0.0) -> Draw:
    """Draw people with three columns of words that scores depend on and that the groups differ in."""
    is_b = random.random(n) < 0.4
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    kinds = [np.where(is_b, random.choice(4, n, p=shares[::-1]), random.choice(4, n, p=shares)) for _ in range(3)]
    worth = np.array([0.8, 0.3, -0.2, -0.9])
    merit = worth[kinds[0]] + worth[kinds[1]] + 0.3 * worth[kinds[2]] + 0.6 * random.normal(size=n)
    people = {"group": name_groups(is_b)} | {f"kind {number}": kind.astype(str) for number, kind in enumerate(kinds)}
    roles = Roles(sensitive="group", discrete=list(people)[1:])
    return Draw(people, expit(merit - effect * is_b), roles, Comparability(max_discrete_changes=changes))


def draw_cases(
    random: Random,
    n: int = 200,
    n_cases: int = 20,
    *,
    share: float = 0.5,
    effect: float = 0.0,
    merit: float = 0.0,
    noise: float = 1.0,
    labels: float | None = None,
    weighted: float = 0.0,
    shape: Callable[[Floats], Floats] = expit,
    **how: Any,
) -> Draw:
    """Draw people in cases; the first ``share`` of them are group b, and labels shift by ``labels``."""
    is_b = np.arange(n) < round(share * n)
    case = random.integers(n_cases, size=n)
    base = merit + 0.8 * np.sin(3.0 * case) + noise * random.normal(size=n)
    known = None if labels is None else (random.random(n) < expit(1.5 * base + labels)).astype(np.int64)
    how |= {"sample_weight": np.exp(weighted * random.normal(size=n))} if weighted else {}
    people = {"group": name_groups(is_b), "case": case.astype(str)}
    return Draw(people, shape(base - effect * is_b), how=how, labels=known)


def draw_hubs(random: Random) -> Draw:
    """Draw cases in which a few people are in most pairs, and pairs by themselves."""
    sizes = [(1, 60), (2, 30), (3, 20), (40, 2), (1, 15), *[(1, 1)] * 70]
    is_b = np.concatenate([np.repeat([True, False], size) for size in sizes])
    case = np.repeat(np.arange(len(sizes)), [sum(size) for size in sizes])
    scores = expit(0.8 * np.sin(3.0 * case) + 0.7 * random.normal(size=len(case)) - 0.5 * is_b)
    return Draw({"group": name_groups(is_b), "case": case.astype(str)}, scores)


def draw_lowered(
    random: Random,
    share: float = 0.0,
    *,
    n: int = 800,
    hubs: int = 0,
    tail: bool = False,
    noisier: float = 1.0,
    sparse: float | None = None,
    weighted: float = 0.0,
) -> Draw:
    """Draw people in cells, in a share of which group b is scored lower by ten times what chance does.

    In a quarter of the cells chance is ``noisier``, and where ``sparse`` is told only that share of the people there
    have anybody of their own group: the others are one of each group in a cell.
    """
    cell = random.integers(10 if hubs else 40, size=n)
    is_b = random.random(n) < 0.5
    if hubs:  # a handful of partners in each cell
        is_b[:] = True
        for number in range(10):
            is_b[np.flatnonzero(cell == number)[:hubs]] = False
    is_noisy = cell % 4 == 0
    if sparse is not None:
        noisy = np.flatnonzero(is_noisy)
        apart = noisy[: round((1 - sparse) * len(noisy)) // 2 * 2]
        cell[apart] = 40 + np.arange(len(apart)) // 2
        is_b[apart] = np.arange(len(apart)) % 2 == 0
    chance = random.standard_t(3, n) if tail else random.standard_normal(n)
    lowered = is_b & (random.random(cell.max() + 1) < share)[cell]
    size = 0.03 * np.where(is_noisy, noisier, 1.0)
    scores = np.clip(0.6 + 0.004 * (cell % 40) + size * chance - 0.3 * lowered, 0, 1)
    how = {"sample_weight": random.lognormal(0, weighted, n)} if weighted else {}
    return Draw({"group": name_groups(is_b), "case": cell.astype(str)}, scores, how=how, lowered=lowered)


def _of(draw: Callable[..., Draw], **how: Any) -> Callable[[Random], Draw]:
    return lambda random: draw(random, **how)


def _decide(scores: Floats) -> Floats:
    return (scores > 0).astype(np.float64)


def _rank(scores: Floats) -> Floats:
    return (np.argsort(np.argsort(scores)) + 0.5) / len(scores)


AMOUNTS: Final[dict[str, Any]] = {"task": "regression", "scale": 1.0}
NEAR: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "near": ("groups differ by one standard deviation in a column, noise", {}),
    "near, no noise": ("the same, scores follow from the two columns", {"noise": 0.0}),
    "near, wide": ("the same with noise, tolerances of one standard deviation", {"tolerance": 1.0}),
    "near, steep": ("scores close to 0 or 1", {"steep": 3.0}),
    "near, many": ("1,500 people", {"n": 1_500}),
    "near, 8 %": ("8 % of group b", {"share": 0.08}),
    "near, 60": ("60 people", {"n": 60}),
    "near, best 15 %": ("the best 15 % of the table are approved", {"approved": 0.15}),
    "near, ranks": ("scores are ranks", {"shape": _rank}),
    "near, decisions": ("only decisions are known", {"shape": _decide}),
    "near, weights": ("log-normal weights", {"weighted": 1.0}),
    "near, amounts": ("amounts with a long tail", {"shape": np.exp, **AMOUNTS}),
    "branches": ("12 branches, scores of each move together", {"branches": 12}),
    "branches, uneven": ("the same, groups of unequal shares in branches", {"branches": 12, "uneven": True}),
    "branches, 40": ("40 branches, groups of unequal shares", {"branches": 40, "uneven": True, "n": 600}),
    "branches, not told": (
        "unequal shares, and the audit does not know",
        {"branches": 12, "uneven": True, "told": False},
    ),
    "branches, 24": ("24 branches, groups of unequal shares", {"branches": 24, "uneven": True, "n": 600}),
    "branches, 40, not told": (
        "40 branches, unequal shares, and the audit does not know",
        {"branches": 40, "uneven": True, "n": 600, "told": False},
    ),
    "households": ("households of 1 to 3 people of any group", {"household": "mixed"}),
    "households, not told": ("the same, and the audit does not know", {"household": "mixed", "told": False}),
    "households, alike": ("households of 1 to 3 people of one group", {"household": "alike"}),
}
TREATED: Final = ("near", "near, decisions", "near, best 15 %", "branches", "branches, 40")
POPULATIONS: Final[dict[str, Population]] = {
    **{name: Population(about, _of(draw_near, **how)) for name, (about, how) in NEAR.items()},
    **{
        f"{name}, treated": Population(
            f"{NEAR[name][0]}; group b lower by 0.5", _of(draw_near, effect=0.5, **how), True
        )
        for name, how in (
            (name, NEAR[name][1]) for name in ("near", "near, decisions", "near, best 15 %", "branches", "branches, 40")
        )
    },
    "ages": Population("age in bins, one apart at most, scores fall with age", _of(draw_ages)),
    "ages, steps": Population("the same, scores fall in two steps", _of(draw_ages, steps=True)),
    "ages, treated": Population("age in bins; group b lower by 0.5", _of(draw_ages, effect=0.5), True),
    "words, equal": Population("three columns of words that have to be equal", _of(draw_kinds, changes=0)),
    "words, one change": Population("the same, one of which may differ", _of(draw_kinds, changes=1)),
    "words, one change, treated": Population(
        "one of three words may differ, group b lower by 0.5", _of(draw_kinds, changes=1, effect=0.5), True
    ),
    "cases": Population("200 people in 20 cases and with two labels", _of(draw_cases, labels=0.0)),
    "cases, treated": Population("the same, group b lower by 0.5", _of(draw_cases, labels=0.0, effect=0.5), True),
    "rare label": Population(
        "1,000 people, 3 % with the positive label, log-normal weights",
        _of(draw_cases, n=1_000, n_cases=5, share=0.3, labels=-4.6, weighted=1.0),
    ),
    "amounts, treated": Population(
        "amounts with a long tail, group b lower by 0.5",
        _of(draw_cases, n=300, share=0.3, shape=np.exp, noise=0.6, effect=0.5, **AMOUNTS),
        True,
    ),
    **{
        f"few, {n}": Population(f"{n} of 100 people are of one group", _of(draw_cases, n=100, n_cases=1, share=n / 100))
        for n in (3, 6, 10, 20)
    },
    "few, 6, treated": Population(
        "6 of 100, lower by 0.8", _of(draw_cases, n=100, n_cases=1, share=0.06, effect=0.8), True
    ),
    "hubs, treated": Population("a few people are in most pairs, group b lower by 0.5", draw_hubs, True),
    "named, nobody": Population("800 people in 40 cells, nobody lowered", _of(draw_lowered)),
    "named, hubs": Population("few partners, whom everybody shares, nobody lowered", _of(draw_lowered, hubs=3)),
    "named, weights": Population("log-normal weights, nobody lowered", _of(draw_lowered, weighted=1.5)),
    **{
        f"named, noise x {times}, {share:.0%} own": Population(
            f"a quarter of the cells {times} times as noisy, {share:.0%} of the people there with own-group pairs",
            _of(draw_lowered, noisier=times, sparse=share),
        )
        for times in (2, 8)
        for share in (0.0, 0.1, 0.4)
    },
    "named, a tenth": Population("group b lowered in a tenth of the cells", _of(draw_lowered, share=0.1), True, False),
    "named, half": Population("in half of the cells", _of(draw_lowered, share=0.5), True, False),
    "named, long tails": Population(
        "in a tenth, long tails of chance", _of(draw_lowered, share=0.1, tail=True), True, False
    ),
}
