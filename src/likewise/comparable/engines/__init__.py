"""Ways to find comparable pairs. All give the same pairs in the same order."""
