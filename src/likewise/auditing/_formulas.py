"""Text that a spreadsheet would run as a formula → the same text, harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

# A cell that begins like this is run, or may be once blanks and quotes are cut off; wide signs in East Asian settings.
FORMULA: Final = r"^[\t\r\n]|^[\s\"]*[=+\-@＝＋－＠]"  # noqa: RUF001  # spreadsheets take the wide signs, too
NUMBER: Final = r"^-$|^[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?%?$"
# Where commas do not part cells, a text may fall into several, and a quote is a letter like any other.
LATER_FORMULA: Final = r"([;\t\r\n][\" ]*)([=+\-@＝＋－＠])"  # noqa: RUF001  # spreadsheets take the wide signs, too


def defuse_formulas(table: pa.Table) -> pa.Table:
    """Make a table safe to open in a spreadsheet: put an apostrophe before text that would be run as a formula.

    Text is run where it begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break; also behind a semicolon, a tab
    or a line break, where a spreadsheet parts cells. Numbers stay as they are, also those written as text, and so does
    a lone dash. Use it for CSV only: other files keep the type of a cell, and nothing is run.

    Parameters
    ----------
    table : pyarrow.Table

    Returns
    -------
    pyarrow.Table
        With as many rows and columns; values that CSV does not know are text in it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.auditing._internal import defuse_formulas
    >>> defuse_formulas(pa.table({"name": ["=1+1", "-5", "Ann"], "age": [-1, 2, 3]})).to_pydict()
    {'name': ["'=1+1", '-5', 'Ann'], 'age': [-1, 2, 3]}
    """
    import pyarrow as pa

    names: list[str] = []
    for name in defuse_texts(pa.array(table.column_names, pa.string())).to_pylist():
        names.append(name)
        while names[-1] in names[:-1]:
            names[-1] += "_"
    return pa.table([_defuse_column(column) for column in table.columns], names=names)


def defuse_texts(texts: Any) -> Any:
    """Put an apostrophe where a formula would begin; what has one already stays as it is."""
    import pyarrow.compute as pc

    inside = pc.replace_substring_regex(texts, LATER_FORMULA, r"\1'\2")
    is_run = pc.and_not(pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, NUMBER))
    return pc.if_else(is_run, pc.utf8_replace_slice(inside, 0, 0, "'"), inside)


def _defuse_column(column: Any) -> Any:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if str(column.type) == "string_view":  # pyarrow cannot write these as CSV
        column = column.cast(pa.string())
    if kinds.is_string(column.type) or kinds.is_large_string(column.type):
        return defuse_texts(column)
    is_plain = any(
        is_kind(column.type)
        for is_kind in (kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_temporal, kinds.is_decimal)
    )
    if is_plain or kinds.is_null(column.type):
        return column
    return defuse_texts(pa.array([as_text(value) for value in column.to_pylist()], pa.string()))


def as_text(value: Any) -> str | None:
    """Write any value as text that a file can hold; half a surrogate pair becomes a question mark."""
    return None if value is None else str(value).encode("utf-8", "replace").decode("utf-8")
