"""
Who is scored lower than comparable people, beyond chance?
==========================================================

Somebody always has the largest gap, even if all is chance. Here we know the truth: in two of twenty branches the group
"green" is scored lower by 0.1. We name the people who are scored lower than comparable people by more than same-group
pairs differ, with an expected share of false names of at most 5 %.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from likewise import Comparability, Roles, audit, name_people

random = np.random.default_rng(0)
branch, group = random.integers(20, size=2_000), random.choice(["blue", "green"], 2_000)
is_lowered = (group == "green") & (branch < 2)
scores = np.clip(0.6 + random.normal(0, 0.02, 2_000) - 0.1 * is_lowered, 0, 1)  # noise, as of a real model
people = pd.DataFrame({"group": group, "branch": branch.astype(str)})
roles, rule = Roles(sensitive="group", discrete=["branch"]), Comparability(max_discrete_changes=0)
found = audit(scores, people, roles=roles, rule=rule, n_resamples=200)
named = name_people(found, false_discovery_rate=0.05)
print(named)

# %%
# Nearly everybody named is scored lower by this lender. An equally long list of the largest gaps also has people who
# are scored higher, and people who are there by chance.

rows = [person.row for person in named]
largest = np.argsort(-np.nan_to_num(found.person_gaps))[: len(rows)]
print(f"named: {np.mean(is_lowered[rows]):.1%} scored lower")
print(f"largest gaps: {np.mean(is_lowered[largest]):.1%} scored lower")

# %%
# Mean difference of every matched person from comparable people of other groups. Most of those who are 10 points lower
# are named; differences as small as within groups name nobody.

left, right = found.pairs.left, found.pairs.right
own, other = np.concatenate([left, right]), np.concatenate([right, left])
n_partners = np.bincount(own, minlength=len(scores))
matched = np.flatnonzero(n_partners)
means = np.bincount(own, weights=scores[own] - scores[other], minlength=len(scores))[matched] / n_partners[matched]
is_named, is_lower = np.isin(matched, rows), is_lowered[matched]
parts = {
    "others": means[~is_lower & ~is_named],
    "others, named": means[~is_lower & is_named],
    "lowered": means[is_lower & ~is_named],
    "lowered, named": means[is_lower & is_named],
}
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
shown = [f"{name} ({len(one):,})" for name, one in parts.items()]
colours = ["#9ec5e8", "#1f5f99", "#b5d99c", "#2f7d1f"]
axes.hist([100 * one for one in parts.values()], bins=60, stacked=True, label=shown, color=colours)
axes.set(xlabel="Mean difference from comparable people (percentage points)", ylabel="People")
axes.legend(frameon=False)
plt.show()
