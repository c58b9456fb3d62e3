"""Tables in Markdown: the published numbers, ours beneath them, and the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Final

from paper._lines import Line, in_order_of_appearance
from paper._published import Numbers, Table
from paper._verdicts import judge, known

MODEL_COLUMNS: Final = {
    "roc_auc": "ROC",
    "average_precision": "AP",
    "gap_mean[1]": "positive gap",
    "gap_q3[1]": "its Q3",
    "gap_mean[0]": "negative gap",
    "gap_q3[0]": "its Q3",
    "rank_gap_mean[1]": "positive rank gap",
    "rank_gap_mean[0]": "negative rank gap",
    "log_loss": "log loss",
    "brier": "Brier",
    "score_spread": "spread",
    "antidote_ratio": "antidotes",
}
EFFICACY_COLUMNS: Final = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "f1": "F1"}
COUNT_COLUMNS: Final = {
    "n_train": "training rows",
    "n_test": "test rows",
    "n_columns": "width",
    "train_positive_pairs": "training pairs, positive",
    "train_negative_pairs": "training pairs, negative",
    "test_positive_pairs": "test pairs, positive",
    "test_negative_pairs": "test pairs, negative",
}
BLOCK_WORDS: Final = {"paper": "As in the paper", "ours": "Ours"}
ABSENT: Final = "n/a"  # not measured, or not published
DIGITS: Final = {"log_loss": 3, "brier": 3, **dict.fromkeys(COUNT_COLUMNS, 0)}

Tables = Mapping[str, Table]


def published_of(line: Line, tables: Tables) -> Numbers | None:
    """Find what the paper has for a row."""
    if line.row.published is None:
        return None
    table, row = line.row.published
    return tables.get(table, {}).get(row)


def model_tables(lines: Sequence[Line], tables: Tables) -> str:
    """One table for each block and data set, the paper's block first; then what failed."""
    return _by_block(lines, tables, MODEL_COLUMNS, has_verdict=True)


def efficacy_table(lines: Sequence[Line], tables: Tables) -> str:
    """Accuracies of models that saw made rows only."""
    text = _by_block(lines, tables, EFFICACY_COLUMNS, has_verdict=False)
    compared = [line for line in lines if line.row.block == "paper" and line.measured and published_of(line, tables)]
    for name, title in EFFICACY_COLUMNS.items():
        ours = sorted(compared, key=lambda line: -(line.mean(name) or 0.0))
        theirs = sorted(compared, key=lambda line: -(published_of(line, tables) or {}).get(name, 0.0))
        order = " > ".join(line.row.name for line in ours)
        words = "the published order" if ours == theirs else "**not** the published order"
        text += f"\n- By {title}: {order}; {words}." if compared else ""
    return text + "\n"


def count_table(lines: Sequence[Line], tables: Tables) -> str:
    """Rows and pairs; they are counted, so that they agree or do not."""
    rows = []
    for line in lines:
        published = published_of(line, tables)
        cells = [[*row, ""] for row in _line_cells(line, published, COUNT_COLUMNS)]
        if published is not None and line.measured:
            off = [abs((line.mean(name) or 0.0) / number - 1.0) for name, number in published.items()]
            cells[-1][-1] = f"up to {100 * max(off):.1f} % off" if any(off) else "equal"
        rows += cells
    return markdown(["data", "", *COUNT_COLUMNS.values(), "verdict"], rows) + failures(lines)


def _by_block(lines: Sequence[Line], tables: Tables, columns: Mapping[str, str], *, has_verdict: bool) -> str:
    parts = []
    data_names = in_order_of_appearance(line.row.data for line in lines)
    for block, words in BLOCK_WORDS.items():
        for data in data_names:
            mine = [line for line in lines if line.row.block == block and line.row.data == data]
            if not mine:
                continue
            is_compared = has_verdict and any(published_of(line, tables) for line in mine)
            heads = ["method", "", *columns.values(), *(["verdict"] if is_compared else [])]
            rows = [cells for line in mine for cells in _with_verdict(line, tables, columns, has_verdict=is_compared)]
            title = f"{words}, {data}" if len(data_names) > 1 else words
            parts.append(f"**{title}**\n\n{markdown(heads, rows)}")
    return "\n".join(parts) + failures(lines)


def _with_verdict(line: Line, tables: Tables, columns: Mapping[str, str], *, has_verdict: bool) -> list[list[str]]:
    published = published_of(line, tables)
    cells = _line_cells(line, published, columns)
    if not has_verdict:
        return cells
    for row in cells:
        row.append("")
    if published is not None:
        cells[-1][-1] = verdict_of(line, published)
    return cells


def verdict_of(line: Line, published: Numbers) -> str:
    """Judge what is there; what is not whole is judged so far, and no success yet."""
    if not line.measured:
        return line.status
    words = str(judge(line.means(), published))
    words = words.replace("worse", "**worse**", 1)
    return words if line.is_whole else f"so far {words}"


