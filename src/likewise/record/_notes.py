"""Notes: what a reader has to know before trusting a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NoteKind = Literal[
    "collapsed",  # everybody is scored nearly alike
    "coverage",
    "weighted",  # people count by weights
    "decisions_only",  # scores are 0 or 1
    "no_labels",  # people are compared whatever their outcome
    "one_label",
    "label_is_decision",  # the scores determine the label, so that no pair is decided differently
    "auc_below_half",  # people with the positive label are scored lower
    "positive_assumed",  # the positive label was not named
    "few_pairs",
    "wide_limit",  # a limit that excludes hardly anybody
    "few_people",  # so few of one group that there are no intervals
    "streamed",  # all pairs measured, intervals from a sample
    "sampled",
    "no_baseline",
    "one_person",  # one person is in many of the pairs
    "approval_rate",
    "smoothed",  # scores depend on other people's, and on whose
    "squeezed",  # gaps fell because the scores moved closer together
    "unlike",  # two audits differ in a setting
    "other",  # from a record of an older version
]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence or two with a kind that code can test; ``str`` of it is the text."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return self.text
