"""What the code that serves a call may ask about it, without passing the transport around.

The interceptors set these variables; each RPC runs in a task of its own, so nothing has to be reset. A task that
outlives its call (a turn that goes on when the caller left) inherits them: it must take its own time limit
(`own_deadline`) and its own identity (`acting_as`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mesh.kernel.identity import Call, Principal
from mesh.telemetry.context import REQUEST_ID

CALL: ContextVar[Call] = ContextVar("call")
PRINCIPAL: ContextVar[Principal | None] = ContextVar("principal", default=None)
DEADLINE: ContextVar[float] = ContextVar("deadline", default=math.inf)
"""Instant of `time.monotonic()` at which the work must be over; infinity when nothing limits it."""


def current_call() -> Call:
    """Return the call that is being served.

    Raises:
        LookupError: the code does not run inside a call that passed authentication and validation.
    """
    try:
        return CALL.get()
    except LookupError:
        raise LookupError("no call is being served here") from None


def current_principal() -> Principal | None:
    """Return the identity that calls to other servers carry; None when there is none."""
    return PRINCIPAL.get()


def current_request_id() -> str:
    """Return the correlation id of the call, as in `x-request-id`; empty outside of a call."""
    return REQUEST_ID.get()


def remaining_s() -> float:
    """Return how many seconds the work may still take: 0 when the time is over, infinity when nothing limits it."""
    return max(0.0, DEADLINE.get() - time.monotonic())


@contextmanager
def acting_as(principal: Principal) -> Iterator[None]:
    """Make calls to other servers carry this identity instead of the current call's."""
    token = PRINCIPAL.set(principal)
    try:
        yield
    finally:
        PRINCIPAL.reset(token)


@contextmanager
def own_deadline(timeout_s: float) -> Iterator[None]:
    """Limit the work by its own time instead of the current call's, for work that outlives the call.

    Args:
        timeout_s: seconds from now; infinity for no limit.
    """
    token = DEADLINE.set(time.monotonic() + timeout_s)
    try:
        yield
    finally:
        DEADLINE.reset(token)
