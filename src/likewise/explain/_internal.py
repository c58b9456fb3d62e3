"""What other folders use of this one beyond its documented names."""

from likewise.explain._mixtures import Mixer
from likewise.explain._splitting import (
    MAX_COLUMNS,
    N_ORDERS,
    NOT_COMPARED,
    open_mixer,
    roles_of,
    split_pairs,
    sum_parts,
)

__all__ = ["MAX_COLUMNS", "NOT_COMPARED", "N_ORDERS", "Mixer", "open_mixer", "roles_of", "split_pairs", "sum_parts"]
