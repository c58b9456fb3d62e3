"""What columns are taken for where nobody says: numbers are never left out without need."""

from __future__ import annotations

import numpy as np
import pandas as pd

from likewise.nets import guess_roles


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rank": np.arange(30)[::-1],
            "wage": np.linspace(1, 2, 30),
            "job": ["cook", "smith", "tailor"] * 10,
            "name": [f"person {i}" for i in range(30)],
            "empty": [np.nan] * 30,
            "id": np.arange(30) + 2**60,
        }
    )


def test_numbers_that_count_the_rows_are_learned_from() -> None:
    roles = guess_roles(people())
    assert set(roles.continuous) == {"rank", "wage"}
    assert roles.discrete == ("job",)
    assert set(roles.ignored) == {"name", "empty", "id"}


def test_what_is_given_stays() -> None:
    roles = guess_roles(people(), sensitive="job", ignored=["rank", "gone"])
    assert roles.sensitive == ("job",)
    assert roles.continuous == ("wage",)
    assert set(roles.ignored) == {"rank", "gone", "name", "empty", "id"}
