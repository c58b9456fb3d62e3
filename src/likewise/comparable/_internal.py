"""What other folders use of this one beyond its documented names."""

from likewise.comparable._limits import SHIFT_TOLERANCE, FieldLimit, Measure, Nearness
from likewise.comparable._mining import visit_pairs
from likewise.comparable._rule import SensitiveDiffers, check_rule
from likewise.comparable.engines._columns import balance_blocks
from likewise.comparable.engines._problem import Bunch, join_chunks, state_problem
