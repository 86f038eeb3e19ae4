"""Drives asynchronous handlers with `grpc_testing`, whose server is synchronous.

Without it, an async handler 'succeeds' with a coroutine as its response. Handlers run in an event loop of a thread of
its own, the tests' threads wait for them. Useful where a test wants to decide the metadata and the clock of a call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import grpc


class Adapter:
    """Looks like a synchronous servicer to `grpc_testing.server_from_dictionary`."""

    def __init__(self, handlers: dict[str, Callable[[Any, Any], Any]]) -> None:
        """Start the loop.

        Args:
            handlers: coroutine functions of unary methods by name.
        """
        self._handlers = handlers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="grpc-testing-adapter", daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> Callable[[Any, Any], Any]:
        handler = self._handlers[name]

        def serve(request: Any, context: Any) -> Any:
            running = asyncio.run_coroutine_threadsafe(handler(request, AsyncContext(context)), self._loop)
            return running.result(timeout=30)

        return serve

    def close(self) -> None:
        """Stop the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AsyncContext:
    """A synchronous servicer context with the coroutines that asynchronous handlers expect."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._code: grpc.StatusCode | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def code(self) -> grpc.StatusCode | None:
        return self._code

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()) -> None:
        if trailing_metadata:
            self._context.set_trailing_metadata(trailing_metadata)
        self._code = code
        self._context.set_code(code)
        self._context.set_details(details)
        raise grpc.aio.AbortError
