"""The same conversation through google-genai, against a server that speaks Gemini's wire format (G11, G18)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import psycopg
import pytest

from tests.mesh.harness import Mesh, text_of
from tests.mesh.mesh_gemini import MeshGemini
from tests.wire.steps import Fail, Raw, Refuse, Say, Stall, Vectors

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(autouse=True)
def well_behaved(gemini: MeshGemini) -> None:
    gemini.reset()


def fact(key: str, value: str, excerpt: str) -> dict[str, Any]:
    return {
        "subject": "user",
        "key": key,
        "value": value,
        "kind": "fact",
        "excerpt": excerpt,
        "confidence": 0.95,
        "multiple": False,
        "valid_from": "",
    }


def asked(gemini: MeshGemini, verb: str) -> list[Any]:
    return [request for request in gemini.requests if f":{verb}" in request.path]


async def test_what_was_told_is_extracted_embedded_and_put_before_the_model(
    gemini_mesh: Mesh, gemini: MeshGemini
) -> None:
    gemini.conduct.facts["I live in Lviv"] = [fact("home_city", "Lviv", "I live in Lviv")]
    gemini.conduct.facts["called Biscuit"] = [fact("pet_dog", "Biscuit", "my dog is called Biscuit")]
    gemini.conduct.watched = ["Lviv", "Biscuit"]
    person = gemini_mesh.person()
    first = await person.new_session()
    for thing in ("I live in Lviv.", "And my dog is called Biscuit.", "It rains."):
        events = await person.say(first, thing)
        assert events[0].data["sessionStart"]["model"] == {"provider": "gemini", "model": "gemini-2.5-flash"}
        assert len([event for event in events if event.name == "delta"]) >= 1
        assert events[-1].data["committed"]["usage"]["measured"] is True
    await gemini_mesh.learn()
    facts = (await person.get("/v1/memory/facts"))["facts"]
    assert {(one["key"], one["value"]) for one in facts} == {("home_city", "Lviv"), ("pet_dog", "Biscuit")}
    second = await person.new_session()
    answer = text_of(await person.say(second, "Where do I live, and how is my dog called?"))
    assert "I remember: Lviv, Biscuit" in answer
    extraction = asked(gemini, "generateContent")[0].body["generationConfig"]
    assert "facts" in json.dumps(extraction.get("responseSchema") or extraction["responseJsonSchema"])
    embedding = asked(gemini, "batchEmbedContents")
    kinds = {part["taskType"] for request in embedding for part in request.body["requests"]}
    assert kinds == {"RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"}
    assert {part["outputDimensionality"] for request in embedding for part in request.body["requests"]} == {768}
    assert all(len(request.body["requests"]) <= 32 for request in embedding)


async def test_an_answer_comes_piece_by_piece(gemini_mesh: Mesh, gemini: MeshGemini) -> None:
    gemini.conduct.answers["tell"] = "One two three, four five six, seven eight nine."
    person = gemini_mesh.person()
    events = await person.say(await person.new_session(), "tell me")
    assert text_of(events) == "One two three, four five six, seven eight nine."
    assert events[-1].data["committed"]["finishReason"] == "stop"


FAILURES = [
    pytest.param(Fail(429, retry_after_s=30), "MODEL_RATE_LIMITED", True, id="429"),
    pytest.param(Fail(503), "MODEL_UNAVAILABLE", True, id="503"),
    pytest.param(Stall(), "MODEL_STALLED", True, id="stalled before the first piece"),
    pytest.param(Say(stall_before=1), "MODEL_STALLED", True, id="stalled in the middle"),
    pytest.param(Say(cut_before=1), "MODEL_UNAVAILABLE", True, id="cut in the middle"),
    pytest.param(Say(garble_before=1), "MODEL_OUTPUT_INVALID", True, id="malformed in the middle"),
    pytest.param(Raw(b"{this is no json"), "MODEL_OUTPUT_INVALID", True, id="malformed as a whole"),
    pytest.param(Refuse(), "MODEL_REFUSED", False, id="refused"),
]


@pytest.mark.parametrize(("step", "reason", "retryable"), FAILURES)
async def test_g11_g18_a_model_that_fails_ends_the_turn_with_one_error_and_one_usage_row(
    gemini_mesh: Mesh, gemini: MeshGemini, step: Any, reason: str, retryable: bool
) -> None:
    person = gemini_mesh.person()
    session = await person.new_session()
    gemini.script_for("streamGenerateContent", step)
    request_id = str(uuid.uuid4())
    events = await person.say(session, "my question", requestId=request_id)
    assert [event.name for event in events].count("error") == 1
    error = events[-1].data["error"]
    assert (events[-1].name, error["reason"], error["retryable"]) == ("error", reason, retryable)
    assert "internal-host" not in json.dumps(error)
    turn = (await person.get(f"/v1/sessions/{session}/turns"))["turns"][0]
    assert (turn["state"], turn["failureReason"]) == ("FAILED", reason)
    assert len(usage_rows(gemini_mesh, turn["id"])) == 1
    again = await person.say(session, "my question", requestId=request_id)
    assert again[-1].name == "committed"
    assert again[-1].data["committed"]["turnId"] == turn["id"]
    rows = usage_rows(gemini_mesh, turn["id"])
    assert len(rows) == 2
    assert len((await person.get(f"/v1/sessions/{session}/turns"))["turns"]) == 1


@pytest.mark.parametrize(
    "step",
    [Fail(503), Raw(b"{"), Say(("not the JSON you asked for",)), Say(('{"facts": "none"}',)), Stall()],
    ids=["503", "malformed", "prose", "wrong types", "stalled"],
)
async def test_g11_extraction_that_fails_is_tried_again_and_is_never_an_empty_success(
    gemini_mesh: Mesh, gemini: MeshGemini, step: Any
) -> None:
    await gemini_mesh.learn()
    gemini.conduct.facts["I live in Lviv"] = [fact("home_city", "Lviv", "I live in Lviv")]
    person = gemini_mesh.person()
    await person.say(await person.new_session(), "I live in Lviv.")
    gemini.script_for("generateContent", *[step] * 5)  # more than one delivery tries
    await gemini_mesh.worker.relay.deliver_due()
    gemini.forget_steps()
    assert (await person.get("/v1/memory/facts"))["facts"] == []
    with psycopg.connect(gemini_mesh.database.admin_url, autocommit=True) as connection:
        waiting = connection.execute("select count(*) from engine.outbox where dead_at is null").fetchone()
        assert waiting == (1,)
        connection.execute("update engine.outbox set available_at = now()")
    await gemini_mesh.learn()
    assert [one["value"] for one in (await person.get("/v1/memory/facts"))["facts"]] == ["Lviv"]


async def test_recall_without_vectors_says_so_and_answers_from_words(gemini_mesh: Mesh, gemini: MeshGemini) -> None:
    person = gemini_mesh.person()
    await person.post("/v1/memory/facts", facts=[{"key": "home_city", "value": "Lviv"}])
    for step in (Fail(503), Vectors(size=3), Vectors(value="x")):
        gemini.reset()
        gemini.script_for("batchEmbedContents", step)
        found = await person.post("/v1/memory:recall", query=f"home city {uuid.uuid4()}")
        assert [one["arm"] for one in found["degraded"]] == ["vector"]
        assert found["results"][0]["fact"]["value"] == "Lviv"


def usage_rows(mesh: Mesh, turn_id: str) -> list[Any]:
    with psycopg.connect(mesh.database.admin_url) as connection:
        return connection.execute("select * from engine.token_usage where turn_id = %s", (turn_id,)).fetchall()
