"""What other folders use of the record beyond its documented names."""

from likewise.record._attribution import (
    Attribution,
    CertificateRecord,
    CertifiedLimit,
    CertifiedPerson,
    ChangedValue,
    ColumnPart,
    NamedPerson,
    NamedRecord,
    Part,
    PlausibilityRecord,
    TransitionParts,
)
from likewise.record._changes import AuditSeries, Comparison, SeriesPair, SeriesPoint
from likewise.record._evidence import (
    ColumnBalance,
    ColumnDirections,
    Coverage,
    Direction,
    Factor,
    GroupRate,
    PairCase,
    name_people,
)
from likewise.record._form import FormError, read_as
from likewise.record._measures import (
    CERTIFIED_MEASURES,
    FEW_PAIRS,
    MIRROR,
    OF_TARGETS,
    PAIR_MEASURES,
    PART_MEASURES,
    PEOPLE_MEASURES,
    SENSITIVE_MEASURES,
    TARGET_MEASURES,
    TRANSITION_MEASURES,
    CalibrationBin,
    Change,
    Conclusion,
    GapDistribution,
    GapSlice,
    Measure,
    PersonGap,
    PersonGaps,
    ScoreDistribution,
    ScoreSlice,
    advise_measure,
    counted_in,
    describe_measure,
    gap_measures,
    known_measures,
    sense_of,
    slice_of,
)
from likewise.record._origin import (
    CommandRecord,
    DataFile,
    DataOrigin,
    ModelOrigin,
    PlannedData,
    SealedPlan,
    SettingsRecord,
    WeightsRecord,
)
from likewise.record._record import LabelMeasures, PairTotals, RecordError, RuleTerms
from likewise.record._reviews import DISPOSITIONS, STANDINGS, Review
from likewise.record._verdict import Check, Note, NoteKind, Outcome, Sense, VerdictRecord
