"""The highest sum of leaves that anybody comparable to a person can reach: branch and bound, compiled.

Every column is a list of cells, within which no tree can tell two values apart: categories, or intervals between
thresholds. A box is a set of cells for each column, as bits. The sum over trees of the highest leaf that a box can
reach bounds every row in it; boxes are split by the test that the bound depends on most, until the bound is reached.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from likewise._compiling import compiled, compiled_with_arrays
from likewise.certifying._neighbourhood import OTHER_VALUE, OWN_VALUE

ENOUGH: Final = 1e-9  # two sums of leaves this near are one: less than the models round off
MAX_BOXES: Final = 4_096  # waiting at once; every split adds one
FREE, SENSITIVE, DISCRETE = 0, 1, 2  # kinds of columns


@compiled
def goes_left(test: int, cell: int, tests: Any, columns: Any) -> bool:
    """Whether a cell of a test's column leads to the left."""
    column_of, cut, zero_left, nan_left, member_start, members = tests
    _, is_coded, zero_cell, nan_cell = columns
    column = column_of[test]
    if is_coded[column]:
        return members[member_start[test] + cell]
    if cell == zero_cell[column]:
        return zero_left[test]
    if cell == nan_cell[column]:
        return nan_left[test]
    return cell < cut[test]


@compiled_with_arrays
def restrict_trees(forest: Any, status: Any, sign: float, compact: Any) -> int:
    """Copy the part of each tree that a person's neighbourhood can reach, in preorder; return how many nodes."""
    roots, test_of, left, right, values = forest
    test, after, other, value, root = compact  # other: the right child, after: the end of the subtree
    stack = np.empty(512, np.int64)
    parents = np.empty(512, np.int64)
    n = 0
    for tree in range(len(roots)):
        root[tree] = n
        depth = 1
        stack[0], parents[0] = roots[tree], -1
        while depth > 0:
            depth -= 1
            node, parent = stack[depth], parents[depth]
            while test_of[node] >= 0 and status[test_of[node]] != 3:
                node = left[node] if status[test_of[node]] == 1 else right[node]
            if parent >= 0:
                other[parent] = n
            if test_of[node] < 0:
                test[n], value[n] = -1, sign * values[node]
            else:
                test[n] = test_of[node]
                stack[depth], parents[depth] = right[node], n
                stack[depth + 1], parents[depth + 1] = left[node], -1
                depth += 2
            n += 1
    root[len(roots)] = n
    for node in range(n - 1, -1, -1):
        after[node] = node + 1 if test[node] < 0 else after[other[node]]
    return n


@compiled
def bound_box(box: Any, local: Any, compact: Any, scratch: Any) -> float:
    """Return the sum over trees of the highest leaf in reach, and leave the weight of each test in the bound."""
    local_tests, masks, column_of = local
    test, after, other, value, root = compact
    status, weight, best, skip, visited = scratch
    n_words = box.shape[1]
    for at in range(len(local_tests)):
        one = local_tests[at]
        column = column_of[one]
        inside, outside = np.uint64(0), np.uint64(0)
        for word in range(n_words):
            inside |= box[column, word] & masks[one, word]
            outside |= box[column, word] & ~masks[one, word]
        status[one] = (1 if inside else 0) + (2 if outside else 0)
        weight[one] = 0.0
    total = 0.0
    for tree in range(len(root) - 1):
        node, end, n = root[tree], root[tree + 1], 0
        while node < end:
            if skip[node]:
                skip[node] = False
                node = after[node]
                continue
            visited[n] = node
            n += 1
            if test[node] >= 0 and status[test[node]] != 3:
                if status[test[node]] == 1:
                    skip[other[node]] = True
                    node += 1
                else:
                    node = other[node]
            else:
                node += 1
        for at in range(n - 1, -1, -1):
            node = visited[at]
            if test[node] < 0:
                best[node] = value[node]
            elif status[test[node]] == 1:
                best[node] = best[node + 1]
            elif status[test[node]] == 2:
                best[node] = best[other[node]]
            else:
                one, two = best[node + 1], best[other[node]]
                best[node] = max(one, two)
                weight[test[node]] += abs(one - two)
        total += best[root[tree]]
    return total


