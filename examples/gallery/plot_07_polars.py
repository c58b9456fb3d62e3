"""
Can I stay in polars from the file to the evidence?
===================================================

likewise takes polars frames, and its results are arrays that go straight back into one. People, labels and scores come
from one file here, as in an audit of somebody else's model.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from likewise import Roles, audit, load_dataset

data = load_dataset("compas", frame="polars")
words, numbers = [*data.roles.sensitive, *data.roles.discrete], [*data.roles.continuous]
columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (MinMaxScaler(), numbers))
model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(data.train.X, data.train.y)
file = Path(tempfile.mkdtemp(), "people.parquet")
score = pl.Series("score", model.predict_proba(data.test.X)[:, 1])
data.test.X.with_columns(data.test.y.alias("no_recidivism"), score).write_parquet(file)

# %%
# Name the label and the sensitive columns. The roles of the others are inferred; ``describe`` lists them, and any can
# be corrected, as the three counts are here. Scores are named by their column.

people = pl.read_parquet(file)
counts = ["juv_fel_count", "juv_misd_count", "juv_other_count"]
roles = Roles.infer(people, label="no_recidivism", sensitive=["race", "sex"], continuous=counts, ignored=["score"])
print(roles.describe())
found = audit("score", people, roles=roles, n_resamples=0)
print(found)

# %%
# The pairs as a frame, with a column of the people: at which age are comparable people scored furthest apart? Dots are
# medians, lines go from the lower to the upper quartile.

pairs = pl.DataFrame({"gap": found.gaps, "age": people["age"].gather(found.pairs.left)})
low, high = pl.col("gap").quantile(0.25).alias("low"), pl.col("gap").quantile(0.75).alias("high")
by_age = pairs.group_by(pl.col("age") // 10 * 10).agg(pl.len(), pl.col("gap").median(), low, high)
by_age = by_age.filter(pl.col("len") >= 30).sort("age")

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.vlines(by_age["age"], 100 * by_age["low"], 100 * by_age["high"], color="#a9c7e4", linewidth=3)
axes.plot(by_age["age"], 100 * by_age["gap"], "o", color="#3d85c6", markersize=8)
axes.set_xticks(by_age["age"], labels=[f"{age}s\n{n:,} pairs" for age, n in by_age.select("age", "len").rows()])
axes.margins(x=0.12)
axes.set(ylim=(0, None), xlabel="Age of the people", ylabel="Gap (percentage points)")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
