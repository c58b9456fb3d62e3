"""
From a scored CSV to a repaired model with a policy in CI
=========================================================

A lender has scored its applicants. Are similar people scored alike, whatever group they belong to? In this tutorial you
answer that with evidence, write down what is acceptable, repair the model, and let a test watch over it. The lender is
synthetic, so we know the truth: the group "green" is scored lower by ten points. A table of your own works as well.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import (
    Comparability,
    Policy,
    Roles,
    audit,
    compare_audits,
    count_pairs,
    load_dataset,
    repair,
)

folder = Path(tempfile.mkdtemp())
lender = load_dataset("planted", n_rows=8_000)
people = lender.train.X.assign(repaid=lender.train.y, p=lender.scores(lender.train.X).round(4))
people.to_csv(folder / "people.csv", index=False)

# %%
# 1. The table
# ------------
#
# One row per person: what was known when the decision was made, the outcome (the label), the sensitive attributes, and
# the score. Roles are inferred. Read them: everything below depends on them. This label is good for people, and so are
# high scores. If yours is a default, the audit takes ``favourable=0``.

people = pd.read_csv(folder / "people.csv")
roles = Roles.infer(people, label="repaid", sensitive=["group", "gender"], ignored="p")
print(roles.describe())

# %%
# 2. Who is comparable?
# ---------------------
#
# Decide before you look at any gap. A rule that is too strict leaves hardly anybody to compare; one that is too loose
# compares people who differ in what matters. Counting pairs needs no scores.

table = roles.learn(people).encode(people)
for shift in (0.01, 0.025, 0.05):
    rule = Comparability(max_discrete_changes=0, max_continuous_shift=shift)
    print(f"numbers within {shift:.1%} of their range: {count_pairs(table, rule).total:,} pairs")

rule = Comparability(max_discrete_changes=0, max_continuous_shift=0.05)
print(rule.describe(roles.learn(people)))

# %%
# 3. The audit
# ------------
#
# The scores are in column ``p``. The *excess* is how much more people's scores differ from comparable people of other
# groups than from those of their own. Beside each gap stands the *baseline*: the same for pairs of one group. Read the
# coverage, too: unmatched people are not covered.

found = audit("p", people, roles=roles, rule=rule, n_resamples=200)
print(found)

# %%
# Who is scored lower than whom? The adjusted gap is that of people alike in every compared column; a small p says that
# it is unlikely to be chance.

for direction in sorted(found.directions, key=lambda direction: direction.rank)[:3]:
    print(direction)

# %%
# And who are they? Pairs are evidence that somebody can argue about. If one column justifies the gap, it belongs in
# ``must_match``.

print(found.worst[0])

# %%
# 4. What is acceptable?
# ----------------------
#
# A policy is a list of limits. A limit is met when the whole confidence interval meets it: too little data is
# inconclusive, not a pass. Write it before you repair anything. With many same-group pairs, limit the excess
# (``max_excess``); here they are few, so the limit is on the gap itself.

policy = Policy(max_gap_mean=0.02, max_flip_rate=0.1, min_roc_auc=0.7)
print(found.judge(policy))

# %%
# 5. A model of our own
# ---------------------
#
# It is trained on rows that no audit below uses. As it is, it learns from the past to score the groups differently.

X, y = people.drop(columns=["p", "repaid"]), people["repaid"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
columns = Roles.infer(X_train, sensitive=["group", "gender"])
schema = columns.learn(X_train)
numbers = make_column_selector(dtype_include="number")
coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
plain = make_pipeline(coding, LogisticRegression(max_iter=500)).fit(X_train, y_train)
asked = {"X": X_test, "y": y_test, "roles": schema, "rule": rule, "n_resamples": 200}
before = audit(plain, **asked)
print(before.judge(policy))

# %%
# 6. Repair
# ---------
#
# ``repair`` tries remedies by cross-validation: to leave out the sensitive columns, to fit the model to smoothed
# targets, to put the comparable pairs into its loss, and both. It takes the least excess, then the least gap, that
# costs at most two points of average precision. A part of its rows is held out to show the model before and after.

repaired = repair(plain, X_train, y_train, roles=columns, rule=rule, max_loss=0.02, random_state=0)
print(repaired)

repaired.search.plot()
plt.show()

# %%
# The repaired model is of the same class. On the test rows, which ``repair`` has not seen:

after = audit(repaired.model, **asked)
print(compare_audits(before, after))
print(after.judge(policy))

# %%
# 7. In CI
# --------
#
# The policy goes into a file, and each of its limits becomes a test, run here on the scores of the repaired model.

scored = X_test.assign(repaid=y_test, p=repaired.model.predict_proba(X_test[list(repaired.columns)])[:, 1])
scored.to_csv(folder / "scored.csv", index=False)
(folder / "policy.toml").write_text("max_gap_mean = 0.02\nmax_flip_rate = 0.1\nmin_roc_auc = 0.7\n")
(folder / "test_lender.py").write_text("""
import pandas as pd
import pytest
from likewise import Comparability, Roles, assert_passes

@pytest.fixture(scope="session")
def lender(likewise_audit):
    people = pd.read_csv("scored.csv")
    roles = Roles.infer(people, label="repaid", sensitive=["group", "gender"], ignored="p")
    rule = Comparability(max_discrete_changes=0, max_continuous_shift=0.05)
    return likewise_audit("p", people, roles=roles, rule=rule, name="lender")

@pytest.mark.likewise_policy("policy.toml")
def test_policy(likewise_limit, lender):
    assert_passes(lender, likewise_limit)
""")
command = [sys.executable, "-m", "pytest", "-rA", "--tb=no", "-p", "no:cacheprovider", "--likewise-reports", "reports"]
ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
print("\n".join(line for line in ended.stdout.splitlines() if "::" in line))
print(sorted(file.name for file in (folder / "reports").iterdir()))

# %%
# 8. What this does not show
# --------------------------
#
# Nothing about unmatched people; nothing about whether the columns that the rule compares should count; nothing about
# groups that have less of what counts. A pair is a question, not a verdict. The page on limits says more.
