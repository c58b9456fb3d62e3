"""
How differently does a model score comparable people?
=====================================================

Two people are comparable here if they have the same income label, differ in at most one discrete column and hardly in
any number, and differ in marital status, the sensitive attribute. We find all such pairs in the Adult census data and
measure how far apart a logistic regression scores them.
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
# The audit uses test rows, and the schema of the training rows: a tolerance is a share of the range that a column had
# there. The excess leads the result: how much more people's scores differ from comparable people of other groups than
# from those of their own.

schema = data.roles.learn(data.train.X)
found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=200)
print(data.rule.describe(data.roles).replace("; ", ";\n  "))
print(found)

# %%
# A gap is the absolute difference of the two scores of a pair. The labels are drawn separately, because one has far
# fewer pairs. The outline is the baseline: pairs with the same marital status, whose scores differ for other reasons.

figure, (top, bottom) = plt.subplots(2, figsize=(7.5, 7.5), layout="constrained")
found.plot_gaps(top, label=1).set_title("Income above 50,000 dollars", loc="left", pad=24)
found.plot_gaps(bottom, label=0).set_title("Income of 50,000 dollars or less", loc="left", pad=24)
plt.show()

# %%
# The coverage printed above is as important as the picture: unmatched people are not covered.
