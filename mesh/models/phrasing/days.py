"""Days in the user's zone, as an answer names them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@dataclass(frozen=True, slots=True)
class Calendar:
    """The user's zone and the instant of the turn.

    Args:
        zone: IANA time zone; empty or unknown means UTC.
        now: the instant of the turn; None when it is not known, and then every date is said with its year.
    """

    zone: str
    now: datetime | None

    def day(self, at: datetime | None) -> date | None:
        """Return the day of an instant in the zone; a naive instant is read as UTC."""
        if at is None:
            return None
        aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        try:
            return aware.astimezone(self._tzinfo()).date()
        except (OverflowError, ValueError):
            return aware.date()

    def is_this_year(self, day: date) -> bool:
        """Tell whether a day is in the year of the turn."""
        today = self.day(self.now)
        return today is not None and today.year == day.year

    def _tzinfo(self) -> tzinfo:
        try:
            return ZoneInfo(self.zone) if self.zone else UTC
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return UTC
