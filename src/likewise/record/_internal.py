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
from likewise.record._changes import (
    FEW_PAIRS,
    AuditSeries,
    Change,
    Comparison,
    Conclusion,
    SeriesPair,
    SeriesPoint,
    look_up,
    of_every_part,
)
from likewise.record._effects import GroupEffect
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
from likewise.record._kinds import (
    EXCESS_OF,
    MEASURES,
    MIRROR,
    OF_SCORES,
    SAME_GROUP_OF,
    MeasureKind,
    Sense,
    in_words,
    is_reducible,
    key_of,
    kind_of,
    name_part,
    reducible_measures,
    show_interval,
    show_limit,
    show_value,
    split_key,
    title_of,
    with_part,
)
from likewise.record._measures import (
    CalibrationBin,
    GapDistribution,
    GapSlice,
    Measure,
    PersonGap,
    PersonGaps,
    ScoreDistribution,
    ScoreSlice,
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
from likewise.record._record import PairTotals, RecordError, RuleTerms
from likewise.record._reviews import DISPOSITIONS, STANDINGS, Review
from likewise.record._verdict import Check, Note, NoteKind, Outcome, Verdict
