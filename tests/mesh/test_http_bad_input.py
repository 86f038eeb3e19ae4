"""Bad input to a whole mesh, over HTTP and over gRPC: status, reason and field; never INTERNAL."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest

from gateway.example_avatars import MIA
from tests.contract.gateway.callers import Caller, GrpcCaller, HttpCaller, Refused
from tests.mesh.harness import Mesh

pytestmark = pytest.mark.asyncio(loop_scope="module")

ID = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a001"
FACT = {"key": "home_city", "value": "Lviv"}
MESSAGE = {"sourceId": "m1", "text": "hi", "sentTime": "2026-12-01T09:00:00Z"}

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("RememberFacts", {"facts": []}, "INVALID_REQUEST", "facts"),
    ("RememberFacts", {"facts": [{**FACT, "key": "Home City"}]}, "INVALID_REQUEST", "facts[0].key"),
    ("RememberFacts", {"facts": [FACT, {**FACT, "value": "a\0"}]}, "TEXT_NOT_STORABLE", "facts[1].value"),
    ("RememberFacts", {"facts": [{**FACT, "confidence": 1.5}]}, "INVALID_REQUEST", "facts[0].confidence"),
    ("RememberFacts", {"facts": [FACT], "avatarId": "x"}, "INVALID_REQUEST", "avatarId"),
    ("RememberFacts", {"facts": [FACT], "requestId": "x"}, "INVALID_REQUEST", "requestId"),
    ("GetFact", {"id": "x"}, "INVALID_REQUEST", "id"),
    ("ListFacts", {"pageSize": -1}, "INVALID_REQUEST", "pageSize"),
    ("ListFacts", {"pageToken": "x"}, "PAGE_TOKEN_INVALID", "pageToken"),
    ("DeleteFact", {"id": "x"}, "INVALID_REQUEST", "id"),
    ("Recall", {"query": ""}, "INVALID_REQUEST", "query"),
    ("Recall", {"query": "x", "limit": 101}, "INVALID_REQUEST", "limit"),
    ("Recall", {"query": "x", "kinds": [0]}, "INVALID_REQUEST", "kinds[0]"),
    ("Recall", {"query": "x" * 10_000_000}, "INVALID_REQUEST", "query"),
    ("SearchChunks", {"query": "x", "dialogKey": "a b"}, "INVALID_REQUEST", "dialogKey"),
    ("IngestDialog", {"messages": []}, "INVALID_REQUEST", "messages"),
    ("IngestDialog", {"messages": [{**MESSAGE, "text": "x" * 8001}]}, "INVALID_REQUEST", "messages[0].text"),
    ("IngestDialog", {"messages": [MESSAGE, MESSAGE]}, "INVALID_REQUEST", "messages"),
    ("ListTurns", {"sessionId": "x"}, "INVALID_REQUEST", "sessionId"),
]


def callers(mesh: Mesh) -> list[Caller]:
    return [GrpcCaller(mesh.grpc), HttpCaller(mesh.http)]


@pytest.mark.parametrize(("rpc", "request_", "reason", "field"), CASES, ids=lambda value: str(value)[:40])
async def test_a_bad_request_names_its_field(
    mesh: Mesh, rpc: str, request_: dict[str, Any], reason: str, field: str
) -> None:
    for caller in callers(mesh):
        with pytest.raises(Refused) as refused:
            await caller(rpc, **request_)
        assert (refused.value.status, refused.value.reason, refused.value.fields[:1]) == (400, reason, [field])


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({}, "INVALID_REQUEST", "text"),
        ({"text": "  \n"}, "INVALID_REQUEST", "text"),
        ({"text": "a\0b"}, "TEXT_NOT_STORABLE", "text"),
        ({"text": "x" * 10_000_000}, "INVALID_REQUEST", "text"),
        ({"text": "x", "requestId": "1"}, "INVALID_REQUEST", "requestId"),
        ({"text": "x", "timeZone": "Europe/Nowhere"}, "INVALID_REQUEST", "timeZone"),
        ({"text": "x", "timeZone": "x" * 65}, "INVALID_REQUEST", "timeZone"),
        ({"text": "x", "txt": "y"}, "INVALID_REQUEST", "txt"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_bad_message_is_refused_before_the_stream_begins(
    mesh: Mesh, body: dict[str, Any], reason: str, field: str
) -> None:
    person = mesh.person()
    session = await person.new_session()
    answer = await person.call("POST", f"/v1/sessions/{session}:converse", json=body)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["reason"]) == (400, reason)
    assert problem["violations"][0]["field"] == field
    assert (await person.get(f"/v1/sessions/{session}/turns"))["turns"] == []


async def test_a_message_over_16_mib_is_413(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "x" * 17_000_000})
    assert (answer.status_code, answer.json()["reason"]) == (413, "MESSAGE_TOO_LARGE")


async def test_half_of_a_surrogate_pair_is_no_text(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    answer = await person.call(
        "POST",
        f"/v1/sessions/{session}:converse",
        content=b'{"text":"\\ud83d"}',
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json()["reason"]) == (400, "TEXT_NOT_STORABLE")
    assert answer.json()["violations"][0]["field"] == "text"


async def test_a_session_that_is_not_there_or_is_deleted_cannot_be_talked_in(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    await person.call("DELETE", f"/v1/sessions/{session}")
    for missing in (session, str(uuid.uuid4())):
        answer = await person.call("POST", f"/v1/sessions/{missing}:converse", json={"text": "x"})
        assert (answer.status_code, answer.json()["reason"]) == (404, "SESSION_NOT_FOUND")
    answer = await person.call("POST", "/v1/sessions/1:converse", json={"text": "x"})
    assert (answer.status_code, answer.json()["violations"][0]["field"]) == (400, "sessionId")


async def test_an_avatar_that_went_away_or_breaks_a_limit_is_told(mesh: Mesh) -> None:
    person = mesh.person()
    uid = str(uuid.uuid4())
    with psycopg.connect(mesh.database.admin_url, autocommit=True) as connection:
        connection.execute(
            "insert into ml.avatars (uid, avatar_id, system_prompt) values (%s, 'long', repeat('x', 70000))", (uid,)
        )
        session = await person.new_session(uid)
        answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "x"})
        assert (answer.status_code, answer.json()["reason"]) == (500, "CONFIGURATION_INVALID")
        assert "system_prompt" in answer.json()["detail"]
        connection.execute("delete from ml.avatars where uid = %s", (uid,))
    answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "x"})
    assert (answer.status_code, answer.json()["reason"]) == (404, "AVATAR_NOT_FOUND")


async def test_facts_that_are_not_there(mesh: Mesh) -> None:
    for caller in callers(mesh):
        for rpc in ("GetFact", "DeleteFact"):
            with pytest.raises(Refused) as refused:
                await caller(rpc, id=ID)
            assert (refused.value.status, refused.value.reason) == (404, "FACT_NOT_FOUND")


async def test_both_ways_in_give_the_same_answers(mesh: Mesh) -> None:
    user = str(uuid.uuid4())
    over_grpc, over_http = (caller.acting(user_id=user) for caller in callers(mesh))
    session = (await over_grpc("CreateSession", avatarId=MIA.uid))["session"]["id"]
    await over_http("RememberFacts", facts=[FACT], avatarId=MIA.uid)
    for rpc, request in (
        ("GetSession", {"id": session}),
        ("ListSessions", {}),
        ("ListFacts", {}),
        ("ListAvatars", {}),
        ("ListTurns", {"sessionId": session}),
    ):
        assert await over_grpc(rpc, **request) == await over_http(rpc, **request)
