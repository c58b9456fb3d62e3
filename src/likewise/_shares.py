"""The exact interval of a share, for audits and certificates."""

from __future__ import annotations


def exact_interval(n_found: float, n: float, confidence: float) -> tuple[float, float]:
    """Bound a share of independent trials by the binomial distribution, also where it is rare (Clopper, Pearson)."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(n_found, n - n_found + 1, tail)) if n_found > 0 else 0.0
    high = float(betaincinv(n_found + 1, n - n_found, 1 - tail)) if n_found < n else 1.0
    return low, high
