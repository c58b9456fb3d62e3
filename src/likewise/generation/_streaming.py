"""Antidotes of tables that come one after the other, as Arrow tables: nothing of what went before is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._random import check_seed
from likewise.exceptions import GenerationError
from likewise.generation._by_row import Amount
from likewise.generation._counting import Record, count_made
from likewise.generation._generator import BaseGenerator
from likewise.generation._source import Source

if TYPE_CHECKING:
    import pyarrow as pa


def iter_antidotes(
    generator: BaseGenerator,
    tables: Iterable[Any],
    *,
    rounds: int | None = None,
    ratio: float | None = None,
    per_row: int | None = None,
    random_state: int | None = None,
    row_id: str | None = None,
    rows_at_a_time: int | None = None,
) -> Iterator[pa.Table]:
    """Make antidotes of Arrow tables that come one after the other, and hand them out as they are made.

    The antidotes of a row are those that ``generate`` makes of it with the same ``row_ids``: they depend on its id,
    the seed and the row alone.

    Parameters
    ----------
    generator : generator
        Fitted.
    tables : iterable of pyarrow tables or record batches
        All with the same columns, the label among them.
    rounds, ratio, per_row
        How many antidotes to make, as for ``generate``.
    random_state : int, optional
        Another seed than the generator's own.
    row_id : str, optional
        The column that says what rows are called; the row id of the roles, or the position in the stream, if not
        given.
    rows_at_a_time : int, optional
        How many rows to make antidotes of at a time; by default as many as keep the memory small.

    Yields
    ------
    pyarrow table
        In the columns of the tables, of plain types, and the columns is_antidote, source_row (the position in the
        stream) and antidote_round.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import iter_antidotes
    >>> data = load_dataset("planted")
    >>> people = pa.Table.from_pandas(data.train.X).append_column("repaid", pa.array(data.train.y))
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> [len(part) for part in iter_antidotes(generator, [people], per_row=1, rows_at_a_time=1000)]
    [1000, 500]
    """
    asked = Asked.of(generator, Amount(rounds, ratio, per_row), random_state, row_id)
    start = 0
    for table in Source(given=tables).tables(rows_at_a_time or asked.rows_at_a_time):
        yield asked.make(table, start)[0]
        start += len(table)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to make of every part."""

    generator: BaseGenerator
    amount: Amount
    seed: int
    row_id: str | None

    @classmethod
    def of(cls, generator: BaseGenerator, amount: Amount, random_state: Any, row_id: str | None) -> Asked:
        """Settle what was left open."""
        generator._refuse_unfitted()
        seed = check_seed(generator.random_state if random_state is None else random_state)
        return cls(generator, amount, seed, generator.roles.row_id if row_id is None else row_id)

    @property
    def rows_at_a_time(self) -> int:
        """As many rows as give a few hundred thousand antidotes, at most."""
        amount = self.amount
        each: float = len(self.generator.targets_.combinations) * (amount.rounds or 1)
        each = each if amount.ratio is None else min(each, amount.ratio + 1)
        each = each if amount.per_row is None else min(each, amount.per_row)
        return int(max(min(300_000 // each, 100_000), 1_000))

    def make(self, table: pa.Table, start: int) -> tuple[pa.Table, Record]:
        """Make the antidotes of one part, whose first row is the so manieth; count them, too."""
        import pyarrow as pa

        ids = np.arange(start, start + len(table)) if self.row_id is None else self.row_id
        antidotes, n_wanted = self.generator._make_by_row(table, None, self.amount, self.seed, ids)
        made = _in_types_of(antidotes.frame, table.schema)
        beside = {
            "is_antidote": pa.array(np.ones(len(made), np.bool_)),
            "source_row": pa.array(start + antidotes.source),
            "antidote_round": pa.array(antidotes.round),
        }
        for name, values in beside.items():
            while name in made.column_names:
                name += "_"
            made = made.append_column(name, values)
        return made, count_made(antidotes, n_wanted)


def _in_types_of(made: pa.Table, schema: Any) -> pa.Table:
    """Give antidotes the types of their sources in every part, or say which of them is too narrow."""
    import pyarrow as pa

    for position, field in enumerate(schema):
        column = made.column(field.name)
        if column.type == field.type:
            continue
        try:
            made = made.set_column(position, field, column.cast(field.type))
        except pa.ArrowException as error:
            raise GenerationError(
                f"Column '{field.name}' holds {field.type} values here, which cannot take what an antidote needs "
                f"({str(error).splitlines()[0].rstrip('.')}). Give it the type that it had in training."
            ) from None
    return made.cast(schema)
