"""Renderers: a summary, an account or messages as text, markdown, HTML or JSON."""

from leftoff.rendering.render_summary import FORMS, render

__all__ = ["FORMS", "render"]
