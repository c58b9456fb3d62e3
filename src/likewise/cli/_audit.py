"""``likewise audit``: read a table, score it, measure, judge, write and show."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import typer

from likewise.cli import _arguments as shared
from likewise.cli import _audit_arguments as given
from likewise.cli._audit_record import complete_record
from likewise.cli._audit_writing import check_folder, write_audit
from likewise.cli._choosing import Wishes, choose_roles, choose_rule, describe_roles, keep_apart
from likewise.cli._models import ModelFile, load_model
from likewise.cli._naming import ColumnNames
from likewise.cli._pairs import ROLES_TITLE, say
from likewise.cli._plan import Plan
from likewise.cli._reading_files import FilesReading
from likewise.cli._searching import working
from likewise.cli._sharing import taking
from likewise.cli._spark_arguments import Cluster
from likewise.cli._wording import name_setting
from likewise.exceptions import ParameterError, PolicyError, SchemaError, ScoreError
from likewise.schema import Roles, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

NO_SCORES = (
    "Nothing says how people are scored. Add --scores with the column that holds the scores, or --model with an .onnx "
    "or .skops file."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Where the scores come from, and what is measured of them."""

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
    no_baseline: given.NoBaseline = False
    resamples: given.Resamples = 1000
    confidence: given.Confidence = 0.95
    max_pairs: given.MaxPairs = 5_000_000
    when_too_many: given.TooMany = given.TooManyChoice.STREAM
    pairs: given.PairsFolder = None
    seed: given.AuditSeed = 0

    def __post_init__(self) -> None:
        """Refuse options that contradict each other, and numbers that mean nothing."""
        if not self.scores and self.model is None:
            raise ScoreError(NO_SCORES)
        contradictions = {
            "--scores and --model": bool(self.scores) and self.model is not None,
            "--threshold and --approval-rate": self.threshold is not None and self.approval_rate is not None,
        }
        for names, are_both_given in contradictions.items():
            if are_both_given:
                raise typer.BadParameter("they do not go together; choose one.", param_hint=names)
        if self.model is None and (self.features or self.trust):
            option = "--features" if self.features else "--trust"
            raise typer.BadParameter("it is about a model; name one by --model.", param_hint=option)
        _check(self.threshold, "--threshold", lambda one: True, "a finite number")
        _check(self.approval_rate, "--approval-rate", lambda one: 0 <= one <= 1, "a share from 0 to 1")
        _check(self.scale, "--scale", lambda one: one > 0, "a number above 0")
        _check(self.gap_limit, "--gap-limit", lambda one: one >= 0, "a number, 0 or more")
        _check(self.confidence, "--confidence", lambda one: 0 < one < 1, "a share between 0 and 1, such as 0.95")


