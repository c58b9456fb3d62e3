"""Options about scores → the plan of an audit: everything it is computed from besides the files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from likewise.auditing._internal import AuditSettings
from likewise.cli._columns import ColumnNames, ColumnOptions
from likewise.cli._console import working
from likewise.cli._models import ModelFile, ScoreColumns
from likewise.cli._options import (
    COLUMNS,
    LARGE,
    MEASURES,
    OUTPUT,
    SCORES,
    Engine,
    EngineChoice,
    ModelPath,
    Trust,
    default_of,
    option,
)
from likewise.comparable import Comparability
from likewise.exceptions import SchemaError, ScoreError, ScoresCollapsed
from likewise.record import AuditRecord
from likewise.record._internal import CommandRecord, DataFile
from likewise.schema import Roles, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.auditing import Audit

SCHEMA_HAS: Final = (
    "sensitive",
    "discrete",
    "continuous",
    "ordinal",
    "must_match",
    "ignore",
    "row_id",
    "bins",
    "missing",
)


class TaskChoice(StrEnum):
    """What the scores predict."""

    AUTO = "auto"
    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Where the scores come from, and which decisions and gaps are measured."""

    scores: Annotated[
        list[str] | None,
        option(
            *(SCORES, "--scores", "COLUMNS"),
            "Column with the probability of the positive label; with more than two labels, one column per class, in "
            "the order of the labels. Not matched on.",
        ),
    ] = None
    model: ModelPath = None
    features: Annotated[
        list[str] | None,
        option(
            *(SCORES, "--features", "COLUMNS"),
            "Inputs of a model that does not name its columns, in its order; by default all columns but label and row "
            "identifier.",
        ),
    ] = None
    trust: Trust = None
    schema: Annotated[
        Path | None,
        option(
            *(COLUMNS, "--schema", "FILE"),
            "Schema fitted to the training rows (saved in Python with Schema.save): roles, and the ranges that shifts "
            "are shares of.",
        ),
    ] = None
    task: Annotated[
        TaskChoice,
        option(MEASURES, "--task", "TASK", "binary, multiclass or regression; auto decides by the label."),
    ] = TaskChoice.AUTO
    positive: Annotated[
        str | None,
        option(
            *(MEASURES, "--positive", "VALUE"),
            "Positive label, whose probability the scores are; by default the last in sorted order.",
        ),
    ] = None
    threshold: Annotated[
        float | None,
        option(MEASURES, "--threshold", "T", "Decision threshold: approve at or above T. Default 0.5."),
    ] = None
    approval_rate: Annotated[
        float | None,
        option(MEASURES, "--approval-rate", "SHARE", "Instead of a threshold: approve this share of people."),
    ] = None
    scale: Annotated[
        float | None,
        option(
            *(MEASURES, "--scale", "AMOUNT"),
            "Regression: difference that counts as a gap of 100%; by default the standard deviation of the outcome.",
        ),
    ] = None
    gap_limit: Annotated[
        float, option(MEASURES, "--gap-limit", "G", "Also report the share of pairs with a gap above G.")
    ] = 0.1

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if not self.scores and self.model is None:
            raise ScoreError(
                "No scores are given. Add --scores with the column that holds them, or --model with an .onnx or .skops "
                "file."
            )
        if self.scores and self.model is not None:
            raise typer.BadParameter("they exclude each other; choose one.", param_hint="--scores and --model")
        if self.model is None and (self.features or self.trust):
            name = "--features" if self.features else "--trust"
            raise typer.BadParameter("it is about a model; name one with --model.", param_hint=name)

    def settings(self) -> AuditSettings:
        """Return the checked parameters; the positive label is still text."""
        return AuditSettings(**self.setting_values())

    def setting_values(self) -> dict[str, Any]:
        """The parameters by their names in Python."""
        same = ("positive", "threshold", "approval_rate", "scale", "gap_limit")
        return {"task": self.task.value, **{name: getattr(self, name) for name in same}}


