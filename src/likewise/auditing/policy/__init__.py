"""Limits on measures, and whether an audit meets them."""
