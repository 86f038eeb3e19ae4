"""Ctrl-C and its kin: the first asks to stop in order, the second means now."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Waits for a signal to stop. Use as a context manager inside a running event loop.

    Args:
        on_second: called when a further signal comes while stopping.
    """

    def __init__(self, on_second: Callable[[], None]) -> None:
        self._on_second = on_second
        self._asked = asyncio.Event()
        # `nohup` ignores the end of the terminal for us, and means it.
        hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        self._signals = (*_SIGNALS, signal.SIGHUP) if hangs_up else _SIGNALS

    def asked(self) -> bool:
        """Tell whether a signal came."""
        return self._asked.is_set()

    async def wait(self) -> None:
        """Return when a signal came."""
        await self._asked.wait()

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for number in self._signals:
            loop.add_signal_handler(number, self._received)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in self._signals:
            loop.remove_signal_handler(number)

    def _received(self) -> None:
        if self._asked.is_set():
            self._on_second()
        self._asked.set()
