"""Antidotes for training, from a generator that is fitted or still has to be."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from likewise._checks import check_number
from likewise._estimators import seed_unset
from likewise._random import check_seed, draw_seed
from likewise._warnings import warn
from likewise.exceptions import FewAntidotes, GenerationError, SchemaError
from likewise.generation import Antidotes
from likewise.schema._internal import KINDS, open_frame


def refuse_odd_source(generator: Any) -> None:
    """Refuse what cannot generate antidotes, before anything that takes time."""
    if generator is None:
        raise GenerationError(
            "generator is None. Give a generator of antidotes, such as GibbsGenerator; a loaded model has none."
        )
    if isinstance(generator, type):
        raise TypeError(f"generator is the class {generator.__name__}; give an instance, {generator.__name__}(...).")
    if not hasattr(generator, "generate"):
        raise TypeError(
            f"generator is a {type(generator).__name__}, which has no method generate. Give a generator, such as "
            "GibbsGenerator."
        )


def roles_to_fit(generator: Any) -> Any:
    """Return the roles that a generator will be fitted with; None if it is fitted and knows its columns."""
    return None if hasattr(generator, "schema_") else getattr(generator, "roles", None)


def check_ratio(ratio: Any) -> None:
    """Refuse all but a number above 0, or None for one round."""
    if ratio is not None:
        check_number("ratio", ratio, above=0.0)


def fitted_generator(generator: Any, X: Any, y: Any, random_state: Any = None) -> Any:
    """Return a fitted generator as it is, or a clone of any other fitted to these rows."""
    refuse_odd_source(generator)
    is_fitted = hasattr(generator, "schema_")  # also through a FrozenEstimator
    roles = generator.schema_.roles if is_fitted else getattr(generator, "roles", None)
    label = getattr(roles, "label", None)
    if label in open_frame(X).names:
        raise SchemaError(f"X contains its label, column '{label}': a model would learn from it. Drop it from X.")
    if is_fitted:
        return generator
    mine = clone(generator, safe=False)
    if mine is generator:
        raise GenerationError(
            f"The generator in this {type(generator).__name__} is not fitted. Fit it before freezing it."
        )
    seeded = mine if random_state is None else seed_unset(mine, check_seed(random_state))
    return seeded.fit(X, y)


def make_antidotes(
    generator: Any, X: Any, y: Any, *, ratio: float | None = None, random_state: Any = None, **amount: Any
) -> Antidotes:
    """Generate antidotes, and warn if there are none; without a seed, the generator's own is used."""
    refuse_other_columns(generator, X)
    seed = None if random_state is None else draw_seed(check_seed(random_state), "antidotes")
    made: Antidotes = generator.generate(X, y, ratio=ratio, random_state=seed, **amount)
    is_wanted = ratio is None or round(ratio * made.n_sources) > 0
    if is_wanted and not len(made):
        warn(
            f"No antidote could be generated for any of the {made.n_sources:,} rows. Loosen the rule, or try another "
            "generator.",
            FewAntidotes,
        )
    return made


def refuse_other_columns(generator: Any, X: Any) -> None:
    """Refuse columns other than those the generator was fitted on."""
    roles, names = generator.schema_.roles, open_frame(X).names
    needed = [name for kind in (*KINDS, "row_id") for name in roles.names(kind)]
    missing = [name for name in needed if name not in names]
    unknown = [name for name in names if roles.role_of(name) is None]
    if missing or unknown:
        found = [
            *([f"{_listed(missing)} missing here"] if missing else []),
            *([f"{_listed(unknown)} unknown to it"] if unknown else []),
        ]
        raise SchemaError(
            f"The generator was fitted on other columns: {', and '.join(found)}. Give the columns that it was fitted "
            "on, or fit it on these. An encoder belongs inside the estimator, not before it."
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'}"
