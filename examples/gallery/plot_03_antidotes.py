"""
What do antidotes for one person look like?
===========================================

An antidote is a made-up person: comparable to a real one, its source, with the source's label and other sensitive
values. A model that is trained on both is told that the label does not hang on the sensitive values. Here are antidotes
for one person of the Adult census data, where marital status is sensitive.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import GibbsGenerator, load_dataset

data = load_dataset("adult")
X, y = data.train.X[:8000], data.train.y[:8000]  # few rows, few steps: this page is made in seconds
generator = GibbsGenerator(data.roles, data.rule, n_iterations=200, width=96, random_state=0).fit(X, y)

# %%
# The generator is asked many times for antidotes of a single row. It never gives the same one twice, and none that is
# not comparable to the source. Of the sensitive values that are not plausible for this person, it makes none.

antidotes = generator.generate(X[20:21], y[20:21], rounds=20)
print(antidotes)
print("comparable to the source:", data.rule.holds(antidotes.sources, antidotes.table).all())

# %%
# Three of them with different marital status, beside the source. Tinted cells are those that changed. A discrete column
# changes where its old value no longer fits, or fits as well as another; the rule allows one such change. A number may
# move by a small share of its range.

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
# Antidotes are there to train on. They are not people, so they are not to be counted, and a model trained on them is to
# be audited on real ones.
