"""One log line and one measurement for each call. Payloads and messages are never in them.

A call that succeeded is logged at DEBUG unless the access log is on: at a thousand calls a second a line for each costs
more than many of the calls. What the caller did wrong is INFO, a bound that was reached is WARNING, a defect is ERROR
(the status interceptor logs its traceback).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import grpc

from mesh.kernel.clock import Clock
from mesh.rpc.method import Handler, Method, Rpc
from mesh.telemetry.metrics import RpcMeter

_LOG = logging.getLogger("mesh.rpc.access")

_OPERATOR_CODES = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)
_DEFECT_CODES = frozenset({grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS})


class AccessLogInterceptor:
    """Logs and measures calls when their status is known."""

    name = "access_log"
    requires = ("trace",)

    def __init__(self, meter: RpcMeter, clock: Clock, *, log_success: bool) -> None:
        self._meter = meter
        self._clock = clock
        self._success_level = logging.INFO if log_success else logging.DEBUG

    def wrap(self, method: Method, proceed: Handler) -> Handler:
        measure = self._meter.of(method.path)

        async def handle(rpc: Rpc) -> bytes | None:
            started = self._clock.monotonic_s()
            measure.started()
            try:
                return await proceed(rpc)
            finally:
                duration_s = self._clock.monotonic_s() - started
                measure.finished(duration_s, rpc.code.value[0])
                level = self._level(rpc.code)
                if _LOG.isEnabledFor(level):
                    _LOG.log(level, "%s %s", method.path, rpc.code.name, extra=_fields(rpc, duration_s))

        return handle

    def _level(self, code: grpc.StatusCode) -> int:
        if code is grpc.StatusCode.OK:
            return self._success_level
        if code in _DEFECT_CODES:
            return logging.ERROR
        return logging.WARNING if code in _OPERATOR_CODES else logging.INFO


def _fields(rpc: Rpc, duration_s: float) -> Mapping[str, object]:
    fields: dict[str, object] = {"duration_ms": round(duration_s * 1000, 3)}
    if rpc.reason:
        fields["reason"] = rpc.reason
    if rpc.principal is not None:
        fields["principal"] = rpc.principal.credential
    return fields
