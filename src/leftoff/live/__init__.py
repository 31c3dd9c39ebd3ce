"""What has a disk, a clock or waiting: sessions that are running now."""

from __future__ import annotations
