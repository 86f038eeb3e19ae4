"""Deadline interceptor: every call ends, also that of a client which sets no deadline or one in the next century."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from mesh.rpc.context import DEADLINE
from mesh.rpc.method import Handler, Method, Rpc


class DeadlineInterceptor:
    """Gives a call without a deadline the default, cuts a longer one to the cap, and tells the code inside.

    A stream of the server without a deadline gets the cap: it lasts as long as there is something to say.
    """

    name = "deadline"
    requires = ("status",)

    def __init__(self, default_s: float, cap_s: float) -> None:
        self._default_s = min(default_s, cap_s)
        self._cap_s = cap_s

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        default_s = self._cap_s if method.server_streaming else self._default_s

        async def handle(rpc: Rpc) -> bytes | None:
            asked_s = cast("float | None", rpc.context.time_remaining())
            if asked_s is not None and asked_s <= self._cap_s:
                if asked_s <= 0:
                    raise TimeoutError  # nobody waits for the answer any more
                DEADLINE.set(time.monotonic() + asked_s)
                return await proceed(rpc)  # gRPC itself cancels the call in time
            limit_s = default_s if asked_s is None else self._cap_s
            DEADLINE.set(time.monotonic() + limit_s)
            async with asyncio.timeout(limit_s):
                return await proceed(rpc)

        return handle
