"""How many rows came out as published, how near the plain models are, and how far our best recipe goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from paper._cells import canonical
from paper._lines import Line, in_order_of_appearance
from paper._published import BASES, TABLES, base_of
from paper._tables import ABSENT, BLOCK_WORDS, MODEL_COLUMNS, Tables, difference, markdown, show
from paper._verdicts import GAPS, RANK_GAPS, UTILITIES, Measured, departures, judge, shortfalls

TARGET: Final = 50  # of the published rows
SIX: Final = tuple(MODEL_COLUMNS)[:6]  # that the paper prints
FOUR: Final = (*UTILITIES, *GAPS)  # that a row is judged by
SIX_ASKED: Final = {**UTILITIES, **GAPS, **RANK_GAPS}  # that the best recipe is asked for

Sections = Mapping[str, Sequence[Line]]  # the lines of each experiment


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Three questions about a published row, each answered by what speaks against it; None where it is not asked."""

    table: str
    method: str
    is_there: bool
    departs: tuple[str, ...]
    changes: tuple[str, ...] | None
    worse: tuple[str, ...]

    def cells(self) -> list[str]:
        """The answers of the row, as a line of a table."""
        if not self.is_there:
            return [self.table, self.method, *["**missing or failed**"] * 3]
        asked = (self.departs, self.changes, self.worse)
        return [self.table, self.method, *("" if one is None else _answer(one) for one in asked)]


def _answer(against: Sequence[str]) -> str:
    return f"**no**: {', '.join(against)}" if against else "yes"


def judge_rows(sections: Sections, tables: Tables) -> list[Verdicts]:
    """Ask the three questions of every published row."""
    found = []
    for table, method in ((name, method) for name in TABLES for method in tables[name]):
        line, published = find_published(sections, table, method), tables[table][method]
        if line is None or not line.is_whole:
            found.append(Verdicts(table, method, False, (), None, ()))
            continue
        departs = departures({name: line.values(name) for name in FOUR}, published)
        changes, name_of_base = None, base_of(method)
        base = None if name_of_base is None else find_published(sections, table, name_of_base)
        if name_of_base is not None and base is not None and base.is_whole:
            printed = {name: published[name] - tables[table][name_of_base][name] for name in FOUR}
            changes = departures({name: line.changes(base, name) for name in FOUR}, printed)
        found.append(Verdicts(table, method, True, departs, changes, judge(line.means(), published).faults))
    return found


def reproduction(sections: Sections, tables: Tables) -> str:
    """Count the published rows by three verdicts, the strictest first, and list all of them."""
    found = judge_rows(sections, tables)
    rows = []
    for name in (*TABLES, "all"):
        of_table = [one for one in found if name in (one.table, "all")]
        there = [one for one in of_table if one.is_there]
        changing = [one for one in there if one.changes is not None]
        counts = (
            sum(not one.departs for one in there),
            sum(not one.changes for one in changing),
            sum(not one.worse for one in there),
        )
        wanted = (len(of_table), sum(base_of(one.method) is not None for one in of_table), len(of_table))
        cells = [f"{count} of {n}" for count, n in zip(counts, wanted, strict=True)]
        rows.append([name, *(cells if name != "all" else [f"**{cell}**" for cell in cells])])
    strict, change, no_worse = (cell.strip("*") for cell in rows[-1][1:])
    words = (
        f"**{strict}** published rows are as published, neither worse nor better. **{change}** methods change their "
        f"own base as the published method changes its base. **{no_worse}** rows are not worse than "
        f"published (the target is {TARGET}).\n\n"
    )
    heads = ["as published (two-sided)", "change against the own base", "not worse"]
    counted = markdown(["table", *heads], rows)
    listed = markdown(["table", "method", *heads], [one.cells() for one in found])
    return words + counted + "\n" + _own_block(sections, tables) + "\n### Every published row\n\n" + listed


def _own_block(sections: Sections, tables: Tables) -> str:
    """Count the rows with generators and settings of our own that stand against a published row; none counts above."""
    found = {}
    for line in (line for lines in sections.values() for line in lines if line.row.block == "ours"):
        table, method = line.row.published or ("", "")
        if table in TABLES and method in tables[table]:
            found[table, method, canonical(line.row.method)] = line, tables[table][method]
    judged = [judge(line.means(), published).word for line, published in found.values() if line.is_whole]
    n_better, n_same = judged.count("better"), judged.count("as published")
    n_open = len(found) - len(judged)
    return (
        f"Of the {len(found)} rows of our own block (*Ours*) that stand against a published row, {n_better + n_same} "
        f"are as published or better ({n_better} better), {judged.count('worse')} worse and {n_open} missing or "
        "failed; none of them is counted above.\n"
    )


def find_published(sections: Sections, table: str, method: str) -> Line | None:
    """Find our row, made as in the paper, for a published one."""
    return next((line for line in _of_paper(sections) if line.row.published == (table, method)), None)


def _of_paper(sections: Sections) -> Iterator[Line]:
    return (line for lines in sections.values() for line in lines if line.row.block == "paper")


def plain_models(sections: Sections, tables: Tables) -> str:
    """Hold the models that nothing was done to against the published ones, both ways."""
    rows = []
    for name in TABLES:
        for method in (base for base in BASES if base in tables[name]):
            line, published = find_published(sections, name, method), tables[name][method]
            if line is None or not line.measured:
                rows.append([name, method, *[""] * len(SIX), "**missing**" if line is None else line.status])
                continue
            means = line.means()
            by = [difference(means.get(number), published[number], number) or ABSENT for number in SIX]
            rows.append(
                [
                    name,
                    method,
                    *by,
                    "**no**" if departures({four: line.values(four) for four in FOUR}, published) else "yes",
                ]
            )
    heads = ["table", "model", *(MODEL_COLUMNS[number] for number in SIX), "as published"]
    return markdown(heads, rows)


