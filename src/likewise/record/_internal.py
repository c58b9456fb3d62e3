"""What other folders use of the record beyond its documented names."""

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
    SLICES,
    Change,
    Measure,
    advise_measure,
    counted_in,
    describe_measure,
    known_measures,
    slice_of,
)
from likewise.record._notes import Note, NoteKind
from likewise.record._record import FORMAT, DataFile, DataOrigin, LabelMeasures, PairTotals, RuleTerms, SettingsRecord
from likewise.record._verdict import Check, Outcome, Sense, VerdictRecord

__all__ = [
    "EXCESS_MEASURES",
    "FORMAT",
    "PAIR_MEASURES",
    "PEOPLE_MEASURES",
    "SLICES",
    "CalibrationBin",
    "Change",
    "Check",
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
    "Note",
    "NoteKind",
    "Outcome",
    "PairCase",
    "PairTotals",
    "PersonGap",
    "PersonGaps",
    "RuleTerms",
    "ScoreDistribution",
    "ScoreSlice",
    "Sense",
    "SettingsRecord",
    "VerdictRecord",
    "advise_measure",
    "counted_in",
    "describe_measure",
    "known_measures",
    "name_people",
    "read_as",
    "slice_of",
]
