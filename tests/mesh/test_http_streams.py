"""Streams that break: clients that leave, servers that stop, time that runs out (G17)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from gateway.http.limits import HttpLimits
from mesh.models.settings import ModelSettings
from mesh.testing.postgres import MeshDatabase
from tests.mesh.harness import Event, Mesh, MeshOptions, Person, events_of, running_mesh, text_of
from tests.mesh.mesh_gemini import MeshGemini
from tests.wire.steps import Say

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRIES = 1000
"""How often, 10 ms apart, a test looks for what must happen soon."""

ANSWER = ("One ", "two ", "three.")


@pytest.fixture(scope="module")
def gated() -> Iterator[MeshGemini]:
    with MeshGemini() as fake:
        yield fake


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(module_mesh_database: MeshDatabase, socket_directory: Path, gated: MeshGemini) -> AsyncIterator[Mesh]:
    async with running_mesh(module_mesh_database, socket_directory, options(gated)) as running:
        yield running


@pytest.fixture(autouse=True)
def shut_gate(gated: MeshGemini) -> Iterator[None]:
    gated.reset()
    gated.shut()
    yield
    gated.open()


def options(gated: MeshGemini) -> MeshOptions:
    models = ModelSettings(
        provider="gemini",
        embedder="gemini",
        gemini_api_key="test-key",
        gemini_base_url=gated.base_url,
        stall_timeout_s=20,
    )
    return MeshOptions(models=models, http=HttpLimits(heartbeat_s=0.05))


async def begun(person: Person, gated: MeshGemini, session: str, **more: Any) -> AsyncIterator[Event]:
    """Return the rest of a stream that has come as far as its first delta."""
    gated.conduct.answers["count"] = "".join(ANSWER)
    stream = person.stream(session, "count", **more)
    async for event in stream:
        if event.name == "delta":
            return stream
    raise AssertionError("the stream ended without a delta")


async def only_turn(person: Person, session: str) -> Any:
    return (await person.get(f"/v1/sessions/{session}/turns"))["turns"][0]


async def settled(person: Person, session: str) -> Any:
    """Return the session's only turn once it does not run any more."""
    for _ in range(TRIES):
        turn = await only_turn(person, session)
        if turn["state"] != "RUNNING":
            return turn
        await asyncio.sleep(0.01)
    raise AssertionError("the turn runs on")


def work_of_requests() -> set[str]:
    """Return what requests have running in the gateway now, by name of the coroutine."""
    lasting = {"HttpServer.serve", "_Embedded.serve"}
    names = set()
    for task in asyncio.all_tasks():
        code = getattr(task.get_coro(), "cr_code", None) or getattr(task.get_coro(), "ag_code", None)
        if code is not None and "/gateway/" in code.co_filename and code.co_qualname not in lasting:
            names.add(code.co_qualname)
    return names


async def no_work_left() -> None:
    for _ in range(TRIES):
        if not work_of_requests():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"still at work: {work_of_requests()}")


async def test_g17_a_client_that_leaves_loses_no_turn_and_leaves_no_work(mesh: Mesh, gated: MeshGemini) -> None:
    person = mesh.person()
    session = await person.new_session()
    stream = await begun(person, gated, session)
    assert (await only_turn(person, session))["state"] == "RUNNING"
    assert work_of_requests()
    await stream.aclose()  # type: ignore[attr-defined]
    await no_work_left()
    assert (await only_turn(person, session))["state"] == "RUNNING"
    gated.open()
    turn = await settled(person, session)
    assert (turn["state"], turn["assistantText"]) == ("COMMITTED", "".join(ANSWER))


async def test_a_turn_that_was_left_is_streamed_again_by_its_request_id(mesh: Mesh, gated: MeshGemini) -> None:
    person = mesh.person()
    session = await person.new_session()
    request_id = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"
    stream = await begun(person, gated, session, requestId=request_id)
    await stream.aclose()  # type: ignore[attr-defined]
    gated.open()
    await settled(person, session)
    events = await person.say(session, "count", requestId=request_id)
    assert text_of(events) == "".join(ANSWER)
    assert events[-1].name == "committed"
    assert len((await person.get(f"/v1/sessions/{session}/turns"))["turns"]) == 1


