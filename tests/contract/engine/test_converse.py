"""One turn over the wire: what is streamed, what is stored, what memory is asked and told."""

from __future__ import annotations

import json

from mnemesh.conversation.v1 import turn_pb2
from tests.contract.engine.mesh_of_one import AVATAR, USER, MeshOfOne, answer, kinds, new_uuid
from tests.contract.engine.scripted_model import ScriptedModel, says


async def test_a_message_is_answered_and_stored(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session, request = new_uuid(), new_uuid()

    events = await engine.converse(session, "Where do I live?", request)

    assert kinds(events) == ["session_start", "context", "delta", "usage", "committed"]
    assert [event.cursor.sequence for event in events] == list(range(len(events)))
    assert {event.cursor.epoch for event in events} == {1}
    assert answer(events) == "Hello, you."
    start, committed = events[0].session_start, events[-1].committed
    assert (start.session_id, start.user_seq, start.avatar_slug, start.replayed) == (session, 0, "mia", False)
    assert (committed.turn_id, committed.seq, committed.finish_reason) == (start.turn_id, 1, "stop")
    assert (committed.usage.input_tokens, committed.usage.output_tokens, committed.usage.measured) == (7, 3, True)
    assert (committed.model.provider, committed.model.model) == ("openai", "scripted-1")

    [turn] = (await engine.turns(session)).turns
    assert turn.state == turn_pb2.TURN_STATE_COMMITTED
    assert (turn.id, turn.user_text, turn.assistant_text) == (start.turn_id, "Where do I live?", "Hello, you.")
    assert (turn.user_seq, turn.assistant_seq, turn.request_id) == (0, 1, request)
    assert turn.create_time == start.accept_time
    assert turn.end_time == committed.commit_time


async def test_what_is_stored_in_the_transaction_of_the_answer(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()

    events = await engine.converse(session, "Where do I live?", time_zone="Europe/Kyiv")

    turn_id = events[-1].committed.turn_id
    log = await mesh.rows("select seq, role, content, turn_id::text from engine.session_events order by seq")
    assert [(row["seq"], row["role"], row["content"]) for row in log] == [
        (0, "user", "Where do I live?"),
        (1, "assistant", "Hello, you."),
    ]
    [usage] = await mesh.rows("select * from engine.token_usage")
    assert (usage["phase"], usage["provider"], usage["model"]) == ("generate", "openai", "scripted-1")
    assert (usage["input_tokens"], usage["output_tokens"], usage["measured"], usage["outcome"]) == (
        7, 3, True, "finished",
    )  # fmt: skip
    [item] = await mesh.rows("select topic, key, payload from engine.outbox")
    lesson = json.loads(bytes(item["payload"]))
    assert (item["topic"], item["key"]) == ("learn_turn", f"default:{session}")
    assert lesson["turn_id"] == turn_id
    assert (lesson["user_id"], lesson["avatar_id"], lesson["avatar_name"]) == (USER, AVATAR.uid, "Mia")
    assert (lesson["user_seq"], lesson["assistant_seq"], lesson["time_zone"]) == (0, 1, "Europe/Kyiv")
    assert lesson["assistant_grounded"] is False
    [view] = await mesh.rows("select role, content, created_at from engine.conversation_history where id = 1")
    assert (view["role"], view["content"]) == ("assistant", "Hello, you.")


async def test_memory_is_asked_for_the_user_and_told_what_the_history_holds(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()

    events = await engine.converse(session, "Where do I live?")

    [(call, request)] = mesh.memory.recalls
    assert (call.tenant_id, call.user_id, call.principal.credential) == ("default", USER, "internal:engine")
    assert (request.query, request.avatar_id, request.exclude_session) == ("Where do I live?", AVATAR.uid, session)
    context = events[1].context
    assert [fact.fact.value for fact in context.facts] == ["Lviv"]
    assert [chunk.chunk.text for chunk in context.chunks] == ["We went to the opera."]
    assert not context.skipped


async def test_the_model_sees_history_then_recall_then_the_message(mesh: MeshOfOne) -> None:
    model = ScriptedModel([says("First."), says("Second.")])
    engine = await mesh.engine(model)
    session = new_uuid()

    await engine.converse(session, "One")
    await engine.converse(session, "Two")

    request = model.requests[1]
    assert [(message.role, message.text) for message in request.messages[:2]] == [
        ("user", "One"),
        ("assistant", "First."),
    ]
    last = request.messages[-1].text
    assert last.endswith("\n\nTwo")
    assert "1. [fact; score=0.91; 2026-05-20] home_city: Lviv" in last
    assert "2. [conversation; score=0.86; 2026-05-21T08:30:00Z] Mia: We went to the opera." in last
    assert [(item.kind, item.key, item.value) for item in request.recalled] == [
        ("fact", "home_city", "Lviv"),
        ("chunk", "", ""),
    ]
