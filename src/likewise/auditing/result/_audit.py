"""What an audit found: its record, and the arrays behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._files import KIND_OF_AUDITS, Content, Files, write_file, write_folder
from likewise._format import count_of, line_up, list_lines, wrap
from likewise.auditing.evidence._coverage import person_gaps
from likewise.auditing.evidence._review_sheet import sheet_as_bytes
from likewise.auditing.evidence._tables import cases_table
from likewise.auditing.policy._policy import Policy
from likewise.auditing.policy._verdict import judge
from likewise.auditing.result._comparison import AuditParts, compare_audits
from likewise.comparable import ComparablePairs
from likewise.record import AuditRecord
from likewise.record._internal import (
    EXCESS_OF,
    SAME_GROUP_OF,
    ColumnDirections,
    Coverage,
    Direction,
    GroupRate,
    Measure,
    Note,
    PairCase,
    Verdict,
    in_words,
    look_up,
    of_every_part,
    show_value,
    split_key,
    with_part,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from likewise.schema import Roles

HEADLINES: Final = (  # of all that a task has
    *("gap_mean", "rank_gap_mean", "flip_rate"),
    *("signed_gap", "control_only_rate", "target_only_rate", "matched_share"),
    *("roc_auc", "average_precision", "r2", "mean_absolute_error"),
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Audit(AuditParts):
    """How differently a model scores comparable people: the record, and the arrays behind it.

    :func:`audit` makes it. ``audit["gap_mean"]`` is one number with its interval, and ``audit["gap_mean", 1]`` that of
    the pairs with the label 1; ``likewise.auditing.MEASURES`` has all names. Printed, it shows the headline numbers and
    all notes.

    Parameters
    ----------
    record : AuditRecord
        Everything that was found, as plain data.
    question : Question
        What was asked: people, rule, scores.
    settings : AuditSettings
        The parameters it was made with.
    scored : ScoredPairs
        The pairs, with the gap of each; a uniform sample of them, where there are more than ``max_pairs``.
    summary : PairSummary, optional
        The summary of all pairs, where ``scored`` are a sample of them.

    Attributes
    ----------
    measures : mapping of str to Measure
        Every number, by name: ``gap_mean`` of all pairs, ``gap_mean[1]`` of those with the label 1.
    roles : Roles
        The role of every column, given or inferred; ``roles.describe()`` has the reasons.
    directions : tuple of Direction
        For every two combinations of sensitive values, who is scored lower, and whether that could be chance.
    column_directions : tuple of ColumnDirections
        The same by each sensitive column alone, where there are several; a pair that differs in two counts in both.
    coverage : tuple of Coverage
        Who is matched: the audit covers these people only.
    groups : tuple of GroupRate
        Selection rates by sensitive value.
    fairlearn : mapping of str to float
        Group metrics as fairlearn defines them.
    worst : tuple of PairCase
        The pairs with the largest gaps, side by side.
    notes : tuple of Note
        What a reader has to know before trusting a number; ``str`` of a note is its text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> found
    <Audit: 134 pairs of 500 people; mean gap 5.90 pp>
    >>> lowest = min(found.directions, key=lambda direction: direction.mean_gap)
    >>> lowest.target[0], round(lowest.mean_gap, 3)
    ('green', -0.1)
    """

    @property
    def measures(self) -> Mapping[str, Measure]:  # all of these are in the docstring of the class
        return self.record.measures

    @property
    def roles(self) -> Roles:
        return self.question.schema.roles

    @property
    def directions(self) -> tuple[Direction, ...]:
        return self.record.directions

    @property
    def column_directions(self) -> tuple[ColumnDirections, ...]:
        return self.record.column_directions

    @property
    def coverage(self) -> tuple[Coverage, ...]:
        return self.record.coverage

    @property
    def groups(self) -> tuple[GroupRate, ...]:
        return self.record.groups

    @property
    def fairlearn(self) -> Mapping[str, float | None]:
        return self.record.fairlearn

    @property
    def worst(self) -> tuple[PairCase, ...]:
        return self.record.worst_pairs

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.record.notes

    def __getitem__(self, name: str | tuple[str, Any]) -> Measure:
        """Look up one number: ``"gap_mean"``, or that of the pairs with one label, ``"gap_mean", 1``."""
        return look_up(self.measures, name)

    def __repr__(self) -> str:
        return f"<{self._headline}>"

    def __str__(self) -> str:
        return write_text(self._headline, self.record)

    @property
    def _headline(self) -> str:
        pairs, people = self.record.pairs.n, self.question.scores.n_people
        name = "gap_mean" if "gap_mean" in self.measures else "flip_rate"  # of decisions alone
        shown = show_value(name, self[name].value, points=self.record.in_points)
        return f"Audit: {count_of(pairs, 'pair')} of {count_of(people, 'person', 'people')}; {in_words(name)} {shown}"

    @property
    def pairs(self) -> ComparablePairs:
        """The comparable pairs; a uniform sample of them, where there are more than ``max_pairs``."""
        return self.scored.pairs

    @property
    def gaps(self) -> NDArray[np.float64]:
        """The gap of each pair, in the order of ``pairs``."""
        return self.scored.gaps

    @cached_property
    def person_gaps(self) -> NDArray[np.float64]:
        """The largest gap of each person, row by row; NaN for unmatched people."""
        if self.summary is not None:
            return self.summary.person_gaps()
        return person_gaps(self.pairs, self.scored.gaps, len(self.question.table))

    @property
    def is_collapsed(self) -> bool:
        """Whether the model scores everybody nearly alike, so that its small gaps mean nothing."""
        return self.record.is_collapsed

    def judge(self, policy: Policy | str | Path) -> Verdict:
        """Judge the numbers by a policy.

        Parameters
        ----------
        policy : Policy, or path of a TOML file

        Returns
        -------
        Verdict

        Examples
        --------
        >>> from likewise import Policy, audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.judge(Policy(max_gap_mean=0.01)).outcome
        'fail'
        """
        return judge(
            self.measures,
            policy,
            notes=self.notes,
            points=self.record.in_points,
            directions=self.directions,
            by_column=self.column_directions,
            sensitive=self.record.sensitive,
            attribution=self.record.attribution,
            columns=self.record.column_names,
            n_people=self.question.scores.n_people,
        )

    def to_record(self, verdict: Verdict | None = None) -> AuditRecord:
        """Return the typed record, which reports read, with a verdict."""
        return self.record if verdict is None else replace(self.record, verdict=verdict)

    def to_dict(self, verdict: Verdict | None = None) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON, in the form that reports and ``likewise verify`` read.

        Parameters
        ----------
        verdict : Verdict, optional
            To be kept with it.

        Returns
        -------
        dict

        Examples
        --------
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.to_dict()["pairs"]["n"] == len(found.pairs)
        True
        """
        return self.to_record(verdict).to_dict()

    def to_html(
        self, path: str | Path | None = None, *, verdict: Verdict | None = None, before: Audit | None = None
    ) -> str:
        """Return the report: one page of HTML that needs nothing else.

        Parameters
        ----------
        path : str or Path, optional
            A file to write it to as well, which is not there yet.
        verdict : Verdict, optional
            To head the report.
        before : Audit, optional
            An audit of the same people with another model, shown beside this one.

        Returns
        -------
        str

        Examples
        --------
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.to_html().startswith("<!DOCTYPE html>")
        True
        """
        from likewise.report import to_html

        shown: dict[str, Any] = {}
        if before is not None:
            shown = {"before": before.to_dict(), "comparison": compare_audits(before, self)}
        page = to_html(self.to_dict(verdict), **shown)
        if path is not None:
            write_file(path, page)
        return page

    def save(self, path: str | Path, *, verdict: Verdict | None = None) -> None:
        """Write a folder of the record, the report, the worst pairs and a review sheet, as ``likewise audit`` does.

        Parameters
        ----------
        path : str or Path
            A folder that is not there yet, or holds an audit that nobody changed since it was written.
        verdict : Verdict, optional
            To be kept with it.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> folder = Path(mkdtemp()) / "audit"
        >>> found.save(folder)
        >>> (folder / "report.html").is_file()
        True
        """
        write_folder(path, KIND_OF_AUDITS, audit_files(self.to_record(verdict)))

    def _repr_html_(self) -> str:
        """Show the headline numbers in a notebook."""
        from likewise.report import to_card

        return to_card(self.to_dict())

    def plot_gaps(self, ax: Axes | None = None, *, label: Any = None) -> Axes:
        """Draw the distribution of gaps, beside the same-group baseline.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; otherwise on a new figure.
        label : any, optional
            Draw only the pairs with this label.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from likewise import audit, load_dataset
        >>> data = load_dataset("planted")
        >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
        >>> found.plot_gaps(Figure().subplots(), label=1).get_title(loc="left")
        'Gaps. Label 1 (positive)'
        """
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "gaps", ax, label=label)

    def plot_directions(self, ax: Axes | None = None) -> Axes:
        """Draw the adjusted gaps between groups, as :meth:`plot_gaps` does."""
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "directions", ax)

    def plot_people(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the largest gap of each person, as :meth:`plot_gaps` does."""
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "people", ax)

    def plot_calibration(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration curve of a binary task, as :meth:`plot_gaps` does."""
        from likewise.report import plot_chart

        return plot_chart(self.to_dict(), "calibration", ax)


def audit_files(record: AuditRecord) -> Files:
    """Return all files of an audit."""
    import pyarrow.parquet

    from likewise.report import to_junit

    labels = record.labels if record.task == "multiclass" else None
    cases = cases_table(record.worst_pairs, labels)
    tables: dict[str, Content] = {
        "worst_pairs.parquet": lambda path: pyarrow.parquet.write_table(cases, path, compression="zstd"),
        "review_sheet.csv": sheet_as_bytes(record, ".csv"),
        "junit.xml": to_junit(record),
    }
    return {**tables, **reviewed_files(record)}


def reviewed_files(record: AuditRecord) -> Files:
    """Return the files of an audit that show its reviews: the record and its pages."""
    from likewise.report import to_html, to_markdown

    text = json.dumps(record.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return {"audit.md": to_markdown(record), "report.html": to_html(record), "audit.json": text}


def write_text(headline: str, record: AuditRecord) -> str:
    """Return the headline, what is concluded and who is worse off, the main measures and the notes of an audit."""
    from likewise.report._internal import tell_worst

    told = [f"{record.direction}."] if record.direction else []
    concluded = wrap(" ".join([*record.conclusions, tell_worst(record)]))
    table = line_up(list(_list_measures(record)))
    return "\n".join([headline, *concluded, table, *told, *list_lines(record.notes)])


def _list_measures(record: AuditRecord) -> Iterator[tuple[str, ...]]:
    measures = record.measures
    names = [name for name in of_every_part(HEADLINES, measures) if measures[name].value is not None]
    beside = {name: [_find_beside(kind, name, record) for kind in (SAME_GROUP_OF, EXCESS_OF)] for name in names}
    is_measured = any(any(found) for found in beside.values())
    yield "", "found", *(("baseline", "excess") if is_measured else ("", ""))
    for name in names:
        yield name, measures[name].show(name, points=record.in_points), *beside[name]


def _find_beside(kinds: Mapping[str, str], key: str, record: AuditRecord) -> str:
    """Return the same of same-group pairs, or the excess by person."""
    name = kinds.get(split_key(key)[0])
    found = None if name is None else record.measures.get(with_part(key, name))
    return "" if found is None or found.value is None else found.show(key, points=record.in_points)
