"""Bounds of HTTP requests: how many at once, how large a body, how long it may take to arrive, what it may be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from starlette.datastructures import Headers
from starlette.types import Receive

from gateway.http.problems import HttpError
from mesh.kernel.errors import DeadlineExceeded, ErrorDetails, InvalidArgument, ResourceExhausted, invalid_field
from mesh.kernel.reasons import Reason

_JSON = "application/json"
_RETRY = ErrorDetails(retry_after=timedelta(seconds=1))


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The bounds.

    Args:
        max_body_bytes: largest body that is read.
        max_requests: requests in progress, streams left out.
        max_streams: streams in progress.
        body_timeout_s: how long a body may take to arrive.
        send_timeout_s: how long a client may take to make room for the next piece of a stream.
        heartbeat_s: silence after which a stream says that it is alive.
    """

    max_body_bytes: int = 16 * 1024 * 1024
    max_requests: int = 500
    max_streams: int = 2000
    body_timeout_s: float = 30.0
    send_timeout_s: float = 30.0
    heartbeat_s: float = 15.0


class ClientGone(Exception):
    """The client closed the connection; there is nobody left to answer."""


class Admission:
    """Counts requests in progress and refuses at once what is too many."""

    def __init__(self, limits: HttpLimits) -> None:
        self._free = {False: limits.max_requests, True: limits.max_streams}

    @contextmanager
    def admit(self, *, stream: bool) -> Iterator[None]:
        """Hold a place while the block runs.

        Raises:
            ResourceExhausted: there is none (OVERLOADED).
        """
        if self._free[stream] <= 0:
            raise ResourceExhausted(Reason.OVERLOADED, "the gateway is busy; try again in a moment", _RETRY)
        self._free[stream] -= 1
        try:
            yield
        finally:
            self._free[stream] += 1


def require_json(headers: Headers) -> None:
    """Refuse a body that says it is something else than JSON in UTF-8.

    Raises:
        HttpError: 415.
    """
    media_type, _, parameters = headers.get("content-type", _JSON).partition(";")
    kind = media_type.strip().lower()
    charset = parameters.lower().replace(" ", "").replace('"', "")
    is_json = kind == _JSON or (kind.startswith("application/") and kind.endswith("+json"))
    if not is_json or ("charset=" in charset and "charset=utf-8" not in charset):
        message = "Content-Type: the body must be application/json in UTF-8"
        raise HttpError(415, InvalidArgument(Reason.UNSUPPORTED_MEDIA_TYPE, message))


async def read_body(headers: Headers, receive: Receive, limits: HttpLimits) -> bytes:
    """Return the body of a request.

    Raises:
        ResourceExhausted: it is too large (MESSAGE_TOO_LARGE); decided before it is read where its length is announced.
        HttpError: 408, it did not arrive in time.
        ClientGone: the client left.
    """
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.max_body_bytes:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.body_timeout_s):
            return await _read_all(receive, limits)
    except TimeoutError:
        error = DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the body did not arrive in time")
        raise HttpError(408, error) from None


def timeout_s(headers: Headers, cap_s: float) -> float:
    """Return how long the caller wants to wait, from `X-Request-Timeout-Ms`; `cap_s` when it does not say.

    Raises:
        InvalidArgument: the header is no whole number from 1 to 3,600,000.
    """
    text = headers.get("x-request-timeout-ms", "")
    if not text:
        return cap_s
    if not text.isdecimal() or not 1 <= int(text[:8]) <= 3_600_000:
        raise invalid_field("X-Request-Timeout-Ms", "must be milliseconds from 1 to 3600000", "RANGE")
    return min(int(text) / 1000, cap_s)


async def _read_all(receive: Receive, limits: HttpLimits) -> bytes:
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limits.max_body_bytes:
            raise _too_large(limits)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


def _too_large(limits: HttpLimits) -> ResourceExhausted:
    return ResourceExhausted(
        Reason.MESSAGE_TOO_LARGE, f"the body may have at most {limits.max_body_bytes // (1024 * 1024)} MiB"
    )
