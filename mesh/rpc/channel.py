"""Channels to other servers: every call carries identity, deadline, request id and trace context without being told to.

gRPC's client interceptors run each call in a task of its own, which costs more than all that is done here. So the
channel itself is wrapped, and a call made through it is a call of the bare channel with more arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

import grpc
from opentelemetry.trace import SpanKind

from mesh.kernel.errors import DeadlineExceeded
from mesh.kernel.reasons import Reason
from mesh.rpc import tls
from mesh.rpc.auth import IDENTITY_KEY, TokenSigner
from mesh.rpc.context import current_principal, remaining_s
from mesh.rpc.service_config import service_config
from mesh.rpc.settings import ChannelSettings
from mesh.rpc.status import REQUEST_ID_KEY
from mesh.rpc.tracing import TRACEPARENT_KEY, finish_span, span_attributes
from mesh.telemetry.context import REQUEST_ID, TRACE, TraceContext
from mesh.telemetry.traces import Tracing, continue_trace, position, process_tracing

__all__ = ["ChannelSettings", "MeshChannel", "connect"]


_Pair: TypeAlias = tuple[str, str | bytes]


def connect(
    target: str,
    audience: str,
    signer: TokenSigner | None,
    settings: ChannelSettings | None = None,
    *,
    tracing: Tracing | None = None,
) -> grpc.aio.Channel:
    """Return a channel to a server. It connects with the first call; keep one for each target.

    Args:
        target: gRPC target, such as `127.0.0.1:50051`, `dns:///engine:50051` or `unix:/run/engine.sock`.
        audience: the server's name, for which identities are signed.
        signer: signs the identity of the current call, or of `acting_as`; None sends none.
        settings: limits and certificates.
        tracing: records spans; the process's tracing by default.
    """
    settings = settings or ChannelSettings()
    options = _options(settings)
    if settings.tls.ca_file is not None:
        bare = grpc.aio.secure_channel(target, tls.channel_credentials(settings.tls), options=options)
    else:
        bare = grpc.aio.insecure_channel(target, options=options)  # noqa: TID251 - this is what the ban points to
    return MeshChannel(bare, _Outgoing(audience, signer, settings, tracing or process_tracing()))


class _Outgoing:
    """What is added to a call that leaves."""

    def __init__(self, audience: str, signer: TokenSigner | None, settings: ChannelSettings, tracing: Tracing) -> None:
        self._audience = audience
        self._signer = signer
        self._settings = settings
        self.tracing = tracing

    def default_timeout_s(self, path: str) -> float:
        return service_config().timeout_s(path) or self._settings.default_timeout_s

    def timeout_s(self, wanted_s: float) -> float:
        left_s = remaining_s()
        if left_s == math.inf:
            return wanted_s
        return min(wanted_s, left_s - self._settings.margin_s)

    def metadata(self, without: set[str]) -> tuple[_Pair, ...]:
        pairs: list[_Pair] = []
        principal = current_principal()
        if principal is not None and self._signer is not None and IDENTITY_KEY not in without:
            pairs.append((IDENTITY_KEY, self._signer.sign(principal, self._audience)))
        request_id = REQUEST_ID.get()
        if request_id and REQUEST_ID_KEY not in without:
            pairs.append((REQUEST_ID_KEY, request_id))
        return tuple(pairs)


class _Method:
    """One method of a channel, for all four kinds; stands in for gRPC's multi-callables."""

    def __init__(self, bare: Callable[..., Any], path: str, outgoing: _Outgoing) -> None:
        self._bare = bare
        self._path = path
        self._outgoing = outgoing
        self._default_timeout_s = outgoing.default_timeout_s(path)

    def __call__(
        self,
        request: Any = None,
        timeout: float | None = None,
        metadata: Any = None,
        **options: Any,
    ) -> Any:
        """Start the call; the arguments are those of gRPC's multi-callables.

        Raises:
            DeadlineExceeded: no time is left, so the call is not made.
            Unauthenticated: CREDENTIAL_EXPIRED, the proof of the current identity is over.
        """
        outgoing = self._outgoing
        pairs = tuple(metadata or ())
        pairs += outgoing.metadata(without={name for name, _ in pairs})
        timeout_s = outgoing.timeout_s(self._default_timeout_s if timeout is None else timeout)
        if timeout_s <= 0:
            raise DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "no time is left for the call")
        parent, sampled = continue_trace(outgoing.tracing, TRACE.get())
        if sampled:
            return self._recorded(parent, request, pairs, timeout_s, options)
        return self._bare(request, timeout=timeout_s, metadata=_in_trace(parent, pairs), **options)

    def _recorded(
        self,
        parent: TraceContext | None,
        request: Any,
        pairs: tuple[_Pair, ...],
        timeout_s: float,
        options: dict[str, Any],
    ) -> Any:
        attributes = span_attributes(self._path)
        span = self._outgoing.tracing.start_span(self._path[1:], SpanKind.CLIENT, parent, attributes)
        if span is None:
            return self._bare(request, timeout=timeout_s, metadata=_in_trace(parent, pairs), **options)
        call = self._bare(request, timeout=timeout_s, metadata=_in_trace(position(span), pairs), **options)
        call.add_done_callback(lambda done: finish_span(span, _code_of(done)))
        return call


class MeshChannel(grpc.aio.Channel):
    """A gRPC channel whose calls carry what the mesh needs."""

    def __init__(self, bare: grpc.aio.Channel, outgoing: _Outgoing) -> None:
        self._bare = bare
        self._outgoing = outgoing

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> grpc.aio.UnaryUnaryMultiCallable[Any, Any]:
        bare = self._bare.unary_unary(method, *args, **kwargs)
        return cast("grpc.aio.UnaryUnaryMultiCallable[Any, Any]", _Method(bare, method, self._outgoing))

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> grpc.aio.UnaryStreamMultiCallable[Any, Any]:
        bare = self._bare.unary_stream(method, *args, **kwargs)
        return cast("grpc.aio.UnaryStreamMultiCallable[Any, Any]", _Method(bare, method, self._outgoing))

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> grpc.aio.StreamUnaryMultiCallable[Any, Any]:
        bare = self._bare.stream_unary(method, *args, **kwargs)
        return cast("grpc.aio.StreamUnaryMultiCallable[Any, Any]", _Method(bare, method, self._outgoing))

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> grpc.aio.StreamStreamMultiCallable[Any, Any]:
        bare = self._bare.stream_stream(method, *args, **kwargs)
        return cast("grpc.aio.StreamStreamMultiCallable[Any, Any]", _Method(bare, method, self._outgoing))

    async def close(self, grace: float | None = None) -> None:
        await self._bare.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._bare.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._bare.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._bare.channel_ready()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.close()


def _in_trace(here: TraceContext | None, pairs: tuple[_Pair, ...]) -> tuple[_Pair, ...]:
    return pairs if here is None else (*pairs, (TRACEPARENT_KEY, here.traceparent()))


def _code_of(done: Any) -> int:
    # gRPC gives the status of a call only to coroutines; that of a finished call is there at the first step.
    asking = done.code()
    try:
        asking.send(None)
    except StopIteration as answered:
        return cast("int", answered.value.value[0])
    finally:
        asking.close()
    return grpc.StatusCode.UNKNOWN.value[0]


def _options(settings: ChannelSettings) -> list[tuple[str, str | int]]:
    return [
        ("grpc.service_config", service_config().text),
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.enable_http_proxy", 0),  # a proxy for the outer world must not see calls inside of the mesh
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 2_000),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.dns_min_time_between_resolutions_ms", 5_000),
    ]
