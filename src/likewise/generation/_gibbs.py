"""The Gibbs generator: rows that are comparable by construction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count, check_flag, is_number
from likewise._progress import follow, tell
from likewise._random import Keys, check_seed, draw_seed
from likewise.exceptions import ParameterError
from likewise.generation._generator import BaseGenerator, numbered
from likewise.generation._storage import Description
from likewise.nets._internal import choose_device, fixed_threads
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import KINDS, open_frame

if TYPE_CHECKING:
    from likewise.generation._gibbs_network import ConditionalInputs

log = logging.getLogger(__name__)

Record = dict[str, Any]

CODED: Final = ("sensitive", "discrete", "ordinal", "matched")  # the network's columns; matched ones are not learned
ROWS_AT_A_TIME: Final = 2_048
CELLS_AT_A_TIME: Final = 2**28  # rows times inputs, at most: tables with thousands of categories fit, too
SHARES: Final = ("min_plausibility", "change_below", "move_share", "vary_share")


@dataclass(eq=False, repr=False, kw_only=True)
class GibbsGenerator(BaseGenerator):
    """Set the sensitive values, change what no longer fits them, and keep the row if it is plausible.

    One network learns the probability of every discrete, ordinal and sensitive value given all other columns. An
    antidote is generated in steps, as in a Gibbs sampler, none of which leaves the rule:

    1. The sensitive columns take the requested values.
    2. Continuous values move to those of training rows nearby, ordinal ones to a likely rank nearby.
    3. The discrete column whose value lost most of its probability takes another, drawn given all other columns; as
       often as the rule allows, and only where it lost nearly all. From married to never married, "husband" turns into
       "not in family", and nothing else changes.
    4. Where the rule leaves room for a change, some discrete column is drawn again given all other columns, and mostly
       keeps its value: comparable people differ in more than they have to.
    5. The new sensitive values must be plausible together, given what the row kept of its source. Columns of steps 3
       and 4 are ignored here, as they were drawn to fit.

    Every generated row is comparable to its source, or rejected as implausible. Labels are not used: with them,
    antidotes would keep more of the association between label and sensitive columns.

    Parameters
    ----------
    roles : Roles
        Column roles.
    rule : Comparability, optional
        The rule; ``Comparability()`` by default.
    min_plausibility : float
        Minimum probability of the new sensitive values. Where people rarely have a value, it is not generated.
    draw_targets : bool
        Keep a plausible row only with the probability of its new sensitive values, so that they are as frequent as
        among people like the source; or keep every plausible row.
    change_below : float
        A discrete value may change if less than this share of its probability is left.
    move_share : float
        Share of continuous and ordinal values that are drawn again within the limits of the rule; a value may be drawn
        as it was.
    vary_share : float
        Share of rows in which step 4 draws a column.
    n_iterations : int
        Maximum number of training steps; training stops when the held-out loss stagnates.
    batch_size : int
        Rows per step, drawn with replacement; at most the number of rows.
    width : int
        Hidden-layer width.
    progress : callable or False, optional
        Called with each record of the history. By default, a progress bar appears after two seconds on a terminal or in
        a notebook; False for none.
    device : str
        "auto" for the GPU if there is one, or any name that torch knows.
    random_state : int, optional
        Seed; the same seed gives the same antidotes on the same machine.

    Attributes
    ----------
    history_ : list of dict
        Training records: iteration, seconds (since the start), loss, held_out_loss (None for very few rows).

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

    _saved_as: ClassVar[str] = "GibbsGenerator 1"
    _rebuilt: ClassVar[tuple[str, ...]] = ("device_", "network_", "observed_")
    history_: list[Record] = field(init=False)

    min_plausibility: float = 0.05
    draw_targets: bool = True
    change_below: float = 0.05
    move_share: float = 0.5
    vary_share: float = 1.0
    n_iterations: int = 1_500
    batch_size: int = 1_024
    width: int = 256
    progress: Callable[[Record], None] | bool | None = None
    device: str = "auto"

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return how well the categories of each row fit each other and its numbers: its log pseudo-likelihood.

        That is the sum of log p(value given all other columns) over the sensitive, discrete and ordinal columns. It
        tells rows apart by the order only: a husband who never married is far below everybody who exists. Numbers are
        given, not judged, and labels are not used.

        Parameters
        ----------
        X : pandas, polars or pyarrow table

        Returns
        -------
        array of float
            One per row. A category that the training rows lack counts as the rarest of its column; a missing rank
            counts as nothing.

        Examples
        --------
        >>> from likewise import GibbsGenerator, load_dataset
        >>> data = load_dataset("planted")
        >>> generator = GibbsGenerator(data.roles, n_iterations=200, width=32, random_state=0)
        >>> fits = generator.fit(data.train.X, data.train.y).score_samples(data.test.X)
        >>> len(fits) == len(data.test.X), bool((fits < 0).all())
        (True, True)
        """
        import torch

        self._refuse_unfitted()
        table = self.schema_.encode(X, np.zeros(len(open_frame(X)), np.int64))
        network, codes, found = self.network_.in_double(), _coded(table), np.zeros(len(table))
        n_rows = max(min(ROWS_AT_A_TIME, CELLS_AT_A_TIME // network.inputs.n_inputs), 1)
        with torch.inference_mode(), fixed_threads(self.device_, n_rows * network.inputs.n_products(self.width)):
            for start in range(0, len(codes), n_rows):
                some = slice(start, start + n_rows)
                given = torch.as_tensor(codes[some]).to(self.device_, torch.int64)
                numbers = torch.as_tensor(np.ascontiguousarray(table.continuous[some])).to(self.device_)
                found[some] = network.log_likelihood(given, numbers).cpu().numpy()
        return found

    def _describe_learned(self) -> Description:
        network, observed = self.network_, self.observed_
        inputs = network.inputs
        record = {"sizes": list(inputs.sizes), "n_learned": inputs.n_learned, "history": self.history_}
        arrays = {
            "edges": inputs.edges,
            **{f"weights.{name}": weight.cpu().numpy() for name, weight in network.weights.items()},
            **numbered("values", [values.cpu().numpy() for values in observed.values]),
            **numbered("ends", [ends.cpu().numpy() for ends in observed.ends]),
        }
        return Description(record, arrays)

    def _restore_learned(self, description: Description, device: str) -> None:
        from likewise.generation._gibbs_network import ConditionalInputs, Conditionals, ObservedValues

        record, arrays = description
        self.device_, self.history_ = choose_device(device), record["history"]
        weights = description.arrays_under("weights.")
        inputs = ConditionalInputs(tuple(record["sizes"]), record["n_learned"], arrays["edges"])
        _check_shapes(inputs, weights, self.schema_)
        self.network_ = Conditionals(inputs, weights, self.device_)
        columns = range(len(inputs.edges))
        self.observed_ = ObservedValues.of(
            [arrays[f"values.{i}"] for i in columns], [arrays[f"ends.{i}"] for i in columns], self.device_
        )

    def _refuse_odd_parameters(self) -> None:
        super()._refuse_odd_parameters()
        for name in ("n_iterations", "batch_size", "width"):
            check_count(name, getattr(self, name), or_none=False, least=1)
        for name in SHARES:
            share = getattr(self, name)
            if not is_number(share) or not 0 <= share <= 1:
                raise ParameterError(f"is {share!r}; give a number from 0 to 1.", name)
        check_flag("draw_targets", self.draw_targets)

    def _learn(self, table: CodedTable) -> None:
        self.device_ = choose_device(self.device)
        from likewise.generation._gibbs_network import (
            ConditionalInputs,
            ObservedValues,
            TrainingPlan,
            find_edges,
            learn_conditionals,
        )

        seed = check_seed(self.random_state)
        codes = _coded(table)
        sizes = tuple(
            max(len(table.categories.get(name, ())), int(column.max(initial=0)) + 1)
            for name, column in zip((name for kind in CODED for name in table.names[kind]), codes.T, strict=True)
        )
        inputs = ConditionalInputs(sizes, len(sizes) - table.matched.shape[1], find_edges(table.continuous))
        plan = TrainingPlan(self.n_iterations, self.batch_size, self.width, draw_seed(seed, "conditionals"))
        self.history_ = []
        with (
            fixed_threads(self.device_, self.batch_size * inputs.n_products(self.width)),
            follow(f"Fitting {type(self).__name__}", self.n_iterations, self.progress) as show,
        ):
            record = partial(self._record, show)
            self.network_ = learn_conditionals(inputs, codes, table.continuous, plan, self.device_, record)
        self.observed_ = ObservedValues.learn(table.continuous, self.device_)

    def _record(self, show: Callable[[float, str], None], record: Record) -> None:
        self.history_.append(record)
        log.info("iteration %d: loss %.4f", record["iteration"], record["loss"])
        tell(self.progress, record)
        show(record["iteration"], f"loss {record['loss']:.4f}")

    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        """Return a row per source; an implausible one is the source itself, which is later dropped."""
        import torch

        from likewise.generation._gibbs_network import Sampler
        from likewise.generation._row_tensors import RowTensors, rows_by_row

        codes, network = _coded(sources), self.network_
        n_rows = rows_by_row(self.device_, network.inputs.n_inputs, CELLS_AT_A_TIME)
        random = RowTensors(keys, "gibbs", n_rows, self.device_)
        sampler = Sampler(network, self.observed_, self._bounds(sources))
        made, moved = codes.copy(), np.array(sources.continuous, order="C")
        n_products = n_rows * network.inputs.n_products(self.width)
        with torch.inference_mode(), fixed_threads(self.device_, n_products):
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
        """Return the columns that may change, by the network's numbering, and their limits."""
        from likewise.generation._gibbs_network import Bounds

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


def _check_shapes(inputs: ConditionalInputs, weights: Mapping[str, NDArray[Any]], schema: Schema) -> None:
    """Refuse weights that would fail in generation."""
    width, roles = weights["first"].shape[1], schema.roles
    shapes = {
        "first": (inputs.n_inputs, width),
        "first_bias": (width,),
        "second": (width, width),
        "second_bias": (width,),
        "last": (width, inputs.n_outputs),
        "last_bias": (inputs.n_outputs,),
    }
    wrong = [name for name, shape in shapes.items() if weights[name].shape != shape]
    n_coded = sum(len(roles.names(kind)) for kind in KINDS if kind != "continuous")
    if wrong or len(inputs.sizes) != n_coded or len(inputs.edges) != len(roles.names("continuous")):
        raise ValueError(f"the network does not fit the schema: {wrong or 'other columns'}")