async def test_a_silent_stream_sends_heartbeats(mesh: Mesh, gated: MeshGemini) -> None:
    person = mesh.person()
    session = await person.new_session()
    gated.conduct.answers["count"] = "".join(ANSWER)
    lines: list[str] = []
    path = f"/v1/sessions/{session}:converse"
    async with mesh.http.stream("POST", path, json={"text": "count"}, headers=dict(person.headers)) as answer:
        async for line in answer.aiter_lines():
            lines.append(line)
            if lines.count(": keep-alive") == 3:
                gated.open()
    assert lines.count(": keep-alive") >= 3
    assert "event: committed" in lines


async def test_a_second_message_is_refused_while_a_turn_runs(mesh: Mesh, gated: MeshGemini) -> None:
    person = mesh.person()
    session = await person.new_session()
    stream = await begun(person, gated, session)
    answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "and?"})
    problem = answer.json()
    assert (answer.status_code, problem["reason"]) == (409, "TURN_IN_PROGRESS")
    assert problem["metadata"]["turn_id"] == (await only_turn(person, session))["id"]
    gated.open()
    assert [event.name async for event in stream][-1] == "committed"


async def test_time_that_runs_out_ends_the_stream_and_not_the_turn(mesh: Mesh, gated: MeshGemini) -> None:
    person = mesh.person()
    session = await person.new_session()
    gated.conduct.answers["count"] = "".join(ANSWER)
    headers = {**person.headers, "X-Request-Timeout-Ms": "1500"}
    path = f"/v1/sessions/{session}:converse"
    async with mesh.http.stream("POST", path, json={"text": "count"}, headers=headers) as answer:
        events = [event async for event in events_of(answer)]
    assert [event.name for event in events][:1] == ["session_start"]
    assert events[-1].name == "error"
    assert events[-1].data["error"]["reason"] == "DEADLINE_EXCEEDED"
    gated.open()
    assert (await settled(person, session))["state"] == "COMMITTED"


async def test_time_that_runs_out_before_the_first_event_is_504(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    headers = {"X-Request-Timeout-Ms": "51"}
    answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "x"}, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (504, "DEADLINE_EXCEEDED")


@pytest.mark.parametrize("stopped", ["engine", "gateway"])
async def test_a_server_that_stops_ends_every_stream_with_one_error(
    mesh_database: MeshDatabase, tmp_path_factory: pytest.TempPathFactory, gated: MeshGemini, stopped: str
) -> None:
    directory = tmp_path_factory.mktemp("s")
    async with running_mesh(mesh_database, directory, options(gated)) as stopping:
        person = stopping.person()
        session = await person.new_session()
        stream = await begun(person, gated, session)
        rest = asyncio.ensure_future(_collected(stream))
        await getattr(stopping, stopped).stop(0.3)
        events = await rest
        assert [event.name for event in events] == ["error"]
        assert events[-1].data["error"]["retryable"] is True


async def test_many_streams_at_once_leave_nothing(mesh: Mesh, gated: MeshGemini) -> None:
    gated.open()
    people = [mesh.person() for _ in range(10)]
    sessions = [await person.new_session() for person in people]
    streams = [person.say(session, "hello") for person, session in zip(people, sessions, strict=True)]
    for events in await asyncio.gather(*streams):
        assert events[-1].name == "committed"
    await no_work_left()


async def test_a_reader_that_stops_reading_does_not_hold_the_turn(mesh: Mesh, gated: MeshGemini) -> None:
    gated.open()
    gated.script(Say(tuple("x" * 1000 for _ in range(260))))
    person = mesh.person()
    session = await person.new_session()
    reader, writer = await asyncio.open_connection("127.0.0.1", mesh.http.base_url.port, limit=1024)
    body = b'{"text":"tell me everything"}'
    head = (
        f"POST /v1/sessions/{session}:converse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"X-User-ID: {person.headers['X-User-ID']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert (await settled(person, session))["state"] == "COMMITTED"
    writer.close()


async def _collected(stream: AsyncIterator[Event]) -> list[Event]:
    """Return the events of a stream without its deltas; one whose connection broke ends with `broken`."""
    events: list[Event] = []
    try:
        async for event in stream:
            events += [event] if event.name != "delta" else []
    except httpx.RemoteProtocolError:
        events.append(Event("", "broken", {}))
    return events
