"""Everything an audit is computed from besides the files: made of options, or of the record of an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise.cli._models import ModelFile
from likewise.comparable import Comparability
from likewise.schema import Roles, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from likewise.auditing import Audit

# What the record of an audit does not have itself, and the keys of its settings.
COMMAND: Final = ("label", "scores", "features", "positive", "threshold", "scale", "engine")
LATER: Final = {"memory_limit": None}  # not in every record: those of earlier versions do without
SETTINGS: Final = (
    *("task", "approval_rate", "gap_limit", "baseline", "n_worst", "n_resamples", "confidence", "seed", "max_pairs"),
)
LATER_SETTINGS: Final = {"when_too_many": "stream"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to audit and how."""

    roles: Roles
    schema: Schema | None
    rule: Comparability
    label: str
    scores: list[str]
    features: list[str]
    positive: Any
    threshold: float | None
    scale: float | None
    engine: str
    task: str
    approval_rate: float | None
    gap_limit: float
    baseline: bool
    n_worst: int
    n_resamples: int
    confidence: float
    seed: int
    max_pairs: int
    when_too_many: str = "stream"
    memory_limit: str | None = None
    pairs: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Say what else than the record holds it takes to do this again."""
        schema = None if self.schema is None else json.loads(self.schema.to_json())
        return {**{name: getattr(self, name) for name in (*COMMAND, *LATER)}, "schema": schema}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Plan:
        """Plan to do again what a record tells of."""
        command, settings = record["command"], record["settings"]
        schema = command["schema"]
        return cls(
            roles=Roles.from_dict(record["roles"]),
            schema=None if schema is None else Schema.from_json(json.dumps(schema)),
            rule=Comparability.from_dict(record["rule"]),
            **{name: command[name] for name in COMMAND},
            **{name: settings[name] for name in SETTINGS},
            **{name: settings.get(name, usual) for name, usual in LATER_SETTINGS.items()},
            **{name: command.get(name, usual) for name, usual in LATER.items()},
        )

    def carry_out(
        self, frame: pa.Table, model: ModelFile | None, progress: Callable[[str, float], None] | None = None
    ) -> Audit:
        """Score and audit."""
        from likewise.auditing import audit

        roles = self.roles if self.schema is None else self.schema.roles
        return audit(
            self._scores(frame, model),
            frame,
            None if roles.label == self.label else frame.column(self.label),
            roles=self.schema or self.roles,
            rule=self.rule,
            task=self.task,  # type: ignore[arg-type]  # one of four words, checked on the way in
            positive=self.positive,
            threshold=self.threshold,
            approval_rate=self.approval_rate,
            scale=self.scale,
            gap_limit=self.gap_limit,
            baseline=self.baseline,
            n_worst=self.n_worst,
            n_resamples=self.n_resamples,
            confidence=self.confidence,
            random_state=self.seed,
            max_pairs=self.max_pairs,
            when_too_many=self.when_too_many,  # type: ignore[arg-type]  # one of two, likewise
            pairs=self.pairs,
            engine="auto" if self.engine == "spark" else self.engine,  # type: ignore[arg-type]  # one of a few
            memory_limit=self.memory_limit,
            progress=progress,
        )

    def _scores(self, frame: pa.Table, model: ModelFile | None) -> Any:
        if model is not None:
            apart = [self.label, *self.roles.names("row_id")]
            return model.score(frame, apart=apart, features=self.features)
        if len(self.scores) == 1:
            return self.scores[0]
        return np.column_stack([frame.column(name).to_numpy() for name in self.scores])