def best_recipe(sections: Sections, tables: Tables) -> str:
    """Hold the tuned recipes against half of the paper's AntiDRO gaps, and half of the plain network's rank gaps."""
    tuned = [line for line in sections.get("best", ()) if line.row.method.get("tune") is not None]
    rows, n_reached = [], 0
    data_names = in_order_of_appearance(line.row.data for line in tuned)
    for data in data_names:
        rival, origin = _rival(sections, tables, data)
        network = _made_as(sections, data, "network")
        theirs = [_plain(rival.get(name)) for name in (*UTILITIES, *GAPS)]
        theirs += [_plain(network.get(name)) for name in RANK_GAPS]
        rows.append([data, f"AntiDRO, {origin}; NN's rank gaps", *theirs, ""])
        recipes = [line for line in tuned if line.row.data == data]
        rows += [_recipe_cells(line, shortfalls(line.means(), rival, network)) for line in recipes]
        if any(line.is_whole and not shortfalls(line.means(), rival, network) for line in recipes):
            n_reached += 1
        else:
            rows += _closest_cells(sections, data, rival, network)
    heads = ["data", "", *SIX_ASKED.values(), "verdict"]
    return f"Reached on **{n_reached} of {len(data_names)}** data sets.\n\n" + markdown(heads, rows)


def _recipe_cells(line: Line, short: Mapping[str, float | None]) -> list[str]:
    if not line.measured:
        return ["", line.row.name, *[""] * len(SIX_ASKED), line.status]
    verdict = "not reached: " + _short_words(short) if short else "**reached**" if line.is_whole else "reached"
    numbers = [show(line, name) for name in SIX_ASKED]
    return ["", f"{line.row.name}, {line.status}", *numbers, verdict if line.is_whole else f"so far {verdict}"]


def _closest_cells(sections: Sections, data: str, rival: Measured, network: Measured) -> list[list[str]]:
    """Show the row that comes closest of all, whatever experiment it is of; and of ours, where that is another."""
    cells, shown = [], None
    for words, blocks in (("closest of all rows", tuple(BLOCK_WORDS)), ("closest of ours", ("ours",))):
        found = closest(sections, data, rival, network, blocks)
        if found is None or found[1] is shown:
            continue
        experiment, line, short = found
        shown = line
        lacks = f"lacks {sum(by or 0.0 for by in short.values()):.2f} in all: {_short_words(short)}"
        verdict = lacks if short else "lacks nothing, but is no row of the recipe"
        name = f"*{words}*: {line.row.name} ({BLOCK_WORDS[line.row.block].lower()}, `{experiment}`)"
        if line.row.method.get("tune") is not None:  # has its numbers above
            cells.append(["", f"{name}, as above", *[""] * len(SIX_ASKED), verdict])
        else:
            cells.append(["", f"{name}, {line.status}", *(show(line, number) for number in SIX_ASKED), verdict])
    return cells


def closest(
    sections: Sections, data: str, rival: Measured, network: Measured, blocks: Sequence[str]
) -> tuple[str, Line, dict[str, float | None]] | None:
    """Find the whole row of a data set with the least total shortfall; of several, that with the least gaps.

    No row that is at least as good in everything lacks more, so it is a point of the frontier.
    """
    ranked = []
    for experiment, line in ((name, line) for name, lines in sections.items() for line in lines):
        if line.row.data != data or line.row.block not in blocks or not line.is_whole:
            continue
        means = line.means()
        short = shortfalls(means, rival, network)
        if None in short.values():  # no number to hold against another
            continue
        gaps = sum(means[name] or 0.0 for name in (*GAPS, *RANK_GAPS))
        ranked.append((sum(by or 0.0 for by in short.values()), gaps, (experiment, line, short)))
    return min(ranked, key=lambda one: one[:2])[2] if ranked else None


def _rival(sections: Sections, tables: Tables, data: str) -> tuple[dict[str, float | None], str]:
    """Give the published AntiDRO row; where none is printed, ours made as in the paper."""
    printed = tables.get(data, {}).get("AntiDRO")
    return (dict(printed), "published") if printed else (_made_as(sections, data, "antidro_printed"), "measured by us")


def _made_as(sections: Sections, data: str, model: str) -> dict[str, float | None]:
    """Give the numbers of a model as the paper has it: the first row of its main table that is so made."""
    fitting = (
        line
        for line in _of_paper(sections)
        if line.row.data == data
        and line.row.method.get("model") == model
        and line.row.method["columns"] == "all"
        and (model == "antidro_printed" or line.row.method["antidotes"] is None)
    )
    found = next(fitting, None)
    return {} if found is None else found.means()


def _short_words(short: Mapping[str, float | None]) -> str:
    side = dict.fromkeys(UTILITIES.values(), "low")
    return ", ".join(
        f"{title} unknown" if by is None else f"{title} {_at_least_a_digit(by)} too {side.get(title, 'high')}"
        for title, by in short.items()
    )


def _at_least_a_digit(by: float) -> str:
    return f"{by:.2f}" if by >= 0.005 else f"{by:.1g}"


def _plain(number: float | None) -> str:
    return ABSENT if number is None else f"{number:.2f}"
