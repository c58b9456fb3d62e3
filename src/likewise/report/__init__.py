"""What is written of an audit: the plain record that ``Audit.to_dict`` gives → Markdown, JUnit."""

from likewise.report._junit import to_junit
from likewise.report._markdown import to_markdown

__all__ = ["to_junit", "to_markdown"]
