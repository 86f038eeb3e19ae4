"""Metrics: OpenTelemetry instruments that cost next to nothing until an endpoint is configured.

Names and attributes follow OpenTelemetry's semantic conventions for RPC. Instruments come from OpenTelemetry's global
meter, which hands out placeholders until `configure_metrics` installs a provider, so they may be made early.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from opentelemetry import metrics

from mesh.telemetry.settings import TelemetrySettings
from mesh.telemetry.traces import otlp

_BUCKETS_MS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000)


class RpcMeter:
    """Duration and number of calls, for the served or for the calling side.

    Source: OpenTelemetry semantic conventions, `rpc.server.duration` and `rpc.client.duration` in milliseconds.
    """

    def __init__(self, side: Literal["server", "client"]) -> None:
        meter = metrics.get_meter("mnemesh")
        self.duration = meter.create_histogram(
            f"rpc.{side}.duration", "ms", "Duration of calls.", explicit_bucket_boundaries_advisory=_BUCKETS_MS
        )
        self.active = meter.create_up_down_counter(f"rpc.{side}.active_requests", "{request}", "Calls in progress.")

    def of(self, path: str) -> MethodMeter:
        """Return the measurements of one method, `/package.Service/Method`."""
        return MethodMeter(self, path)


class MethodMeter:
    """Measurements of one method; its attributes are made once."""

    def __init__(self, meter: RpcMeter, path: str) -> None:
        _, service, method = path.split("/", 2)
        self._meter = meter
        self._attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
        self._by_code: dict[int, dict[str, str | int]] = {}

    def started(self) -> None:
        """Count a call that begins."""
        self._meter.active.add(1, self._attributes)

    def finished(self, duration_s: float, code: int) -> None:
        """Count a call that ended with a canonical status code."""
        attributes = self._by_code.get(code)
        if attributes is None:
            attributes = self._by_code[code] = {**self._attributes, "rpc.grpc.status_code": code}
        self._meter.duration.record(duration_s * 1000, attributes)
        self._meter.active.add(-1, self._attributes)


def configure_metrics(service: str, settings: TelemetrySettings) -> Callable[[], None]:
    """Export metrics when an OTLP endpoint is set.

    Returns:
        What sends the rest and stops; it blocks for at most 5 seconds.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, an endpoint is set and the `otlp` extra is not installed.
    """
    if not settings.otlp_endpoint:
        return lambda: None
    provider = otlp().meter_provider(service, settings)
    metrics.set_meter_provider(provider)
    return lambda: provider.shutdown(timeout_millis=5000)
