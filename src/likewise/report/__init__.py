"""What is written of an audit: the plain record that ``Audit.to_dict`` gives → HTML, Markdown, JUnit, charts."""

from likewise.report._card import to_card
from likewise.report._html import to_html
from likewise.report._junit import to_junit
from likewise.report._markdown import to_markdown
from likewise.report._matplotlib import plot_chart
from likewise.report._model_card import to_model_card

__all__ = ["plot_chart", "to_card", "to_html", "to_junit", "to_markdown", "to_model_card"]
