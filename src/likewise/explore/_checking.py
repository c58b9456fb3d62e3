"""The checks of an audit, made once: arguments of any form → a coded table and scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from likewise.auditing import Audit
from likewise.auditing._internal import AuditSettings, run_audit
from likewise.comparable import Comparability
from likewise.comparable._internal import EngineName
from likewise.exceptions import NoComparablePairs, ScoresCollapsed
from likewise.explore._reach import FIRST, WHOLE_RANGE, Point, base_shift, rule_at
from likewise.schema import Roles, Schema

FEW: Final = 1_000  # pairs to measure: this audit is there for its checks
STEPS: Final = 8


def check_input(
    scores: Any,
    X: Any,
    y: Any,
    settings: AuditSettings,
    *,
    roles: Roles | Schema,
    rule: Comparability,
    engine: EngineName,
) -> Audit:
    """Audit a few pairs; where a rule has none, so that there is nothing to audit, a looser one is tried."""
    few = replace(settings, baseline=False, n_worst=0, n_resamples=0, max_pairs=FEW)
    found: Audit | None = None
    first: NoComparablePairs | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresCollapsed)  # the page says so
        for looser in _loosened(rule):
            try:
                found = run_audit(scores, X, y, few, roles=roles, rule=looser, engine=engine)
                break
            except NoComparablePairs as error:
                first = first or error
    if found is None:
        assert first is not None
        raise first
    return found


def _loosened(rule: Comparability) -> Iterator[Comparability]:
    yield rule
    base = base_shift(rule) or FIRST
    for step in range(1, STEPS):
        point = Point(rule.max_discrete_changes + step, min(base * 2**step, WHOLE_RANGE))
        yield rule_at(rule, point)
    yield replace(rule, max_discrete_changes=10_000, max_continuous_shift=max(WHOLE_RANGE, base))
