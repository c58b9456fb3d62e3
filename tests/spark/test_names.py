"""Names of columns that Spark cannot tell apart or quote are refused in one line, before it starts to work."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from likewise.exceptions import SchemaError
from likewise.spark._frames import check_frame


def frame_with(*names: str, is_case_sensitive: str = "false") -> Any:
    """Return what is asked of a frame before Spark is."""
    conf = SimpleNamespace(get=lambda name, default=None: is_case_sensitive)
    session = SimpleNamespace(conf=conf)
    return SimpleNamespace(mapInArrow=None, columns=list(names), sparkSession=session)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("sex", "Age", "age"), "'Age' and 'age' for one. Rename"),
        (("sex", "a`b"), "named 'a`b' has a backtick"),
        (("sex", "a.b"), "named 'a.b' has a dot, which Spark takes for a field. Rename it"),
        (("sex", "sex"), "several columns named 'sex'"),
    ],
)
def test_odd_names_are_one_line(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        check_frame(frame_with(*names))


def test_letters_count_where_spark_tells_them_apart() -> None:
    with pytest.raises(AttributeError, match="limit"):  # it goes on, to Spark itself
        check_frame(frame_with("Age", "age", is_case_sensitive="true"))
