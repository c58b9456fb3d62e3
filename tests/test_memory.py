"""How much memory pairs may take: what the caller says, or half of what can be had."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest

from likewise import _memory
from likewise._memory import DEFAULT_BYTES, address_limit, bytes_allowed, bytes_free

GB = 10**9
MEMINFO = "MemTotal: 64000000 kB\nMemFree: 1000 kB\nMemAvailable: 3000000 kB\nCached: 2999000 kB\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Linux machine without limits, with 3 GB to be had, most of it as cached files."""
    monkeypatch.setattr(_memory, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(_memory, "CONTROL_GROUPS", tmp_path / "groups")
    write(tmp_path / "proc" / "meminfo", MEMINFO)
    return tmp_path


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def limit_to(group: Path, limit: object, used: int, cached: int, *, version: int) -> None:
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    write(group / names[0], limit)
    write(group / names[1], used)
    total = "" if version == 2 else "total_"
    write(group / "memory.stat", f"anon 5\n{total}inactive_file {cached - 7}\n{total}active_file 7")


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [
        (2_000, 2_000),
        (2.5e9, 2_500_000_000),
        ("2000", 2_000),
        ("2 GB", 2 * GB),
        ("2gb", 2 * GB),
        (" 1.5 M ", 1_500_000),
        ("8 kB", 8_000),
        ("1 TB", 1_000 * GB),
        ("2 GiB", 2 * 2**30),
        ("1 KiB", 1024),
    ],
)
def test_limits_are_read_as_they_are_written(limit: Any, allowed: int) -> None:
    assert bytes_allowed(limit) == allowed


@pytest.mark.parametrize(
    "limit", ["", "GB", 0, "0 GB", "much", "2 XB", "-1", -1, "2 GB 3", "1e9 GB", "2 iB", True, math.nan]
)
def test_what_is_no_limit_is_refused_in_words(limit: Any) -> None:
    with pytest.raises(ValueError, match="give a number of bytes, or a text such as '2 GB'"):
        bytes_allowed(limit)


def test_by_default_half_of_what_is_free_but_no_more_than_4_gb(machine: Path) -> None:
    assert bytes_allowed(None) == 3_000_000 * 1024 // 2
    write(machine / "proc" / "meminfo", MEMINFO.replace("3000000", "60000000"))
    assert bytes_allowed(None) == DEFAULT_BYTES


def test_cached_files_count_as_free(machine: Path) -> None:
    assert bytes_free() == 3_000_000 * 1024


@pytest.mark.parametrize(("version", "line"), [(2, "0::/box/inner"), (1, "4:cpu,memory:/box/inner\n0::/")])
@pytest.mark.parametrize("group", [".", "box", "box/inner"])
def test_a_container_has_what_its_limit_leaves(machine: Path, version: int, line: str, group: str) -> None:
    write(machine / "proc" / "self" / "cgroup", line)
    root = machine / "groups" if version == 2 else machine / "groups" / "memory"
    limit_to(root / group, 2 * GB, used=GB, cached=GB // 4, version=version)
    assert bytes_free() == GB + GB // 4


def test_a_container_without_a_limit_has_what_the_machine_has(machine: Path) -> None:
    write(machine / "proc" / "self" / "cgroup", "0::/box")
    limit_to(machine / "groups" / "box", "max", used=GB, cached=7, version=2)
    assert bytes_free() == 3_000_000 * 1024


def test_a_container_above_its_limit_has_nothing(machine: Path) -> None:
    write(machine / "proc" / "self" / "cgroup", "0::/")
    limit_to(machine / "groups", GB, used=2 * GB, cached=7, version=2)
    assert bytes_allowed(None) == 0


def test_a_limit_of_addresses_leaves_what_is_not_used_of_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_limit() is None or address_limit() > GB  # type: ignore[operator]  # of whoever runs this
    monkeypatch.setattr(_memory, "address_limit", lambda: GB)
    write(machine / "proc" / "self" / "statm", "1000 900 800 1 0 500 0")
    assert bytes_free() == GB - 1_000 * os.sysconf("SC_PAGE_SIZE")


def test_other_systems_are_asked_in_their_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "PROCESSES", tmp_path)
    monkeypatch.setattr(os, "sysconf", {"SC_AVPHYS_PAGES": 1_000, "SC_PAGE_SIZE": 4_096}.__getitem__, raising=False)
    assert bytes_free() == 4_096_000

    def unknown(_name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert bytes_free() == 2 * DEFAULT_BYTES


def test_this_machine_has_some() -> None:
    assert bytes_free() > 0
