"""What other folders use of this one beyond its documented names."""

from likewise.frontier._log import LoggedSearch, is_log
from likewise.frontier._replay import people_of

__all__ = ["LoggedSearch", "is_log", "people_of"]
