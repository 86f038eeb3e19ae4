"""Load shedding: a bound on the calls in progress. What is over it is refused at once, so that the rest finishes.

Unary calls and streams have a bound each: streams live long, and a server full of idle ones must still answer.
"""

from __future__ import annotations

from datetime import timedelta

from mesh.kernel.errors import ErrorDetails, ResourceExhausted
from mesh.kernel.reasons import Reason
from mesh.rpc.method import Handler, Method, Rpc

_RETRY_AFTER = timedelta(milliseconds=500)


class _Gate:
    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.inside = 0


class AdmissionInterceptor:
    """Refuses a call when its bound is reached."""

    name = "admission"
    requires = ("status",)

    def __init__(self, max_unary: int, max_streams: int) -> None:
        self._unary = _Gate(max_unary)
        self._streams = _Gate(max_streams)

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        gate = self._streams if method.is_streaming else self._unary

        async def handle(rpc: Rpc) -> bytes | None:
            if gate.inside >= gate.bound:
                raise _overloaded()
            gate.inside += 1
            try:
                return await proceed(rpc)
            finally:
                gate.inside -= 1

        return handle


def _overloaded() -> ResourceExhausted:
    return ResourceExhausted(
        Reason.OVERLOADED,
        "the server has as many calls in progress as it takes; try again",
        ErrorDetails(retry_after=_RETRY_AFTER),
    )
