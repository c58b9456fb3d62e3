"""How differently similar people are scored, whether that is acceptable, and the evidence for it."""

from likewise.auditing._run import audit
from likewise.auditing.evidence._coverage import find_partnered, measure_coverage, person_gaps
from likewise.auditing.evidence._directions import measure_directions
from likewise.auditing.evidence._groups import fairlearn_measures, impact_ratio, rate_groups
from likewise.auditing.evidence._review_merge import merge_reviews
from likewise.auditing.evidence._review_sheet import review_table, write_review_sheet
from likewise.auditing.evidence._tables import cases_table
from likewise.auditing.inference._signed_gaps import adjust_p_values
from likewise.auditing.pairs._gaps import describe_gaps, find_flips, rank_gaps, rank_scores, score_gaps, signed_gaps
from likewise.auditing.policy._policy import Policy
from likewise.auditing.policy._verdict import assert_passes
from likewise.auditing.question._scores import Scores
from likewise.auditing.result._audit import Audit
from likewise.auditing.result._comparison import compare_audits
from likewise.auditing.result._series import compare_series
from likewise.record._internal import (
    MEASURES,
    AuditSeries,
    Change,
    Check,
    ColumnBalance,
    ColumnDirections,
    Comparison,
    Conclusion,
    Coverage,
    Direction,
    Factor,
    GroupEffect,
    GroupRate,
    Measure,
    MeasureKind,
    PairCase,
    Review,
    Verdict,
)

__all__ = [
    "MEASURES",
    "Audit",
    "AuditSeries",
    "Change",
    "Check",
    "ColumnBalance",
    "ColumnDirections",
    "Comparison",
    "Conclusion",
    "Coverage",
    "Direction",
    "Factor",
    "GroupEffect",
    "GroupRate",
    "Measure",
    "MeasureKind",
    "PairCase",
    "Policy",
    "Review",
    "Scores",
    "Verdict",
    "adjust_p_values",
    "assert_passes",
    "audit",
    "cases_table",
    "compare_audits",
    "compare_series",
    "describe_gaps",
    "fairlearn_measures",
    "find_flips",
    "find_partnered",
    "impact_ratio",
    "measure_coverage",
    "measure_directions",
    "merge_reviews",
    "person_gaps",
    "rank_gaps",
    "rank_scores",
    "rate_groups",
    "review_table",
    "score_gaps",
    "signed_gaps",
    "write_review_sheet",
]
