"""
Can groups be treated equally and people not?
=============================================

Group metrics, such as those of fairlearn, compare averages over groups; likewise compares people. Each may look fine
where the other does not. Here are synthetic applicants for whom both happen, with two ways to score them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from fairlearn.metrics import demographic_parity_difference

from likewise import Comparability, Roles, audit

random = np.random.default_rng(0)
people = pd.DataFrame({"sex": random.choice(["men", "women"], 4000)})
people["region"] = random.choice(["north", "south"], 4000)
people["test"] = random.normal(50, 15, 4000)  # points; no different for men and women
people["years"] = random.normal(12, 3, 4000) - 4 * (people["sex"] == "women")  # of work; women have fewer
did_well = (people["test"] + random.normal(0, 15, 4000) > 50).astype(int)

# %%
# One score is the test with a bonus for men in the north and for women in the south, which cancels out over the
# regions. The other is years of experience alone and is blind to sex.

bonus = np.where((people["sex"] == "men") == (people["region"] == "north"), 15, -15)
scores = {
    "test and bonus": ((people["test"] + bonus) / 100).clip(0, 1),
    "years alone": (people["years"] / 20).clip(0, 1),
}
roles = Roles(sensitive=["sex"], discrete=["region"], continuous=["test", "years"])
rule = Comparability(max_discrete_changes=0, max_continuous_shift=0.03)

figure, grid = plt.subplots(2, 2, figsize=(8.5, 5), sharex="col", layout="constrained")
for (left, right), (name, score) in zip(grid, scores.items(), strict=True):
    found = audit(score, people, did_well, roles=roles, rule=rule, n_resamples=0)
    difference = demographic_parity_difference(did_well, score >= 0.5, sensitive_features=people["sex"])
    print(f"{name}: demographic parity difference {difference:.3f}, mean gap of pairs {found['gap_mean'].value:.3f}")
    rates = (score >= 0.5).groupby(people["sex"]).mean()
    left.barh(rates.index, rates, color="#b0b0b0", height=0.6)
    left.set_title(f"{name.capitalize()}: parity difference {difference:.0%}", loc="left", fontsize="medium")
    share = np.full(len(found.gaps), 1 / len(found.gaps))
    right.hist(found.gaps, bins=np.linspace(0, 0.4, 41), weights=share, color="#3d85c6")
    right.set_title(f"Mean gap {found['gap_mean'].value:.0%}", loc="left", fontsize="medium")
    right.set_ylabel("Share of the pairs")
    right.yaxis.set_major_formatter("{x:.0%}")
grid[1, 0].set(xlim=(0, 1), xlabel="Selection rate of the group")
grid[1, 1].set(xlim=(0, 0.4), xlabel="Gap between two comparable people")
for axes in grid.flat:
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# In the first row, groups are treated alike and comparable people are not (disparate treatment). In the second,
# comparable people get nearly the same score, and the group with fewer years is selected less often (disparate impact).
# Whether years may count at all is a question that pairs cannot answer: the rule has already said that they may.
