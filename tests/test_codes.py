"""Codes are numbered as NumPy's sorting numbers them, of whatever type and however far apart."""

from __future__ import annotations

import numpy as np
import pytest

from likewise._codes import number_close, number_codes, number_together

SIZES = [0, 1, 1_000]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("step", [1, 3, 1 << 40])
def test_codes_are_numbered_in_order(kind: type[np.integer], n: int, step: int) -> None:
    limits = np.iinfo(kind)
    few = np.random.default_rng(0).integers(0, 40, n)
    codes = (few.astype(kind) * kind(step % limits.max)).astype(kind) + kind(limits.max // 2 if step < 4 else 0)
    values, places = np.unique(codes, return_inverse=True)
    found = number_close(codes)
    assert found is not None or step > 3
    for one in (found, number_codes(codes) if limits.max <= np.iinfo(np.int64).max else None):
        if one is not None:
            assert one[0].tolist() == values.tolist()
            assert one[1].tolist() == places.tolist()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_codes", [(2, 3, 4), (1, 1), (50, 5_000_000, 7), ()])
def test_combinations_are_numbered_in_the_order_of_their_codes(n: int, n_codes: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    columns = [random.integers(-1, most - 1, n).astype(np.int32) for most in n_codes]
    combinations, places = number_together(columns, n)
    rows = np.column_stack(columns) if columns else np.zeros((n, 0), np.int32)
    assert combinations[places].tolist() == rows.tolist()
    assert sorted(set(map(tuple, rows.tolist()))) == list(map(tuple, combinations.tolist()))
    assert places.dtype == np.int32
