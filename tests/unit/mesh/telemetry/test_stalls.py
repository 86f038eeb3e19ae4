"""The watchdog names what blocks the loop."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from mesh.telemetry.stalls import LoopWatchdog


class Heard(logging.Handler):
    """Sets an event for each kind of line, so that tests wait for lines and not for time."""

    def __init__(self) -> None:
        super().__init__()
        self.blocked, self.runs_again = threading.Event(), threading.Event()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        (self.blocked if "is blocked" in record.getMessage() else self.runs_again).set()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(autouse=True)
def _listening(heard: Heard) -> object:
    log = logging.getLogger("mesh.telemetry.stalls")
    log.addHandler(heard)
    yield
    log.removeHandler(heard)


async def test_blocked_loop_is_reported_once_with_its_place_and_its_length(heard: Heard) -> None:
    watchdog = LoopWatchdog(0.05)
    watchdog.start()

    def culprit() -> None:
        assert heard.blocked.wait(10)  # blocks the loop until the watchdog has noticed
        assert not heard.runs_again.wait(0.1)  # and for as long again, in which it must not say otherwise

    culprit()
    assert await asyncio.to_thread(heard.runs_again.wait, 10)
    watchdog.stop()
    blocked, again = heard.records
    assert any("culprit" in place for place in blocked.blocked_at)  # type: ignore[attr-defined]
    assert again.stalled_s >= 0.05  # type: ignore[attr-defined]


async def test_busy_but_yielding_loop_is_not_reported(heard: Heard) -> None:
    watchdog = LoopWatchdog(1.0)
    watchdog.start()
    for _ in range(5000):
        await asyncio.sleep(0)
    watchdog.stop()
    assert heard.records == []


async def test_stopped_watchdog_leaves_no_thread_and_no_timer() -> None:
    before = threading.active_count()
    watchdog = LoopWatchdog(0.05)
    watchdog.start()
    assert threading.active_count() == before + 1
    watchdog.stop()
    assert threading.active_count() == before
