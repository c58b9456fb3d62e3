"""
What do antidotes for one person look like?
===========================================

An antidote is a synthetic record: comparable to a real person, its source, with the same label and a different
sensitive attribute. Training on both teaches a model that the attribute does not matter. Here are antidotes of one
person of the Adult census data, where marital status is sensitive.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import GibbsGenerator, load_dataset

data = load_dataset("adult")
X, y = data.train.X[:8000], data.train.y[:8000]  # few rows and few steps, for speed
generator = GibbsGenerator(data.roles, data.rule, n_iterations=200, width=96, random_state=0).fit(X, y)

# %%
# Asked repeatedly for antidotes of one row, the generator never returns the same one twice, and only comparable ones.
# Sensitive values that are implausible for this person do not occur.

antidotes = generator.generate(X[20:21], y[20:21], rounds=20)
print(antidotes)
print("comparable to the source:", data.rule.holds(antidotes.sources, antidotes.table).all())

# %%
# Three of them with different marital status, beside the source; changed cells are tinted. The rule allows one discrete
# column to change and numbers to move by a small share of their range.

_, firsts = np.unique(antidotes.frame["marital-status"], return_index=True)
chosen = sorted(firsts)[:3]
people = [X.iloc[20], *(antidotes.frame.iloc[row] for row in chosen)]
changed = {name: [False, *changes[chosen]] for name, changes in antidotes.changed.items()}

figure, axes = plt.subplots(figsize=(7.6, 4.9), layout="constrained")
axes.set(xlim=(-0.9, len(people)), ylim=(len(changed) + 0.5, -0.5))
axes.axis("off")
for x, person in enumerate(people):
    axes.text(x + 0.04, 0, f"antidote {x}" if x else "source", va="center", weight="bold")
    for line, name in enumerate(changed, start=1):
        if changed[name][x]:
            axes.fill_between([x, x + 0.98], line - 0.5, line + 0.5, color="#fbe6cc", linewidth=0)
        axes.text(x + 0.04, line, str(person[name]), va="center", parse_math=False)
for line, name in enumerate(changed, start=1):
    axes.text(-0.86, line, name, va="center", color="#555555", parse_math=False)
    axes.axhline(line - 0.5, color="#d8d8d8", linewidth=0.8)
plt.show()

# %%
# Antidotes are for training only: audit a model that was trained on them on real people.