@compiled
def sum_leaves(point: Any, masks: Any, column_of: Any, compact: Any) -> float:
    """Return the sum of the leaves of one row, given the cell of each column."""
    test, _, other, value, root = compact
    total = 0.0
    for tree in range(len(root) - 1):
        node = root[tree]
        while test[node] >= 0:
            cell = point[column_of[test[node]]]
            bit = (masks[test[node], cell >> 6] >> np.uint64(cell & 63)) & np.uint64(1)
            node = node + 1 if bit else other[node]
        total += value[node]
    return total


@compiled
def has_cell(box: Any, column: int, cell: int) -> bool:
    """Whether a box holds a cell of a column."""
    return (box[column, cell >> 6] >> np.uint64(cell & 63)) & np.uint64(1) == np.uint64(1)


@compiled
def copy_box(box: Any, to: Any) -> None:
    """Copy a box over another; a loop, as numba takes long to compile assignments of arrays."""
    for column in range(box.shape[0]):
        for word in range(box.shape[1]):
            to[column, word] = box[column, word]


@compiled
def keep_only(box: Any, column: int, cell: int) -> None:
    """Leave one cell of a column in a box."""
    for word in range(box.shape[1]):
        box[column, word] = np.uint64(0)
    box[column, cell >> 6] = np.uint64(1) << np.uint64(cell & 63)


@compiled
def climb(box: Any, counts: Any, own: Any, kinds: Any, budget: int, point: Any, masks: Any, rest: Any) -> float:
    """Improve a row of a box one column at a time, or by one discrete change for another; return its sum."""
    column_of, compact = rest
    n_columns = len(counts)
    value = sum_leaves(point, masks, column_of, compact)
    improved = True
    while improved:
        improved = False
        for column in range(n_columns):
            if counts[column] == 1:
                continue
            best_cell, best_given_up = -1, -1
            before = point[column]
            n_changed = 0
            for one in range(n_columns):
                if one != column and kinds[one] == DISCRETE and point[one] != own[one]:
                    n_changed += 1
            for cell in range(counts[column]):
                if cell == before or not has_cell(box, column, cell):
                    continue
                needs_room = kinds[column] == DISCRETE and cell != own[column] and n_changed >= budget
                point[column] = cell
                if not needs_room:
                    found = sum_leaves(point, masks, column_of, compact)
                    if found > value + ENOUGH:
                        value, best_cell, best_given_up = found, cell, -1
                    continue
                for one in range(n_columns):
                    if one == column or kinds[one] != DISCRETE or point[one] == own[one]:
                        continue
                    kept = point[one]
                    if not has_cell(box, one, own[one]):
                        continue
                    point[one] = own[one]
                    found = sum_leaves(point, masks, column_of, compact)
                    if found > value + ENOUGH:
                        value, best_cell, best_given_up = found, cell, one
                    point[one] = kept
            point[column] = before
            if best_cell >= 0:
                point[column] = best_cell
                if best_given_up >= 0:
                    point[best_given_up] = own[best_given_up]
                improved = True
    return value


@compiled
def spend(box: Any, counts: Any, own: Any, kinds: Any, budget: int) -> int:
    """Settle the discrete columns of a box; return how many more may change, below 0 for an impossible box.

    Without changes left, those that still hold their own cell keep it.
    """
    left = budget
    for column in range(len(counts)):
        if kinds[column] == DISCRETE and not has_cell(box, column, own[column]):
            left -= 1
    if left == 0:
        for column in range(len(counts)):
            if kinds[column] == DISCRETE and has_cell(box, column, own[column]):
                keep_only(box, column, own[column])
    return left


@compiled
def fill_point(box: Any, counts: Any, own: Any, point: Any) -> bool:
    """Choose a row of a box, the own cell where it is in; return False for an empty box."""
    for column in range(len(counts)):
        if has_cell(box, column, own[column]):
            point[column] = own[column]
            continue
        point[column] = -1
        for cell in range(counts[column]):
            if has_cell(box, column, cell):
                point[column] = cell
                break
        if point[column] < 0:
            return False
    return True


@compiled
def first_boxes(whole: Any, own: Any, allowed: Any, stack: Any) -> int:
    """Put the boxes that the rule allows in the sensitive columns onto the stack; return how many."""
    for at in range(len(allowed)):
        copy_box(whole, stack[at])
        for column in range(len(own)):
            if allowed[at, column] == OWN_VALUE:
                keep_only(stack[at], column, own[column])
            elif allowed[at, column] == OTHER_VALUE:
                stack[at, column, own[column] >> 6] &= ~(np.uint64(1) << np.uint64(own[column] & 63))
    return len(allowed)


