"""Typed results to text: every result has one renderer, which returns a small document of paragraphs and tables."""

from kbserver.render.document import Document, Table, render_plain
from kbserver.render.registry import render, renders

__all__ = ["Document", "Table", "render", "render_plain", "renders"]
