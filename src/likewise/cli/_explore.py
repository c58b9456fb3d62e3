"""``likewise explore``: read a table, score it, and serve a page on which to look around."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from likewise._extras import require
from likewise.cli import _arguments as shared
from likewise.cli import _audit_arguments as given
from likewise.cli import _explore_arguments as here
from likewise.cli._audit import Handling, Scored, make_plan
from likewise.cli._choosing import Wishes, describe_roles
from likewise.cli._models import ModelFile, load_model
from likewise.cli._pairs import ROLES_TITLE, say
from likewise.cli._plan import Plan
from likewise.cli._reading import Reading
from likewise.cli._searching import working
from likewise.cli._sharing import taking
from likewise.cli._wording import name_setting
from likewise.exceptions import ParameterError, ScoreError

if TYPE_CHECKING:
    import pyarrow as pa

    from likewise.explore import Explorer

RULE = ("max_discrete_changes", "max_continuous_shift", "max_ordinal_shift", "sensitive_differs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Where the scores come from, and what is counted."""

    scores: given.ScoreColumns = None
    model: given.ModelPath = None
    features: given.Features = None
    trust: given.Trust = None
    schema: given.SchemaPath = None
    task: given.Task = given.TaskChoice.AUTO
    positive: given.Positive = None
    threshold: given.Threshold = None
    approval_rate: given.ApprovalRate = None
    scale: given.Scale = None
    gap_limit: given.GapLimit = 0.1

    def __post_init__(self) -> None:
        """Refuse what an audit refuses."""
        self.as_scored()

    def as_scored(self) -> Scored:
        """Give the same as an audit has it."""
        return Scored(**{one.name: getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the page is served."""

    port: here.Port = 0
    no_browser: here.NoBrowser = False
    max_pairs: here.HeldPairs = 2_000_000
    engine: shared.Engine = shared.EngineChoice.AUTO
    quiet: shared.Quiet = False


@taking(wishes=Wishes, reading=Reading, asked=Asked, serving=Serving)
def explore(wishes: Wishes, reading: Reading, asked: Asked, serving: Serving) -> None:
    """Find the pairs, and serve the page until Ctrl-C."""
    from rich.console import Console

    for module in ("starlette", "uvicorn"):  # before any work is done for it
        require(module, "explore", "likewise explore")
    from likewise.explore import serve
    from likewise.explore._serving import open_socket

    console = Console(stderr=True, quiet=serving.quiet, markup=False, highlight=False)
    open_socket(serving.port).close()
    with working(console, "Reading"):
        frame, notes = reading.read()
        model = None if asked.model is None else load_model(asked.model, asked.trust or [])
    plan = make_plan(wishes, asked.as_scored(), Handling(engine=serving.engine), frame, str(reading.data))
    say(console, *notes, ROLES_TITLE, *describe_roles(plan.roles, plan.scores), "")
    with working(console, "Finding comparable pairs"):
        explorer = _build(plan, frame, model, reading, serving, " ".join(_options(wishes, reading, asked)))
    say(console, explorer.reach.why, "The page is served to this machine only, at this address; Ctrl-C ends it:")
    serve(explorer, port=serving.port, opens_browser=not serving.no_browser, announce=typer.echo)
    say(console, "The page is closed.")


def _build(
    plan: Plan, frame: pa.Table, model: ModelFile | None, reading: Reading, serving: Serving, options: str
) -> Explorer:
    from likewise.explore import Explorer

    apart = [plan.label, *plan.roles.names("row_id")]
    scores: Any = plan.scores[0] if len(plan.scores) == 1 else None
    if model is not None:
        scores = model.score(frame, apart=apart, features=plan.features)
    elif scores is None:
        scores = np.column_stack([frame.column(name).to_numpy() for name in plan.scores])

    def rescore(people: Any) -> Any:
        assert model is not None
        return model.score(people, apart=apart, features=plan.features).probabilities

    roles = plan.roles if plan.schema is None else plan.schema.roles
    try:
        return Explorer(
            scores,
            frame,
            None if roles.label == plan.label else frame.column(plan.label),
            roles=plan.schema or plan.roles,
            rule=plan.rule,
            task=plan.task,  # type: ignore[arg-type]  # one of four words, checked on the way in
            positive=plan.positive,
            threshold=plan.threshold,
            approval_rate=plan.approval_rate,
            scale=plan.scale,
            gap_limit=plan.gap_limit,
            max_pairs=serving.max_pairs,
            engine=serving.engine.value,
            model=None if model is None else rescore,
            title=reading.data.name,
            origin=None if model is None else f"the model in {Path(model.file).name}",
            options=options,
        )
    except ParameterError as error:
        raise ScoreError(name_setting(error)) from error


def _options(wishes: Wishes, reading: Reading, asked: Asked) -> Iterator[str]:
    """Write again what was asked for, but for the rule, which is moved."""
    yield shlex.quote(str(reading.data))
    for group in (reading, wishes, asked):
        usual = {
            one.name: one.default_factory() if callable(one.default_factory) else one.default for one in fields(group)
        }
        for name, default in usual.items():
            value = getattr(group, name)
            if name in ("data", *RULE) or value is None or value == default:
                continue
            for one in value if isinstance(value, list) else [value]:
                yield f"--{name.replace('_', '-')} {shlex.quote(str(one))}"
