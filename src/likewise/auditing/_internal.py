"""What other folders use of this one beyond its documented names."""

from likewise.auditing._auditing import run_audit
from likewise.auditing._cases import compare_columns
from likewise.auditing._concluding import conclude_audit
from likewise.auditing._formulas import defuse_formulas
from likewise.auditing._gathering import Gathered
from likewise.auditing._histograms import place_in_bins, round_edges
from likewise.auditing._pair_keys import pair_keys
from likewise.auditing._person_list import rows_to_show
from likewise.auditing._question import People, Question, answer_question, name_origin, refuse_compared
from likewise.auditing._scores import ask_scores, check_scores, select_columns
from likewise.auditing._settings import AuditSettings, TaskName, TooMany
from likewise.auditing._settling import Settled, settle_task
from likewise.auditing._tally import PairBatch, PairTally, TallyShape
from likewise.auditing._tally_columns import people_to_columns, tally_from_columns, tally_to_columns
from likewise.auditing._verdict import judge
from likewise.auditing._worst import choose_worst

__all__ = [
    "AuditSettings",
    "Gathered",
    "PairBatch",
    "PairTally",
    "People",
    "Question",
    "Settled",
    "TallyShape",
    "TaskName",
    "TooMany",
    "answer_question",
    "ask_scores",
    "check_scores",
    "choose_worst",
    "compare_columns",
    "conclude_audit",
    "defuse_formulas",
    "judge",
    "name_origin",
    "pair_keys",
    "people_to_columns",
    "place_in_bins",
    "refuse_compared",
    "round_edges",
    "rows_to_show",
    "run_audit",
    "select_columns",
    "settle_task",
    "tally_from_columns",
    "tally_to_columns",
]
