"""Certificates: how far anybody comparable can be from each person, in the table or not."""

from likewise.certifying._certificates import Certificates, CertifiedShare
from likewise.certifying._certify import certify

__all__ = ["Certificates", "CertifiedShare", "certify"]
