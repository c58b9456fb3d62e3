"""The command line: exit codes, what it prints, and the files it writes."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, Final

from golden._values import Page
from golden.cases._calls import case, logistic, planted, weights

Found = dict[str, Any]
COLUMNS: Final = "--label repaid --sensitive group,gender --scores p --ignore weight"
POLICY: Final = "max_flip_rate = 0.2\nmin_roc_auc = 0.7\nmin_pairs = 30\n[labels.1]\nmax_gap_mean = 0.04\n"


def likewise(line: str) -> Found:
    """Run a command, and return its exit code and what it printed."""
    import shlex

    from likewise.cli import main

    os.environ |= {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "LIKEWISE_PROGRESS": "0"}
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(shlex.split(line))
        except SystemExit as stop:
            code = stop.code
    said = out.getvalue()
    shown = json.loads(said) if said.startswith("{") else Page(said)
    return {"command": line, "code": code, "out": shown, "err": Page(err.getvalue())}


def session(*lines: str, files: tuple[str, ...] = ()) -> Found:
    """Run commands one after another, and return what they printed and the files that they wrote."""
    data = planted()
    people = data.test.X.assign(weight=weights(len(data.test)), repaid=data.test.y, p=data.scores(data.test.X).round(6))
    people.to_csv("people.csv", index=False)
    people.to_parquet("people.parquet", index=False)
    Path("policy.toml").write_text(POLICY)
    Path("better.toml").write_text(
        '[rule]\nno_better = ["income:higher"]\n[rule.limits]\nincome = 5000\nage = "10 %"\n'
    )
    Path("band.toml").write_text("[rule]\nscore_band = 0.2\n")
    Path("all.toml").write_text('[rule]\nsensitive_differs = "all"\nmax_continuous_shift = 0.1\n')
    ran = {f"{number}": likewise(line) for number, line in enumerate(lines)}
    return {"ran": ran, "files": {name: Path(name) for name in files if Path(name).exists()}}


@case("command.help")
def help_of_all() -> Found:
    names = ("", "audit", "plan", "pairs", "verify", "review sheet", "review merge", "report", "antidote", "datasets")
    return {name or "main": likewise(f"{name} --help") for name in names}


@case("command.audit")
def audit() -> Found:
    return session(f"audit people.csv {COLUMNS} --policy policy.toml --out audit", files=("audit",))


@case("command.audit_options")
def audit_options() -> Found:
    return session(
        f"audit people.csv {COLUMNS} --json",
        f"audit people.parquet {COLUMNS} --quiet --weight weight --reference group=blue --set approval_rate=0.4",
        f"audit people.csv {COLUMNS} --rule better.toml --reference blue --resamples 0",
        f"audit people.csv {COLUMNS} --set max_pairs=50 --threshold 0.6",
        f"audit people.csv {COLUMNS} --set max_pairs=50",
        f"audit people.csv {COLUMNS} --name-people 0.1",
        f"audit people.csv {COLUMNS} --name-people 0.1 --rule band.toml",
        "audit people.csv --sensitive group --scores p --bins age=3 --must-match region --discrete purpose",
        "audit people.csv --label repaid --sensitive grup --scores p",
        "audit nowhere.csv --label repaid --sensitive group --scores p",
    )


@case("command.audit_model")
def audit_model() -> Found:
    import skops.io

    skops.io.dump(logistic("planted"), "model.skops")
    trust = " ".join(f"--trust {name}" for name in skops.io.get_untrusted_types(file="model.skops"))
    columns = f"--label repaid --sensitive group,gender --ignore weight,p --model model.skops {trust}"
    hidden = [hashlib.sha256(Path("model.skops").read_bytes()).hexdigest()]  # of a file with addresses in memory
    return {"$hidden": hidden} | session(
        f"audit people.csv {columns} --attribute --certify --out audit",
        f"verify audit/audit.json people.csv --model model.skops {trust}",
        files=("audit",),
    )


@case("command.plan")
def plan() -> Found:
    return session(
        f"plan people.csv {COLUMNS} --policy policy.toml --out plan.json",
        "audit people.csv --plan plan.json --out audit",
        "audit people.csv --plan plan.json --threshold 0.6 --max-discrete-changes 0 --out other --quiet",
        "verify audit/audit.json people.csv --plan plan.json",
        "verify other/audit.json people.csv --plan plan.json",
        files=("plan.json", "audit", "other/audit.json"),
    )


@case("command.pairs")
def pairs() -> Found:
    columns = "--label repaid --sensitive group,gender --ignore weight --scores p"
    return session(
        f"pairs people.csv {columns}",
        f"pairs people.csv {columns} --count --json",
        f"pairs people.csv {columns} --out pairs.csv",
        f"pairs people.csv {columns} --out pairs.parquet --limit 20",
        f"pairs people.csv {columns} --out pairs --rule all.toml",
        f"pairs people.csv {columns} --sample 10",
        f"pairs people.csv {columns} --out folder",
        f"audit people.csv {COLUMNS} --set pairs=folder",
        files=("pairs.csv", "pairs.parquet", "pairs", "folder"),
    )


@case("command.antidote")
def antidote() -> Found:
    columns = "--label repaid --sensitive group,gender --ignore weight,p --seed 0"
    return session(
        f"antidote people.csv {columns} --generator uniform --ratio 0.5 --save generator --out more.csv",
        f"antidote people.csv {columns} --generator uniform --rounds 2 --only --out only.parquet",
        "antidote people.csv --load generator --ratio 0.2 --seed 1 --out again.csv",
        files=("more.csv", "only.parquet", "again.csv"),
    )


@case("command.report")
def report() -> Found:
    audits = [f"audit people.csv {COLUMNS} --threshold {t} --out {t} --quiet" for t in (0.4, 0.5, 0.6)]
    return session(
        *audits,
        "report 0.4/audit.json --out one.html",
        "report 0.4/audit.json 0.5/audit.json --out before.html",
        "report 0.4/audit.json 0.5/audit.json 0.6/audit.json --out trend.html",
        "report 0.4/audit.json --page bias-audit",
        "report 0.4/audit.json --page bias-audit --out bias.md",
        "report 0.4/audit.json --page model-risk --out risk.md",
        files=("one.html", "before.html", "trend.html", "0.4/bias-audit.html", "bias.md", "risk.md"),
    )


@case("command.verify")
def verify() -> Found:
    return session(
        f"audit people.csv {COLUMNS} --weight weight --out audit --quiet".replace(" --ignore weight", ""),
        "verify audit/audit.json people.csv",
        f"audit people.csv {COLUMNS} --threshold 0.7 --out other --quiet",
        "verify other/audit.json people.parquet",
    )


def write_sheet(path: str, rows: list[list[str]]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@case("command.review")
def review() -> Found:
    """Sheets written, filled in and merged."""
    found = session(
        f"audit people.csv {COLUMNS} --out audit --quiet",
        "review sheet audit --out lee.csv",
        "review sheet audit --out sheet.xlsx",
    )
    found["sheet"] = Path("lee.csv")
    with Path("lee.csv").open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    places = [header.index(name) for name in ("reviewer", "date", "disposition", "reason")]
    for number, row in enumerate(rows[:3]):
        for place, word in zip(places, ("Lee", "2026-11-17", "explained", f"R{number}"), strict=True):
            row[place] = word
    write_sheet("lee.csv", [header, *rows])
    found["merged"] = likewise("review merge audit lee.csv --out reviewed")
    write_sheet("lee.csv", [header, *rows[1:], rows[1]])
    found["refused"] = likewise("review merge audit lee.csv --out again")
    return found | {"files": Path("reviewed") if Path("reviewed").exists() else None}


@case("command.datasets")
def datasets() -> Found:
    return {"table": likewise("datasets"), "json": likewise("datasets --json")}


@case("command.wrong")
def wrong() -> Found:
    """What is said about commands that cannot be run."""
    return session("", "adit", "--version", "audit", "report nowhere.json", "verify people.csv people.csv", "pairs")
