"""uvicorn inside of the gateway's own event loop and life cycle."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason

KEEP_ALIVE_S = 75
_BACKLOG = 1024


class _Embedded(uvicorn.Server):
    """uvicorn without its signal handlers: the process has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """Serves an ASGI application on one address."""

    def __init__(self, app: ASGIApp, host: str, port: int, drain_s: float) -> None:
        """Prepare.

        Args:
            app: what to serve.
            host: address to listen on.
            port: port, 0 for a free one.
            drain_s: longest wait for requests in progress when it stops.
        """
        self._host = host
        self._port = port
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(drain_s)),
        )
        self._server = _Embedded(config)
        self._socket: socket.socket | None = None

    def listen(self) -> int:
        """Take the address and return its port; connections wait there until `serve` runs.

        Raises:
            FailedPrecondition: CONFIGURATION_INVALID, the address cannot be listened on.
        """
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            self._socket = socket.create_server((self._host, self._port), family=family, backlog=_BACKLOG)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "another program listens there" if taken else "this machine does not allow it"
            raise FailedPrecondition(
                Reason.CONFIGURATION_INVALID,
                f"HTTP cannot listen on {self._host}:{self._port}: {why}; set MNEMESH_HTTP_PORT or MNEMESH_HTTP_HOST",
            ) from error
        # Connections inherit it. asyncio sets it only on sockets that name their protocol, and without it a response of
        # head and body waits 40 ms for the acknowledgement of its head.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return int(self._socket.getsockname()[1])

    async def serve(self) -> None:
        """Answer requests until `stop`; returns when those in progress are answered or the drain time is over."""
        if self._socket is None:
            raise RuntimeError("listen first")
        await self._server.serve([self._socket])

    def stop(self) -> None:
        """Take no more connections and let `serve` return."""
        self._server.should_exit = True
