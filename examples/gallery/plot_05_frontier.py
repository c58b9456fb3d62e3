"""
How much smaller can gaps get, and at what loss?
================================================

AntiDRO trains a network on people and, for each of them, on the antidote that it treats most differently. One number
says how much antidotes count. ``FrontierSearch`` tries several such weights and holds each model against the network
without antidotes, on people held out from both. It chooses the smallest gaps among the models that lose no more than
you allow.
"""

import matplotlib.pyplot as plt

from likewise import AntiDROClassifier, FrontierSearch, GibbsGenerator, load_dataset

data = load_dataset("compas")
generator = GibbsGenerator(data.roles, data.rule, n_iterations=100, batch_size=512, width=64)  # a quick page
model = AntiDROClassifier(
    generator, objective="consistency", scaling="deviation", rounds=1, batch_size=128, n_iterations=200
)

# %%
# What counts as unfair is the mean rank gap here: how far apart two comparable people are among all people in order of
# their scores. A model cannot lower it by moving all scores together. What may be lost is average precision.

search = FrontierSearch(
    model,
    {"antidote_weight": [0.05, 0.15, 0.5, 1.5]},
    unfairness="rank_gap_mean",
    max_loss=0.01,
    validation_fraction=0.4,
    refit=False,
    random_state=0,
).fit(data.train.X, data.train.y)
print(search.summary())

# %%
# Each dot is a model, with confidence intervals in both directions. Beyond the dashed line a model loses more than the
# budget. The ringed one was chosen. Where a horizontal line reaches across zero, the loss may be chance. The model was
# chosen by these numbers, so they flatter it: audit it on other people before you quote them.

search.plot()
plt.show()
