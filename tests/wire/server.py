"""A fake provider: a server in a thread on a free loopback port, a queue of steps, and a log of what it was asked."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.wire.conduct import Conduct
from tests.wire.steps import Fail, Raw, Say, Stall, Step


@dataclass
class Asked:
    """One request as the server saw it.

    Args:
        path: with the query.
        headers: lower-case names.
        body: the decoded JSON body.
        left: set when the client closed the connection before the answer was complete.
        done: set when the server finished with the request, either way.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    left: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)


class Broken(Exception):
    """Raised inside a stream to break the connection."""


class FakeProvider(ABC):
    """A provider in a thread. Use it as a context manager; set `conduct` and `script` before and during use."""

    def __init__(self) -> None:
        self.conduct = Conduct()
        self.requests: list[Asked] = []
        self._steps: deque[Step] = deque()
        self._arrived = threading.Condition()
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        app = Starlette(routes=[Route("/{path:path}", self._handle, methods=["GET", "POST"])])
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    @property
    def base_url(self) -> str:
        """What a client is configured with; without a path."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def script(self, *steps: Step) -> None:
        """Queue what the next requests get, one step each."""
        self._steps.extend(steps)

    async def wait_for_requests(self, count: int, timeout_s: float = 5.0) -> None:
        """Wait until that many requests have arrived.

        Raises:
            AssertionError: they did not arrive in time.
        """

        def wait() -> bool:
            with self._arrived:
                return self._arrived.wait_for(lambda: len(self.requests) >= count, timeout_s)

        assert await asyncio.to_thread(wait), f"{len(self.requests)} of {count} requests arrived"

    def reset(self) -> None:
        """Forget steps, requests and conduct."""
        self._steps.clear()
        self.requests = []
        self.conduct = Conduct()

    def __enter__(self) -> Self:
        self._socket.listen(64)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    async def _handle(self, request: Request) -> Response:
        raw = await request.body()
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        asked = Asked(path, dict(request.headers), _decoded(raw))
        with self._arrived:
            self.requests.append(asked)
            self._arrived.notify_all()
        step = self._steps.popleft() if self._steps else None
        if isinstance(step, Stall):
            return await self._stall(request, asked)
        response = self._planned(step) or self.respond(asked, step)
        if isinstance(response, StreamingResponse):
            response.body_iterator = self._watched(response.body_iterator, asked)
        else:
            asked.done.set()
        return response

    def _planned(self, step: Step | None) -> Response | None:
        if isinstance(step, Raw):
            return Response(step.body, step.status, media_type=step.content_type)
        return self.error(step) if isinstance(step, Fail) else None

    async def _stall(self, request: Request, asked: Asked) -> Response:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        asked.left.set()
        asked.done.set()
        return Response(status_code=499)

    async def _watched(self, body: AsyncIterable[Any], asked: Asked) -> AsyncIterator[Any]:
        try:
            async for part in body:
                yield part
        except (asyncio.CancelledError, GeneratorExit):
            asked.left.set()
            raise
        finally:
            asked.done.set()

    def stream(self, messages: AsyncIterator[bytes]) -> StreamingResponse:
        """Return the streamed response of server-sent events."""
        return StreamingResponse(messages, media_type="text/event-stream")

    async def pace(self, say: Say, index: int) -> None:
        """Do what a step wants before piece number `index`."""
        if say.stall_before == index:
            await asyncio.Event().wait()
        if say.cut_before == index:
            raise Broken

    @abstractmethod
    def error(self, fail: Fail) -> Response:
        """Return an error in the provider's form."""

    @abstractmethod
    def respond(self, asked: Asked, step: Step | None) -> Response:
        """Return the response to a request, by the step or, without one, well-behaved."""


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None
