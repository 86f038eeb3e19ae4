"""A person talks over HTTP; what was said is remembered in the next session, and by nobody else."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pytest

from gateway.example_avatars import OSTAP
from tests.mesh.harness import Mesh, text_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

THREE_THINGS = (
    "I live in Lviv and I work as a nurse.",
    "My dog is called Biscuit.",
    "I am allergic to peanuts.",
)


async def test_what_was_told_in_one_session_is_used_in_the_next(mesh: Mesh) -> None:
    olena = mesh.person()
    first = await olena.new_session()
    for thing in THREE_THINGS:
        events = await olena.say(first, thing)
        assert events[-1].name == "committed"
    await mesh.learn()
    facts = (await olena.get("/v1/memory/facts"))["facts"]
    assert {"Lviv", "Biscuit"} <= {fact["value"] for fact in facts}
    second = await olena.new_session()
    for question, expected in (("Where do I live?", "Lviv"), ("What is my dog called?", "Biscuit")):
        events = await olena.say(second, question)
        assert expected in text_of(events)
        context = next(event.data["context"] for event in events if event.name == "context")
        assert context["skipped"] == []
        assert expected in json.dumps(context, ensure_ascii=False)
    turns = (await olena.get(f"/v1/sessions/{second}/turns"))["turns"]
    assert [turn["userText"] for turn in turns] == ["What is my dog called?", "Where do I live?"]
    assert {turn["state"] for turn in turns} == {"COMMITTED"}


async def test_the_stream_of_a_turn(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    events = await person.say(session, "My cat is called Murko.", timeZone="Europe/Kyiv")
    names = [event.name for event in events]
    assert names[:2] == ["session_start", "context"]
    assert set(names[2:-2]) == {"delta"}
    assert names[-2:] == ["usage", "committed"]
    assert [event.id for event in events] == [f"1.{number}" for number in range(len(events))]
    assert [list(event.data) for event in events[:2]] == [["sessionStart"], ["context"]]
    start = events[0].data["sessionStart"]
    assert start["sessionId"] == session
    assert start["avatarSlug"] == "mia"
    assert start["replayed"] is False
    assert start["model"]["provider"] == "builtin"
    assert abs((datetime.fromisoformat(start["acceptTime"]) - datetime.now(UTC)).total_seconds()) < 60
    committed = events[-1].data["committed"]
    assert committed["turnId"] == start["turnId"]
    turn = (await person.get(f"/v1/sessions/{session}/turns/{start['turnId']}"))["turn"]
    assert turn["assistantText"] == text_of(events)
    assert turn["assistantSeq"] == committed["seq"]


async def test_a_stream_as_lines_of_json(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    for accept in ("application/x-ndjson", "application/json"):
        answer = await person.call(
            "POST", f"/v1/sessions/{session}:converse", json={"text": "hello"}, headers={"Accept": accept}
        )
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert [line["cursor"]["sequence"] for line in lines] == [str(number) for number in range(len(lines))]
        assert "sessionStart" in lines[0]
        assert "committed" in lines[-1]


async def test_a_repeated_request_streams_the_same_turn_and_stores_nothing(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    request_id = str(uuid.uuid4())
    first = await person.say(session, "My sister lives in Odesa.", requestId=request_id)
    again = await person.say(session, "My sister lives in Odesa.", requestId=request_id)
    assert again[0].data["sessionStart"]["replayed"] is True
    assert again[-1].data["committed"]["turnId"] == first[-1].data["committed"]["turnId"]
    assert text_of(again) == text_of(first)
    assert len((await person.get(f"/v1/sessions/{session}/turns"))["turns"]) == 1
    other = await person.call(
        "POST", f"/v1/sessions/{session}:converse", json={"text": "another", "requestId": request_id}
    )
    assert (other.status_code, other.json()["reason"]) == (400, "REQUEST_ID_REUSED")


async def test_the_idempotency_key_of_a_turn(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    headers = {"Idempotency-Key": str(uuid.uuid4()), "Accept": "application/x-ndjson"}
    for _ in range(2):
        answer = await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "hello"}, headers=headers)
        assert answer.status_code == 200
    assert len((await person.get(f"/v1/sessions/{session}/turns"))["turns"]) == 1


async def test_a_session_in_which_nothing_was_said_has_no_turns(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    assert await person.get(f"/v1/sessions/{session}/turns") == {"turns": [], "nextPageToken": ""}
    missing = await person.call("GET", f"/v1/sessions/{session}/turns/{uuid.uuid4()}")
    assert (missing.status_code, missing.json()["reason"]) == (404, "TURN_NOT_FOUND")


async def test_turns_are_listed_in_pages(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session()
    for number in range(3):
        await person.say(session, f"message {number}")
    first = await person.get(f"/v1/sessions/{session}/turns", pageSize=2)
    rest = await person.get(f"/v1/sessions/{session}/turns", pageSize=2, pageToken=first["nextPageToken"])
    said = [turn["userText"] for turn in first["turns"] + rest["turns"]]
    assert said == ["message 2", "message 1", "message 0"]


async def test_a_fact_is_stated_listed_and_deleted(mesh: Mesh) -> None:
    person = mesh.person()
    stated = await person.post("/v1/memory/facts", facts=[{"key": "home_city", "value": "Lviv", "kind": "FACT"}])
    fact = stated["results"][0]["fact"]
    assert (stated["results"][0]["outcome"], fact["trust"], fact["status"]) == ("CREATED", "USER_SAID", "ACTIVE")
    assert (await person.get(f"/v1/memory/facts/{fact['id']}"))["fact"] == fact
    found = await person.post("/v1/memory:recall", query="where is my home city?", explain=True)
    assert found["results"][0]["fact"]["value"] == "Lviv"
    deleted = await person.call("DELETE", f"/v1/memory/facts/{fact['id']}", params={"deleteEvidence": "true"})
    assert deleted.json()["fact"]["status"] == "DELETED"
    assert (await person.get("/v1/memory/facts"))["facts"] == []
    kept = await person.get("/v1/memory/facts", statuses=["DELETED", "FACT_STATUS_SUPERSEDED"])
    assert [one["id"] for one in kept["facts"]] == [fact["id"]]


async def test_ready_when_everything_is(mesh: Mesh) -> None:
    answer = await mesh.http.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")


async def test_avatars_answer_as_themselves(mesh: Mesh) -> None:
    person = mesh.person()
    session = await person.new_session(OSTAP.uid)
    start = (await person.say(session, "hello"))[0].data["sessionStart"]
    assert (start["avatarSlug"], start["avatarName"]) == ("ostap", "Ostap")
