"""What is added to an audit: gaps split over columns, people named, and certificates of everybody."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from likewise._extras import require
from likewise.cli._options import OUTPUT, option
from likewise.cli._plan import AuditOptions, AuditPlan
from likewise.cli._typing import GIVEN
from likewise.exceptions import LikewiseWarning, ScoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from likewise.auditing import Audit
    from likewise.cli._models import ModelFile
    from likewise.record import AuditRecord

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationOptions:
    """What to add to an audit."""

    attribute: bool = option(
        False, OUTPUT, "", "Also split every gap over the columns in which the two people differ; needs --model."
    )
    name_people: float | None = option(
        None,
        *(OUTPUT, "RATE"),
        "Also name the people who are scored lower than comparable people by more than equal people differ, with at "
        "most this false discovery rate, such as 0.1.",
    )
    certify: bool = option(
        *(False, OUTPUT, ""),
        "Also bound the gap between each person and everybody who would be comparable, in the table or not; needs "
        "--model with a .skops file of a linear model or trees.",
    )

    def check(self, asked: AuditOptions) -> None:
        """Refuse what cannot be explained."""
        for name, is_given in {"--attribute": self.attribute, "--certify": self.certify}.items():
            if is_given and asked.model is None:
                raise typer.BadParameter("it asks the model for scores; give the model with --model.", param_hint=name)
        if self.name_people is not None and not 0 < self.name_people < 1:
            raise typer.BadParameter(
                f"it is {self.name_people:g}; give a rate between 0 and 1.", param_hint="--name-people"
            )

    def explanations(self) -> Explanations:
        """Return what was asked for."""
        return Explanations(self.attribute, self.name_people, Certification() if self.certify else None)


@dataclass(frozen=True, slots=True)
class Certification:
    """How people are certified."""

    within_range: bool = True
    max_splits: int = 20_000


@dataclass(frozen=True, slots=True)
class Explanations:
    """What to add to an audit: gaps split over columns, people named at a false discovery rate, certificates."""

    attribute: bool = False
    rate: float | None = None
    certification: Certification | None = None

    @classmethod
    def of(cls, record: AuditRecord) -> Explanations:
        """Return those that a record has."""
        certified = record.certificates
        certification = None if certified is None else Certification(certified.within_range, certified.max_splits)
        rate = None if record.named is None else record.named.false_discovery_rate
        return cls(record.attribution is not None, rate, certification)

    def add_to(
        self, audit: Audit, plan: AuditPlan, frame: pa.Table, model: ModelFile | None, progress: Progress | None
    ) -> Audit:
        """Return the audit with all of it in its record."""
        report = progress or (lambda step, share: None)
        if self.attribute and model is not None:
            from likewise.explain import attribute_gaps

            report("Splitting gaps over columns", 0.0)
            scorer = scorer_of(plan, frame, model)
            audit = attribute_gaps(audit, scorer, random_state=plan.settings.seed).audit
        if self.rate is not None:
            from likewise.explain import name_people

            audit = name_people(audit, false_discovery_rate=self.rate, random_state=plan.settings.seed).audit
        if self.certification is not None and model is not None:
            audit = _certify(audit, plan, frame, model, self.certification, report)
        return audit


@dataclass(frozen=True, slots=True)
class FileScorer:
    """A model file in the form of a fitted model, which scores any rows with the columns of a table."""

    model: ModelFile
    how: dict[str, Any]
    feature_names_in_: list[str]
    classes_: list[Any] | None

    def predict_proba(self, frame: pa.Table) -> NDArray[Any]:
        """Return the scores; what there is to say of the columns was said when the table was scored."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LikewiseWarning)
            return self.model.score(frame, **self.how).probabilities


def scorer_of(plan: AuditPlan, frame: pa.Table, model: ModelFile) -> FileScorer:
    """Return the model of a file, to be asked for any rows with the columns of a table."""
    given = plan.features or [name for name in frame.column_names if name not in plan.apart]
    seen = model.scoring.take(frame.column_names, given, bool(plan.features))
    how: dict[str, Any] = {"apart": plan.apart, "features": plan.features, "text": plan.text}
    return FileScorer(model, how, list(seen), model.score(frame.slice(0, 1), **how).classes_)


def _certify(
    audit: Audit, plan: AuditPlan, frame: pa.Table, model: ModelFile, how: Certification, progress: Progress
) -> Audit:
    """Certify the people as the model takes them: in a pandas frame."""
    from likewise.cli._models import SkopsModel
    from likewise.explain import certify_audit

    scoring = model.scoring
    if not isinstance(scoring, SkopsModel):
        raise ScoreError(
            f"'{model.file}' cannot be looked into, so nothing is certified. Give the model as a .skops file, or leave "
            "out --certify."
        )
    if not hasattr(scoring.estimator, "feature_names_in_"):
        raise ScoreError(
            f"The model in '{model.file}' does not name its columns, so nothing is certified. Fit it to a data frame."
        )
    seen = set(map(str, scoring.estimator.feature_names_in_))
    codes = [name for name, why in plan.text.items() if why != GIVEN and name in seen]
    if codes:
        raise ScoreError(
            f"Column '{codes[0]}' is compared as text, but the model gets it as numbers, so nothing is certified. "
            "Write the column as numbers, or train the model with text."
        )
    require("pandas", "pandas", "--certify")
    shown = replace(audit, question=replace(audit.question, frame=frame.to_pandas(strings_to_categorical=False)))
    found = certify_audit(
        shown,
        scoring.estimator,
        within_range=how.within_range,
        max_splits=how.max_splits,
        progress=progress,
    )
    return replace(audit, record=found.audit.record)
