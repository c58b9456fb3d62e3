"""Why gaps arise: how a model's arithmetic splits them over columns."""

from likewise.explain._attribution import GapAttribution, attribute_gaps

__all__ = ["GapAttribution", "attribute_gaps"]
