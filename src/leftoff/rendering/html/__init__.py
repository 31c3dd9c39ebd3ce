"""Self-contained HTML pages: one session, or a report over many sessions.

All recorded text is redacted, cleaned and escaped. No page makes a network request, and the
page of a session runs no script."""
