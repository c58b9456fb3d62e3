"""Our generator: rows that are comparable by construction, changed where other sensitive values ask for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._random import Keys, check_seed, draw_seed
from likewise.comparable import Comparability
from likewise.generation._folders import Contents
from likewise.generation._generator import BaseGenerator
from likewise.nets._internal import choose_device
from likewise.schema import CodedTable, Roles

log = logging.getLogger(__name__)

Record = dict[str, Any]

CODED: Final = ("sensitive", "discrete", "ordinal", "matched")  # the network's columns; matched ones are not learned
ROWS_AT_A_TIME: Final = {"cpu": 2_048, "cuda": 262_144}  # a processor is fastest on what its cache holds
CELLS_AT_A_TIME: Final = 2**28  # rows times inputs, at most: tables of thousands of categories fit, too
SHARES: Final = ("min_plausibility", "change_below", "move_share", "vary_share")


class GibbsGenerator(BaseGenerator):
    """Set the sensitive values, change what no longer fits them, and keep the row if it is plausible.

    One network learns the probability of every discrete, ordinal and sensitive value given all the other columns. An
    antidote is made in steps, as a Gibbs sampler would, none of which leaves the rule:

    1. The sensitive columns take the values asked for.
    2. Continuous values move to those of training rows nearby, ordinal ones to a likely rank nearby.
    3. The discrete column whose value lost most of its probability takes another, drawn given all other columns; as
       often as the rule allows, and only where it lost nearly all. From married to never married, "husband" turns into
       "not in family", and nothing else.
    4. Where the rule leaves room for a change, some discrete column is drawn anew given all other columns, and mostly
       stays what it is: comparable people differ in more than they have to.
    5. The new sensitive values, all together, have to be plausible given what the row kept of its source. Columns of
       steps 3 and 4 are left aside here, as they were drawn to fit.

    Every row made is comparable to its source, or refused as not plausible. Labels play no part: with them, antidotes
    keep more of what ties the label to the sensitive columns.

    Parameters
    ----------
    roles : Roles
        What the columns are.
    comparability : Comparability, optional
        The rule; ``Comparability()`` if not given.
    min_plausibility : float
        The least probability of the new sensitive values. Among people who rarely have a value, it is not made.
    draw_targets : bool
        Whether to keep a plausible row only with the probability of its new sensitive values, so that they are as
        frequent as among people like the source; or to keep every plausible row.
    change_below : float
        A discrete value may change when less than this share of its probability is left.
    move_share : float
        The share of the continuous and ordinal values that are drawn anew, within the limits of the rule. One may
        well be drawn as it was.
    vary_share : float
        In which share of the rows that step 4 draws a column.
    n_iterations : int
        Steps of training, at most: it ends when rows held out show no progress.
    batch_size : int
        Rows a step, drawn anew; as many as there are, if these are fewer.
    width : int
        Of the hidden layers.
    progress : callable, optional
        Called with each record of the history.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        The same number makes the same antidotes, on the same machine.

    Attributes
    ----------
    history_ : list of dict
        Records of training: iteration, seconds (since it began), loss, held_out_loss (None for a handful of rows).

    Examples
    --------
    >>> from likewise import load_dataset
    >>> from likewise.generation import GibbsGenerator
    >>> data = load_dataset("planted")
    >>> generator = GibbsGenerator(data.roles, data.rule, n_iterations=50, width=64, random_state=0)
    >>> antidotes = generator.fit(data.train.X, data.train.y).generate(data.train.X, data.train.y)
    >>> bool(data.rule.holds(antidotes.sources, antidotes.table).all())
    True
    """

    history_: list[Record]

    def __init__(
        self,
        roles: Roles,
        comparability: Comparability | None = None,
        *,
        min_plausibility: float = 0.05,
        draw_targets: bool = True,
        change_below: float = 0.05,
        move_share: float = 0.5,
        vary_share: float = 1.0,
        n_iterations: int = 1_500,
        batch_size: int = 1_024,
        width: int = 256,
        progress: Callable[[Record], None] | None = None,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.roles = roles
        self.comparability = comparability
        self.min_plausibility = min_plausibility
        self.draw_targets = draw_targets
        self.change_below = change_below
        self.move_share = move_share
        self.vary_share = vary_share
        self.n_iterations = n_iterations
        self.batch_size = batch_size
        self.width = width
        self.progress = progress
        self.device = device
        self.random_state = random_state

    def _describe(self) -> Contents:
        from likewise.generation._gibbs_saving import describe

        return describe(self)

    @classmethod
    def _load(cls, path: str | Path, device: str) -> Self:
        from likewise.generation._gibbs_saving import load_generator

        return load_generator(cls, path, device)

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        for name in ("n_iterations", "batch_size", "width"):
            check_count(name, getattr(self, name), or_none=False)
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0; give a whole number, 1 or more.")
        for name in SHARES:
            share = getattr(self, name)
            is_number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
            if not is_number or not 0 <= share <= 1:
                raise ValueError(f"{name} is {share!r}; give a number from 0 to 1.")
        if not isinstance(self.draw_targets, bool | np.bool_):
            raise ValueError(f"draw_targets is {self.draw_targets!r}; give True or False.")

    def _learn(self, table: CodedTable) -> None:
        self.device_ = choose_device(self.device)
        from likewise.generation._conditionals import Inputs, find_edges
        from likewise.generation._gibbs_training import Schedule, learn_conditionals
        from likewise.generation._gibbs_values import ObservedValues

        seed = check_seed(self.random_state)
        codes = _coded(table)
        sizes = tuple(
            max(len(table.categories.get(name, ())), int(column.max(initial=0)) + 1)
            for name, column in zip((name for kind in CODED for name in table.names[kind]), codes.T, strict=True)
        )
        inputs = Inputs(sizes, len(sizes) - table.matched.shape[1], find_edges(table.continuous))
        schedule = Schedule(self.n_iterations, self.batch_size, self.width, draw_seed(seed, "conditionals"))
        self.history_ = []
        self.network_ = learn_conditionals(inputs, codes, table.continuous, schedule, self.device_, self._record)
        self.observed_ = ObservedValues.learn(table.continuous, self.device_)

    def _record(self, record: Record) -> None:
        self.history_.append(record)
        log.info("iteration %d: loss %.4f", record["iteration"], record["loss"])
        if self.progress is not None:
            self.progress(record)

    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], seed: int) -> CodedTable:
        from likewise.generation._row_tensors import StreamTensors

        n_rows = ROWS_AT_A_TIME.get(self.device_.type, ROWS_AT_A_TIME["cuda"])
        n_rows = max(min(n_rows, CELLS_AT_A_TIME // self.network_.inputs.n_inputs), 1)
        random = StreamTensors(draw_seed(seed, "gibbs"), self.device_)
        return self._sample(sources, wanted, self.network_, random, n_rows)

    def _propose_by_row(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        from likewise.generation._row_tensors import RowTensors, rows_by_row

        n_rows = rows_by_row(self.device_, self.network_.inputs.n_inputs, CELLS_AT_A_TIME)
        random = RowTensors(keys, "gibbs", n_rows, self.device_)
        return self._sample(sources, wanted, self.network_.in_double(), random, n_rows)

    def _sample(
        self, sources: CodedTable, wanted: NDArray[np.int32], network: Any, random: Any, n_rows: int
    ) -> CodedTable:
        """Make a row of each source; one that is not plausible is the source itself, which the last step leaves out."""
        import torch

        from likewise.generation._gibbs_sampling import Sampler

        codes = _coded(sources)
        sampler = Sampler(network, self.observed_, self._bounds(sources))
        made, moved = codes.copy(), np.array(sources.continuous, order="C")
        with torch.inference_mode():
            for start in range(0, len(codes), n_rows):
                some = slice(start, start + n_rows)
                arrays = [random.fill(array[some]) for array in (codes, moved, wanted)]
                given = [torch.as_tensor(array).to(self.device_) for array in arrays]
                rows, values, kept = sampler.sample(given[0].long(), given[1], given[2].long(), random.batch(some))
                rows = torch.where(kept[:, None], rows, given[0])
                n = len(codes[some])
                made[some] = rows[:n].to(torch.int32).cpu().numpy()
                moved[some] = torch.where(kept[:, None], values, given[1])[:n].cpu().numpy()
        ends = np.cumsum([getattr(sources, kind).shape[1] for kind in CODED])[:-1]
        sensitive, discrete, ordinal, _ = np.split(made, ends, axis=1)
        return replace(sources, sensitive=sensitive, discrete=discrete, ordinal=ordinal, continuous=moved)

    def _bounds(self, table: CodedTable) -> Any:
        """Count the columns that may change as the network does, and resolve their limits."""
        from likewise.generation._gibbs_sampling import Bounds

        rule = self._rule
        n_sensitive, n_discrete = table.sensitive.shape[1], table.discrete.shape[1]
        ranks = {n_sensitive + n_discrete + i: float(limit) for i, limit in enumerate(rule.ordinal_limits(table))}
        return Bounds(
            may_change=tuple((n_sensitive + np.flatnonzero(rule.may_change(table))).tolist()),
            max_changes=rule.max_discrete_changes,
            ordinal={column: limit for column, limit in ranks.items() if limit >= 1 and self.move_share},
            continuous=tuple(rule.continuous_limits(table).tolist()),
            move_share=float(self.move_share),
            vary_share=float(self.vary_share),
            change_below=float(self.change_below),
            min_plausibility=float(self.min_plausibility),
            draw_targets=bool(self.draw_targets),
        )


def _coded(table: CodedTable) -> NDArray[np.int32]:
    return np.ascontiguousarray(np.hstack([getattr(table, kind) for kind in CODED]))
