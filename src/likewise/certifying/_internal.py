"""What other folders use of this one beyond its documented names."""

from likewise.certifying._certificates import share_limits
