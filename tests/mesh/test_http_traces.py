"""One trace, and one request id, through every server that a turn passes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mesh.telemetry.context import REQUEST_ID
from mesh.telemetry.traces import Tracing, process_tracing, use_tracing
from mesh.testing.postgres import MeshDatabase
from tests.mesh.harness import Mesh, MeshOptions, running_mesh

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(scope="module")
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = process_tracing()
    use_tracing(Tracing(provider.get_tracer("test")))
    yield exporter
    use_tracing(before)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(
    module_mesh_database: MeshDatabase, socket_directory: Path, spans: InMemorySpanExporter
) -> AsyncIterator[Mesh]:
    async with running_mesh(module_mesh_database, socket_directory, MeshOptions()) as running:
        yield running


async def finished(spans: InMemorySpanExporter, last: str) -> Sequence[ReadableSpan]:
    """Return the finished spans once one is among them; the edge ends its span after the last byte was sent."""
    for _ in range(500):
        found = spans.get_finished_spans()
        if last in {span.name for span in found}:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"no span {last}")


async def test_a_sampled_turn_is_one_trace_through_three_servers(mesh: Mesh, spans: InMemorySpanExporter) -> None:
    person = mesh.person()
    session = await person.new_session()
    spans.clear()
    headers = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
    answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "hello"}, headers=headers)
    assert answer.status_code == 200
    found = await finished(spans, "POST /v1/sessions/{session_id}:converse")
    assert {f"{span.context.trace_id:032x}" for span in found} == {TRACE_ID}
    served = [span.name for span in found if span.kind.name == "SERVER"]
    assert set(served) == {
        "POST /v1/sessions/{session_id}:converse",
        "mnemesh.gateway.v1.ChatService/Converse",
        "mnemesh.conversation.v1.ConversationService/Converse",
        "mnemesh.memory.v1.RecallService/Recall",
    }
    by_id = {span.context.span_id: span for span in found}
    roots = [span.name for span in found if span.parent is not None and span.parent.span_id not in by_id]
    assert roots == ["POST /v1/sessions/{session_id}:converse"]


async def test_an_unsampled_turn_records_nothing(mesh: Mesh, spans: InMemorySpanExporter) -> None:
    person = mesh.person()
    session = await person.new_session()
    spans.clear()
    headers = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-00"}
    await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "hello"}, headers=headers)
    assert spans.get_finished_spans() == ()


async def test_one_request_id_is_in_the_logs_of_every_server(mesh: Mesh, caplog: pytest.LogCaptureFixture) -> None:
    seen: set[tuple[str, str]] = set()

    class Noting(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            seen.add((REQUEST_ID.get(), record.getMessage().split()[0]))
            return True

    noting = Noting()
    with caplog.at_level(logging.DEBUG, "mesh.rpc.access"):
        logging.getLogger("mesh.rpc.access").addFilter(noting)
        person = mesh.person()
        session = await person.new_session()
        headers = {"X-Request-Id": "trace-me-7"}
        await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "hello"}, headers=headers)
        logging.getLogger("mesh.rpc.access").removeFilter(noting)
    assert {method for request_id, method in seen if request_id == "trace-me-7"} == {
        "/mnemesh.gateway.v1.ChatService/Converse",
        "/mnemesh.conversation.v1.ConversationService/Converse",
        "/mnemesh.memory.v1.RecallService/Recall",
    }