class TooManyChoice(StrEnum):
    """What to do with more pairs than can be kept."""

    STREAM = "stream"
    SAMPLE = "sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(ScoreOptions):
    """What is measured, and of how many pairs."""

    no_baseline: Annotated[
        bool, option(MEASURES, "--no-baseline", "", "Leave out the same-group pairs (baseline).")
    ] = False
    resamples: Annotated[
        int, option(MEASURES, "--resamples", "N", "Bootstrap resamples; 0 for no confidence intervals.", min=0)
    ] = 1000
    confidence: Annotated[
        float, option(MEASURES, "--confidence", "C", "Confidence level of the two-sided intervals.")
    ] = 0.95
    seed: Annotated[int, option(MEASURES, "--seed", "S", "Random seed.", min=0)] = 0
    max_pairs: Annotated[
        int, option(LARGE, "--max-pairs", "N", "Number of pairs to keep; see --when-too-many.", min=1)
    ] = 5_000_000
    when_too_many: Annotated[
        TooManyChoice,
        option(
            *(LARGE, "--when-too-many", "HOW"),
            "With more pairs than that: stream measures all of them and keeps a sample for the intervals; sample "
            "measures only the sample, without counting the others.",
        ),
    ] = TooManyChoice.STREAM
    pairs: Annotated[
        Path | None,
        option(
            *(LARGE, "--pairs", "FOLDER"),
            "Folder that likewise pairs --out wrote for these people and this rule (with the same --scores), to save "
            "the search.",
        ),
    ] = None
    engine: Engine = EngineChoice.AUTO
    memory_limit: Annotated[
        str | None, option(LARGE, "--memory-limit", "SIZE", "Memory beside the table, such as '2 GB'.")
    ] = None
    worst: Annotated[int, option(OUTPUT, "--worst", "N", "Number of pairs with the largest gaps to keep.", min=0)] = 100

    def setting_values(self) -> dict[str, Any]:
        """The parameters by their names in Python."""
        return {
            **ScoreOptions.setting_values(self),
            "baseline": not self.no_baseline,
            "n_worst": self.worst,
            "n_resamples": self.resamples,
            "confidence": self.confidence,
            "seed": self.seed,
            "max_pairs": self.max_pairs,
            "when_too_many": self.when_too_many.value,
        }

    def search(self) -> dict[str, Any]:
        """How pairs are searched for."""
        return {"engine": self.engine.value, "memory_limit": self.memory_limit, "pairs": self.pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """What to audit and how."""

    roles: Roles
    schema: Schema | None
    rule: Comparability
    label: str
    scores: list[str]
    features: list[str]
    settings: AuditSettings
    engine: str = "auto"
    memory_limit: str | None = None
    pairs: Path | None = None

    @property
    def apart(self) -> list[str]:
        """Columns that no model takes."""
        return [self.label, *self.roles.names("row_id")]

    def to_dict(self) -> dict[str, Any]:
        """Return what it takes to repeat the audit beyond what its record has already."""
        named = {"label": self.label, "scores": self.scores, "features": self.features}
        decided = {name: getattr(self.settings, name) for name in ("positive", "threshold", "scale")}
        schema = None if self.schema is None else json.loads(self.schema.to_json())
        return {**named, **decided, "engine": self.engine, "memory_limit": self.memory_limit, "schema": schema}

    @classmethod
    def from_record(cls, record: AuditRecord, command: CommandRecord) -> AuditPlan:
        """Plan to repeat a recorded audit."""
        settings = {name: value for name, value in asdict(record.settings).items() if value is not None}
        return cls(
            roles=Roles.from_dict(record.roles),
            schema=None if command.schema is None else Schema.from_json(json.dumps(command.schema)),
            rule=Comparability.from_dict(record.rule),
            label=command.label,
            scores=list(command.scores),
            features=list(command.features),
            settings=AuditSettings.from_dict(
                settings, positive=command.positive, threshold=command.threshold, scale=command.scale
            ),
            engine=command.engine,
            memory_limit=command.memory_limit,
        )

    def labels(self, frame: pa.Table) -> Any:
        """The column of labels, or None where the roles name it."""
        roles = self.roles if self.schema is None else self.schema.roles
        return None if roles.label == self.label else frame.column(self.label)

    def scores_of(self, frame: pa.Table, model: ModelFile | None) -> Any:
        """The scores of a table, as ``audit`` takes them."""
        if model is not None:
            return model.score(frame, apart=self.apart, features=self.features)
        return self.scores[0] if len(self.scores) == 1 else ScoreColumns(tuple(self.scores)).stack(frame)

    def run(
        self, frame: pa.Table, model: ModelFile | None, progress: Callable[[str, float], None] | None = None
    ) -> Audit:
        """Score and audit a table."""
        from likewise.auditing._internal import run_audit

        return run_audit(
            self.scores_of(frame, model),
            frame,
            self.labels(frame),
            self.settings,
            roles=self.schema or self.roles,
            rule=self.rule,
            pairs=self.pairs,
            engine="auto" if self.engine == "spark" else self.engine,  # type: ignore[arg-type]  # one of a few words
            memory_limit=self.memory_limit,
            progress=progress,
        )


@dataclass(frozen=True, slots=True)
class AuditRun:
    """A finished audit, its plan, model and files."""

    audit: Audit
    plan: AuditPlan
    model: ModelFile | None
    files: list[DataFile]


@contextmanager
def following(console: Console) -> Iterator[Callable[[str, float], None] | None]:
    """Yield a function that shows the progress of an audit; silence a warning that its notes repeat."""
    with warnings.catch_warnings(), working(console, "Scoring") as update:
        warnings.simplefilter("ignore", ScoresCollapsed)
        if update is None:
            yield None
        else:
            yield lambda step, share: update(f"{step} ... {share:.0%}" if share else f"{step} ...")


def make_plan(
    columns: ColumnOptions, asked: ScoreOptions, settings: AuditSettings, frame: pa.Table, file: str, **search: Any
) -> AuditPlan:
    """Read the options by the columns of the file."""
    names = ColumnNames(tuple(frame.column_names), file)
    scores = list(names.find_all("--scores", asked.scores))
    label = names.find("--label", columns.label)
    schema = None if asked.schema is None else _load_schema(columns, asked, label)
    if schema is None:
        roles = columns.without_scores(scores, names).roles(frame, file)
    else:
        ignored = tuple(name for name in schema.roles.ignored if name != label)
        roles = replace(schema.roles, label=label, ignored=ignored)
    return AuditPlan(
        roles=roles,
        schema=schema,
        rule=columns.rule(roles, frame, file),
        label=label,
        scores=scores,
        features=list(names.find_all("--features", asked.features)),
        settings=replace(settings, positive=_typed_label(asked.positive, frame.column(label))),
        **search,
    )


def _load_schema(columns: ColumnOptions, asked: ScoreOptions, label: str) -> Schema:
    schema = Schema.load(str(asked.schema))
    for one in fields(columns):
        if one.name in SCHEMA_HAS and getattr(columns, one.name) != default_of(one):
            raise typer.BadParameter(
                "the schema has the roles of the columns; leave one out.",
                param_hint=f"--schema and --{one.name.replace('_', '-')}",
            )
    if schema.roles.label not in (None, label):
        raise SchemaError(f"--label is '{label}', but the label of '{asked.schema}' is '{schema.roles.label}'.")
    roles = {name: schema.roles.role_of(name) for name in asked.scores or []}
    compared = [f"{role} column '{name}'" for name, role in roles.items() if role not in (None, "ignored")]
    if compared:
        raise SchemaError(f"--scores names the {compared[0]} of '{asked.schema}'. Scores are not matched on.")
    return schema


def _typed_label(text: str | None, column: Any) -> Any:
    """Convert a label to the type of its column: '1' of whole numbers means 1."""
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