def _line_cells(line: Line, published: Numbers | None, columns: Mapping[str, str]) -> list[list[str]]:
    """One line of a table for what was published, one for ours, one for the difference."""
    has_it = {name: any(name in numbers for numbers in line.measured) for name in columns}
    ours = ["", f"ours, {line.status}", *(show(line, name) if has_it[name] else "" for name in columns)]
    if published is None:
        return [[line.row.name, *ours[1:]]]
    printed = [
        line.row.name,
        "published",
        *(_shown(published[name], name) if name in published else "" for name in columns),
    ]
    if not line.measured:
        return [printed, ours]
    means = {name: line.mean(name) for name in columns}
    return [printed, ours, ["", "difference", *(difference(means[name], published.get(name), name) for name in means)]]


def show(line: Line, name: str) -> str:
    """Write mean ± standard deviation."""
    average, deviation = line.mean(name), line.deviation(name)
    if average is None:
        return ABSENT
    return _shown(average, name) + ("" if deviation is None else f" ± {_shown(deviation, name)}")


def _shown(number: float | None, name: str) -> str:
    return ABSENT if known(number) is None else f"{number:,.{DIGITS.get(name, 2)}f}"


def difference(ours: float | None, published: float | None, name: str) -> str:
    """Write how much ours is more."""
    if ours is None or published is None:
        return ""
    by = round(ours - published, DIGITS.get(name, 2)) + 0.0  # no minus zero
    return f"{by:+,.{DIGITS.get(name, 2)}f}" if by else "0"


def rule_tables(lines: Sequence[Line]) -> str:
    """Mean gaps by which of the sensitive columns differ, where more than one rule was asked for."""
    rules = in_order_of_appearance(rule for line in lines for rule in line.row.method["rules"])
    if len(rules) < 2:
        return ""
    sides = [(rule, side) for rule in rules for side in ("positive", "negative")]
    heads = ["method", "", *(f"{rule}, {side}" for rule, side in sides)]
    rows = []
    for line in lines:
        cells = [line.row.name, BLOCK_WORDS[line.row.block].lower()]
        for rule, side in sides:
            found = [numbers["rules"][rule][side] for numbers in line.measured]
            cells.append(_spread([one["mean"] for one in found]))
        rows.append(cells)
    counts = ["pairs, mean over splits", "", *(_count_pairs(lines, rule, side) for rule, side in sides)]
    words = "**Mean gaps of pairs that differ in all, any or none of the sensitive columns**"
    return f"\n{words}\n\n{markdown(heads, [counts, *rows])}"


def _count_pairs(lines: Sequence[Line], rule: str, side: str) -> str:
    """Average over splits; the rows of a table share them, but not every row has every seed yet."""
    by_split = {
        cell["spec"].get("split", 0): cell["numbers"]["rules"][rule][side]["n"]
        for line in lines
        for cell in line.cells
        if cell is not None and "numbers" in cell
    }
    counts = [*by_split.values()]
    if not counts:
        return ABSENT
    return f"{mean(counts):,.0f}" + (f" ± {stdev(counts):,.0f}" if len({*counts}) > 1 else "")


def _spread(shares: Sequence[float | None]) -> str:
    there = [100.0 * share for share in shares if share is not None]
    if not there or len(there) < len(shares):
        return ABSENT
    return f"{mean(there):.2f}" + (f" ± {stdev(there):.2f}" if len(there) > 1 else "")


def tuned_table(lines: Sequence[Line]) -> str:
    """Show what a search chose, and with how many seeds."""
    rows = []
    for line in lines:
        chosen = Counter(
            ", ".join(f"{name} {value}" for name, value in sorted(numbers["tuned"].items()))
            for numbers in line.measured
            if "tuned" in numbers
        )
        rows += [[line.row.data, line.row.name, escape(words), str(n)] for words, n in sorted(chosen.items())]
    if not rows:
        return ""
    table = markdown(["data", "method", "chosen", "seeds"], rows)
    return "\n**What was chosen on the training rows**\n\n" + table


def failures(lines: Sequence[Line]) -> str:
    """List what failed, and with which words."""
    found = [
        f"- **failed**: {line.row.name} on {line.row.data}, seed {seed}: {escape(error)}"
        for line in lines
        for seed, error in line.errors
    ]
    return "\n" + "\n".join(found) + "\n" if found else ""


def escape(text: str) -> str:
    """Keep foreign words from being read as Markdown."""
    return "".join(f"\\{letter}" if letter in "\\`*_|<>[]" else letter for letter in text)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table; columns of numbers to the right."""
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(heads)
    aligned = ["---:" if _are_numbers(column) else "---" for column in columns]
    lines = [[*heads], aligned, *([*row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _are_numbers(cells: Sequence[str]) -> bool:
    there = [cell.strip("*+-") for cell in cells if cell and cell != ABSENT]
    return bool(there) and all(cell[:1].isdigit() for cell in there)
