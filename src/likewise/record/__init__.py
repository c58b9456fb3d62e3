"""The record of an audit: plain typed data that reports, the terminal and ``likewise verify`` read."""

from likewise.record._record import AuditRecord

__all__ = ["AuditRecord"]
