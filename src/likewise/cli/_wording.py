"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re
from typing import Final

from likewise.exceptions import ParameterError

# Arguments of an audit, and what they are called here.
SETTINGS: Final = {
    "n_resamples": "--resamples",
    "random_state": "--seed",
    "gap_limit": "--gap-limit",
    "max_pairs": "--max-pairs",
    "memory_limit": "--memory-limit",
    "pairs": "--pairs",
    "n_worst": "--worst",
    "confidence": "--confidence",
    "threshold": "--threshold",
    "approval_rate": "--approval-rate",
    "scale": "--scale",
}


def name_options(message: str) -> str:
    """Call parameters by the options they are here; 'quoted' words are names of columns."""
    message = re.sub(r"\btask='(\w+)'", r"--task \1", message)
    message = re.sub(r"\bwhen_too_many='(\w+)'", r"--when-too-many \1", message)
    message = re.sub(r"\bsensitive_differs='(\w+)'", r"--sensitive-differs \1", message)
    message = re.sub(r"\bbins=\{'(.+)': (\d+)\}", r"--bins \1=\2", message)
    message = message.replace("ignore columns that do not matter", "--ignore columns that do not matter")
    message = message.replace("A GibbsGenerator or UniformGenerator needs", "--generator gibbs or uniform needs")
    message = message.replace(
        "Write the pairs of this one with write_pairs.",
        "Write those of this one with likewise pairs --out, with the same --scores and --ignore; pairs for predicted "
        "amounts, which are of any label, can be written in Python only.",
    )
    names = r"(?<!')\b(max_\w+_shift|max_discrete_changes|must_match|sensitive_differs)\b"
    return re.sub(names, lambda found: f"--{found[0].replace('_', '-')}", message)


def name_setting(error: ParameterError) -> str:
    """Call the argument that an error is about by its option."""
    return name_options(f"{SETTINGS.get(error.parameter, error.parameter)} {error.problem}")
