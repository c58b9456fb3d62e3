"""
How much smaller can gaps get, and at what loss?
================================================

A weight says how much comparable pairs count in the loss of a model. ``FrontierSearch`` tries a range of weights by
cross-validation and chooses the smallest gaps among the models that lose no more performance than you allow: a search
for a less discriminatory alternative (LDA).
"""

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from likewise import ConsistentClassifier, FrontierSearch, load_dataset

data = load_dataset("compas")
words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
model = ConsistentClassifier(make_pipeline(columns, LogisticRegression(max_iter=1000)), data.roles, data.rule)

# %%
# Unfairness is the mean rank gap here, which a model cannot lower by moving all scores together. The budget is one
# percentage point of average precision.

search = FrontierSearch(model, unfairness="rank_gap_mean", max_loss=0.01, folds=3, random_state=0)
search.fit(data.train.X, data.train.y)
print(search.summary())

# %%
# Each dot is a model, with confidence intervals in both directions. Beyond the dashed line a model loses more than the
# budget. The ringed one was chosen. Selection makes its numbers optimistic: audit it on other people.

search.plot()
plt.show()
