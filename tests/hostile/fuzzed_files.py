"""Single files with faults, and their readers: tables, records, plans, schemas, sheets, policies."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet
from tests.hostile.cases import Case, Random, Reader
from tests.hostile.mutations import ODD_TEXTS, change_bytes, change_data, change_lines, dump, words
from tests.records import make_record

from likewise import Comparability, Policy, Schema, audit, load_dataset
from likewise.auditing import compare_series, merge_reviews, write_review_sheet
from likewise.cli import main
from likewise.cli._columns import NamedColumns
from likewise.cli._outputs import load_json, now, read_plan, read_record
from likewise.cli._tables import TableFiles
from likewise.cli._typing import as_numbers
from likewise.exceptions import LikewiseError
from likewise.record import AuditRecord
from likewise.report import series_to_html, to_card, to_html, to_junit, to_markdown, to_model_card, to_page

# ---- tables ----

CSV: Final = (
    "name,race,zip,account,age,income,since,note,hired",
    'Ann,blue,01234,10000000000000000001,30,"1,500.5",2020-01-31,"said ""yes""",1',
    "Bob,green,00007,10000000000000000002,31,1500.25,2020-02-29,,0",
    'Çağ,red,7,9,,2e3,NA,"two\nlines",1',
    "Dee,blue,90210,12E4,28,-3,2021-12-01,x,0",
)
CELLS: Final = (*words('007 1e400 99999999999999999999 12E4 0,5 1.000,5 " "" NA nan , ; | - +01 1. .5'), "\t")
ENCODINGS: Final = words(
    "utf-8 utf-8 utf-8 latin-1 cp1252 utf-16 utf-16-le utf-32 utf-7 cp037 shift_jis utf-8-sig ascii big5"
)
ODD_ENCODINGS: Final = words("idna punycode undefined base64 raw_unicode_escape unicode_escape hz utf-16-be iso2022_jp")


def fuzz_tables(folder: Path) -> Reader:
    """CSV files of any separator and encoding, compressed or not, and Parquet files."""
    columns = {"a": list(range(40)), "b": ["x", None] * 20, "c": [0.5] * 40, "d": [{"e": [1, 2]}] * 40}
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    parquet = file.getvalue()

    def write_text(random: Random) -> tuple[bytes, dict[str, Any]]:
        separator = random.choice((",", ",", ";", "\t", "|"))
        encoding = random.choice(ENCODINGS)
        lines = [line.replace(",", separator) for line in CSV] * random.choice((1, 1, 3))
        if random.random() < 0.8:
            lines = change_lines(random, lines, (separator, separator, '"'), CELLS)
        text = random.choice(("\n", "\n", "\r\n", "\r")).join(lines) + random.choice(("\n", ""))
        content = text.encode(encoding, "replace")
        content = change_bytes(random, content) if random.random() < 0.4 else content
        how = {
            "encoding": random.choice((encoding,) * 20 + (*ENCODINGS, *ODD_ENCODINGS)),
            "delimiter": random.choice((separator,) * 40 + (",", *ODD_TEXTS)),
            "decimal": random.choice((None, ".", ",") * 20 + ODD_TEXTS),
            "text": random.choice((None, None, None, None, ["zip"], ["zip", "age"], [random.choice(ODD_TEXTS)])),
        }
        return content, how

    def draw(random: Random) -> Case:
        kind = random.choice(("csv", "csv", "csv", "tsv", "csv.gz", "parquet"))
        files: dict[str, bytes] = {}
        how: dict[str, Any] = {}
        for number in range(random.choice((1, 1, 1, 2))):
            content, how = (parquet, {}) if kind == "parquet" else write_text(random)
            if kind == "csv.gz":
                content = gzip.compress(content, mtime=0)
            if kind in ("csv.gz", "parquet") and random.random() < 0.8:
                content = change_bytes(random, content)
            files[f"{number}.{kind}"] = content
        return Case(files, {"options": how, "columns": random.choice(([], ["zip"], ["age", "x"]))})

    def read(case: Case) -> None:
        data = [str(path) for path in case.write(folder)]
        found = TableFiles(data=data, **case.how["options"]).read(NamedColumns(frozenset(case.how["columns"])))
        as_numbers(found.frame, found.text)
        assert len(found.frame), "a table without people"

    return Reader(draw, read)


# ---- records, plans, schemas, sheets ----


def _audit() -> dict[str, Any]:
    data = load_dataset("planted", n_rows=300)
    return audit(
        *(data.scores, data.test.X, data.test.y),
        roles=data.roles,
        rule=data.rule,
        n_resamples=40,
        random_state=0,
    ).to_dict()


def fuzz_records(folder: Path) -> Reader:
    """Records of audits: read as ``likewise report`` does, then shown and compared."""
    sound = [json.loads(json.dumps(one)) for one in (make_record(), _audit())]
    known = [AuditRecord.of(one) for one in sound]
    shown: dict[str, Callable[[AuditRecord], object]] = {
        **{show.__name__: show for show in (to_markdown, to_html, to_junit, to_model_card, to_card)},
        **{
            f"{page} {form}": partial(to_page, page=page, form=form)
            for page in ("bias-audit", "model-risk")
            for form in ("html", "markdown")
        },
        "series with made": lambda record: series_to_html(compare_series([known[0], record])),
        "series with audited": lambda record: series_to_html(compare_series([known[1], record])),
        "review sheet": lambda record: write_review_sheet(record, folder / "sheet.csv"),
    }

    def draw(random: Random) -> Case:
        content = dump(change_data(random, random.choice(sound)))
        content = change_bytes(random, content) if random.random() < 0.1 else content
        return Case({"audit.json": content}, {"show": random.choice(list(shown))})

    def read(case: Case) -> None:
        (path,) = case.write(folder)
        shown[case.how["show"]](read_record(path, load_json(path), to_show=True))

    return Reader(draw, read)


