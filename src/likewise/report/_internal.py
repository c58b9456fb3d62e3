"""What other folders use of reports beyond the documented names."""

from likewise.report._attribution import (
    certified_table,
    column_table,
    describe_certificates,
    describe_plausibility,
    limit_table,
    named_table,
)
from likewise.report._evidence import adjusted_gap
from likewise.report._measures import (
    DIRECTED,
    PERFORMANCE,
    has_performance,
    list_disagreements,
    regression_table,
    title_in,
)
from likewise.report._summary import lead_sentence, list_answers, sum_up_plan, tell_worst
from likewise.report._text import NOTHING, UNKNOWN, Number, measured, p_value, percent, signed_gap
from likewise.report.pages import PAGES
