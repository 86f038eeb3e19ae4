"""Traces: W3C trace context is always passed on; spans exist only in traces that are sampled.

OpenTelemetry's stock gRPC instrumentation costs about 0.2 ms a span, sampled or not. Here an unsampled call costs one
parsed header: the decision is read from the caller's `traceparent`, or drawn once for a call that starts a trace, and
nothing else happens. `configure_tracing` sets what the process records; without it, positions are passed on unchanged.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TraceFlags, Tracer

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.telemetry.context import TRACE, TraceContext, new_trace
from mesh.telemetry.settings import TelemetrySettings

Attributes = Mapping[str, str | float | bool]


class Tracing:
    """Starts spans of sampled traces.

    Args:
        tracer: records spans; None records none and leaves other servers' decisions as they are.
        sample_ratio: share of traces that start here and are recorded, 0 to 1.
        shutdown: sends what is left and stops.
    """

    def __init__(
        self,
        tracer: Tracer | None = None,
        sample_ratio: float = 0.0,
        shutdown: Callable[[], None] = lambda: None,
    ) -> None:
        self._tracer = tracer
        self._sample_ratio = sample_ratio
        self.shutdown = shutdown

    def samples_new_trace(self) -> bool:
        """Decide whether a trace that starts here is recorded."""
        return self._tracer is not None and random.random() < self._sample_ratio  # noqa: S311 - no secret

    def start_span(self, name: str, kind: SpanKind, parent: TraceContext | None, attributes: Attributes) -> Span | None:
        """Return a new span, to be ended by the caller, or None when nothing is recorded.

        Args:
            name: low-cardinality name, such as `mnemesh.memory.v1.FactService/GetFact`.
            kind: its place between processes.
            parent: the position it continues; None starts a sampled trace.
            attributes: what is known at the start.
        """
        if self._tracer is None or (parent is not None and not parent.sampled):
            return None
        return self._tracer.start_span(name, context=_parent_context(parent), kind=kind, attributes=attributes)

    @contextmanager
    def span(self, name: str, **attributes: str | float | bool) -> Iterator[Span | None]:
        """Record a step of the current sampled trace; outside of one it costs two look-ups and yields None."""
        here = TRACE.get()
        span = None if here is None else self.start_span(name, SpanKind.INTERNAL, here, attributes)
        if span is None:
            yield None
            return
        token = TRACE.set(position(span))
        try:
            yield span
        except BaseException as error:
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise
        finally:
            TRACE.reset(token)
            span.end()


def continue_trace(tracing: Tracing, parent: TraceContext | None) -> tuple[TraceContext | None, bool]:
    """Return the position that a call starts from, and whether it is to be recorded.

    A call without a parent starts a trace: sampled, its first span will name it, so the position is None.
    """
    if parent is not None:
        return parent, parent.sampled
    if tracing.samples_new_trace():
        return None, True
    return new_trace(sampled=False), False


def position(span: Span) -> TraceContext:
    """Return the position of what happens inside a span."""
    context = span.get_span_context()
    return TraceContext(f"{context.trace_id:032x}", f"{context.span_id:016x}", context.trace_flags.sampled)


_process = Tracing()


def process_tracing() -> Tracing:
    """Return the tracing of this process."""
    return _process


def use_tracing(tracing: Tracing) -> None:
    """Make a tracing that of the process: servers and channels built from now on use it."""
    global _process  # noqa: PLW0603 - one per process, as in OpenTelemetry, but replaceable in tests
    _process = tracing


def configure_tracing(service: str, settings: TelemetrySettings) -> Tracing:
    """Set up export of sampled traces when an OTLP endpoint is set, and return the tracing of the process.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, an endpoint is set and the `otlp` extra is not installed.
    """
    if settings.otlp_endpoint:
        provider = otlp().tracer_provider(service, settings)
        use_tracing(Tracing(provider.get_tracer("mnemesh"), settings.trace_sample_ratio, provider.shutdown))
    return _process


def otlp() -> ModuleType:
    """Return the module that exports over OTLP.

    Raises:
        FailedPrecondition: CONFIGURATION_INVALID, the `otlp` extra is not installed.
    """
    try:
        return importlib.import_module("mesh.telemetry.otlp")
    except ImportError:
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID,
            "MNEMESH_OTLP_ENDPOINT is set but the exporter is not installed; run `pip install 'mnemesh[otlp]'`",
        ) from None


def _parent_context(parent: TraceContext | None) -> Context:
    if parent is None:
        return Context()
    context = SpanContext(
        trace_id=int(parent.trace_id, 16),
        span_id=int(parent.span_id, 16),
        is_remote=parent.remote,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(NonRecordingSpan(context), Context())
