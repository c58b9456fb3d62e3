"""
What do comparable pairs in its loss change in an XGBoost model?
================================================================

``ConsistentClassifier`` fits your model with the comparable pairs of its training rows in the loss. Here that is
XGBoost on the COMPAS data, where race and sex are sensitive, audited on test rows before and after.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from likewise import ConsistentClassifier, audit, compare_audits, load_dataset

data = load_dataset("compas")
words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), ("passthrough", numbers))
model = make_pipeline(columns, XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, random_state=0))

plain = model.fit(data.train.X, data.train.y)
retrained = ConsistentClassifier(model, data.roles, data.rule, pair_weight=1.0).fit(data.train.X, data.train.y)
schema = data.roles.learn(data.train.X)
before, after = (
    audit(scored_by, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=200)
    for scored_by in (plain, retrained)
)

# %%
# Gaps also shrink when all scores move closer together, so look at rank gaps, the spread of the scores and performance,
# too; ``compare_audits`` adds a note where scores collapsed.

print(compare_audits(before, after))

# %%
# Hollow dots are before, filled ones after, with confidence intervals. The interval of the change, printed above, is
# narrower, since both models scored the same pairs. The baseline is pairs of the same race and sex.

names = {"gap_mean": "mean gap", "same_group_gap_mean": "baseline", "flip_rate": "pairs with different\ndecisions"}
figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
for found, shift, fill, label in ((before, -0.13, "white", "before"), (after, 0.13, "#3d85c6", "after")):
    places = [place + shift for place in range(len(names))]
    low, value, high = np.array([[found[n].low, found[n].value, found[n].high] for n in names], dtype=float).T
    axes.hlines(places, low, high, color="#3d85c6", linewidth=2)
    axes.plot(value, places, "o", color="#3d85c6", mfc=fill, markersize=8, label=label)
axes.set_yticks(range(len(names)), labels=names.values())
axes.set(xlim=(0, None), ylim=(2.5, -0.5), xlabel="Gap between two scores, or share of the pairs")
axes.xaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
