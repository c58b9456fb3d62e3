"""Sound content → content with faults that keep most of its form: bytes, plain data, lines and fields."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

__all__ = ["ODD_TEXTS", "change_bytes", "change_data", "change_lines", "dump", "words"]


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split(" "))


RAW: Final = "\ue000"  # marks a text that json.dumps writes without its quotes
ODD_TEXTS: Final = (
    *words("İ ß ' \" \\ {} %s {0} $(id) <b> =1+1 nan inf None null -0 1e5 00 +1 1_000 0x1f ٣ ½ 1,5 2026-11-17"),
    *words("e\u0301 \U0001f9d1\u200d\u2695\ufe0f \ud800 \u202e \ufeff __class__ ../../x a;b"),
    *("", " ", "\0", "\n", "\r\n", "\u0085", "\u2028", "x" * 5_000, "9" * 40, "a\tb", "\x1b[31m"),
)
NUMBERS: Final = (
    *(0, -0.0, 1, -1, 2, 0.5, -0.5, 1.5, 1e-300, 5e-324, 1e300, -1e300, 1.7976931348623157e308, 2**31, -(2**31) - 1),
    *(2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**25),
)
WRITTEN: Final = (  # what json.dumps does not write
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" + "0" * 400, "1" + "0" * 5_000, "0." + "0" * 400 + "1"),
    *("[" * 2_000 + "]" * 2_000, '{"a":' * 1_500 + "1" + "}" * 1_500, "[" * 100_000),
    *('"\\ud800"', '"\\udc00x"', "01", "+1", ""),
)
PLAIN: Final[tuple[Any, ...]] = (None, True, False, [], {}, [[]], [None], {"": None}, [1, "a"], {"a": 1}, [[1, 2], [3]])


# ---- bytes ----


def _span(random: Random, content: bytes) -> tuple[int, int]:
    start = random.randrange(len(content) + 1)
    return start, min(len(content), start + int(2 ** random.uniform(0, 10)))


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randrange(1, 6)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content)
    filling: bytes = random.choice((b"\0", b"\xff", b"\x80", b"0", b"9", b" "))
    return content[:start] + filling * (end - start) + content[end:]


def _swap(random: Random, content: bytes) -> bytes:
    a, b, c, d = sorted(random.randrange(len(content) + 1) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _repeat(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content)
    return content[:end] + content[start:end] * random.randrange(1, 4) + content[end:]


def _drop(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content)
    return content[:start] + content[end:]


def _put(random: Random, content: bytes) -> bytes:
    place = random.randrange(len(content) + 1)
    piece: bytes = random.choice((*ODD_TEXTS, *WRITTEN)).encode("utf-8", "surrogatepass")
    return content[:place] + piece + content[place:]


BYTES: Final[tuple[Callable[[Random, bytes], bytes], ...]] = (
    *(_flip, _overwrite, _swap, _repeat, _drop, _put),
    lambda random, content: content[: random.randrange(len(content) + 1)],
    lambda random, content: content[random.randrange(len(content) + 1) :],
)


def change_bytes(random: Random, content: bytes) -> bytes:
    """Change bytes in one or a few ways."""
    for _ in range(random.randrange(1, 4)):
        content = random.choice(BYTES)(random, content) if content else content
    return content


# ---- plain data ----


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value[:4]) if isinstance(value, list) else ()
    return [place for name, one in inside for place in [(*path, name), *_places(one, (*path, name))]]


def _owner(data: Any, path: tuple[Any, ...]) -> Any:
    for name in path[:-1]:
        data = data[name]
    return data


def _other(random: Random, value: Any) -> Any:
    """Return a value in the place of another: of another type, or of the same and odd."""
    kind = random.randrange(6)
    if kind == 0:
        return copy.deepcopy(random.choice(PLAIN))  # which a later change may change
    if kind == 1 or (kind > 3 and isinstance(value, int | float)):
        return random.choice(NUMBERS)
    if kind == 2 or (kind > 3 and isinstance(value, str)):
        return random.choice(ODD_TEXTS)
    if kind == 3:
        return RAW + random.choice(WRITTEN)
    return [value] if random.random() < 0.5 else {"": value}


def _change_place(random: Random, data: Any, places: list[tuple[Any, ...]]) -> None:
    path = random.choice(places)
    owner, name = _owner(data, path), path[-1]
    way = random.randrange(8)
    if way == 0:
        del owner[name]
    elif way == 1:  # two sections change places
        other = random.choice(places)
        there = _owner(data, other)
        owner[name], there[other[-1]] = copy.deepcopy(there[other[-1]]), copy.deepcopy(owner[name])
    elif way == 2 and isinstance(owner, list):
        owner[name:name] = [copy.deepcopy(owner[name])] * random.choice((1, 2, 50))
    elif way == 2:
        owner[random.choice(ODD_TEXTS)] = owner.pop(name)
    elif way == 3 and isinstance(owner, dict):
        owner[random.choice(("extra", *ODD_TEXTS))] = _other(random, None)
    else:
        owner[name] = _other(random, owner[name])


def change_data(random: Random, data: Any) -> Any:
    """Change plain data in one or a few places: wrong types, odd values, lost, doubled, renamed, swapped sections."""
    data = copy.deepcopy(data)
    for _ in range(random.randrange(1, 4)):
        places = _places(data)
        if places:
            _change_place(random, data, places)
    return data


def dump(data: Any) -> bytes:
    """Write plain data as JSON, and as it stands what JSON has no word for."""
    mark = json.dumps(RAW)[1:-1]
    pieces = json.dumps(data).split(f'"{mark}')
    text = pieces[0]
    for piece in pieces[1:]:
        text += _unquote(piece)
    return text.encode()


def _unquote(piece: str) -> str:
    value, end = json.JSONDecoder().raw_decode(f'"{piece}')
    return f"{value}{piece[end - 1 :]}"


# ---- lines ----


def change_lines(random: Random, lines: list[str], between: Sequence[str], words: Sequence[str]) -> list[str]:
    """Change text in one or a few places: fields between separators, lines lost, doubled, swapped and put in."""
    lines = list(lines)
    for _ in range(random.randrange(1, 5)):
        place, way = random.randrange(len(lines)), random.randrange(7)
        if way == 0 and len(lines) > 1:
            del lines[place]
        elif way == 1:
            lines.insert(place, random.choice(lines))
        elif way == 2:
            other = random.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif way == 3:
            lines.insert(place, random.choice((*words, *ODD_TEXTS)))
        else:
            lines[place] = _change_field(random, lines[place], random.choice(between), (*words, *ODD_TEXTS))
    return lines


def _change_field(random: Random, line: str, separator: str, words: Sequence[str]) -> str:
    fields = line.split(separator)
    place = random.randrange(len(fields))
    way = random.randrange(5)
    if way == 0:
        del fields[place]
    elif way == 1:
        fields.insert(place, fields[random.randrange(len(fields))])
    elif way == 2:
        fields[place] += random.choice(words)
    else:
        fields[place] = random.choice(words)
    return separator.join(fields)
