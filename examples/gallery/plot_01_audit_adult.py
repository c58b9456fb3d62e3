"""
How differently does a model score comparable people?
=====================================================

Two people are comparable here when they have the same income label, differ in at most one discrete column and hardly in
any number, and differ in marital status, which we call sensitive. A model compares nobody; it scores one person at a
time. So we look for the pairs, and see how far apart the two scores are. The model is a logistic regression of the
Adult census data.
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

# %%
# The audit is of people whom the model has not seen. It gets the schema of the training rows: "near" is a share of the
# range that a column had there.

schema = data.roles.learn(data.train.X)
found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=200)
print(data.rule.describe(data.roles).replace("; ", ";\n  "))
print(found)

# %%
# A gap is the distance between the two scores of a pair. The two labels are drawn apart: there are far fewer pairs of
# one than of the other, and an average over both would hide it. The outline is the baseline, pairs that are equal in
# marital status too. It shows how far apart the model puts people for every other reason. Where the bars reach further
# to the right than the outline, marital status or what goes with it comes on top.

figure, (top, bottom) = plt.subplots(2, figsize=(7.5, 7.5), layout="constrained")
found.plot_gaps(top, label=1).set_title("Income above 50,000 dollars", loc="left", pad=24)
found.plot_gaps(bottom, label=0).set_title("Income of 50,000 dollars or less", loc="left", pad=24)
plt.show()

# %%
# The coverage printed above is as important as the picture. Of people without a comparable partner, this audit knows
# nothing.
