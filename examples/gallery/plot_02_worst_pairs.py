"""
Which two comparable people are treated most differently?
=========================================================

Two people side by side are easier to judge than an average: what they share, what differs, and what the model made of
it. An audit keeps pairs to look at. The model is again a logistic regression on the Adult census data.
"""

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from likewise import audit, load_dataset

data = load_dataset("adult")
words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (MinMaxScaler(), numbers))
model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(data.train.X, data.train.y)
schema = data.roles.learn(data.train.X)
found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0)

for case in found.worst[:5]:
    gap, differing = 100 * case.gap, ", ".join(case.differing)
    print(f"rows {case.left_row} and {case.right_row}: gap {gap:.1f} points, differ in {differing}")

# %%
# The first pair, column by column, with the sensitive column first. Tinted rows differ. The last row is the model's
# score: the probability of an income above 50,000 dollars.

case = found.worst[0]
rows = [("", f"row {case.left_row}", f"row {case.right_row}")]
rows += [(factor.column, str(factor.left), str(factor.right)) for factor in case.factors]
income = ">50K" if case.label else "<=50K"
rows += [("income (label)", income, income)]
rows += [("score", f"{case.left_score:.1%}", f"{case.right_score:.1%}")]
tints = ["white", *("#fbe6cc" if factor.differs else "white" for factor in case.factors), "white", "#d9e8f6"]

figure, axes = plt.subplots(figsize=(7, 5.4), layout="constrained")
axes.set(xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5))
axes.axis("off")
for y, (row, tint) in enumerate(zip(rows, tints, strict=True)):
    axes.axhspan(y - 0.5, y + 0.5, color=tint)
    axes.axhline(y + 0.5, color="#d8d8d8", linewidth=0.8)
    for x, word in zip((0.02, 0.34, 0.67), row, strict=True):
        axes.text(x, y, word, va="center", weight="bold" if y in (0, len(rows) - 1) else "normal", parse_math=False)
plt.show()

# %%
# A pair is a question, not a verdict. Whether the tinted rows justify the gap is for somebody who knows the case:
# ``found.save(folder)`` writes a review sheet, and ``merge_reviews`` reads it back.
