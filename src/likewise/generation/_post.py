"""The last step of every generator: keep what is comparable to its source, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.schema import CodedTable


def keep_comparable(sources: CodedTable, generated: CodedTable, rule: Comparability) -> NDArray[np.bool_]:
    """Say which generated rows are comparable to their sources (the paper's Post).

    Parameters
    ----------
    sources, generated : CodedTable
        Row ``i`` of one was made of row ``i`` of the other.
    rule : Comparability

    Returns
    -------
    array of bool

    Examples
    --------
    >>> from likewise import CodedTable, Comparability
    >>> from likewise.generation import keep_comparable
    >>> source = CodedTable(sensitive=[[0], [0]], continuous=[[0.5], [0.5]])
    >>> made = CodedTable(sensitive=[[1], [1]], continuous=[[0.51], [0.9]])
    >>> keep_comparable(source, made, Comparability())
    array([ True, False])
    """
    return rule.holds(sources, generated)
