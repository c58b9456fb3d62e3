"""
How far could anybody comparable be from each person?
=====================================================

In Adult, fewer than a third of the people have a comparable partner in the table. For linear models and trees, a
certificate bounds how differently the model could score anybody comparable, real or hypothetical. Some of those rows
describe nobody, such as a husband who never married, so a generator says how plausible they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from likewise import GibbsGenerator, audit, certify_audit, load_dataset

data = load_dataset("adult")
words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
columns = make_column_transformer((codes, words), ("passthrough", numbers))
trees = GradientBoostingClassifier(n_estimators=40, random_state=0)
model = make_pipeline(columns, trees).fit(data.train.X, data.train.y)

X, y = data.test.X.iloc[:2000].reset_index(drop=True), data.test.y[:2000]
found = audit(model, X, y, roles=data.roles.learn(data.train.X), rule=data.rule, n_resamples=200)
certified = certify_audit(found, model)
print(certified)

# %%
# The worst row of each person is exact here. With a generator that knows how columns go together, only rows are shown
# that fit at least as well as the worst-fitting 5 % of people; the bound stays.

train = data.train.X.iloc[:8000], data.train.y[:8000]
generator = GibbsGenerator(data.roles, data.rule, n_iterations=400, width=64, random_state=0).fit(*train)
plausible = certify_audit(found, model, generator=generator, min_plausibility=0.05)
worst = plausible.summary.people[0]
print(f"Gap {100 * worst.reached:.0f} pp, plausibility {worst.plausibility:.0%}:")
for change in worst.changes:
    print(f"  {change.column}: {change.person} -> {change.comparable}")

# %%
# Few people have a large gap to somebody in the table, because few have a partner there. Hypothetical partners differ.

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
curves = {
    "anybody comparable (certified)": certified.certificates.gaps,
    "plausible rows found, at least": plausible.certificates.reached,
    "comparable people in the table": np.nan_to_num(found.person_gaps),
}
for (label, gaps), style in zip(curves.items(), ("-", "--", ":"), strict=True):
    axes.plot(100 * np.sort(gaps), np.linspace(1, 0, len(gaps)), style, label=label)
axes.set(xlabel="Gap (percentage points)", ylabel="Share of people with a larger gap", ylim=(0, 1), xlim=(0, None))
axes.legend(frameon=False)
plt.show()
