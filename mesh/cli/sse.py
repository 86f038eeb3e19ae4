"""Server-sent events from bytes, a piece at a time.

Lines end at LF, CR or CRLF and nowhere else: a text may hold U+2028 or U+0085, at which general line splitters break.
Source: WHATWG HTML, section 9.2.6 'Interpreting an event stream'; `retry` is left out, since callers have their own
backoff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its id, its name (`message` when it has none) and its data."""

    id: str
    name: str
    data: str


@dataclass(slots=True)
class EventDecoder:
    """Turns chunks of a `text/event-stream` body into events; one that never ends with an empty line is dropped."""

    _pending: bytes = b""
    _last_id: str = ""
    _name: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that a chunk completes."""
        self._pending += chunk
        for line in self._complete_lines():
            if line:
                self._take(line.decode("utf-8", errors="replace"))
            elif (event := self._dispatch()) is not None:
                yield event

    def _complete_lines(self) -> list[bytes]:
        # A CR at the very end may be the first half of a CRLF, so it waits for the next chunk.
        held = b"\r" if self._pending.endswith(b"\r") else b""
        *lines, rest = _LINE_END.split(self._pending[: len(self._pending) - len(held)])
        self._pending = rest + held
        return lines

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._last_id = value

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name or "message", self._data
        self._name, self._data = "", []
        return ServerEvent(self._last_id, name, "\n".join(data)) if data else None
