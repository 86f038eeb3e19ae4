"""Export over OTLP/gRPC to a real receiver, and what is not even imported without it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.trace import SpanKind

from mesh.telemetry.otlp import meter_provider
from mesh.telemetry.settings import TelemetrySettings
from mesh.telemetry.traces import configure_tracing, process_tracing, use_tracing

ROOT = Path(__file__).parents[3]


class Collector(trace_service_pb2_grpc.TraceServiceServicer, metrics_service_pb2_grpc.MetricsServiceServicer):
    """Keeps what it receives."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.endpoint = ""

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        self.requests.append(request)
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            return trace_service_pb2.ExportTraceServiceResponse()
        return metrics_service_pb2.ExportMetricsServiceResponse()


@pytest.fixture
def collector() -> Iterator[Collector]:
    servicer = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(servicer, server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(servicer, server)
    servicer.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield servicer
    server.stop(None).wait()


def test_sampled_spans_reach_the_receiver_at_the_latest_at_the_end(collector: Collector) -> None:
    before = process_tracing()
    try:
        settings = TelemetrySettings(otlp_endpoint=collector.endpoint, trace_sample_ratio=1.0)
        tracing = configure_tracing("engine", settings)
        assert tracing is process_tracing()
        assert tracing.samples_new_trace()
        span = tracing.start_span("turn", SpanKind.SERVER, None, {"a": 1})
        assert span is not None
        span.end()
        tracing.shutdown()
    finally:
        use_tracing(before)
    (request,) = collector.requests
    resource = request.resource_spans[0]
    assert resource.scope_spans[0].spans[0].name == "turn"
    names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
    assert names["service.name"] == "engine"


def test_metrics_reach_the_receiver_at_the_latest_at_the_end(collector: Collector) -> None:
    provider = meter_provider("engine", TelemetrySettings(otlp_endpoint=collector.endpoint))
    provider.get_meter("tests").create_counter("turns").add(3)
    provider.shutdown()
    metric = collector.requests[-1].resource_metrics[0].scope_metrics[0].metrics[0]
    assert (metric.name, metric.sum.data_points[0].as_int) == ("turns", 3)


def test_server_without_an_endpoint_imports_neither_sdk_nor_exporter() -> None:
    script = """
import sys
from mesh.runtime.serve import serve
from mesh.rpc.server import MeshServer
from mesh.rpc.channel import connect
from mesh.telemetry.process import Telemetry
from mesh.telemetry.settings import TelemetrySettings
Telemetry("engine", TelemetrySettings())
print([name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))])
"""
    path = f"{ROOT}:{ROOT / 'gen'}"
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
