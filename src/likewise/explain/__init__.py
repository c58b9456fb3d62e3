"""Why, and for whom: gaps split over columns, and people who are scored lower by more than chance."""

from likewise.explain._attribution import GapAttribution, attribute_gaps
from likewise.explain._named import NamedPeople, name_people
from likewise.record._internal import NamedPerson

__all__ = ["GapAttribution", "NamedPeople", "NamedPerson", "attribute_gaps", "name_people"]
