"""Users and tenants see nothing of each other, whichever way they ask (G6)."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from tests.mesh.harness import Mesh, Person, text_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANARY = "Zanzibarium"


async def told(mesh: Mesh, person: Person) -> dict[str, str]:
    """Let a person tell a secret; return the ids of everything that it made."""
    session = await person.new_session()
    events = await person.say(session, f"I live in {CANARY}.")
    await person.post("/v1/memory/facts", facts=[{"key": "secret_word", "value": CANARY}])
    ingested = {"sourceId": "m1", "text": f"The code is {CANARY}.", "sentTime": "2026-12-01T09:00:00Z"}
    await person.post("/v1/memory/chunks:ingest", dialogKey="diary", messages=[ingested])
    await mesh.learn()
    facts = (await person.get("/v1/memory/facts"))["facts"]
    assert CANARY in json.dumps(facts)
    return {"session": session, "turn": events[-1].data["committed"]["turnId"], "fact": facts[0]["id"]}


async def everything(person: Person, ids: dict[str, str]) -> list[Any]:
    """Ask for what another made, by every route that could show it."""
    session = ids["session"]
    return [
        await person.call("GET", "/v1/sessions"),
        await person.call("GET", f"/v1/sessions/{session}"),
        await person.call("PATCH", f"/v1/sessions/{session}", json={"name": "mine"}),
        await person.call("DELETE", f"/v1/sessions/{session}"),
        await person.call("GET", f"/v1/sessions/{session}/turns"),
        await person.call("GET", f"/v1/sessions/{session}/turns/{ids['turn']}"),
        await person.call("POST", f"/v1/sessions/{session}:converse", json={"text": "what is my secret word?"}),
        await person.call("GET", "/v1/memory/facts"),
        await person.call("GET", f"/v1/memory/facts/{ids['fact']}"),
        await person.call("DELETE", f"/v1/memory/facts/{ids['fact']}"),
        await person.call("POST", "/v1/memory:recall", json={"query": CANARY}),
        await person.call("POST", "/v1/memory:recall", json={"query": "code", "dialogKey": "diary"}),
        await person.call("POST", "/v1/memory/chunks:search", json={"query": CANARY, "dialogKey": "diary"}),
    ]


async def assert_sees_nothing(mesh: Mesh, stranger: Person, ids: dict[str, str]) -> None:
    answers = await everything(stranger, ids)
    for answer in answers:
        assert answer.status_code in {200, 404}, answer.text
        assert CANARY not in answer.text
    refused = {answer.json()["reason"] for answer in answers if answer.status_code == 404}
    assert {"SESSION_NOT_FOUND", "FACT_NOT_FOUND"} <= refused
    own = await stranger.new_session()
    assert CANARY not in text_of(await stranger.say(own, "Where do I live, and what is my secret word?"))


async def test_g6_users_see_nothing_of_each_other(mesh: Mesh) -> None:
    owner = mesh.person()
    ids = await told(mesh, owner)
    await assert_sees_nothing(mesh, mesh.person(), ids)
    assert CANARY in text_of(await owner.say(await owner.new_session(), "Where do I live?"))


async def test_g6_the_same_user_id_in_another_tenant_sees_nothing(mesh: Mesh) -> None:
    user = str(uuid.uuid4())
    owner = await mesh.keyed_person("acme", user)
    ids = await told(mesh, owner)
    await assert_sees_nothing(mesh, await mesh.keyed_person("globex", user), ids)
    await assert_sees_nothing(mesh, mesh.person(user), ids)
    again = await mesh.keyed_person("acme", user)
    assert CANARY in text_of(await again.say(await again.new_session(), "Where do I live?"))


async def test_a_user_header_beside_a_key_changes_nothing(mesh: Mesh) -> None:
    user = str(uuid.uuid4())
    ids = await told(mesh, await mesh.keyed_person("acme", user))
    stranger = await mesh.keyed_person("acme")
    disguised = Person(stranger.http, {**stranger.headers, "X-User-ID": user})
    await assert_sees_nothing(mesh, disguised, ids)


async def test_a_key_that_has_ended_or_is_revoked_opens_nothing(mesh: Mesh) -> None:
    soon = Timestamp()
    soon.FromDatetime(datetime.now(UTC) + timedelta(seconds=0.5))
    ending = await mesh.keyed_person("acme", expire_time=soon)
    revoked = await mesh.keyed_person("acme")
    key = (await revoked.get("/v1/apiKeys", pageSize=1))["apiKeys"][0]
    await revoked.post(f"/v1/apiKeys/{key['id']}:revoke")
    answer = await revoked.call("GET", "/v1/memory/facts")
    assert (answer.status_code, answer.json()["reason"]) == (401, "CREDENTIAL_INVALID")
    answer = await ending.call("GET", "/v1/memory/facts")
    while answer.status_code == 200:
        answer = await ending.call("GET", "/v1/memory/facts")
    assert (answer.status_code, answer.json()["reason"]) == (401, "CREDENTIAL_EXPIRED")
