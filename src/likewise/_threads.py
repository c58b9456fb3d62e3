"""Independent work on all cores that this process may use; compiled code and NumPy's loops run side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from likewise._memory import n_cores

Name = TypeVar("Name", bound=Hashable)
Found = TypeVar("Found")
FEWEST_ROWS: Final = 1 << 16  # in a part: fewer are done before another thread has started


def threads_for(n_rows: int) -> int:
    """Return how many threads to share work on so many rows among: few are done before another has started."""
    return 1 if n_rows < FEWEST_ROWS else n_cores()


def share_work(work: Callable[[int], None], parts: Iterable[int], *, n_threads: int | None = None) -> None:
    """Do independent parts, on all cores or on so many; each writes to its own place."""
    parts = list(parts)
    n_threads = min(n_cores() if n_threads is None else n_threads, len(parts))
    if n_threads <= 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work, part) for part in parts]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def share_calls(calls: Mapping[Name, Callable[[], Found]], *, n_threads: int | None = None) -> dict[Name, Found]:
    """Make independent calls, on all cores or on so many; return what each returned, in the same order."""
    found: dict[Name, Found] = {}
    names = list(calls)

    def call(place: int) -> None:
        found[names[place]] = calls[names[place]]()

    share_work(call, range(len(names)), n_threads=n_threads)
    return {name: found[name] for name in names}


def share_rows(work: Callable[[slice], None], n_rows: int) -> None:
    """Do independent rows, some on each core; whatever the number of parts, the result is the same."""
    n_parts = max(min(n_cores(), n_rows // FEWEST_ROWS), 1)
    share_work(lambda part: work(slice(part * n_rows // n_parts, (part + 1) * n_rows // n_parts)), range(n_parts))
