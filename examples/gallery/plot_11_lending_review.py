"""
How does an examiner get from a lender's decisions to a reviewed file?
======================================================================

There are applications and decisions, but no scores and no outcomes of those who were denied. Which denied applicants
have an approved counterpart who is no better qualified? The lender is synthetic: it scores one group lower.
"""

import csv
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from likewise import Comparability, Policy, Roles, audit, load_dataset
from likewise.auditing import merge_reviews, write_review_sheet

data = load_dataset("planted")
people = data.train.X
decisions = np.where(data.scores(people, gap=0.3) >= 0.5, "approved", "denied")
# %%
# Tolerances are in the units of the file. The control may have no higher income and ask for no smaller amount.
limits = {"age": "5", "income": "15 %", "amount": "4,000", "duration": "10", "savings": "5 % of middle range"}
rule = Comparability(limits=limits, must_match=("purpose",), no_better=("income:higher", "amount:lower"))
discrete = ["purpose", "region", "employment", "housing"]
roles = Roles(sensitive="group", discrete=discrete, continuous=list(limits), ignored="gender")
found = audit(decisions, people, roles=roles, rule=rule, favourable="approved", reference="blue", n_worst=12)
print(found.record.rule_in_words)
# %%
# With a control group named, numbers are from the target's side. Both directions are shown, as a count of denied
# targets alone proves nothing. A single transition can be limited.
for name in ("signed_gap", "control_only_rate", "target_only_rate", "control_only_rate[mirror]", "impact_ratio"):
    print(f"{name:24} {found[name]}")
print(found.judge(Policy(transitions={"group: blue → green": {"min_signed_gap": -0.05}})))
shown = [one for one in found.directions if "blue" in one.origin]
places, (figure, axes) = np.arange(len(shown)), plt.subplots(figsize=(7, 2.4), layout="constrained")
for offset, side, who in ((-0.2, "down", "only blue (control) approved"), (0.2, "up", "only the target approved")):
    axes.barh(places + offset, [getattr(one, f"n_flips_{side}") / one.n_pairs for one in shown], 0.38, label=who)
    low, high = zip(*[getattr(one, f"flips_{side}_interval") for one in shown], strict=True)
    axes.hlines(places + offset, low, high, "black")
axes.set_yticks(places, [f"{one.target[0]} and blue" for one in shown])
axes.set_xlabel("Share of matched pairs, with its confidence interval")
axes.legend(frameon=False, loc="lower right")
plt.show()
# %%
# Pairs go out as a review sheet and come back with dispositions: here from a script, else from a spreadsheet.
with tempfile.TemporaryDirectory() as folder:
    write_review_sheet(found.to_record(), sheet := Path(folder, "review.csv"))
    rows = list(csv.DictReader(sheet.read_text("utf-8").splitlines()))
    rows[0] |= {"reviewer": "A. Lee", "date": "2026-11-17", "disposition": "explained", "reason": "a second income"}
    rows[1] |= {"reviewer": "A. Lee", "date": "2026-11-17", "disposition": "unresolved"}
    with sheet.open("w", encoding="utf-8", newline="") as file:
        (writer := csv.DictWriter(file, rows[0])).writeheader()
        writer.writerows(rows)
    reviewed = merge_reviews(found.to_record(), sheet)
print(reviewed.review_summary, *reviewed.reviews, sep="\n")
