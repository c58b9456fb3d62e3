"""What the command line uses of reports beyond the documented names."""

from likewise.report._measures import PEOPLE_TITLES, TARGET_TITLES
from likewise.report._summary import sum_up_plan, sum_up_verdict
from likewise.report._text import NOTHING, UNKNOWN, measured, p_value, percent, signed_number, signed_percent

__all__ = [
    "NOTHING",
    "PEOPLE_TITLES",
    "TARGET_TITLES",
    "UNKNOWN",
    "measured",
    "p_value",
    "percent",
    "signed_number",
    "signed_percent",
    "sum_up_plan",
    "sum_up_verdict",
]
