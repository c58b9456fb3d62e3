"""Laws of the tree: who imports whom, no circles, sizes, light imports, exported names, nothing runs foreign code."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import likewise

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "likewise"
FILES = sorted(PACKAGE.rglob("*.py"))
OUTSIDERS = sorted(path for folder in ("examples", "benchmarks", "paper") for path in (ROOT / folder).rglob("*.py"))

# Besides these, every folder may import itself and the single files at the root.
MAY_IMPORT: dict[str, set[str]] = {
    "schema": set(),
    "record": set(),
    "nets": {"schema"},
    "comparable": {"schema"},
    "auditing": {"schema", "comparable", "record", "report"},
    "datasets": {"schema", "comparable"},
    "generation": {"schema", "comparable", "nets"},
    "learning": {"schema", "comparable", "generation", "nets"},
    "baselines": {"schema", "comparable", "nets"},
    "certifying": {"schema", "comparable", "generation"},
    "frontier": {"schema", "comparable", "record", "auditing", "report", "generation", "learning"},
    "mlflow": {"auditing"},
    "pytest": {"auditing"},
    "explain": {"schema", "comparable", "record", "auditing", "report", "certifying", "generation"},
    "report": {"record"},
    "scoring": {"schema", "comparable", "auditing"},
    "explore": {"schema", "comparable", "record", "auditing", "report", "explain"},
    "spark": {"schema", "comparable", "record", "auditing", "generation"},
}
EVERYTHING = {*MAY_IMPORT, "cli"}
PUBLIC_FILES = {"__init__.py", "__main__.py", "exceptions.py"}

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_FILES = 12  # of a folder; one with more has sub-folders
CRUMB_LINES = 80  # a shorter file with a single importer belongs into that importer
DOORS = {"__init__", "__main__", "_internal"}  # what only these import is there for other folders or users

# short files with one importer that are worth a file, and why
SEAMS: dict[str, str] = {}
ROOT_FILES = {path.name for path in FILES if path.parent == PACKAGE}

HEAVY = (
    *("torch", "pyspark", "matplotlib", "jinja2"),
    *("pandas", "polars", "pyarrow", "sklearn", "numba", "typer"),
)
parse = cache(ast.parse)  # every check reads all files


@cache
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


LOADING = {"allow_pickle", "weights_only"}
RUNNERS = {"eval", "exec", "load", "print"}
RUNS_CODE = {"pickle", "cloudpickle", "dill", "shelve", "marshal", "joblib"}


def imports(tree: ast.AST, inside: str) -> Iterator[tuple[int, str]]:
    """Find every imported name, relative, lazy and by-string imports included, in full: ``likewise.schema.Roles``."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(inside.split(".")[: len(inside.split(".")) - node.level + 1]) if node.level else ""
            origin = ".".join(filter(None, [above, node.module]))
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__", "require"):
            by_string = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            yield from ((node.lineno, name) for name in by_string[:1])


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def wrong_imports(source: str, file: str) -> list[str]:
    """Say what a file, given by its path inside the package, imports and should not."""
    parts = file.removesuffix(".py").split("/")
    folder = parts[0] if len(parts) > 1 else ""
    wrong = []
    for line, name in imports(parse(source), ".".join(["likewise", *parts[:-1]])):
        reason = why_not(folder, file, name)
        if reason:
            wrong.append(f"{file}:{line} imports {name}: {reason}")
    return wrong


def why_not(folder: str, file: str, name: str) -> str:
    package, _, inner = name.partition(".")
    target = inner.partition(".")[0]
    if package != "likewise" or (folder and target == folder):
        return ""
    if target == "cli" and file != "__main__.py":
        return "nothing imports the command line"
    if folder == "cli" or file in ("__init__.py", "__main__.py"):
        return ""
    if target not in EVERYTHING:
        is_root_file = any((PACKAGE / f"{target}{end}").is_file() for end in (".py", ".pyi"))
        return "" if is_root_file else "import from the folder that has it, not from the package itself"
    if target not in MAY_IMPORT.get(folder, set()):
        allowed = ", ".join(sorted(MAY_IMPORT.get(folder, set()))) or "no other folder"
        return f"{folder or 'a root file'} may import {allowed}"
    private = [part for part in inner.split(".")[1:] if part.startswith("_") and part != "_internal"]
    if folder in EVERYTHING and not private and not is_offered(name):
        return f"it is not in an __all__ of {target}; add it to likewise.{target}._internal"
    return f"{private[0]} is private to {target}; import from likewise.{target}" if private else ""


def is_offered(name: str) -> bool:
    """Whether a name of another folder is in the ``__all__`` of that folder, or of its internal surface."""
    parts = name.split(".")
    surface = ".".join(parts[:3]) if parts[2:3] == ["_internal"] else ".".join(parts[:2])
    if name == surface or not (PACKAGE / parts[1]).is_dir():
        return True
    return name.removeprefix(f"{surface}.") in offers(surface)


