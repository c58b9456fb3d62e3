"""What is asked of an engine: a table or two, and a rule, told apart and brought into the same codes."""

from __future__ import annotations

from likewise.comparable._rule import Comparability
from likewise.exceptions import RuleError
from likewise.schema import CodedTable

Question = tuple[CodedTable, CodedTable | None, Comparability]


def sort_tables(
    left: CodedTable, right: CodedTable | Comparability | None, rule: Comparability | None
) -> tuple[CodedTable, CodedTable | None, Comparability | None]:
    """Tell ``(table, rule)`` from ``(left, right, rule)``, and put both tables into the same codes."""
    if isinstance(right, Comparability):
        if rule is not None:
            raise RuleError("Two rules were given. Call it with (table, rule) or with (left, right, rule).")
        right, rule = None, right
    for table in (left, right):
        if table is not None and not isinstance(table, CodedTable):
            raise RuleError(
                f"Pairs are sought in coded tables, not in a {type(table).__name__}. "
                "Make one: schema = roles.learn(frame); table = schema.encode(frame, y)."
            )
    return left, None if right is None else right.aligned_to(left), rule


def sort_arguments(left: CodedTable, right: CodedTable | Comparability | None, rule: Comparability | None) -> Question:
    """Tell the tables from the rule, which has to be there."""
    left, right, rule = sort_tables(left, right, rule)
    if not isinstance(rule, Comparability):
        raise RuleError(f"The rule is {rule!r}; give a Comparability, such as Comparability(max_discrete_changes=1).")
    return left, right, rule
