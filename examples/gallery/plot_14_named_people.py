"""
Who is scored lower than comparable people, beyond chance?
==========================================================

The largest gaps are always somebody's, also where all is chance. Here we know the truth: the planted lender scores the
group "green" lower by 0.1. We name the people who are scored lower than comparable people by more than equal people
differ, with at most 5 % of false names expected.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import audit, load_dataset, name_people

data = load_dataset("planted", n_rows=60_000)
noise = np.random.default_rng(0).normal(0, 0.02, len(data.test.X))  # what a real model does to equal people
scores = np.clip(data.scores(data.test.X) + noise, 0, 1)
found = audit(scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=200)
named = name_people(found, false_discovery_rate=0.05)
print(named)

# %%
# Nearly everybody who is named belongs to the group that the lender scores lower. The list of the largest gaps, as long
# as that of the names, also has people on it who are scored higher, and people whom chance put there.

group = data.test.X["group"].to_numpy()
rows = [person.row for person in named]
largest = np.argsort(-np.nan_to_num(found.person_gaps))[: len(rows)]
print(f"named: {np.mean(group[rows] == 'green'):.1%} green")
print(f"largest gaps: {np.mean(group[largest] == 'green'):.1%} green")

# %%
# Every matched person's mean difference from comparable people with other sensitive values. Most of the green group are
# 10 points lower, and most of those are named; small differences, which equal people have as well, name nobody.

left, right = found.pairs.left, found.pairs.right
own, other = np.concatenate([left, right]), np.concatenate([right, left])
n_partners = np.bincount(own, minlength=len(scores))
matched = np.flatnonzero(n_partners)
means = np.bincount(own, weights=scores[own] - scores[other], minlength=len(scores))[matched] / n_partners[matched]
is_named, is_green = np.isin(matched, rows), group[matched] == "green"
parts = {
    "others": means[~is_green & ~is_named],
    "others, named": means[~is_green & is_named],
    "green": means[is_green & ~is_named],
    "green, named": means[is_green & is_named],
}
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
shown = [f"{name} ({len(one):,})" for name, one in parts.items()]
colours = ["#9ec5e8", "#1f5f99", "#b5d99c", "#2f7d1f"]
axes.hist([100 * one for one in parts.values()], bins=60, stacked=True, label=shown, color=colours)
axes.set(xlabel="Mean difference from comparable people (percentage points)", ylabel="People")
axes.legend(frameon=False)
plt.show()
