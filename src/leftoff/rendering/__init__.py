"""Values as text, markdown, HTML, JSON."""

from __future__ import annotations

from leftoff.rendering.render_summary import FORMS, render

__all__ = ["FORMS", "render"]
