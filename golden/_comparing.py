"""Two answers compared, and their differences by kind."""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

KINDS: Final = ("gone", "new", "number", "text", "bytes", "digits")
CHECKSUMS: Final = ("checksum", "sha256")  # of what is compared elsewhere, or cannot be
LAST_DIGITS: Final = 1e-9  # relative
NOTHING: Final = 1e-12  # two numbers nearer than this are equal but for last digits, however small they are
NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Difference:
    """One place at which an answer differs."""

    case: str
    key: str
    kind: str
    before: Any = None
    after: Any = None
    size: float = 0.0  # of numbers, relative

    def __str__(self) -> str:
        return f"{self.case}: {self.key}: {_short(self.before)} -> {_short(self.after)}"


def _short(value: Any) -> str:
    text = "(none)" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 160 else f"{text[:150]}..."


def compare(case: str, before: Any, after: Any, key: str = "") -> Iterator[Difference]:
    """List the differences between two answers."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_mappings(case, before, after, key)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(case, before, after, key)
    elif _is_number(before) and _is_number(after):
        size = abs(before - after) / max(abs(before), abs(after), 1e-300)
        is_small = size <= LAST_DIGITS or abs(before - after) <= NOTHING
        yield Difference(case, key, "digits" if is_small else "number", before, after, size)
    else:
        yield Difference(case, key, "bytes" if key.endswith(CHECKSUMS) else "text", before, after)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compare_mappings(case: str, before: dict[str, Any], after: dict[str, Any], key: str) -> Iterator[Difference]:
    if "$array" in before and "$array" in after:
        yield from _compare_arrays(case, before["$array"], after["$array"], key)
    elif "$bytes" in before and "$bytes" in after:
        yield Difference(case, key, "bytes", f"{before['size']} bytes", f"{after['size']} bytes")
    else:
        for name in dict.fromkeys([*before, *after]):
            inner = name if not key else key if name == "$lines" else f"{key}.{name}"
            if name in before and name in after:
                yield from compare(case, before[name], after[name], inner)
            else:
                kind = "gone" if name in before else "new"
                yield Difference(case, inner, kind, before.get(name), after.get(name))


def _compare_arrays(case: str, before: dict[str, Any], after: dict[str, Any], key: str) -> Iterator[Difference]:
    """Compare checksums, then the values that were kept."""
    if before["checksum"] == after["checksum"]:
        told = [f"{one['type']} {one['shape']}" for one in (before, after)]
        yield Difference(case, key, "bytes", told[0], told[1])
        return
    if before["shape"] != after["shape"]:
        yield Difference(case, f"{key}.shape", "number", before["shape"], after["shape"])
        return
    shown = [name for name in ("min", "mean", "max", "std", "values") if name in before and name in after]
    found = [one for name in shown for one in compare(case, before[name], after[name], f"{key}.{name}")]
    if any(one.kind != "digits" for one in found):
        yield from found
    else:
        kind = "digits" if "f" in before["type"] else "number"
        yield Difference(
            case, key, kind, before["checksum"], after["checksum"], max((x.size for x in found), default=0)
        )


def _compare_lists(case: str, before: list[Any], after: list[Any], key: str) -> Iterator[Difference]:
    """Compare place by place; of lists of different lengths, find first what belongs together."""
    if len(before) == len(after):
        steps: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(before), 0, len(after))]
    else:
        ends = [[_words(one) for one in some] for some in (before, after)]
        steps = SequenceMatcher(None, ends[0], ends[1], autojunk=False).get_opcodes()
    for _, start, stop, other_start, other_stop in steps:
        n_both = min(stop - start, other_stop - other_start)
        for at in range(n_both):
            yield from _compare_items(case, before[start + at], after[other_start + at], f"{key}[{start + at}]")
        for at in range(start + n_both, stop):
            yield Difference(case, f"{key}[{at}]", "gone", before[at], None)
        for at in range(other_start + n_both, other_stop):
            yield Difference(case, f"{key}[{at}]", "new", None, after[at])


def _words(item: Any) -> str:
    """Return what tells an item of a list from others: its words, not its numbers."""
    if isinstance(item, dict | list):
        inner = item.values() if isinstance(item, dict) else item
        return "\n".join(filter(None, map(_words, inner)))
    return NUMBER.sub("#", item) if isinstance(item, str) else ""


def _compare_items(case: str, before: Any, after: Any, key: str) -> Iterator[Difference]:
    """Compare two items; of lines that differ in numbers only, the numbers."""
    if isinstance(before, str) and isinstance(after, str) and NUMBER.sub("#", before) == NUMBER.sub("#", after):
        numbers = zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)
        found = [one for left, right in numbers for one in compare(case, float(left), float(right), key)]
        if found:
            worst = max(found, key=lambda one: one.size)
            yield Difference(case, key, worst.kind, before, after, worst.size)
            return
    yield from compare(case, before, after, key)


@dataclass(frozen=True)
class Accepted:
    """A pattern of differences that are meant, and why."""

    case: str
    key: str
    why: str
    kind: str = "*"
    text: str = "*"  # what was, or what is

    def covers(self, one: Difference) -> bool:
        """Whether a difference is one of these."""
        is_there = _like(self.case, one.case) and _like(self.key, one.key) and _like(self.kind, one.kind)
        return is_there and (_like(self.text, str(one.before)) or _like(self.text, str(one.after)))


def _like(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def read_accepted(path: Path) -> list[Accepted]:
    """Read the differences that are meant."""
    return [Accepted(**one) for one in tomllib.loads(path.read_text("utf-8")).get("accepted", [])]


def show(differences: Iterable[Difference], accepted: Iterable[Accepted], *, is_all: bool) -> tuple[list[str], bool]:
    """Return the lines of a report, and whether anything differs that counts."""
    known = list(accepted)
    groups: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    meant: dict[Accepted, int] = defaultdict(int)
    for one in differences:
        reason = None if one.kind == "digits" else next((some for some in known if some.covers(one)), None)
        if reason is None:
            groups[one.kind, re.sub(r"\[\d+\]", "[*]", one.key)].append(one)
        else:
            meant[reason] += 1
    lines = []
    for (kind, key), some in sorted(groups.items(), key=lambda item: (KINDS.index(item[0][0]), item[0][1])):
        cases = sorted({one.case for one in some})
        among = ", ".join(cases[:4]) + (f" and {len(cases) - 4} more" if len(cases) > 4 else "")
        worst = max(some, key=lambda one: one.size)
        size = f", by up to {worst.size:.1e}" if worst.size else ""
        lines.append(f"{kind:7} {key}  ({len(some)}{size}) in {among}")
        lines += [f"            {one}" for one in (some if is_all else [worst])]
    lines += [f"accepted {one.kind} {one.case} {one.key} {one.text} ({n}): {one.why}" for one, n in meant.items()]
    counted = {kind: sum(len(some) for (one, _), some in groups.items() if one == kind) for kind in KINDS}
    told = ", ".join(f"{n} {kind}" for kind, n in counted.items() if n) or "equal"
    return [*lines, told], any(n for kind, n in counted.items() if kind != "digits")
