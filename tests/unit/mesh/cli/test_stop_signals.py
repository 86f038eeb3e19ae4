"""The first signal asks to stop, a further one means now, and `nohup` is respected."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from mesh.cli.stop_signals import StopSignals


@pytest.fixture
def ignored_hangup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_the_first_asks_and_the_second_means_now(number: signal.Signals) -> None:
    insisted = asyncio.Event()
    with StopSignals(on_second=insisted.set) as signals:
        assert not signals.asked()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(signals.wait(), 5)
        assert not insisted.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(insisted.wait(), 5)


async def test_under_nohup_the_end_of_the_terminal_is_no_request(ignored_hangup: None) -> None:
    with StopSignals(on_second=lambda: None) as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(signals.wait(), 5)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
