"""Settings every test shares."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# "ci" finds the same thing on every run and machine; "explore" looks further, for people hunting a bug
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
