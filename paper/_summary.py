"""How many rows came out as published, how near the plain models are, and how far our best recipe goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from paper._lines import Line
from paper._published import BASES, TABLES
from paper._tables import ABSENT, MODEL_COLUMNS, Tables, difference, markdown, show, verdict_of
from paper._verdicts import GAPS, RANK_GAPS, UTILITIES, judge, same_both_ways, shortfalls

TARGET: Final = 50  # of the published rows
SIX: Final = tuple(MODEL_COLUMNS)[:6]

Sections = Mapping[str, Sequence[Line]]  # the lines of each experiment


def reproduction(sections: Sections, tables: Tables) -> str:
    """Count the published rows by verdict, and list those that are no success."""
    rows, faults, totals = [], [], [0, 0, 0, 0, 0]
    for name in TABLES:
        counts = dict.fromkeys(("better", "as published", "worse", "open"), 0)
        for method, published in tables[name].items():
            line = find_published(sections, name, method)
            is_judged = line is not None and line.is_whole
            word = judge(line.means(), published).word if line is not None and is_judged else "open"
            counts[word] += 1
            if word in ("worse", "open"):
                faults.append([name, method, "**missing**" if line is None else verdict_of(line, published)])
        cells = [len(tables[name]), *counts.values()]
        totals = [total + cell for total, cell in zip(totals, cells, strict=True)]
        rows.append([name, *map(str, cells)])
    n_held = totals[1] + totals[2]
    rows.append(["all", *(f"**{total}**" for total in totals)])
    words = f"**{n_held} of {totals[0]}** published rows are as published or better (the target is {TARGET}).\n\n"
    table = markdown(["table", "published rows", "better", "as published", "worse", "missing or failed"], rows)
    listed = "\nThe others:\n\n" + markdown(["table", "method", "verdict"], faults) if faults else ""
    return words + table + listed


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
            rows.append([name, method, *by, "yes" if same_both_ways(means, published) else "**no**"])
    heads = ["table", "model", *(MODEL_COLUMNS[number] for number in SIX), "within tolerance both ways"]
    return markdown(heads, rows)


def best_recipe(sections: Sections, tables: Tables) -> str:
    """Hold the tuned recipe against half of the paper's AntiDRO gaps, and half of the plain network's rank gaps."""
    tuned = [line for line in sections.get("best", ()) if line.row.method.get("tune") is not None]
    rows, words = [], []
    for line in tuned:
        data = line.row.data
        rival, origin = _rival(sections, tables, data)
        network = _made_as(sections, data, "network")
        numbers = [show(line, name) for name in (*UTILITIES, *GAPS, *RANK_GAPS)]
        theirs = [_plain(rival.get(name)) for name in (*UTILITIES, *GAPS)]
        theirs += [_plain(network.get(name)) for name in RANK_GAPS]
        if not line.measured:
            rows += [[data, f"AntiDRO, {origin}; NN's rank gaps", *theirs, ""]]
            rows += [["", line.row.name, *[""] * len(numbers), line.status]]
            continue
        short = shortfalls(line.means(), rival, network)
        verdict = "**reached**" if not short else "not reached: " + _short_words(short)
        rows += [[data, f"AntiDRO, {origin}; NN's rank gaps", *theirs, ""]]
        rows += [["", f"{line.row.name}, {line.status}", *numbers, verdict if line.is_whole else f"so far {verdict}"]]
        if short:
            words.append(_nearest(sections, data, rival, network))
    heads = ["data", "", *UTILITIES.values(), *GAPS.values(), *RANK_GAPS.values(), "verdict"]
    return markdown(heads, rows) + ("\n" + "\n".join(filter(None, words)) + "\n" if any(words) else "")


def _rival(sections: Sections, tables: Tables, data: str) -> tuple[dict[str, float | None], str]:
    """Give the published AntiDRO row; where none is printed, ours made as in the paper."""
    printed = tables.get(data, {}).get("AntiDRO")
    return (dict(printed), "published") if printed else (_made_as(sections, data, "antidro"), "measured by us")


def _made_as(sections: Sections, data: str, model: str) -> dict[str, float | None]:
    """Give the numbers of a model as the paper has it: the first row of its main table that is so made."""
    fitting = (
        line
        for line in _of_paper(sections)
        if line.row.data == data
        and line.row.method.get("model") == model
        and line.row.method["columns"] == "all"
        and (model == "antidro" or line.row.method["antidotes"] is None)
    )
    found = next(fitting, None)
    return {} if found is None else found.means()


def _nearest(
    sections: Sections, data: str, rival: Mapping[str, float | None], network: Mapping[str, float | None]
) -> str:
    """Name the measured row that comes nearest; found on the test rows, so it is a description and no choice."""
    ours = [line for lines in sections.values() for line in lines if line.row.data == data and line.row.block == "ours"]
    ranked = []
    for place, line in enumerate(ours):
        means = line.means()
        if not line.is_whole or any(means.get(name) is None for name in (*UTILITIES, *GAPS, *RANK_GAPS)):
            continue
        short = shortfalls(means, rival, network)
        lost = max(short.get(title) or 0.0 for title in UTILITIES.values())  # utility first, then the gaps
        over = max((means[name] or 0.0) / max(rival.get(name) or 0.0, 1e-9) for name in GAPS)
        ranked.append((lost, over, place, line, short))
    if not ranked:
        return ""
    *_, line, short = min(ranked, key=lambda found: found[:3])
    lacks = _short_words(short) if short else "nothing is missing"
    return f"- Nearest on {data} among all rows of ours that were measured: {line.row.name} ({lacks})."


def _short_words(short: Mapping[str, float | None]) -> str:
    side = dict.fromkeys(UTILITIES.values(), "low")
    return ", ".join(
        f"{title} unknown" if by is None else f"{title} {by:.2f} too {side.get(title, 'high')}"
        for title, by in short.items()
    )


def _plain(number: float | None) -> str:
    return ABSENT if number is None else f"{number:.2f}"