def _check(value: float | None, option: str, fits: Callable[[float], bool], wanted: str) -> None:
    if value is not None and not (math.isfinite(value) and fits(value)):
        raise typer.BadParameter(f"it is {value:g}; give {wanted}.", param_hint=option)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What to do with what an audit finds."""

    policy: given.PolicyPath = None
    out: given.OutFolder = None
    worst: given.Worst = 100
    engine: shared.Engine = shared.EngineChoice.AUTO
    memory_limit: given.MemoryLimit = None
    as_json: shared.Json = False
    quiet: shared.Quiet = False


@taking(wishes=Wishes, reading=FilesReading, scored=Scored, handling=Handling, cluster=Cluster)
def audit(wishes: Wishes, reading: FilesReading, scored: Scored, handling: Handling, cluster: Cluster) -> int:
    """Measure, judge, write and print; the verdict is the exit code."""
    from rich.console import Console

    from likewise.auditing import Policy

    cluster.refuse_unused(handling.engine)
    if handling.engine is shared.EngineChoice.SPARK:
        from likewise.cli._audit_spark import audit_on_spark

        return audit_on_spark(wishes, reading, scored, handling, cluster)
    console = Console(stderr=True, quiet=handling.quiet, markup=False, highlight=False)
    if handling.out is not None:
        check_folder(handling.out)
    policy = None if handling.policy is None else Policy.from_toml(handling.policy)
    with working(console, "Reading"):
        frame, notes = reading.read()
        model = None if scored.model is None else load_model(scored.model, scored.trust or [])
    plan = make_plan(wishes, scored, handling, frame, reading.name)
    say(console, *notes, ROLES_TITLE, *describe_roles(plan.roles, plan.scores), "")
    found = _measure(console, plan, frame, model)
    verdict = None if policy is None else _judge(found, policy, str(handling.policy))
    hand_over(complete_record(found.to_dict(verdict), plan, reading, model), found.worst, handling, console)
    return 0 if verdict is None else verdict.exit_code


def hand_over(record: dict[str, Any], worst: Any, handling: Handling, console: Console) -> None:
    """Write and show what an audit found."""
    from rich.console import Console as Screen

    from likewise.cli._audit_showing import show_audit

    if handling.out is not None:
        write_audit(handling.out, record, worst)
    if handling.as_json:
        typer.echo(json.dumps(record, allow_nan=False))
    else:
        screen = Screen(markup=False, highlight=False, emoji=False)
        screen.print(show_audit(record, screen.width, handling.out))
        if handling.out is not None:
            say(
                console,
                f"Record and evidence are in {handling.out}; {handling.out / 'report.html'} is the report to read.",
            )


def make_plan(wishes: Wishes, scored: Scored, handling: Handling, frame: pa.Table, file: str) -> Plan:
    """Understand the options by the columns of the file."""
    names = ColumnNames(tuple(frame.column_names), file)
    scores = list(names.find_all("--scores", scored.scores))
    label = names.find("--label", wishes.label)
    schema = None if scored.schema is None else _load_schema(wishes, scored, label)
    if schema is None:
        roles = choose_roles(keep_apart(wishes, scores, names), frame, file)
    else:
        ignored = tuple(name for name in schema.roles.ignored if name != label)
        roles = replace(schema.roles, label=label, ignored=ignored)
    return Plan(
        roles=roles,
        schema=schema,
        rule=choose_rule(wishes, roles, frame, file),
        label=label,
        scores=scores,
        features=list(names.find_all("--features", scored.features)),
        positive=_read_label(scored.positive, frame.column(label)),
        threshold=scored.threshold,
        scale=scored.scale,
        engine=handling.engine.value,
        task=scored.task.value,
        approval_rate=scored.approval_rate,
        gap_limit=scored.gap_limit,
        baseline=not scored.no_baseline,
        n_worst=handling.worst,
        n_resamples=scored.resamples,
        confidence=scored.confidence,
        seed=scored.seed,
        max_pairs=scored.max_pairs,
        when_too_many=scored.when_too_many.value,
        memory_limit=handling.memory_limit,
        pairs=scored.pairs,
    )


def _measure(console: Console, plan: Plan, frame: pa.Table, model: ModelFile | None) -> Any:
    try:
        return measure(console, plan, frame, model)
    except ParameterError as error:
        raise ScoreError(name_setting(error)) from error


def measure(console: Console, plan: Plan, frame: pa.Table, model: ModelFile | None) -> Any:
    """Carry out a plan, and show how far it is."""
    import warnings

    from likewise.exceptions import ScoresCollapsed

    with warnings.catch_warnings(), _following(console) as progress:
        warnings.simplefilter("ignore", ScoresCollapsed)  # the audit's notes begin with it
        return plan.carry_out(frame, model, progress)


def _judge(found: Any, policy: Any, file: str) -> Any:
    try:
        return found.judge(policy)
    except PolicyError as error:  # a limit that this audit shows to be impossible
        raise PolicyError(f"{file}: {error}") from error


@contextmanager
def _following(console: Console) -> Iterator[Callable[[str, float], None] | None]:
    if not console.is_terminal or console.quiet:
        yield None
        return
    with console.status("Scoring ...") as status:
        yield lambda step, share: status.update(f"{step} ... {share:.0%}" if share else f"{step} ...")


def _load_schema(wishes: Wishes, scored: Scored, label: str) -> Schema:
    schema = Schema.load(str(scored.schema))
    columns = ("sensitive", "discrete", "continuous", "ordinal", "must_match", "ignore", "row_id", "bins", "missing")
    usual = {one.name: one.default_factory() for one in fields(Wishes) if callable(one.default_factory)}
    for name in columns:
        if getattr(wishes, name) != usual.get(name):
            raise typer.BadParameter(
                "the schema says what the columns are; leave one out.",
                param_hint=f"--schema and --{name.replace('_', '-')}",
            )
    if schema.roles.label not in (None, label):
        raise SchemaError(f"--label is '{label}', but the label of '{scored.schema}' is '{schema.roles.label}'.")
    judged = [f"{role} '{name}'" for name in scored.scores or [] if (role := _compared(schema.roles, name))]
    if judged:
        raise SchemaError(f"--scores names the {judged[0]} of '{scored.schema}'. Scores are judged, and not compared.")
    return schema


def _compared(roles: Roles, name: str) -> str | None:
    role = roles.role_of(name)
    return None if role in (None, "ignored") else role


def _read_label(text: str | None, column: Any) -> Any:
    """Give a label the type of its column: '1' of whole numbers means 1."""
    if text is None:
        return None
    labels = [label for label in column.unique().to_pylist() if label is not None]
    for label in labels:
        if str(label) == text or (isinstance(label, bool) and str(label).lower() == text.lower()):
            return label
    try:
        is_number = bool(labels) and all(isinstance(label, int | float) for label in labels)
        return int(text) if is_number else text
    except ValueError:
        return text
