"""What other folders use of this one beyond its documented names."""

from likewise.schema._arrow import array_of, as_arrow
from likewise.schema._cells import DECIMAL_COMMA, MARKED, MOSTLY, THOUSANDS, find_odd_cells, type_cells
from likewise.schema._codecs import MISSING_RANK, MISSING_VALUE, refuse_missing
from likewise.schema._frame_rows import (
    BinValues,
    as_frame,
    join_columns,
    made_up_rows,
    mix_rows,
    named_beside,
    overwrite_columns,
    shield,
    stack_frames,
    take_rows,
)
from likewise.schema._frames import (
    Frame,
    array_of_table,
    hold_out,
    is_frame,
    is_pandas_index,
    open_frame,
    refuse_missing_labels,
    refuse_row_ids,
    table_of_array,
    take_frame,
    take_labels,
    take_weights,
)
from likewise.schema._numbers import middle_places
from likewise.schema._roles import refuse_absent
from likewise.schema._table import KINDS, Unit, hash_array, hash_table, stack_tables
