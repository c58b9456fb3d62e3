"""
How do pairs and time grow up to a million rows?
================================================

Twice the people have about four times the pairs, so a list of all pairs is soon too long. Counting and sampling need
no list. Larger tables are resampled from the rows of the Adult census data.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import EngFormatter

from likewise import count_pairs, load_dataset, sample_pairs

data = load_dataset("adult")
people = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
random = np.random.default_rng(0)
for n_rows in (len(people), 100_000):  # compiles what is timed below
    table = people[random.integers(len(people), size=n_rows)]
    count_pairs(table, data.rule)
    sample_pairs(table, data.rule, n=10)

# %%
# ``count_pairs`` is exact, by label and by sensitive values. ``sample_pairs`` draws uniformly without replacement and
# counts all pairs, too.

sizes = (30_000, 125_000, 250_000, 500_000, 750_000, 1_000_000)
pairs, seconds = [], []
for n_rows in sizes:
    table = people[random.integers(len(people), size=n_rows)]
    times = [time.process_time()]
    counted = count_pairs(table, data.rule)
    times.append(time.process_time())
    sampled = sample_pairs(table, data.rule, n=1000)
    times.append(time.process_time())
    pairs.append(counted.total)
    seconds.append(np.diff(times))
    print(f"{n_rows:,} rows: {sampled}, by label {counted.by_label}")

# %%
# Pairs grow with the square of the rows, time about linearly. Rows repeat in resampled tables, which is easier than as
# many different people.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
left.plot(sizes, pairs, "o-", color="#3d85c6")
right.plot(sizes, [count for count, _ in seconds], "o-", color="#3d85c6", label="count_pairs")
right.plot(sizes, [sample for _, sample in seconds], "s--", color="#b5651d", label="sample_pairs")
right.legend(frameon=False)
for axes, title in ((left, "Comparable pairs"), (right, "Processor time (seconds)")):
    axes.set(xlim=(0, None), ylim=(0, None), xlabel="Rows")
    axes.set_title(title, loc="left", fontsize="medium")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.spines[["top", "right"]].set_visible(False)
left.yaxis.set_major_formatter(EngFormatter(sep=""))
plt.show()
