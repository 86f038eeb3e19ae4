"""Export over OTLP/gRPC, with the `otlp` extra. Imported only when an endpoint is configured."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from mesh.telemetry.settings import TelemetrySettings


def tracer_provider(service: str, settings: TelemetrySettings) -> TracerProvider:
    """Return a provider that sends spans in batches."""
    provider = TracerProvider(resource=_resource(service), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=settings.otlp_endpoint, insecure=_is_plain(settings.otlp_endpoint))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def meter_provider(service: str, settings: TelemetrySettings) -> MeterProvider:
    """Return a provider that sends metrics at an interval."""
    exporter = OTLPMetricExporter(endpoint=settings.otlp_endpoint, insecure=_is_plain(settings.otlp_endpoint))
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=settings.metrics_interval_s * 1000)
    return MeterProvider(metric_readers=[reader], resource=_resource(service), shutdown_on_exit=False)


def _resource(service: str) -> Resource:
    return Resource.create({"service.name": service})


def _is_plain(endpoint: str) -> bool:
    return not endpoint.startswith("https://")
