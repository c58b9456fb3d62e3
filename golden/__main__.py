"""``python -m golden compare`` and ``make``: see README.md."""

from __future__ import annotations

import argparse
import contextlib
import json
import lzma
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results"
PAIR_KEY: Final = re.compile(r"\bk[0-9a-f]{12}\b")


def main() -> int:
    """Run what the command line asks for."""
    from golden.cases import CASES, SLOW

    parser = argparse.ArgumentParser("golden", description="What likewise answered before, and how answers differ now.")
    parser.add_argument("what", choices=["compare", "make", "list"])
    parser.add_argument("cases", nargs="*", help="patterns, such as audit.weighted or 'remedy.*'; all by default")
    parser.add_argument("--fast", action="store_true", help="without the slow cases")
    parser.add_argument("--all", action="store_true", help="every difference, not one of each kind")
    asked = parser.parse_intermixed_args()
    chosen = [name for name in CASES if not asked.cases or any(fnmatch(name, one) for one in asked.cases)]
    chosen = [name for name in chosen if not (asked.fast and name in SLOW)]
    if asked.what == "list" or not chosen:
        print("\n".join(chosen) or "No case has such a name.")
        return 0 if chosen else 2
    return make(chosen) if asked.what == "make" else compare_cases(chosen, is_all=asked.all)


def run(names: list[str]) -> Iterator[tuple[str, Any]]:
    """Run cases, each in an empty folder, and say how long each took."""
    import likewise
    from golden._values import plain
    from golden.cases import CASES

    print(f"likewise from {Path(likewise.__file__).parent}", file=sys.stderr)
    warnings.simplefilter("ignore")
    for name in names:
        start = time.process_time()
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                answer = CASES[name]()
                hidden = answer.pop("$hidden", [])
                found = plain(answer)
            except Exception as error:
                found, hidden = {"failed": f"{type(error).__name__}: {error}"}, []
        text = json.dumps(found).replace(folder, "FOLDER")
        for one in hidden:
            text = text.replace(one, "HIDDEN")
        failed = found.get("failed", "")
        print(f"{time.process_time() - start:6.1f} s  {name}  {failed}", file=sys.stderr, flush=True)
        yield name, json.loads(text)


def make(names: list[str]) -> int:
    """Write the results of cases."""
    RESULTS.mkdir(exist_ok=True)
    for name, found in run(names):
        text = json.dumps(found, separators=(",", ":"))
        (RESULTS / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    return 0


def without_keys(answer: Any) -> Any:
    """Leave out the keys of pairs, each a hash of what is compared beside it."""
    return json.loads(PAIR_KEY.sub("KEY", json.dumps(answer)))


def compare_cases(names: list[str], *, is_all: bool) -> int:
    """Compare the answers of cases with their results, and list what differs."""
    from golden._comparing import compare, read_accepted, show
    from golden._renamed import rename_measures

    kept = {name: RESULTS / f"{name}.json.xz" for name in names}
    if absent := [name for name, path in kept.items() if not path.exists()]:
        print(f"no result is kept of {', '.join(absent)}", file=sys.stderr)
    differences = []
    for name, found in run([name for name in names if name not in absent]):
        known = json.loads(lzma.decompress(kept[name].read_bytes()))
        differences += list(compare(name, without_keys(rename_measures(known)), without_keys(found)))
    lines, differs = show(differences, read_accepted(HERE / "accepted.toml"), is_all=is_all)
    print("\n".join(lines))
    return int(differs)


sys.exit(main())
