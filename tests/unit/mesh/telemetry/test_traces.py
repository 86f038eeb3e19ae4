"""Spans exist only in sampled traces, and what is configured is what is used."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mesh.kernel.errors import FailedPrecondition
from mesh.telemetry.context import TRACE, TraceContext
from mesh.telemetry.process import Telemetry
from mesh.telemetry.settings import TelemetrySettings
from mesh.telemetry.traces import Tracing, configure_tracing, process_tracing, use_tracing

SAMPLED = TraceContext("a" * 32, "b" * 16, sampled=True)


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter: InMemorySpanExporter) -> Tracing:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider.get_tracer("tests"))


@pytest.fixture(autouse=True)
def _process_tracing_comes_back() -> Iterator[None]:
    before = process_tracing()
    yield
    use_tracing(before)


def test_step_outside_of_a_sampled_trace_records_nothing(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    for here in (None, TraceContext("a" * 32, "b" * 16, sampled=False)):
        token = TRACE.set(here)
        with tracing.span("step") as span:
            assert span is None
            assert TRACE.get() is here
        TRACE.reset(token)
    assert exporter.get_finished_spans() == ()


def test_steps_nest_and_the_position_comes_back(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    token = TRACE.set(SAMPLED)
    with tracing.span("outer"), tracing.span("inner"):
        pass
    assert TRACE.get() is SAMPLED
    TRACE.reset(token)
    inner, outer = exporter.get_finished_spans()
    assert inner.parent is not None
    assert outer.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert f"{outer.parent.span_id:016x}" == SAMPLED.span_id


def test_failed_step_says_what_kind_of_error_and_not_its_text(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    token = TRACE.set(SAMPLED)
    with pytest.raises(ValueError, match="secret"), tracing.span("step"):
        raise ValueError("secret words")
    TRACE.reset(token)
    (span,) = exporter.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ValueError")
    assert "secret" not in span.to_json()


def test_tracing_without_a_recorder_makes_no_span_even_in_a_sampled_trace() -> None:
    assert Tracing().start_span("x", SpanKind.SERVER, SAMPLED, {}) is None
    assert not Tracing(sample_ratio=1.0).samples_new_trace()


def test_nothing_is_configured_without_an_endpoint() -> None:
    before = process_tracing()
    assert configure_tracing("engine", TelemetrySettings()) is before


def test_endpoint_without_the_extra_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mesh.telemetry.otlp", None)
    settings = TelemetrySettings(otlp_endpoint="http://127.0.0.1:4317")
    with pytest.raises(FailedPrecondition, match=r"pip install 'mnemesh\[otlp\]'"):
        Telemetry("engine", settings)


@pytest.mark.parametrize(
    "wrong",
    [{"trace_sample_ratio": -0.1}, {"trace_sample_ratio": 1.1}, {"metrics_interval_s": 0}, {"stall_threshold_s": -1}],
)
def test_settings_have_bounds(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="MNEMESH_"):
        TelemetrySettings(**wrong)  # type: ignore[arg-type]
