"""What other folders use of this one beyond its documented names."""

from likewise.comparable._limits import SHIFT_TOLERANCE, NoBetter, tie_of
from likewise.comparable._mining import EngineName, visit_pairs
from likewise.comparable._rule import check_rule
from likewise.comparable.engines._problem import Bunch, join_chunks, state_problem
