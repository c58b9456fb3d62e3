"""What other fairness libraries have for this question, each in the environment given with ``--rivals``.

``python benchmarks/_audit_rivals.py METHOD FOLDER STARTED LIMIT_SECONDS LIMIT_BYTES N_CALLS`` prints one line of JSON,
as ``_audit_trial.py`` does, under a Python that has aif360, inFairness and torch; likewise is not needed there.

AIF360's consistency score and inFairness's auditor answer other questions: neither looks for comparable pairs.
inFairness can list pairs that a function accepts, by calling it for every two rows; where that takes too long it does
so here on some rows, and the time for all of them follows from that.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from _audit_input import Arrays, Floats, make_features, read_arrays
from _clock import Record, measure

N_STEPS: Final = 50  # of the auditor's search for a worse person, with its own learning rate
LEARNING_RATE: Final = 0.01


def prepare_consistency(arrays: Arrays) -> tuple[Callable[[], Any], Callable[[Any], Record]]:
    """AIF360: how far each score is from the mean of the five nearest rows' scores, whoever these are."""
    from aif360.sklearn.metrics import consistency_score

    features = _spread(arrays)
    return lambda: consistency_score(features, arrays.scores), lambda found: {"found": {"consistency": float(found)}}


def prepare_pairs(arrays: Arrays) -> tuple[Callable[[], Any], Callable[[Any], Record]]:
    """inFairness: list the pairs that the rule, as a function of two rows, accepts; the number is told in advance."""
    from inFairness.utils.datautils import generate_data_pairs

    comparable = _write_rule(arrays)
    some = arrays.take(arrays.few)
    labels = some["labels"]
    calls = []
    for label in np.unique(labels[arrays.few_left]):
        members = np.flatnonzero(labels == label)
        rows = np.empty(len(members), dtype=object)  # of tuples: Python compares these faster than rows of an array
        for place, row in enumerate(members):
            rows[place] = (int(row), *(some[kind][row].tolist() for kind in ("sensitive", "discrete", "continuous")))
        calls.append((int((labels[arrays.few_left] == label).sum()), members, rows))

    def run() -> Any:
        found = [members[generate_data_pairs(n, rows, comparator=comparable)] for n, members, rows in calls]
        return np.concatenate(found)

    def describe(found: Any) -> Record:
        true = np.column_stack([arrays.few_left, arrays.few_right])
        same = np.array_equal(found[np.lexsort(found.T)], true[np.lexsort(true.T)])
        return {"n_rows": len(arrays.few), "n_pairs": len(found), "is_right": bool(same)}

    return run, describe


def prepare_auditor(arrays: Arrays) -> tuple[Callable[[], Any], Callable[[Any], Record]]:
    """inFairness: move each person, freely in the sensitive columns, to where the score changes most."""
    import torch
    from inFairness.auditor import SenSeIAuditor
    from inFairness.distances import ProtectedEuclideanDistance, SquaredEuclideanDistance
    from torch.nn.functional import nll_loss

    torch.manual_seed(0)
    people = torch.tensor(_spread(arrays), dtype=torch.float32)
    labels = torch.tensor(arrays.labels, dtype=torch.int64)
    linear = torch.nn.Linear(people.shape[1], 2)
    with torch.no_grad():  # the same logistic regression: a logit of 0 for the negative label
        linear.weight[:] = torch.tensor(np.stack([0 * arrays.coefficients, arrays.coefficients]))
        linear.bias[:] = torch.tensor([0.0, float(arrays.intercept)])
    network = torch.nn.Sequential(linear, torch.nn.Softmax(dim=1))  # from logits, the search runs off to infinity
    distance = ProtectedEuclideanDistance()
    n_protected = int(arrays.n_categories[: arrays.sensitive.shape[1]].sum())
    distance.fit(list(range(n_protected)), people.shape[1])
    outcome = SquaredEuclideanDistance()
    outcome.fit(num_dims=2)
    auditor = SenSeIAuditor(distance, outcome, num_steps=N_STEPS, lr=LEARNING_RATE)

    def loss(probabilities: Any, labels: Any, reduction: str) -> Any:
        return nll_loss(torch.log(probabilities), labels, reduction=reduction)

    def describe(found: Any) -> Record:
        return {"found": {"loss_ratio": float(found.lossratio_mean), "at_least": float(found.lower_bound)}}

    return lambda: auditor.audit(network, people, labels, loss, lambda_param=1.0), describe


RIVALS: Final = {
    "AIF360 consistency score": (prepare_consistency, ("aif360", "scikit-learn", "numpy")),
    "inFairness generate_data_pairs": (prepare_pairs, ("inFairness", "numpy")),
    "inFairness SenSeIAuditor": (prepare_auditor, ("inFairness", "torch")),
}


def _spread(arrays: Arrays) -> Floats:
    codes = np.column_stack([arrays.sensitive, arrays.discrete])
    return make_features(codes, arrays.n_categories, arrays.continuous)


def _write_rule(arrays: Arrays) -> Callable[[Any, Any], bool]:
    """Write the rule as a function of two rows of one label that stops at the first excuse."""
    limits, max_changes = arrays.limits.tolist(), int(arrays.max_changes)

    def comparable(one: Any, other: Any) -> bool:
        if one[0] >= other[0] or one[1] == other[1]:  # each pair once; some sensitive value differs
            return False
        n_changes = 0
        for mine, theirs in zip(one[2], other[2], strict=True):
            if mine != theirs:
                n_changes += 1
                if n_changes > max_changes:
                    return False
        for mine, theirs, limit in zip(one[3], other[3], limits, strict=True):  # noqa: SIM110 - all(...) is slower
            if abs(mine - theirs) > limit:
                return False
        return True

    return comparable


def main() -> None:
    """Measure what the command line asks for."""
    method, folder = sys.argv[1], Path(sys.argv[2])
    started, limit, most_bytes, n_calls = float(sys.argv[3]), *map(int, sys.argv[4:])
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    prepare, packages = RIVALS[method]
    arrays = read_arrays(folder / "arrays.npz")
    job, describe = prepare(arrays)
    try:
        found, record = measure(job, started=started, limit=limit, n_calls=n_calls)
        versions = {name: version(name) for name in packages}
        result = {"status": "done"} | record | describe(found) | {"versions": versions}
    except MemoryError:
        result = {"status": "over memory"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