def offers(surface: str) -> list[str]:
    """List the names that a folder offers: its ``__all__``, and what its internal surface imports."""
    if not surface.endswith("._internal"):
        return list(getattr(importlib.import_module(surface), "__all__", ()))
    source = (PACKAGE.parent / f"{surface.replace('.', '/')}.py").read_text("utf-8")
    names = [name for _, name in imports(parse(source), surface) if name.startswith("likewise.")]
    return [name.rpartition(".")[2] for name in names if not name.rpartition(".")[2].startswith("_")]


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Map every module to those it imports, wherever in it; given the sources by path inside the package."""
    modules = {module_of(file) for file in sources}
    graph: dict[str, set[str]] = {}
    for file, source in sources.items():
        inside = ".".join(["likewise", *file.split("/")[:-1]])
        full = [
            name for _, name in imports(parse(source), inside) if name.startswith("likewise.")
        ]  # mlflow is another's
        names = [name.removeprefix("likewise.") for name in full]
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module_of(file)] = found & modules - {module_of(file)}
    return graph


def circle_in(graph: Mapping[str, Set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def crumbs(sources: Mapping[str, str]) -> list[str]:
    """List short files that a single other file imports, with that file."""
    graph = import_graph(sources)
    found = []
    for file, source in sources.items():
        module = module_of(file)
        importers = [other for other in graph if module in graph[other]]
        is_package = [f"{one.replace('.', '/')}/__init__.py" in sources for one in importers]
        is_door = Path(file).stem in DOORS or any(is_package)
        is_seam = file in SEAMS or (len(importers) == 1 and importers[0].rpartition(".")[2] in DOORS)
        if len(importers) == 1 and not is_door and not is_seam and len(source.splitlines()) < CRUMB_LINES:
            found.append(f"{file} has {len(source.splitlines())} lines and one importer, {importers[0]}")
    return found


def crowded(files: Set[str]) -> list[str]:
    counts = Counter(str(Path(file).parent) for file in files if Path(file).stem not in DOORS)
    return [f"{folder} has {n} files, more than {MAX_FILES}" for folder, n in counts.items() if n > MAX_FILES]


def lines_without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    docstring = first.end_lineno - first.lineno + 1 if has_docstring and first.end_lineno else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def oversized(source: str, file: str) -> list[str]:
    n_lines = len(source.splitlines())
    found = [f"{file} has {n_lines} lines, more than {MAX_FILE_LINES}"] if n_lines > MAX_FILE_LINES else []
    for node in walk(parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_lines = lines_without_docstring(node)
            if n_lines > MAX_FUNCTION_LINES:
                found.append(f"{file}:{node.lineno} {node.name} has {n_lines} lines, more than {MAX_FUNCTION_LINES}")
    return found


def unsafe(source: str, file: str) -> list[str]:
    """Find what may run code out of a file, and prints."""
    tree = parse(source)
    found = [(line, name) for line, name in imports(tree, "likewise") if name.partition(".")[0] in RUNS_CODE]
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        written = ast.unparse(node.func) if called(node) in RUNNERS else ""
        settings = {f"{one.arg}={ast.unparse(one.value)}" for one in node.keywords if one.arg in LOADING}
        if written in ("eval", "exec", "yaml.load") or (written == "print" and not file.startswith("cli/")):
            found.append((node.lineno, written))
        found += [(node.lineno, bad) for bad in settings & {"allow_pickle=True", "weights_only=False"}]
    return [f"{file}:{line} uses {what}" for line, what in found]


def inside_package(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def in_order(names: list[str]) -> list[str]:
    """Sort as ruff does: constants, classes, then the rest."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def packages() -> list[str]:
    folders = [inside_package(path.parent) for path in FILES if path.name == "__init__.py"]
    return ["likewise" if folder == "." else f"likewise.{folder.replace('/', '.')}" for folder in folders]


def test_imports_go_one_way() -> None:
    assert FILES
    assert [line for path in FILES for line in wrong_imports(path.read_text("utf-8"), inside_package(path))] == []


@pytest.mark.parametrize(
    ("file", "source", "reason"),
    [
        ("schema/_a.py", "from likewise.comparable import mine_pairs", "schema may import no other folder"),
        ("schema/_a.py", "def f():\n    from ..comparable import mine_pairs", "schema may import no other folder"),
        ("schema/deep/_a.py", "from ...comparable import _rule", "schema may import no other folder"),
        ("schema/__init__.py", "from ..comparable import mine_pairs", "schema may import no other folder"),
        ("comparable/_a.py", "import likewise.auditing", "comparable may import schema"),
        ("comparable/_a.py", "importlib.import_module('likewise.learning')", "comparable may import schema"),
        ("comparable/_a.py", "from likewise.schema._table import CodedTable", "_table is private to schema"),
        ("comparable/_a.py", "from likewise import CodedTable", "not from the package itself"),
        ("comparable/_a.py", "from .. import schema", ""),
        ("comparable/_a.py", "from likewise.comparable._rule import Comparability", ""),
        ("comparable/engines/_a.py", "from .._rule import Comparability\nfrom ..._checks import suggest", ""),
        ("comparable/_a.py", "import numpy\nfrom likewise.exceptions import RuleError", ""),
        ("_checks.py", "from likewise.schema import CodedTable", "a root file may import no other folder"),
        ("__init__.py", "from likewise.cli import main", "nothing imports the command line"),
        ("report/_a.py", "import likewise.cli", "nothing imports the command line"),
        ("cli/_pairs.py", "from likewise import __version__, mine_pairs\nfrom likewise.cli._main import app", ""),
    ],
)
def test_the_check_of_imports_can_fail(file: str, source: str, reason: str) -> None:
    found = wrong_imports(source, file)
    assert len(found) == (1 if reason else 0), found
    assert not reason or reason in found[0]


