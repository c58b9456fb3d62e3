"""The base of all generators: sensitive values to request, valid values, the rule, provenance, and saving."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from likewise._estimators import fit_guard
from likewise._json import plain
from likewise._random import Keys, check_seed, saved_seed
from likewise._warnings import warn
from likewise.comparable import Comparability
from likewise.exceptions import FewAntidotes, GenerationError, SavedModelError
from likewise.generation._antidotes import Antidotes, keep_comparable
from likewise.generation._rounds import Amount, Pool, Targets, fill, learn_targets
from likewise.generation._row_keys import seed_rows
from likewise.generation._storage import Description, SavedInFolder, read_kind, subclasses
from likewise.nets._internal import device_here
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import KINDS, BinValues, made_up_rows

Kept = NDArray[np.bool_]

REHEARSED: Final = 2_000  # rows generated when a saved generator is loaded
# saved in a form of their own, or properties of the machine rather than of the generator
NOT_PARAMS: Final = ("roles", "rule", "progress", "device")
MOST_TIMES: Final = 8  # the ratio; beyond, hardly any more can be generated
BY_ROW_ADVICE: Final = (
    "With row ids, no row compensates for another: loosen the rule, or request the ratio that scale_ratio returns."
)


@dataclass(eq=False, repr=False)
class BaseGenerator(SavedInFolder, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of the generators, which learn from a table to generate comparable rows with other sensitive values.

    A subclass defines how it learns (``_learn``) and how it proposes rows (``_propose``).
    """

    _rebuilt: ClassVar[tuple[str, ...]] = ("device_",)  # attributes that what was learned is rebuilt as

    roles: Roles
    rule: Comparability | None = None
    _: KW_ONLY
    random_state: int | None = None
    schema_: Schema = field(init=False)
    targets_: Targets = field(init=False)
    bin_values_: BinValues = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
        y : array, optional
            Labels; the label column of ``X`` by default.

        Returns
        -------
        self
        """
        self._refuse_odd_parameters()
        schema = self.roles.learn(X, y)
        table = schema.encode(X, y)
        rule = self._rule
        rule.check(table)
        targets = learn_targets(table, rule)
        with fit_guard(self):
            self.schema_, self.targets_, self.bin_values_ = schema, targets, BinValues.learn(X, schema)
            self._name_features()
            self._learn(table)
        return self

    def generate(
        self,
        X: Any,
        y: Any = None,
        *,
        rounds: int | None = None,
        ratio: float | None = None,
        per_row: int | None = None,
        random_state: int | None = None,
        row_ids: Any = None,
    ) -> Antidotes:
        """Generate antidotes: for each row, comparable rows with every other combination of sensitive values.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
            Source rows, with the columns of the training frame.
        y : array, optional
            Their labels, which antidotes copy; the label column of ``X`` by default.
        rounds : int, optional
            How often to try every row and combination; 1 by default. Antidotes of a row are distinct, unless the
            generator keeps repeated ones.
        ratio : float, optional
            Instead of rounds: antidotes per row of ``X``, drawn at random from as many rounds as needed.
        per_row : int, optional
            Maximum number of antidotes per row, drawn at random; rounds end when every row has this many.
        random_state : int, optional
            Another seed than the generator's own.
        row_ids : str or array, optional
            Row identifiers, whole numbers or text, or the name of a column of ``X`` that holds them. The antidotes of
            a row then depend only on its id, the seed and the row: they are the same in any order and any part of the
            table, on the same machine. A ratio then holds per row on average: of 0.3, three rows in ten get an
            antidote, chosen by their ids; no row compensates for another that yields none, unless
            :func:`~likewise.generation.scale_ratio` says what to request. Without ids, rows are known by their
            position, and a ratio is met exactly.

        Returns
        -------
        Antidotes
        """
        self._refuse_unfitted()
        amount = Amount(rounds, ratio, per_row)
        seed = check_seed(self.random_state if random_state is None else random_state)
        antidotes, n_wanted = self._make(X, y, amount, seed, row_ids)
        if row_ids is None:
            warn_of_few(len(antidotes), antidotes.n_sources, n_wanted)
        else:
            warn_of_few(len(antidotes), antidotes.n_sources, n_wanted, BY_ROW_ADVICE)
        return antidotes

    def _make(self, X: Any, y: Any, amount: Amount, seed: int, row_ids: Any) -> tuple[Antidotes, int]:
        """Generate antidotes, of each row alone if there are ids; return them, and how many a ratio requested."""
        sources, each_alone = self.schema_.encode(X, y), row_ids is not None
        keys = seed_rows(row_ids if each_alone else np.arange(len(sources)), X, seed)
        pool = Pool(sources)
        n_wanted = fill(
            *(pool, sources, keys, amount, self.targets_, self._rule, self._make_rows),
            each_alone=each_alone,
            keeps_repeated=self._keeps_repeated,
        )
        if amount.ratio is not None and not each_alone:
            pool.draw(n_wanted, keys)
        return pool.close(X, self.schema_, self.bin_values_, keys), n_wanted

    def _make_rows(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> tuple[CodedTable, Kept]:
        return self._finish(sources, self._propose(sources, wanted, keys))

    def _finish(self, originals: CodedTable, raw: CodedTable) -> tuple[CodedTable, Kept]:
        """Round proposed rows to valid values; return them, and which are comparable to their sources."""
        snapped = self.schema_.snap(raw).continuous
        # an unchanged value stays exactly as it is, also where training had fewer decimals
        made = replace(raw, continuous=np.where(raw.continuous == originals.continuous, raw.continuous, snapped))
        return made, keep_comparable(originals, made, self._rule)

    @property
    def _keeps_repeated(self) -> bool:
        """Whether a row may have equal antidotes, from several rounds."""
        return False

    @abstractmethod
    def _learn(self, table: CodedTable) -> None:
        """Learn from a coded table; fitted attributes end in ``_``."""

    @abstractmethod
    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        """Return a row for each source with the requested sensitive values, by random numbers from its key alone.

        It need not be comparable.
        """

    def _describe(self) -> Description:
        """Return everything that generation needs; refuse if not fitted."""
        self._refuse_unfitted()
        rule, targets, bins = self.rule, self.targets_, self.bin_values_.by_column
        record = {
            "params": {name: plain(value) for name, value in self._saved_params().items()},
            "roles": self.roles.to_dict(),
            "rule": None if rule is None else rule.to_dict(),
            "schema": self.schema_.to_json(),
            "bins": {name: len(groups) for name, groups in bins.items()},
        }
        arrays = {
            "targets.combinations": targets.combinations,
            "targets.counts": targets.counts,
            **numbered("bins", [values for groups in bins.values() for values in groups]),
        }
        learned = self._describe_learned()
        return Description(record | learned.record, arrays | learned.arrays)

    def _describe_learned(self) -> Description:
        """Return what only this kind of generator has learned."""
        return Description({}, {})

    @classmethod
    def _restore(cls, description: Description, device: str) -> Self:
        """Return the generator; any error means that the description is invalid."""
        record, arrays = description
        rule = None if record["rule"] is None else Comparability.from_dict(record["rule"])
        more: dict[str, Any] = {"device": device} if cls._has_device else {}
        generator = cls(Roles.from_dict(record["roles"]), rule, **more)
        if record["params"].keys() != generator._saved_params().keys():
            raise ValueError(f"parameters {sorted(record['params'])}")
        generator.set_params(**record["params"])
        generator._refuse_odd_parameters()
        generator.schema_ = Schema.from_json(record["schema"])
        generator._name_features()
        generator.targets_ = Targets(arrays["targets.combinations"], arrays["targets.counts"])
        numbers = iter(range(sum(record["bins"].values())))
        generator.bin_values_ = BinValues(
            {name: tuple(arrays[f"bins.{next(numbers)}"] for _ in range(n)) for name, n in record["bins"].items()}
        )
        generator._refuse_unlike()
        generator._restore_learned(description, device)
        return generator

    def _restore_learned(self, description: Description, device: str) -> None:
        """Restore what :meth:`_describe_learned` returned."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what was learned as arrays, which a file can hold, for the device of whoever reads it."""
        state: dict[str, Any] = super().__getstate__()
        if "device_" not in state:
            return state
        state = {name: value for name, value in state.items() if name not in self._rebuilt}
        state["progress"] = None if callable(state["progress"]) else state["progress"]
        return state | {"learned": self._describe_learned()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.pop("learned", None)
        super().__setstate__(state)
        if learned is not None:
            device = device_here(state["device"])
            self._restore_learned(Description(*learned), device)
            self.set_params(device=device)

    def _rehearse(self) -> None:
        """Generate from made-up rows with the values that the schema knows."""
        schema, n_targets = self.schema_, max(len(self.targets_.combinations), 1)
        n_rows = max(min(max(map(len, schema.categories.values()), default=2), REHEARSED // n_targets), 2)
        table = made_up_rows(schema, n_rows)
        frame = self.bin_values_.put_into(schema.decode(table, kind="pyarrow"), table, np.random.default_rng(0))
        self.generate(frame, [0] * n_rows, random_state=0)

    def _saved_params(self) -> dict[str, Any]:
        """Return the parameters to save; of random states only a seed."""
        params = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_PARAMS}
        return params | {"random_state": saved_seed(self.random_state)}

    def _refuse_unlike(self) -> None:
        """Refuse a restored state that would fail in generation."""
        names = self.schema_.roles.names("sensitive")
        n_values = [len(self.schema_.categories[name]) for name in names]
        codes = self.targets_.combinations
        if codes.shape != (len(self.targets_.counts), len(names)) or (codes < 0).any() or (codes >= n_values).any():
            raise ValueError("other sensitive values than the schema's")
        if not self.bin_values_.by_column.keys() <= set(names):
            raise ValueError(f"bins of {sorted(self.bin_values_.by_column)}, which are not all sensitive")

    def _refuse_odd_parameters(self) -> None:
        for name, wanted in {"roles": Roles, "rule": Comparability | None}.items():
            given = getattr(self, name)
            if not isinstance(given, wanted):
                kind = "Roles" if name == "roles" else "Comparability"
                raise TypeError(f"{name} is a {type(given).__name__}; give a likewise.{kind}.")

    def _refuse_unfitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise GenerationError(f"This {type(self).__name__} is not fitted. Call fit first.")

    def _name_features(self) -> None:
        names = [name for kind in KINDS for name in self.schema_.roles.names(kind)]
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)

    @property
    def _rule(self) -> Comparability:
        return Comparability() if self.rule is None else self.rule


def load_generator(path: str | Path, *, device: str = "auto") -> BaseGenerator:
    """Read a saved generator of any kind; no code from the folder is run.

    Parameters
    ----------
    path : str or Path
        A folder that ``save`` of a generator wrote.
    device : str
        Device for networks from now on.

    Returns
    -------
    generator

    Examples
    --------
    >>> import tempfile
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import load_generator
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     generator.save(f"{folder}/saved")
    ...     type(load_generator(f"{folder}/saved")).__name__
    'UniformGenerator'
    """
    kind = read_kind(path)
    known = {cls._saved_as.split()[0]: cls for cls in subclasses(BaseGenerator) if "_saved_as" in vars(cls)}
    name = kind.partition(" ")[0]
    if name not in known:
        names = ", ".join(sorted(known))
        raise SavedModelError(f"'{path}' holds '{kind}', not a generator. Give a folder saved by one of {names}.")
    loaded: BaseGenerator = known[name].load(path, device=device)
    return loaded


def fingerprint(generator: BaseGenerator) -> str:
    """Return a checksum of everything antidotes depend on, except rows and seed."""
    record, arrays = generator._describe()
    told = {name: value for name, value in record.items() if name != "history"}  # which holds times
    digest = hashlib.sha256(json.dumps([generator._kind(), told], sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def numbered(name: str, arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Name arrays by their position in a list."""
    return {f"{name}.{number}": array for number, array in enumerate(arrays)}


def warn_of_few(n_made: int, n_rows: int, n_wanted: int, advice: str = "Loosen the rule, or request fewer.") -> None:
    """Warn if fewer antidotes could be generated than requested."""
    if n_made < n_wanted:
        warn(
            f"Only {n_made:,} distinct antidotes could be generated for {n_rows:,} rows, not {n_wanted:,}. {advice}",
            FewAntidotes,
        )


def scale_ratio(
    generator: BaseGenerator,
    X: Any,
    y: Any = None,
    *,
    ratio: float,
    random_state: int | None = None,
    row_ids: Any = None,
) -> float:
    """Return the ratio to request per row, with ``row_ids``, to get a given number of antidotes per row on average.

    With row ids no row compensates for another, and some yield fewer antidotes than requested, or none. The yield is
    measured on some rows; the others are then requested in the same proportion.

    Parameters
    ----------
    generator : generator
        Fitted.
    X : pandas, polars or pyarrow table
        A random sample of the rows to generate antidotes of: with 2,000 rows the ratio is met within a few percent.
    y : array, optional
        Their labels; the label column of ``X`` by default.
    ratio : float
        Antidotes per row to end up with.
    random_state : int, optional
        Another seed than the generator's own.
    row_ids : str or array, optional
        Row identifiers; positions by default.

    Returns
    -------
    float
        To be passed as ``ratio`` to ``generate`` with ``row_ids``, ``generate_parts`` or ``likewise.spark.generate``.
        At most eight per requested antidote of a row, beyond which hardly any more can be generated.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import scale_ratio
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> scale_ratio(generator, data.train.X.head(200), data.train.y[:200], ratio=0.5)
    0.5
    """
    Amount(ratio=ratio)  # checks the ratio
    generator._refuse_unfitted()
    seed = check_seed(generator.random_state if random_state is None else random_state)
    ids = np.arange(len(X)) if row_ids is None else row_ids
    most = ceil(ratio)
    while len(X):
        made, _ = generator._make(X, y, Amount(ratio=most), seed, ids)
        counts = np.bincount(made.source, minlength=made.n_sources)
        if counts.mean() >= ratio or most >= MOST_TIMES * ceil(ratio):
            return _invert(counts, ratio, most)
        most *= 2
    return float(ratio)


def _invert(counts: NDArray[np.int64], ratio: float, most: int) -> float:
    """Return the request at which rows with these yields give the ratio on average; it is piecewise linear."""
    before = 0.0
    for whole in range(most):
        after = float(np.minimum(counts, whole + 1).mean())
        if after >= ratio:
            return whole + (ratio - before) / (after - before)
        before = after
    return float(most)
