"""Renderers: a summary, an account or messages as text, markdown, HTML or JSON."""

from __future__ import annotations

from leftoff.rendering.render_summary import FORMS, render

__all__ = ["FORMS", "render"]