@compiled
def split_box(box: Any, test: int, masks: Any, column: int, by_own: bool, own: int, other: Any) -> None:
    """Split a box in two by a test, or by whether a column keeps its own cell."""
    copy_box(box, other)
    if by_own:
        keep_only(box, column, own)
        other[column, own >> 6] &= ~(np.uint64(1) << np.uint64(own & 63))
        return
    for word in range(box.shape[1]):
        other[column, word] = box[column, word] & ~masks[test, word]
        box[column, word] &= masks[test, word]


@compiled
def judge_box(at: int, boxes: Any, person: Any, shared: Any) -> bool:
    """Bound a box of the stack and choose the test to split it by; return False if nobody can be in it."""
    stack, bounds, choices = boxes
    counts, own, kinds, budget = person
    local, compact, scratch = shared
    if spend(stack[at], counts, own, kinds, budget) < 0:
        return False
    bounds[at] = bound_box(stack[at], local, compact, scratch)
    weight, most = scratch[1], 0.0
    choices[at] = -1
    for one in local[0]:
        if weight[one] > most:
            choices[at], most = one, weight[one]
    return True


@compiled_with_arrays
def climb_first(n_first: int, boxes: Any, person: Any, shared: Any, point: Any) -> tuple[float, int]:
    """Return the highest sum that climbing finds in the first boxes, and how many of them somebody can be in."""
    stack = boxes[0]
    counts, own, kinds, budget = person
    local, compact = shared[0], shared[1]
    found, trial, n = -np.inf, np.empty(len(counts), np.int64), 0
    for at in range(n_first):
        if n < at:
            copy_box(stack[at], stack[n])
        if not fill_point(stack[n], counts, own, trial) or not judge_box(n, boxes, person, shared):
            continue
        value = climb(stack[n], counts, own, kinds, budget, trial, local[1], (local[2], compact))
        if value > found:
            found = value
            for column in range(len(trial)):
                point[column] = trial[column]
        n += 1
    return found, n


@compiled_with_arrays
def search_boxes(
    n_first: int, max_boxes: int, boxes: Any, person: Any, shared: Any, point: Any
) -> tuple[float, float, int]:
    """Return the highest sum found, an upper bound of it, and how many boxes were split; fill in the row."""
    stack, bounds, choices = boxes
    counts, own, kinds = person[0], person[1], person[2]
    masks, column_of = shared[0][1], shared[0][2]
    found, n = climb_first(n_first, boxes, person, shared, point)
    n_boxes = 0
    while n > 0 and n_boxes < max_boxes and n + 1 < len(bounds):
        n -= 1
        if bounds[n] <= found + ENOUGH:
            continue
        if choices[n] < 0:  # every row of the box reaches the bound
            fill_point(stack[n], counts, own, point)
            found = bounds[n]
            continue
        n_boxes += 1
        column = column_of[choices[n]]
        by_own = kinds[column] == DISCRETE and has_cell(stack[n], column, own[column])
        split_box(stack[n], choices[n], masks, column, by_own, own[column], stack[n + 1])
        kept = n
        for at in (n, n + 1):
            if judge_box(at, boxes, person, shared) and bounds[at] > found + ENOUGH:
                if kept < at:
                    copy_box(stack[at], stack[kept])
                    bounds[kept], choices[kept] = bounds[at], choices[at]
                kept += 1
        if kept == n + 2 and bounds[n] > bounds[n + 1]:  # the better one is looked at first
            swap_boxes(n, boxes)
        n = kept
    highest = found
    for at in range(n):
        highest = max(highest, bounds[at])
    return found, highest, n_boxes


@compiled
def swap_boxes(at: int, boxes: Any) -> None:
    """Swap a box of the stack with the next one."""
    stack, bounds, choices = boxes
    for column in range(stack.shape[1]):
        for word in range(stack.shape[2]):
            kept = stack[at, column, word]
            stack[at, column, word] = stack[at + 1, column, word]
            stack[at + 1, column, word] = kept
    bounds[at], bounds[at + 1] = bounds[at + 1], bounds[at]
    choices[at], choices[at + 1] = choices[at + 1], choices[at]


