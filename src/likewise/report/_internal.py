"""What the command line uses of reports beyond the documented names."""

from likewise.report._measures import PEOPLE_TITLES
from likewise.report._summary import sum_up_verdict
from likewise.report._text import NOTHING, measured, p_value, percent, signed_percent

__all__ = [
    "NOTHING",
    "PEOPLE_TITLES",
    "measured",
    "p_value",
    "percent",
    "signed_percent",
    "sum_up_verdict",
]
