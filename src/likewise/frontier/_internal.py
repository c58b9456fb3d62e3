"""What other folders use of this one beyond its documented names."""

from likewise.frontier._log import AlteredLog, LoggedSearch
from likewise.frontier._replay import people_of, text_columns
