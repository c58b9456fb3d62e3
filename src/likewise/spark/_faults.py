"""What went wrong on an executor, said as if it had gone wrong here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from likewise import exceptions
from likewise._spark_session import spark_faults
from likewise.exceptions import LikewiseError, SparkError

OURS: Final = re.compile(
    r"^likewise\.exceptions\.(\w+): (.+?)(?=\n\s*\n|\n\s*SQLSTATE|\n\s*at |\nTraceback|\nDriver|\Z)", re.M | re.S
)
THEIRS: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Warning|Interrupt)): (.+)$", re.M)
MOST: Final = 300  # characters of a stranger's message


@contextmanager
def faults(doing: str) -> Iterator[None]:
    """Raise what likewise raised on an executor, and tell anything else in a sentence, in place of a Java stack."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with spark_faults(doing):
        try:
            yield
        except (PySparkException, Py4JError) as error:
            told = _told(str(error), doing)
            if told is None:
                raise
            raise told from error


def _told(text: str, doing: str) -> LikewiseError | None:
    ours = OURS.search(text)
    if ours is not None:
        kind = getattr(exceptions, ours[1], SparkError)
        return kind(" ".join(ours[2].split())) if issubclass(kind, LikewiseError) else SparkError(ours[2])
    if "Python worker" not in text:
        return None
    if "No module named 'likewise'" in text:
        return SparkError(
            "likewise is not installed where Spark's executors run Python. Install it there, or name a Python that has "
            "it in PYSPARK_PYTHON."
        )
    theirs = THEIRS.findall(text)
    if not theirs:
        return None
    kind_of_error, reason = theirs[-1]
    return SparkError(f"Spark failed while {doing}: {kind_of_error}: {reason.strip()[:MOST].rstrip('.')}.")
