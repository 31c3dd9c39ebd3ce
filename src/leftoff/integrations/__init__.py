"""Integrations with other programs and libraries; loaded on first use."""
