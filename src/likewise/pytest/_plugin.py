"""Audits and policies in pytest: a fixture that audits, and a marker that makes each limit of a policy a test.

pytest imports this file in every run, wanted or not: what takes time is imported when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from likewise._format import one_line, tame
from likewise.exceptions import PolicyError, TableFileError

if TYPE_CHECKING:
    from likewise.auditing import Audit, Policy

MARKER: Final = "likewise_policy"
FIXTURE: Final = "likewise_limit"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a folder of reports."""
    parser.getgroup("likewise").addoption(
        "--likewise-reports",
        metavar="FOLDER",
        type=Path,
        help="Write a folder with report and record of every audit that the fixture likewise_audit makes.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(path): run the test once for each limit of a policy (TOML), which the fixture {FIXTURE} holds; the "
        "path is relative to the test file, or else to the root folder.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each limit."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    if FIXTURE not in metafunc.fixturenames:
        _refuse(f"{metafunc.function.__name__} has the marker {MARKER} but not the argument {FIXTURE}. Add it.")
    if len(marker.args) != 1 or marker.kwargs or not isinstance(marker.args[0], str | Path):
        _refuse(f"The marker {MARKER} takes one argument, the path of a policy, such as {MARKER}('policy.toml').")
    limits = _read_limits(Path(marker.args[0]), metafunc)
    metafunc.parametrize(FIXTURE, list(limits.values()), ids=list(limits))


def _read_limits(path: Path, metafunc: pytest.Metafunc) -> dict[str, Policy]:
    """Return a policy of one limit for each limit of a file."""
    from likewise.auditing import Policy

    beside = metafunc.definition.path.parent / path
    try:
        policy = Policy.from_toml(beside if beside.is_file() else metafunc.config.rootpath / path)
    except PolicyError as error:
        _refuse(str(error))
    single: dict[str, dict[str, Any]] = {name: {name: limit} for name, limit in policy.limits.items()}
    tables = {"labels": policy.labels, "transitions": policy.transitions, "columns": policy.columns}
    for table, limited in tables.items():
        for part, limits in limited.items():
            single |= {f"{name}[{part}]": {table: {part: {name: limit}}} for name, limit in limits.items()}
    return {name: Policy.from_dict({"min_pairs": policy.min_pairs, **one}) for name, one in single.items()}


def _refuse(message: str) -> NoReturn:
    pytest.fail(tame(one_line(message)), pytrace=False)


@pytest.fixture
def likewise_limit() -> Policy:
    """One limit of the policy that the marker names, as a policy for ``assert_passes``."""
    _refuse(f"{FIXTURE} needs a policy. Mark the test: @pytest.mark.{MARKER}('policy.toml').")


@pytest.fixture(scope="session")
def likewise_audit(request: pytest.FixtureRequest) -> Callable[..., Audit]:
    """The function ``likewise.audit``; with ``--likewise-reports``, a report of each audit is written by ``name``."""
    folder: Path | None = request.config.getoption("likewise_reports")
    taken: set[str] = set()

    def run(scores: Any, X: Any, y: Any = None, *, name: str = "audit", **arguments: Any) -> Audit:
        from likewise.auditing import audit

        found = audit(scores, X, y, **arguments)
        if folder is not None:
            number = next(n for n in range(1, len(taken) + 2) if _numbered(name, n) not in taken)
            taken.add(_numbered(name, number))
            _write(folder, _numbered(name, number), found)
        return found

    return run


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _write(folder: Path, name: str, found: Audit) -> None:
    """Write report and record to a folder; an earlier one is replaced unless somebody changed it."""
    from likewise._files import KIND_OF_AUDITS, write_folder

    files = {"audit.json": json.dumps(found.to_dict(), indent=1), "report.html": found.to_html()}
    try:
        write_folder(folder / name, KIND_OF_AUDITS, files)
    except TableFileError as error:
        _refuse(f"--likewise-reports: {error}")