def test_every_folder_has_its_place_in_the_table() -> None:
    folders = {inside_package(path).partition("/")[0] for path in FILES if path.parent != PACKAGE}
    assert folders <= EVERYTHING


def test_examples_and_benchmarks_use_public_names_only() -> None:
    private = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in OUTSIDERS
        for line, name in imports(parse(path.read_text("utf-8")), "outside")
        if name.partition(".")[0] == "likewise"
        and any(part.startswith("_") and part != "__version__" for part in name.split("."))
    ]
    assert private == []


def sources_of_package() -> dict[str, str]:
    return {inside_package(path): path.read_text("utf-8") for path in FILES}


def test_no_circle_of_imports() -> None:
    assert circle_in(import_graph(sources_of_package())) == []


def test_no_crumbs() -> None:
    assert crumbs(sources_of_package()) == []
    assert {file for file in SEAMS if not (PACKAGE / file).is_file()} == set()


def test_folders_are_not_crowded() -> None:
    assert crowded(set(sources_of_package()) - ROOT_FILES) == []


def test_the_checks_of_the_tree_can_fail() -> None:
    tree = {
        "a/__init__.py": "from likewise.a._one import f",
        "a/_one.py": "def f():\n    from likewise.a._two import g",
        "a/_two.py": "",
    }
    assert circle_in(import_graph(tree)) == []
    assert crumbs(tree) == ["a/_two.py has 0 lines and one importer, a._one"]
    assert crumbs(tree | {"a/_two.py": "x = 1\n" * CRUMB_LINES}) == []
    assert set(circle_in(import_graph(tree | {"a/_two.py": "from ._one import f"}))) == {"a._one", "a._two"}
    assert crowded({f"a/_{n}.py" for n in range(13)}) == ["a has 13 files, more than 12"]


def test_the_internal_surfaces_hold_what_other_folders_use() -> None:
    used = {name for path in FILES for _, name in imports(parse(path.read_text("utf-8")), "likewise")}
    for path in PACKAGE.glob("*/_internal.py"):
        folder = f"likewise.{path.parent.name}"
        offered = offers(f"{folder}._internal")
        assert len(set(offered)) == len(offered)
        assert set(offered) & set(offers(folder)) == set()
        assert {name for name in offered if f"{folder}._internal.{name}" not in used} == set()


def test_files_and_functions_stay_small() -> None:
    assert [line for path in FILES for line in oversized(path.read_text("utf-8"), inside_package(path))] == []


def test_nothing_runs_code_from_a_file_or_prints() -> None:
    assert [line for path in FILES for line in unsafe(path.read_text("utf-8"), inside_package(path))] == []


def test_only_the_command_line_prints() -> None:
    assert unsafe("print('hello')\nmodel.eval()", "cli/_a.py") == []


def test_implementation_files_are_private() -> None:
    assert [inside_package(path) for path in FILES if path.name not in PUBLIC_FILES and path.name[0] != "_"] == []


def test_importing_likewise_is_light() -> None:
    # seconds of its own work: a busy machine is no heavy import
    program = (
        "import sys, time; start = time.process_time(); import likewise; seconds = time.process_time() - start; "
        f"print(seconds, *sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    seconds = []
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT / "src"
        )
        took, *loaded = run.stdout.split()
        assert loaded == []
        seconds.append(float(took))
    assert min(seconds) < 1.0


@pytest.mark.parametrize("name", packages())
def test_exported_names_are_sorted_and_there(name: str) -> None:
    package = importlib.import_module(name)
    source = Path(str(package.__file__)).read_text("utf-8")
    exported = list(getattr(package, "__all__", []))
    assert exported or not list(imports(parse(source), name)), f"{name} imports names and has no __all__"
    assert exported == in_order(exported)
    assert len(set(exported)) == len(exported)
    assert [missing for missing in exported if not hasattr(package, missing)] == []
    assert set(exported) <= set(dir(package))


@pytest.mark.parametrize("name", likewise.__all__)
def test_public_names_are_documented_with_an_example(name: str) -> None:
    thing = getattr(likewise, name)
    if callable(thing):
        assert ">>>" in (inspect.getdoc(thing) or ""), f"likewise.{name} has no example"
