"""A watchdog that names what blocks the event loop.

The loop notes the time at short intervals; a thread compares. When the note is older than the threshold, the thread
logs where the loop's thread stands at that moment, once for each stall, and how long it took when it is over. The
thread only reads, so it works while the loop does not.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType

_LOG = logging.getLogger("mesh.telemetry.stalls")

_MOST_FRAMES = 12


class LoopWatchdog:
    """Logs pauses of the running event loop."""

    def __init__(self, threshold_s: float) -> None:
        """Prepare a watchdog.

        Args:
            threshold_s: a longer pause is logged; it is checked four times in that time.
        """
        self._threshold_s = threshold_s
        self._interval_s = threshold_s / 4
        self._noted_at = time.monotonic()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch the loop that runs in this thread."""
        loop = asyncio.get_running_loop()
        self._note(loop)
        self._thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="loop-watchdog", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; to be called in the loop's thread."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()

    def _note(self, loop: asyncio.AbstractEventLoop) -> None:
        self._noted_at = time.monotonic()
        self._timer = loop.call_later(self._interval_s, self._note, loop)

    def _watch(self, loop_thread: int) -> None:
        stalled_since: float | None = None
        while not self._stopped.wait(self._interval_s):
            noted_at = self._noted_at
            if stalled_since is not None and noted_at > stalled_since:
                _LOG.warning("the event loop runs again", extra={"stalled_s": round(noted_at - stalled_since, 3)})
                stalled_since = None
            if stalled_since is None and time.monotonic() - noted_at > self._threshold_s + self._interval_s:
                stalled_since = noted_at
                _LOG.warning("the event loop is blocked", extra={"blocked_at": _where(loop_thread)})


def _where(thread_id: int) -> list[str]:
    frame: FrameType | None = sys._current_frames().get(thread_id)  # noqa: SLF001 - the documented way to see a thread
    if frame is None:
        return []
    return [f"{entry.filename}:{entry.lineno} {entry.name}" for entry in traceback.extract_stack(frame)[-_MOST_FRAMES:]]