def fuzz_plans(folder: Path) -> Reader:
    """Sealed plans; most have a checksum that fits what they say."""
    csv, path = folder / "people.csv", folder / "plan.json"
    rows = [f"{i},{'fm'[i % 2]},{20 + i % 5},{i % 3 % 2},0.{i % 9}" for i in range(40)]
    csv.write_text("\n".join(["id,sex,age,hired,p", *rows]) + "\n")
    args = ("--label", "hired", "--sensitive", "sex", "--row-id", "id", "--scores", "p", "--quiet", "--out")
    with suppress(SystemExit), redirect_stdout(io.StringIO()):
        main(["plan", str(csv), *args, str(path)])
    sound = json.loads(path.read_text())

    def draw(random: Random) -> Case:
        data = change_data(random, sound)
        if isinstance(data, dict) and random.random() < 0.8:
            data |= {"sealed_at": now()} if random.random() < 0.5 else {}
            inner = {name: one for name, one in data.items() if name != "checksum"}
            data["checksum"] = hashlib.sha256(json.dumps(inner, sort_keys=True).encode()).hexdigest()
        return Case({"plan.json": dump(data)})

    def read(case: Case) -> None:
        read_plan(*case.write(folder))

    return Reader(draw, read)


def seal(schema: Any) -> Any:
    """Return a schema with the checksum of what it says, as far as it has one."""
    try:
        inner = {name: one for name, one in json.loads(dump(schema)).items() if name != "checksum"}
        text = json.dumps(inner, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (ValueError, AttributeError, RecursionError):
        return schema
    return inner | {"checksum": hashlib.sha256(text.encode()).hexdigest()}


def fuzz_schemas(folder: Path) -> Reader:
    """Schemas, and people coded with what was read."""
    data = load_dataset("planted", n_rows=200)
    sound = json.loads(data.roles.learn(data.train.X).to_json())

    def draw(random: Random) -> Case:
        told = change_data(random, sound)
        return Case({"schema.json": dump(seal(told) if random.random() < 0.8 else told)})

    def read(case: Case) -> None:
        schema = Schema.load(*case.write(folder))
        schema.encode(data.train.X, data.train.y)
        Schema.from_json(schema.to_json())

    return Reader(draw, read)


def fuzz_sheets(folder: Path) -> Reader:
    """Filled-in review sheets, as CSV and as workbooks."""
    record = AuditRecord.of(make_record())
    for ending in ("csv", "xlsx"):
        write_review_sheet(record, folder / f"sheet.{ending}")
    lines = (folder / "sheet.csv").read_text().splitlines()
    book = (folder / "sheet.xlsx").read_bytes()
    odd = words('justified confirmed open 01/02/2026 31.12.2026 2026-11-17 2026-13-99 Ann " ,')

    def draw(random: Random) -> Case:
        if random.random() < 0.1:
            return Case({"given.xlsx": change_bytes(random, book)})
        text = random.choice(("\n", "\r\n")).join(change_lines(random, lines, (",", ";"), odd))
        content = text.encode(random.choice(("utf-8", "cp1252", "utf-16")), "replace")
        return Case({"given.csv": change_bytes(random, content) if random.random() < 0.3 else content})

    def read(case: Case) -> None:
        try:
            merge_reviews(record, *case.write(folder))
        except LikewiseError as error:  # one line for each fault of a sheet
            raise LikewiseError(str(error).splitlines()[0]) from error

    return Reader(draw, read)


# ---- policies and rules ----

POLICY: Final = """min_pairs = 30
max_gap_mean = 0.1
labels.1.max_flip_rate = 5e-2
min_roc_auc = 0.7
[transitions."sex: Male → Female"]
min_signed_gap = -0.05
[columns.postcode]
max_part_share = 0.2"""
RULE: Final = """[rule]
max_discrete_changes = 1
max_continuous_shift = 0.025
must_match = ["job"]
sensitive_differs = "any"
no_better = ["dti"]
score_band = 0.1
[rule.limits]
income = 5000
age = "10 %" """
VALUES: Final = (
    *words('"0.2" true [0.2] {} nan -inf 1979-05-27 07:32:00 1e400 2 0x1f 1_000 [[1]] [policy] [rule] [[rule]] """'),
    *words("'' [tool.likewise.policy] [rule.limits] [columns] [transitions] ''' \\u0000 \"\\ud800\""),
    *("= 0.1", "{a = 1}", "max_gap_mean = 0.1", "9" * 400, "9" * 5_000, "[" * 3_000, "a." * 3_000 + "b = 1"),
)


def fuzz_policies(folder: Path) -> Reader:
    """Policies and rules as TOML."""

    def draw(random: Random) -> Case:
        is_rule = random.random() < 0.4
        name = random.choice(("policy.toml", "policy.toml", "pyproject.toml"))
        lines = change_lines(random, (RULE if is_rule else POLICY).splitlines(), (" = ", " = ", ".", '"'), VALUES)
        if name == "pyproject.toml":
            lines.insert(0, f"[tool.likewise.{'rule' if is_rule else 'policy'}]")
        content = "\n".join(lines).encode("utf-8", "surrogatepass")
        content = change_bytes(random, content) if random.random() < 0.3 else content
        return Case({name: content}, {"is_rule": is_rule})

    def read(case: Case) -> None:
        (Comparability if case.how["is_rule"] else Policy).from_toml(*case.write(folder))

    return Reader(draw, read)
