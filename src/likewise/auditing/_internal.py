"""What other folders use of this one beyond its documented names."""

from likewise.auditing._run import infer_roles, refuse_unanswerable, run_audit
from likewise.auditing._settings import PAGE_SETTINGS, AuditSettings
from likewise.auditing.evidence._cases import choose_ids, compare_columns
from likewise.auditing.evidence._directions import direction_from_sums
from likewise.auditing.evidence._distributions import rows_to_show
from likewise.auditing.evidence._review_pairs import find_candidates, thin_out
from likewise.auditing.evidence._review_sheet import sheet_as_bytes
from likewise.auditing.evidence._tables import defuse_formulas
from likewise.auditing.inference._excess import ComparedPeople, Excess, Partners
from likewise.auditing.inference._intervals import influence_of_people, interval_of_mean
from likewise.auditing.inference._pair_measures import ExactFacts, link_people, measure_parts
from likewise.auditing.pairs._gaps import QUANTILES, gap_between
from likewise.auditing.pairs._gather import Gathered, PairTest, Side, Standing, find_among, leave_out_pairs
from likewise.auditing.pairs._kernels import match_apart
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.pairs._quantiles import place_in_bins, round_edges
from likewise.auditing.pairs._selection import pair_keys
from likewise.auditing.pairs._summary import (
    MeasuredPairs,
    PairSummary,
    SummaryShape,
    people_to_columns,
    summary_from_columns,
    summary_to_columns,
)
from likewise.auditing.question._decisions import name_decisions, read_decisions
from likewise.auditing.question._question import (
    People,
    Question,
    build_question,
    encode_people,
    name_origin,
    number_combinations,
    refuse_compared,
)
from likewise.auditing.question._reference import Reference
from likewise.auditing.question._scores import ask_scores, check_scores
from likewise.auditing.question._task import SIDES, ResolvedTask, resolve_task
from likewise.auditing.question._weights import (
    SampleWeights,
    Units,
    Weights,
    check_weights,
    find_weights,
    mean_of,
    refuse_weight_role,
)
from likewise.auditing.result._audit import audit_files, reviewed_files
from likewise.auditing.result._conclusion import conclude_audit, describe_rule, list_versions
from likewise.record._internal import is_reducible, reducible_measures, split_key
