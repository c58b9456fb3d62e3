"""Reports of an audit, from its record: HTML, Markdown, pages for certain readers, cards, JUnit and charts."""

from likewise.report._html import to_card, to_html
from likewise.report._junit import to_junit
from likewise.report._markdown import to_markdown, to_model_card
from likewise.report._matplotlib import plot_chart
from likewise.report.pages import to_page
from likewise.report.pages._series import series_to_html

__all__ = ["plot_chart", "series_to_html", "to_card", "to_html", "to_junit", "to_markdown", "to_model_card", "to_page"]
