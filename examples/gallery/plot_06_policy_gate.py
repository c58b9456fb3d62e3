"""
Can a test fail when comparable people are treated differently?
===============================================================

A policy is a list of limits on what an audit measures. ``assert_passes`` checks them beside the other tests of a
project. The lender is synthetic: it scores the people of one group lower.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from likewise import Policy, audit, load_dataset

POLICY = """
max_gap_mean = 0.05
max_flip_rate = 0.06
min_roc_auc = 0.7
"""
TEST = """
from likewise import assert_passes, audit, load_dataset

def test_similar_people_are_treated_alike():
    data = load_dataset("planted")
    found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=200)
    assert_passes(found, "policy.toml")
"""

# %%
# Policy and test go into files, and pytest runs them as a build would.

with tempfile.TemporaryDirectory() as folder:
    Path(folder, "policy.toml").write_text(POLICY)
    Path(folder, "test_model.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-rN", "-p", "no:cacheprovider"]
    print(subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout)

# %%
# The same as a picture: the policy does not allow the shaded side, and the line is the confidence interval. A limit is
# met when the whole interval is outside the shade. Where the interval contains the limit, the verdict is inconclusive,
# and the test fails unless you say ``inconclusive="skip"`` or ``"pass"``.

data = load_dataset("planted")
found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=200)
figure, rows = plt.subplots(3, figsize=(7, 4.2), layout="constrained")
for axes, check in zip(rows, found.judge(Policy.from_toml_text(POLICY)).checks, strict=True):
    low, high = check.measure.low or 0.0, check.measure.high or 1.0
    near, far = min(low, check.limit), max(high, check.limit)
    axes.set(xlim=(0, 1.3 * far) if check.sense == "max" else (1.3 * near - 0.3, 1), ylim=(-1, 1), yticks=[])
    axes.axvspan(check.limit, axes.get_xlim()[check.sense == "max"], color="#dddddd")
    axes.hlines(0, low, high, color="#3d85c6", linewidth=3)
    axes.plot(check.measure.value, 0, "o", color="#3d85c6", markersize=8)
    axes.set_title(f"{check.name} = {check.limit:g}: {check.outcome}", loc="left", fontsize="medium")
figure.supxlabel("Measured value", fontsize="medium")
plt.show()
