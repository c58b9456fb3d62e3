"""How differently similar people are scored, whether that is acceptable, and the evidence for it."""

from likewise.auditing._asserting import assert_passes
from likewise.auditing._audit import Audit
from likewise.auditing._auditing import audit
from likewise.auditing._calibration import calibration_error
from likewise.auditing._cases import compare_columns
from likewise.auditing._cases_table import cases_table
from likewise.auditing._compared_records import compare_records
from likewise.auditing._comparison import Comparison, compare_audits
from likewise.auditing._concluding import conclude_audit
from likewise.auditing._coverage import find_partnered, measure_coverage, person_gaps
from likewise.auditing._directions import measure_directions
from likewise.auditing._formulas import defuse_formulas
from likewise.auditing._gaps import describe_gaps, find_flips, rank_gaps, rank_scores, score_gaps, signed_gaps
from likewise.auditing._gathering import Gathered
from likewise.auditing._groups import fairlearn_measures, impact_ratio, rate_groups
from likewise.auditing._histograms import place_in_bins, round_edges
from likewise.auditing._pair_keys import pair_keys
from likewise.auditing._person_list import rows_to_show
from likewise.auditing._policy import Policy
from likewise.auditing._question import People, Question, answer_question, name_origin, refuse_compared
from likewise.auditing._review import review_table
from likewise.auditing._scores import Scores, ask_scores, check_scores
from likewise.auditing._settings import check_settings
from likewise.auditing._settling import Settled, settle_task
from likewise.auditing._signs import adjust_p_values, sign_flip_test
from likewise.auditing._tally import PairBatch, PairTally, TallyShape
from likewise.auditing._tally_columns import people_to_columns, tally_from_columns, tally_to_columns
from likewise.auditing._utility import measure_errors, measure_utility
from likewise.auditing._verdict import Verdict, judge
from likewise.auditing._worst import choose_worst
from likewise.record._internal import (
    Change,
    Check,
    Coverage,
    Direction,
    Factor,
    GroupRate,
    Measure,
    PairCase,
    describe_measure,
    known_measures,
)

__all__ = [
    "Audit",
    "Change",
    "Check",
    "Comparison",
    "Coverage",
    "Direction",
    "Factor",
    "Gathered",
    "GroupRate",
    "Measure",
    "PairBatch",
    "PairCase",
    "PairTally",
    "People",
    "Policy",
    "Question",
    "Scores",
    "Settled",
    "TallyShape",
    "Verdict",
    "adjust_p_values",
    "answer_question",
    "ask_scores",
    "assert_passes",
    "audit",
    "calibration_error",
    "cases_table",
    "check_scores",
    "check_settings",
    "choose_worst",
    "compare_audits",
    "compare_columns",
    "compare_records",
    "conclude_audit",
    "defuse_formulas",
    "describe_gaps",
    "describe_measure",
    "fairlearn_measures",
    "find_flips",
    "find_partnered",
    "impact_ratio",
    "judge",
    "known_measures",
    "measure_coverage",
    "measure_directions",
    "measure_errors",
    "measure_utility",
    "name_origin",
    "pair_keys",
    "people_to_columns",
    "person_gaps",
    "place_in_bins",
    "rank_gaps",
    "rank_scores",
    "rate_groups",
    "refuse_compared",
    "review_table",
    "round_edges",
    "rows_to_show",
    "score_gaps",
    "settle_task",
    "sign_flip_test",
    "signed_gaps",
    "tally_from_columns",
    "tally_to_columns",
]
