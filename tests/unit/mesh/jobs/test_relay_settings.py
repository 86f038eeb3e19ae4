"""Waits between attempts double up to a bound and are spread; leases outlive their heartbeats."""

from __future__ import annotations

import pytest

from mesh.jobs.settings import RelaySettings

SETTINGS = RelaySettings(backoff_base_s=2.0, backoff_max_s=60.0)


@pytest.mark.parametrize(("attempt", "mean_s"), [(1, 2), (2, 4), (3, 8), (5, 32), (6, 60), (1000, 60)])
def test_wait_doubles_up_to_its_bound(attempt: int, mean_s: float) -> None:
    waits = [SETTINGS.backoff(attempt).total_seconds() for _ in range(200)]
    assert min(waits) >= mean_s * 0.5
    assert max(waits) <= mean_s * 1.5


def test_waits_are_spread() -> None:
    assert len({SETTINGS.backoff(3) for _ in range(50)}) > 40


@pytest.mark.parametrize(
    "wrong",
    [{"concurrency": 0}, {"max_attempts": 0}, {"heartbeat_s": 0.0}, {"lease_s": 30.0, "heartbeat_s": 11.0}],
)
def test_bounds_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        RelaySettings(**wrong)
