"""Plain arguments: what is no number within its limits is refused in a sentence, whatever it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise._checks import check_number, suggest


@pytest.mark.parametrize("odd", [10**400, -(10**400), float("inf"), float("nan"), True, "1", None, [1], -0.1, 1.0])
def test_what_is_no_number_within_the_limits_is_refused(odd: Any) -> None:
    with pytest.raises(ValueError, match=r"share is .*; give a number, 0 or more and less than 1\."):
        check_number("share", odd, least=0, below=1)


@pytest.mark.parametrize("fine", [0, 0.5, np.float32(0.25), np.int64(0)])
def test_numbers_of_any_kind_are_taken(fine: Any) -> None:
    check_number("share", fine, least=0, below=1)


def test_only_a_slip_of_the_fingers_gets_a_suggestion() -> None:
    known = ("flip_rate", "f1", "sex", "race", "income")
    assert [suggest(name, known) for name in ("rcae", "sexe", "incme", "flip_rat")] == [
        f" Did you mean '{right}'?" for right in ("race", "sex", "income", "flip_rate")
    ]
    assert not any(suggest(name, known) for name in ("foo", "disparity", "coming"))
