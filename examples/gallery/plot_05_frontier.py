"""
How much smaller can gaps get, and at what loss?
================================================

One number says how much comparable pairs count in the loss of a model. ``FrontierSearch`` tries a range of such weights
and compares each model with the plain one, by cross-validation: everybody is scored by models that did not see
them. It chooses the smallest gaps among the models that lose no more than you allow.
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
# What counts as unfair is the mean rank gap here: how far apart two comparable people are among all people in order of
# their scores. A model cannot lower it by moving all scores together. What may be lost is average precision.

search = FrontierSearch(model, unfairness="rank_gap_mean", max_loss=0.01, folds=3, random_state=0)
search.fit(data.train.X, data.train.y)
print(search.summary())

# %%
# Each dot is a model, with confidence intervals in both directions. Beyond the dashed line a model loses more than the
# budget. The ringed one was chosen. Where a horizontal line reaches across zero, the loss may be chance. The model was
# chosen by these numbers, so they flatter it: audit it on other people before you quote them.

search.plot()
plt.show()
