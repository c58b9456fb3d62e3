"""What other folders use of the record beyond its documented names."""

from likewise.record._attribution import Attribution, ColumnPart, Part, Region, TransitionParts
from likewise.record._distributions import (
    CalibrationBin,
    GapDistribution,
    GapSlice,
    PersonGap,
    PersonGaps,
    ScoreDistribution,
    ScoreSlice,
)
from likewise.record._evidence import Coverage, Direction, Factor, GroupRate, PairCase, name_people
from likewise.record._form import FormError, read_as
from likewise.record._measures import (
    EXCESS_MEASURES,
    PAIR_MEASURES,
    PEOPLE_MEASURES,
    TARGET_MEASURES,
    Change,
    Conclusion,
    Measure,
    advise_measure,
    counted_in,
    describe_measure,
    known_measures,
    slice_of,
)
from likewise.record._notes import Note, NoteKind
from likewise.record._origin import (
    CommandRecord,
    DataFile,
    DataOrigin,
    ModelOrigin,
    SettingsRecord,
    WeightsRecord,
)
from likewise.record._plan import PlannedData, SealedPlan
from likewise.record._record import (
    ComparisonRecord,
    LabelMeasures,
    PairTotals,
    RecordError,
    RuleTerms,
)
from likewise.record._reviews import DISPOSITIONS, STANDINGS, Review
from likewise.record._series import AuditSeries, SeriesPair, SeriesPoint
from likewise.record._verdict import Check, Outcome, Sense, VerdictRecord

__all__ = [
    "DISPOSITIONS",
    "EXCESS_MEASURES",
    "PAIR_MEASURES",
    "PEOPLE_MEASURES",
    "STANDINGS",
    "TARGET_MEASURES",
    "Attribution",
    "AuditSeries",
    "CalibrationBin",
    "Change",
    "Check",
    "ColumnPart",
    "CommandRecord",
    "ComparisonRecord",
    "Conclusion",
    "Coverage",
    "DataFile",
    "DataOrigin",
    "Direction",
    "Factor",
    "FormError",
    "GapDistribution",
    "GapSlice",
    "GroupRate",
    "LabelMeasures",
    "Measure",
    "ModelOrigin",
    "Note",
    "NoteKind",
    "Outcome",
    "PairCase",
    "PairTotals",
    "Part",
    "PersonGap",
    "PersonGaps",
    "PlannedData",
    "RecordError",
    "Region",
    "Review",
    "RuleTerms",
    "ScoreDistribution",
    "ScoreSlice",
    "SealedPlan",
    "Sense",
    "SeriesPair",
    "SeriesPoint",
    "SettingsRecord",
    "TransitionParts",
    "VerdictRecord",
    "WeightsRecord",
    "advise_measure",
    "counted_in",
    "describe_measure",
    "known_measures",
    "name_people",
    "read_as",
    "slice_of",
]
