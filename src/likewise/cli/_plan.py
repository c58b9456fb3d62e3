"""The plan of an audit: all that it is computed from besides the files, from options or from a sealed plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise.cli import _options as shared
from likewise.cli._columns import ROLES_HEADING, ColumnNames, ColumnOptions, describe_roles
from likewise.cli._console import say, working
from likewise.cli._options import COLUMNS, LARGE, MEASURES, PLAN, RULE, SCORES, first, option, panel_of
from likewise.exceptions import SchemaError, ScoreError, ScoresCollapsed

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.auditing import Audit
    from likewise.auditing._internal import AuditSettings
    from likewise.cli._models import ModelFile
    from likewise.comparable import Comparability
    from likewise.record import AuditRecord
    from likewise.record._internal import CommandRecord, DataFile, SealedPlan
    from likewise.schema import Roles

COLUMN_ROLES: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "row_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Where the scores come from, and which decisions and gaps are measured."""

    scores: list[str] | None = first(
        *(None, SCORES, "COLUMNS"),
        "Probability of the positive label; of more than two labels, one column each.",
    )
    model: Path | None = shared.MODEL()
    features: list[str] | None = option(
        *(None, SCORES, "COLUMNS"),
        "Inputs of a model that does not name its columns, in its order; by default all columns but label and row "
        "identifier.",
    )
    trust: list[str] | None = shared.TRUST()
    task: str = option("auto", MEASURES, "TASK", "binary, multiclass or regression; by default the label tells.")
    positive: str | None = option(
        *(None, MEASURES, "VALUE"),
        "Positive label, whose probability the scores are; by default the last in sorted order.",
    )
    favourable: str | None = option(
        *(None, MEASURES, "VALUE"),
        "Favourable outcome: a label, the decision (where --scores holds decisions in words), or low or high for that "
        "side of the scores. Default: the positive label, or high scores. Name it where the label is bad for people, "
        "such as a default: limits on impact ratios and directions wait for it.",
    )
    reference: list[str] | None = option(
        *(None, MEASURES, "VALUE"),
        "Control value of a sensitive column, as VALUE or COLUMN=VALUE, or of a combination, as 'A, B=VALUE, VALUE'; "
        "may be repeated. The others are targets, from whose side differences are stated. Default: from the side that "
        "is worse off.",
    )
    threshold: float | None = option(
        *(None, MEASURES, "T"),
        "Decision threshold: approve at or above T, or below it where low scores are favourable. Default 0.5.",
    )
    approval_rate: float | None = option(
        None, MEASURES, "SHARE", "Instead of a threshold: approve this share of people."
    )
    scale: float | None = option(
        *(None, MEASURES, "AMOUNT"),
        "Regression: difference that counts as a gap of 100%; by default the standard deviation of the outcome.",
    )
    gap_limit: float = option(0.1, MEASURES, "G", "Also report the share of pairs with a gap above G.")
    sample_weight: str | None = option(
        *(None, MEASURES, "COLUMN"),
        "Column with how much each person counts, such as a survey or exposure weight; a pair counts as the product of "
        "its two weights. Not matched on.",
    )
    cluster: str | None = option(
        *(None, MEASURES, "COLUMN"),
        "Column of branches, households or the like, whose people may be alike in what is not seen: intervals and "
        "tests are of these in place of people. Not matched on, unless it is named as such.",
    )
    confirmed: list[str] | None = option(
        *(None, COLUMNS, "COLUMNS"),
        "Columns that you have looked at: ones that follow from scores, decision or label, or with values that are "
        "written alike, on which no limit on pairs passes otherwise.",
        names="--confirm",
    )

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if not self.scores and self.model is None and not self.is_planned:
            raise ScoreError(
                "No scores are given. Add --scores with the column that holds them, or --model with an .onnx or .skops "
                "file."
            )
        if self.scores and self.model is not None:
            raise typer.BadParameter("they exclude each other; choose one.", param_hint="--scores and --model")
        if self.model is None and (self.features or self.trust):
            name = "--set features" if self.features else "--trust"
            raise typer.BadParameter("it is about a model; name one with --model.", param_hint=name)
        self.settings()

    @property
    def is_planned(self) -> bool:
        """Whether a plan says what is not asked for."""
        return False

    def numbers(self) -> list[str]:
        """The columns that hold numbers: scores and weights."""
        return [*(self.scores or []), *([] if self.sample_weight is None else [self.sample_weight])]

    def load_model(self) -> ModelFile | None:
        """Load the model, where there is one."""
        from likewise.cli._models import load_model

        return None if self.model is None else load_model(self.model, self.trust or [])

    def settings(self) -> AuditSettings:
        """Return the checked parameters; the positive label is still text."""
        from likewise.auditing._internal import AuditSettings

        names = [one.name for one in fields(AuditSettings) if hasattr(self, one.name)]
        return AuditSettings(**{name: getattr(self, name) for name in names} | {"confirmed": self.confirmed or ()})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(ScoreOptions):
    """What is measured, and of how many pairs."""

    n_resamples: int = option(1000, MEASURES, "N", "Draws, for the calibration error; 0 for no intervals.", min=0)
    max_pairs: int = option(5_000_000, LARGE, "N", "Number of pairs to keep for the intervals.", min=1)
    pairs: Path | None = option(
        *(None, LARGE, "FOLDER"),
        "Folder that likewise pairs --out wrote for these people and this rule (with the same --scores), to save "
        "the search.",
    )
    memory_limit: str | None = option(None, LARGE, "SIZE", "Memory beside the table, such as '2 GB'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAuditOptions(AuditOptions):
    """What is measured, unless a plan says it."""

    plan: Path | None = option(
        *(None, PLAN, "FILE"),
        "Audit under a plan of likewise plan, which has columns, rule, measures and policy. What is given beside it "
        "is a departure, which the record lists.",
    )

    @property
    def is_planned(self) -> bool:
        """Whether a plan says what is not asked for."""
        return self.plan is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPlan:
    """What to audit and how."""

    roles: Roles
    rule: Comparability
    label: str | None
    scores: list[str]
    features: list[str]
    settings: AuditSettings
    memory_limit: str | None = None
    pairs: Path | None = None
    text: Mapping[str, str] = field(default_factory=dict)  # columns of a CSV file that were read as text, and why

    @property
    def compared(self) -> list[str]:
        """The columns that the audit needs besides scores and features."""
        named = [name for role in COLUMN_ROLES for name in self.roles.names(role)]
        return [*([] if self.label is None else [self.label]), *named]

    @property
    def apart(self) -> list[str]:
        """Columns that no model takes."""
        label = [] if self.label is None else [self.label]
        return [*label, *self.roles.names("row_id"), *self.settings.columns]

    def to_dict(self) -> dict[str, Any]:
        """Return what it takes to repeat the audit beyond what its record has already."""
        named = {"label": self.label, "scores": self.scores, "features": self.features}
        decided = {name: getattr(self.settings, name) for name in ("positive", "threshold", "scale")}
        how = {"memory_limit": self.memory_limit, "text": dict(self.text)}
        return {**named, **decided, **how}

    @classmethod
    def from_record(cls, record: AuditRecord | SealedPlan, command: CommandRecord) -> AuditPlan:
        """Plan to repeat a recorded audit, or to make a planned one."""
        from likewise.auditing._internal import AuditSettings
        from likewise.comparable import Comparability
        from likewise.schema import Roles

        settings = {name: value for name, value in asdict(record.settings).items() if value is not None}
        return cls(
            roles=Roles.from_dict(record.roles),
            rule=Comparability.from_dict(record.rule),
            label=command.label,
            scores=list(command.scores),
            features=list(command.features),
            settings=AuditSettings.from_dict(
                settings, positive=command.positive, threshold=command.threshold, scale=command.scale
            ),
            memory_limit=command.memory_limit,
            text=command.text or {},
        )

    def labels(self, frame: pa.Table) -> Any:
        """The column of labels, or None where the roles name it."""
        return None if self.label is None or self.roles.label == self.label else frame.column(self.label)

    def scores_of(self, frame: pa.Table, model: ModelFile | None) -> Any:
        """The scores of a table, as ``audit`` takes them."""
        from likewise.cli._models import ScoreColumns

        if model is not None:
            return model.score(frame, apart=self.apart, features=self.features, text=self.text)
        return self.scores[0] if len(self.scores) == 1 else ScoreColumns(tuple(self.scores)).stack(frame)

    def run(
        self,
        frame: pa.Table,
        model: ModelFile | None,
        progress: Callable[[str, float], None] | None = None,
    ) -> Audit:
        """Score and audit a table."""
        from likewise.auditing._internal import run_audit

        return run_audit(
            self.scores_of(frame, model),
            frame,
            self.labels(frame),
            self.settings,
            roles=self.roles,
            rule=self.rule,
            pairs=self.pairs,
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
    console: Console,
    notes: list[str],
    columns: ColumnOptions,
    asked: ScoreOptions,
    frame: pa.Table,
    file: str,
    *,
    unread: Sequence[str] | None = None,
    **search: Any,
) -> AuditPlan:
    """Read the options by the columns of the file; print notes and roles. ``unread`` scores are not in the frame."""
    names = ColumnNames((*frame.column_names, *(unread or ())), file)
    scores = list(names.find_all("--scores", asked.scores))
    label = None if columns.label is None else names.find("--label", columns.label)
    settings = _type_labels(asked, frame, label, scores, names)
    apart = columns.without(scores, names).without_settings(settings, names)
    roles = apart.without_ignored(unread or ()).roles(frame, file)
    plan = AuditPlan(
        roles=roles,
        rule=columns.rule(frame, file),
        label=label,
        scores=scores,
        features=list(names.find_all("--set features", asked.features)),
        settings=settings,
        **search,
    )
    say(console, *notes, ROLES_HEADING, *describe_roles(roles, scores, plan.settings), "")
    return plan


def follow_plan(
    sealed: SealedPlan,
    given: frozenset[str],
    columns: ColumnOptions,
    asked: ScoreOptions,
    frame: pa.Table,
    file: str,
    **search: Any,
) -> AuditPlan:
    """Return what was planned, but for the options that are given: those of columns, or of the rule, all or none."""
    from likewise.auditing._internal import AuditSettings

    panels = {one.name: panel_of(one) for one in fields(ColumnOptions)}
    base = AuditPlan.from_record(sealed, sealed.command)
    names = ColumnNames(tuple(frame.column_names), file)
    scores = list(names.find_all("--scores", asked.scores)) or ([] if asked.model is not None else base.scores)
    features = list(names.find_all("--set features", asked.features)) or base.features
    needed = (*scores, *features, *base.compared, *base.settings.columns)
    missing = [name for name in needed if name not in names.known]
    if missing:
        raise SchemaError(f"'{file}' has no column '{missing[0]}', which the plan names. Give the planned table.")
    known = {*base.compared, *base.roles.ignored}
    ignored = [name for name in names.known if name not in known]  # scores, and columns that were added since
    plan = replace(
        base,
        roles=replace(base.roles, ignored=(*base.roles.ignored, *ignored)),
        scores=scores,
        features=features,
        **search,
    )
    asked_now = _type_labels(asked, frame, plan.label, scores, names)
    changed = {one.name: getattr(asked_now, one.name) for one in fields(AuditSettings) if one.name in given}
    plan = replace(plan, settings=_replace_settings(plan.settings, changed))
    if any(panels.get(name) == COLUMNS for name in given):
        apart = columns.without(scores, names).without_settings(plan.settings, names)
        roles = apart.roles(frame, file)
        plan = replace(plan, roles=roles, label=roles.label)
    if any(panels.get(name) == RULE for name in given):
        plan = replace(plan, rule=columns.rule(frame, file))
    return plan


def _replace_settings(settings: AuditSettings, changed: dict[str, Any]) -> AuditSettings:
    """Replace settings; of a threshold and an approval rate, the one that is given counts."""
    for one, other in (("threshold", "approval_rate"), ("approval_rate", "threshold")):
        if changed.get(one) is not None and other not in changed:
            changed = {**changed, other: None}
    return replace(settings, **changed)


def _type_labels(
    asked: ScoreOptions, frame: pa.Table, label: str | None, scores: list[str], names: ColumnNames
) -> AuditSettings:
    """Return the settings with labels, or decisions, of the type of their column, and a known column of weights."""
    from likewise.auditing._internal import SIDES

    settings = replace(
        asked.settings(),
        reference=_read_reference(asked.reference, frame.column_names),
        confirmed=names.find_all("--confirm", asked.confirmed),
    )
    if settings.sample_weight is not None:
        settings = replace(settings, sample_weight=names.find("--weight", settings.sample_weight))
        if settings.sample_weight in scores:
            raise SchemaError(f"Column '{settings.sample_weight}' is named by --scores and by --weight.")
    if settings.cluster is not None:
        settings = replace(settings, cluster=names.find("--cluster", settings.cluster))
    about = label or (scores[0] if len(scores) == 1 else None)  # decisions are the scores of people without labels
    if about not in frame.column_names:
        return settings
    column = frame.column(about)
    positive = asked.positive if label is None else _typed_label(asked.positive, column)
    favourable = asked.favourable if asked.favourable in SIDES else _typed_label(asked.favourable, column)
    return replace(settings, positive=positive, favourable=favourable)


def _read_reference(given: list[str] | None, names: list[str]) -> Any:
    """Read ``white``, ``race=white`` and ``race, sex=white, m``; None where nothing is given."""
    parts = [(text, *text.partition("=")) for text in given or []]
    pairs = [(name, value) if sign and _are_names(name, names) else (None, text) for text, name, sign, value in parts]
    if not pairs:
        return None
    alone = [value for name, value in pairs if name is None]
    if alone and len(alone) < len(pairs):
        raise typer.BadParameter("name the column of each value: COLUMN=VALUE.", param_hint="--reference")
    return alone or {name: [value for one, value in pairs if one == name] for name, _ in pairs}


def _are_names(text: str, names: list[str]) -> bool:
    return text in names or all(part.strip() in names for part in text.split(","))


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