@compiled
def list_cells(
    person: int, people: Any, columns: Any, known: Any, cells: Any, counts: Any, own: Any, whole: Any
) -> None:
    """List the cells of each column that a person's neighbourhood holds, and set their bits in a box."""
    own_cells, low, high = people
    is_coded = columns[1]
    known_start, is_known = known
    for column in range(len(counts)):
        for word in range(whole.shape[1]):
            whole[column, word] = np.uint64(0)
        n = 0
        for cell in range(low[person, column], high[person, column] + 1):
            is_own = cell == own_cells[person, column]
            if not is_own and is_coded[column] and not is_known[known_start[column] + cell]:
                continue
            if is_own:
                own[column] = n
            cells[column, n] = cell
            whole[column, n >> 6] |= np.uint64(1) << np.uint64(n & 63)
            n += 1
        counts[column] = n


@compiled
def list_tests(tests: Any, columns: Any, cells: Any, counts: Any, masks: Any, status: Any, local_tests: Any) -> int:
    """Set the bits of the cells that each test leads to the left; return how many tests divide a neighbourhood."""
    column_of, n_local = tests[0], 0
    for test in range(len(column_of)):
        column, n_left = column_of[test], 0
        for word in range(masks.shape[1]):
            masks[test, word] = np.uint64(0)
        for at in range(counts[column]):
            if goes_left(test, cells[column, at], tests, columns):
                masks[test, at >> 6] |= np.uint64(1) << np.uint64(at & 63)
                n_left += 1
        status[test] = 1 if n_left == counts[column] else 2 if n_left == 0 else 3
        if status[test] == 3:
            local_tests[n_local] = test
            n_local += 1
    return n_local


@compiled
def most_cells_of(low: Any, high: Any) -> int:
    """Return the largest number of cells that a column of anybody's neighbourhood has."""
    most = 1
    for person in range(low.shape[0]):
        for column in range(low.shape[1]):
            most = max(most, high[person, column] - low[person, column] + 1)
    return most


@compiled_with_arrays
def search_people(
    forest: Any, tests: Any, columns: Any, people: Any, rule: Any, known: Any, sign: float, max_boxes: int, out: Any
) -> None:
    """Search the neighbourhood of each person; ``out`` gets the sums, bounds, numbers of splits and cells."""
    kinds, own_cells = columns[0], people[0]
    budget, allowed = rule
    sums, highest_sums, n_splits, cells_out = out
    n_tests, n_columns, n_nodes, n_trees = len(tests[0]), len(kinds), len(forest[1]), len(forest[0])
    most_cells = most_cells_of(people[1], people[2])
    n_words = (most_cells + 63) >> 6
    masks, whole = np.zeros((n_tests, n_words), np.uint64), np.zeros((n_columns, n_words), np.uint64)
    boxes = (
        np.zeros((MAX_BOXES, n_columns, n_words), np.uint64),
        np.zeros(MAX_BOXES),
        np.zeros(MAX_BOXES, np.int64),
    )
    cells, counts = np.zeros((n_columns, most_cells), np.int64), np.zeros(n_columns, np.int64)
    own, point = np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64)
    status, local_tests = np.zeros(n_tests, np.int64), np.zeros(n_tests, np.int64)
    compact = (
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes),
        np.zeros(n_trees + 1, np.int64),
    )
    scratch = (status, np.zeros(n_tests), np.zeros(n_nodes), np.zeros(n_nodes, np.bool_), np.zeros(n_nodes, np.int64))
    for person in range(len(own_cells)):
        list_cells(person, people, columns, known, cells, counts, own, whole)
        n_local = list_tests(tests, columns, cells, counts, masks, status, local_tests)
        restrict_trees(forest, status, sign, compact)
        n_first = first_boxes(whole, own, allowed, boxes[0])
        shared = ((local_tests[:n_local], masks, tests[0]), compact, scratch)
        found, highest, n_split = search_boxes(n_first, max_boxes, boxes, (counts, own, kinds, budget), shared, point)
        sums[person], highest_sums[person], n_splits[person] = sign * found, sign * highest, n_split
        for column in range(n_columns):
            cells_out[person, column] = cells[column, point[column]] if found > -np.inf else own_cells[person, column]
