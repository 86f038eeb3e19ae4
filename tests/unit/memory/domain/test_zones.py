"""Days of a zone as instants (G13)."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memory.domain.zones import start_of_day, zone_of


@pytest.mark.parametrize(
    ("day", "zone", "expected"),
    [
        (date(2026, 3, 28), "Europe/Kyiv", datetime(2026, 3, 27, 22, tzinfo=UTC)),
        (date(2026, 3, 30), "Europe/Kyiv", datetime(2026, 3, 29, 21, tzinfo=UTC)),
        (date(2026, 10, 26), "Europe/Kyiv", datetime(2026, 10, 25, 22, tzinfo=UTC)),
        (date(2026, 1, 1), "", datetime(2026, 1, 1, tzinfo=UTC)),
        (date(2026, 1, 1), "No/Where", datetime(2026, 1, 1, tzinfo=UTC)),
        (date(2026, 1, 1), "../etc/passwd", datetime(2026, 1, 1, tzinfo=UTC)),
        # Summer time began at midnight in Cairo: 24 April 2026 has no 00:00.
        (date(2026, 4, 24), "Africa/Cairo", datetime(2026, 4, 23, 22, tzinfo=UTC)),
    ],
)
def test_a_day_begins_when_it_begins_there(day: date, zone: str, expected: datetime) -> None:
    assert start_of_day(day, zone) == expected


def test_unknown_zones_are_utc() -> None:
    assert zone_of("") is zone_of("Nowhere") is UTC
