"""HTML pages that need nothing else: of one session, and of many.

Every recorded word is redacted, cleaned and escaped; no page makes a request, and the page of
a session runs no script.
"""

from __future__ import annotations
