"""
Which column makes the gap?
===========================

A model that never sees sex can still score comparable men and women differently, through proxies. Here is a logistic
regression on Adult without the column; we split the gaps between comparable women and men over the columns in which
they differ.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from likewise import Comparability, attribute_gaps, audit, load_dataset

data = load_dataset("adult")
words = [*data.roles.sensitive, *data.roles.discrete]
roles = replace(data.roles, sensitive=("sex",), discrete=tuple(name for name in words if name != "sex"))
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), list(roles.discrete)), (MinMaxScaler(), list(roles.continuous))
)
seen = [*roles.discrete, *roles.continuous]  # not sex
model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(data.train.X[seen], data.train.y)
rule = Comparability(max_discrete_changes=2, max_continuous_shift=0.025)
found = audit(model, data.test.X, data.test.y, roles=roles.learn(data.train.X), rule=rule, n_resamples=200)
print(repr(found))

# %%
# The gaps come from marital status, relationship and occupation, in which comparable women and men may differ. The
# parts add up to the mean gap.

split = attribute_gaps(found, model)
print(split)
split.plot()
plt.show()

# %%
# A single pair: the largest gap, column by column.

print(found.worst[0])
for part in split.summary.worst[0]:
    print(f"{part.column:>15} {100 * part.value:+.2f} pp")
