"""Why, and for whom: gaps split over columns, people scored lower by more than chance, and certificates."""

from likewise.explain._attribution import GapAttribution, attribute_gaps
from likewise.explain._certified import CertifiedAudit, certify_audit
from likewise.explain._named import NamedPeople, name_people
from likewise.record._internal import NamedPerson

__all__ = [
    "CertifiedAudit",
    "GapAttribution",
    "NamedPeople",
    "NamedPerson",
    "attribute_gaps",
    "certify_audit",
    "name_people",
]
