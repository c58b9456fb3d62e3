"""Which settings of adversarial training make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from likewise._checks import check_choice, check_count

COUNTS: Final = ("batch_size", "width", "n_critic", "max_modes", "evaluate_every", "checkpoint_every")
LIMITS: Final = {"dropout": 1.0, "spike_share": np.inf, "learning_rate": np.inf, "weight_decay": np.inf}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what no training can be run with."""
    for name in ("n_iterations", "n_noise", *COUNTS):
        check_count(name, settings[name], or_none=False)
        if name in COUNTS and settings[name] == 0:
            raise ValueError(f"{name} is 0; give a whole number, 1 or more.")
    if settings["batch_size"] == 1:
        raise ValueError("batch_size is 1; give 2 or more, as batches are normalized.")
    check_choice("heads", settings["heads"], ("linear", "slices"))
    for name in ("residual", "likeliest"):
        if not isinstance(settings[name], bool | np.bool_):
            raise ValueError(f"{name} is {settings[name]!r}; give True or False.")
    if settings["compile_step"] not in (True, False, "auto"):
        raise ValueError(f"compile_step is {settings['compile_step']!r}; give True, False or 'auto'.")
    for name, limit in LIMITS.items():
        if not _is_number(settings[name]) or not 0 <= settings[name] < limit:
            under = f", under {limit:g}" if np.isfinite(limit) else ""
            raise ValueError(f"{name} is {settings[name]!r}; give a number, 0 or more{under}.")
    ratio = settings["stop_at_ratio"]
    if ratio is not None and (not _is_number(ratio) or not 0 < ratio <= 1):
        raise ValueError(f"stop_at_ratio is {ratio!r}; give a share of the rows made, such as 0.8, or None.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
