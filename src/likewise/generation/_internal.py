"""What other folders use of this one beyond its documented names."""

from likewise.generation._generator import BaseGenerator, fingerprint, warn_of_few
from likewise.generation._parts import TableStream, open_tables
from likewise.generation._rounds import choose_few
from likewise.generation._row_keys import fold
