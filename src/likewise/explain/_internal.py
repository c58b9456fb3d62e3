"""What other folders use of this one beyond its documented names."""

from likewise.explain._splitting import (
    MAX_COLUMNS,
    N_ORDERS,
    NOT_COMPARED,
    Mixer,
    open_mixer,
    roles_of,
    split_pairs,
    sum_parts,
)
