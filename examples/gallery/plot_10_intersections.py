"""
Who is scored lower where two attributes are sensitive?
=======================================================

Where race and sex are both sensitive, a rule can ask that two people differ in any of them, or in all; and between two
combinations of race and sex, gaps have a direction. The model is a logistic regression on the COMPAS data. A high score
is good: it is the probability of no new charge within two years.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from likewise import Comparability, audit, load_dataset

data = load_dataset("compas")
words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (MinMaxScaler(), numbers))
model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(data.train.X, data.train.y)
schema = data.roles.learn(data.train.X)

one_differs, both_differ = Comparability(sensitive_differs="any"), Comparability(sensitive_differs="all")
found = audit(model, data.test.X, data.test.y, roles=schema, rule=one_differs, n_resamples=200)
strict = audit(model, data.test.X, data.test.y, roles=schema, rule=both_differ, n_resamples=200)
print("any:", repr(found))
print("all:", repr(strict))

# %%
# Each cell is the mean signed gap of the pairs found with "any", in percentage points: row minus column. Brown: people
# of the row are scored lower. Framed cells are also found with "all". Bold: the adjusted gap is significant at 5 %
# (Holm). Cells of fewer than 30 pairs stay empty.

shown = [one for one in found.directions if one.n_pairs >= 30]
names = sorted({one.origin for one in shown} | {one.target for one in shown}, key=lambda values: values[::-1])
means = np.full((len(names), len(names)), np.nan)
figure, axes = plt.subplots(figsize=(7.6, 6.8), layout="constrained")
for one in [*shown, *(one.reversed() for one in shown)]:
    y, x = names.index(one.target), names.index(one.origin)
    means[y, x] = 100 * one.mean_gap
    weight = "bold" if one.p_adjusted is not None and one.p_adjusted < 0.05 else "normal"
    axes.text(x, y, f"{means[y, x]:+.0f}", ha="center", va="center", weight=weight)
    if all(mine != theirs for mine, theirs in zip(one.target, one.origin, strict=True)):
        axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, color="#555555", linewidth=0.8))
largest = np.nanmax(np.abs(means))
axes.imshow(means, cmap="BrBG", vmin=-1.6 * largest, vmax=1.6 * largest)
labels = [f"{race}\n{sex}" for race, sex in names]
axes.set_xticks(range(len(names)), labels=labels, rotation=40, ha="right", rotation_mode="anchor")
axes.set_yticks(range(len(names)), labels=labels)
axes.set(
    xlabel="... and comparable people of this group", ylabel="Mean signed gap (pp) between people of this group ..."
)
plt.show()
