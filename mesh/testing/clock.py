"""A clock that tests move by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Stands still until it is told to advance; wall time and monotonic time move together."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime.now(UTC)
        self._monotonic_s = 0.0

    def now(self) -> datetime:
        """Return the instant that the clock shows, UTC-aware."""
        return self._now

    def monotonic_s(self) -> float:
        """Return the seconds that the clock was advanced by."""
        return self._monotonic_s

    def advance(self, seconds: float) -> None:
        """Move forward by a number of seconds."""
        self._now += timedelta(seconds=seconds)
        self._monotonic_s += seconds
