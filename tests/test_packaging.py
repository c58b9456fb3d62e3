"""The package that is published: what its files hold, and that it works where nothing else is installed."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

import likewise

ROOT = Path(__file__).parents[1]
AUDIT = ["audit", "people.csv", "--label", "hired", "--sensitive", "sex", "--scores", "p", "--out", "audit", "--quiet"]
OPTIONAL = ("matplotlib", "onnxruntime", "pandas", "polars", "pyspark", "torch")


def run(*command: str | Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command away from the checkout and from variables that lead to it, with ``more`` variables."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LIKEWISE"))}
    settings |= {"PYTHONNOUSERSITE": "1", "NUMBA_CACHE_DIR": str(folder / "numba"), **more}
    done = subprocess.run([*map(str, command)], cwd=folder, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel and a source distribution, and return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of the one wheel in a folder."""
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    held = set(contents(built))
    package = ROOT / "src" / "likewise"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    about = f"likewise-{likewise.__version__}.dist-info"
    assert held == {path.relative_to(package.parent).as_posix() for path in files} | {
        f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert {"likewise/py.typed", "likewise/report/assets/report.html", "likewise/explore/assets/index.html"} <= held


def test_the_source_distribution_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not before 3.11.4
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, **safely)
    (tree,) = tmp_path.iterdir()
    beside = {".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "src"}
    assert {entry.name for entry in tree.iterdir()} == beside
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "again", folder=tree)
    assert contents(tree / "again") == contents(built)


def test_the_metadata_is_valid_and_says_what_the_project_says(built: Path) -> None:
    (raw,) = [held for name, held in contents(built).items() if name.endswith("/METADATA")]
    metadata = Metadata.from_email(raw, validate=True)
    assert str(metadata.version) == likewise.__version__
    assert (metadata.license_expression, metadata.description_content_type) == ("Apache-2.0", "text/markdown")
    assert metadata.description == (ROOT / "README.md").read_text("utf-8")
    core = {needed.name for needed in metadata.requires_dist or [] if needed.marker is None}
    assert not core & set(OPTIONAL)


@pytest.fixture
def core_only(built: Path, tmp_path: Path) -> Path:
    """Make an environment of the wheel and the packages it requires, linked from this one; return its Python."""
    venv.create(tmp_path / "env")
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(site)
    for name in required("likewise"):
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            target = Path(str(found.locate_file(top)))
            if not (site / top).exists():
                (site / top).symlink_to(target, target_is_directory=target.is_dir())
    return tmp_path / "env" / "bin" / "python"


def required(name: str) -> set[str]:
    """Return the distributions that one requires without extras, and those that they require."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        needed = [Requirement(text) for text in distribution(waiting.pop()).requires or []]
        here = {one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})} - found
        found |= here
        waiting += here
    return found


def write_people(folder: Path, n_rows: int) -> None:
    """Write a table of applicants in which men are scored higher."""
    draw = random.Random(0)
    with (folder / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sex", "age", "degree", "hired", "p"])
        for _ in range(n_rows):
            sex, degree = draw.choice(["f", "m"]), draw.choice(["none", "some", "full"])
            score = draw.uniform(0.2, 0.6) + 0.3 * (sex == "m")
            rows.writerow([sex, draw.randint(20, 60), degree, draw.choice(["no", "yes"]), f"{score:.3f}"])


def check_audit(folder: Path) -> None:
    """Check that the folder of an audit holds its record and the whole report."""
    record: dict[str, Any] = json.loads((folder / "audit.json").read_text("utf-8"))
    assert record["likewise"] == likewise.__version__
    page = (folder / "report.html").read_text("utf-8")
    assert page.rstrip().endswith("</html>")
    assert "<svg" in page


@pytest.mark.skipif(os.name == "nt", reason="links and paths are those of POSIX systems")
def test_the_wheel_audits_a_table_with_no_more_than_it_requires(core_only: Path, tmp_path: Path) -> None:
    write_people(tmp_path, n_rows=40)
    code = "from likewise.cli import main; main()"
    run(core_only, "-c", code, *AUDIT, "--resamples", "40", folder=tmp_path, NUMBA_DISABLE_JIT="1")  # compiling is long
    check_audit(tmp_path / "audit")
    code = f"import importlib.util as u; print([n for n in {OPTIONAL!r} if u.find_spec(n)])"
    assert run(core_only, "-c", code, folder=tmp_path).stdout == "[]\n"
    code = "from likewise._extras import require; require('polars', extra='polars', purpose='A frame')"
    said = run(core_only, "-c", f"try:\n {code}\nexcept ImportError as error: print(error)", folder=tmp_path).stdout
    assert said.rstrip().endswith("Install it with: pip install 'likewise[polars]'")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tools that publish, and an empty environment with the wheel that they built, in a folder of their own."""
    folder = tmp_path_factory.mktemp("published")
    for name in ("tools", "env"):
        venv.create(folder / name, with_pip=True)
    tools = folder / "tools" / "bin"
    needed = ("build", "cyclonedx-bom", "pip-audit", "readme-renderer[md]", "twine")
    run(tools / "pip", "install", "--no-compile", *needed, folder=folder)
    run(tools / "python", "-m", "build", "--outdir", folder / "dist", ROOT, folder=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    run(folder / "env" / "bin" / "pip", "install", "--no-compile", wheel, folder=folder)
    return folder


@pytest.mark.long
def test_what_is_published_passes_the_indexs_checks_and_works_in_an_empty_environment(published: Path) -> None:
    files = sorted((published / "dist").glob("likewise-*"))
    checked = run(published / "tools" / "bin" / "twine", "check", "--strict", *files, folder=published)
    assert len(re.findall("PASSED", checked.stdout)) == 2
    write_people(published, n_rows=300)
    run(published / "env" / "bin" / "likewise", *AUDIT, folder=published)
    check_audit(published / "audit")


@pytest.mark.long
def test_a_bill_of_materials_lists_what_is_installed(published: Path) -> None:
    env, bill = published / "env" / "bin" / "python", published / "likewise.cdx.json"
    run(published / "tools" / "bin" / "cyclonedx-py", "environment", env, "--output-file", bill, folder=published)
    listed = {one["name"].lower(): one["version"] for one in json.loads(bill.read_text())["components"]}
    assert listed["likewise"] == likewise.__version__
    required = {
        Requirement(text).name.lower() for text in distribution("likewise").requires or [] if "extra" not in text
    }
    assert required <= set(listed)


@pytest.mark.long
def test_no_dependency_has_a_known_vulnerability(published: Path) -> None:
    (site,) = (published / "env" / "lib").glob("python*/site-packages")
    tool = published / "tools" / "bin" / "pip-audit"
    done = subprocess.run([tool, "--path", site, "--skip-editable", "--format", "json"], capture_output=True, text=True)
    if not done.stdout:
        pytest.skip(f"The database of known vulnerabilities cannot be reached: {done.stderr[-200:]}")
    found = {one["name"]: one["vulns"] for one in json.loads(done.stdout)["dependencies"] if one.get("vulns")}
    found.pop("pip", None)  # of the environment, not ours
    assert found == {}
