"""The search in memory: rows packed into words, buckets, kernels."""
