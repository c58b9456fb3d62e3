"""What other folders use of this one beyond its documented names."""

from likewise.learning.consistent._smoothed_targets import takes_pairs
