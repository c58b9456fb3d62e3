"""From resampled people to confidence intervals and tests."""
