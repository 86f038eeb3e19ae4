"""Says what is waited for, once waiting has lasted long enough to be noticed."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

NOTICEABLE_S = 0.5


class Waiting:
    """Shows a moving line on a terminal after half a second, and removes it without a trace; silent elsewhere.

    Args:
        console: where to show it.
        what: what is waited for, such as `starting PostgreSQL`.
    """

    def __init__(self, console: Console, what: str) -> None:
        self._shown = Status(what, console=console) if console.is_terminal else None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._ended = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def start(self) -> None:
        """Begin to wait."""
        if self._shown is not None:
            self._timer = threading.Timer(NOTICEABLE_S, self._show)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Remove the line; may be called more than once."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            if self._shown is not None:
                self._shown.stop()

    def _show(self) -> None:
        with self._lock:
            if not self._ended and self._shown is not None:
                self._shown.start()
