"""Measurements of calls."""

from __future__ import annotations

import pytest
from opentelemetry import metrics
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from mesh.telemetry.metrics import RpcMeter, configure_metrics
from mesh.telemetry.settings import TelemetrySettings

PATH = "/mnemesh.memory.v1.FactService/GetFact"
CALL = {"rpc.system": "grpc", "rpc.service": "mnemesh.memory.v1.FactService", "rpc.method": "GetFact"}


def test_duration_is_in_milliseconds_by_method_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    meter = RpcMeter("server").of(PATH)
    for duration_s, code in ((0.002, 0), (0.004, 0), (0.5, 14)):
        meter.started()
        meter.finished(duration_s, code)
    meter.started()
    data = reader.get_metrics_data()
    assert data is not None
    by_name = {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    duration, active = by_name["rpc.server.duration"], by_name["rpc.server.active_requests"]
    assert duration.unit == "ms"
    points = {point.attributes["rpc.grpc.status_code"]: point for point in duration.data.data_points}  # type: ignore[index]
    assert points[0].attributes == {**CALL, "rpc.grpc.status_code": 0}
    assert (points[0].count, points[0].sum) == (2, 6.0)  # type: ignore[union-attr]
    assert points[14].sum == 500.0  # type: ignore[union-attr]
    assert [(point.attributes, point.value) for point in active.data.data_points] == [(CALL, 1)]  # type: ignore[union-attr]


def test_nothing_is_configured_without_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(provider: object) -> None:
        raise AssertionError("no provider may be set")

    monkeypatch.setattr(metrics, "set_meter_provider", refuse)
    configure_metrics("engine", TelemetrySettings())()


def test_measuring_without_a_provider_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "get_meter", NoOpMeterProvider().get_meter)
    meter = RpcMeter("client").of(PATH)
    meter.started()
    meter.finished(0.1, 0)
