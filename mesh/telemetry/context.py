"""What a log line or a span may know of the work it belongs to: request id, tenant, trace.

Context variables, because they follow the work into every task and callback that it starts. They live below transport
and storage, so that both can use them and neither has to know the other.
"""

from __future__ import annotations

import random
import re
from contextvars import ContextVar
from dataclasses import dataclass

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The id under which the caller and our logs talk about a call; empty outside of one."""

TENANT_ID: ContextVar[str] = ContextVar("tenant_id", default="")
"""The tenant of the work; empty when there is none."""

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A position in a trace. Source: W3C Trace Context, section 3.2.

    Args:
        trace_id: 32 lower-case hex digits.
        span_id: 16 lower-case hex digits, the parent of what comes next.
        sampled: True when spans of this trace are recorded.
        remote: True when the position came from another process.
    """

    trace_id: str
    span_id: str
    sampled: bool
    remote: bool = False

    def traceparent(self) -> str:
        """Return the `traceparent` header."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


TRACE: ContextVar[TraceContext | None] = ContextVar("trace", default=None)
"""Where the work stands in its trace; None outside of one."""


def parse_traceparent(header: str) -> TraceContext | None:
    """Return the position in a `traceparent` header, or None when the header is not valid and must be ignored.

    Source: W3C Trace Context, sections 3.2.2 (fields) and 4.3 (unknown versions are read as version 00).
    """
    match = _TRACEPARENT.fullmatch(header)
    if match is None:
        return None
    version, trace_id, span_id, flags, rest = match.groups()
    if version == "ff" or (version == "00" and rest) or trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED), remote=True)


def new_trace(*, sampled: bool) -> TraceContext:
    """Return the start of a new trace. Ids are random and not secret."""
    trace_id = f"{random.getrandbits(128) or 1:032x}"
    span_id = f"{random.getrandbits(64) or 1:016x}"
    return TraceContext(trace_id, span_id, sampled)
