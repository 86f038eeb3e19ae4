"""Time as a dependency, so that tests decide what time it is."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time and monotonic time."""

    def now(self) -> datetime:
        """Return the current instant, UTC-aware."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds of a clock that never goes back, for durations only."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return time.monotonic()
