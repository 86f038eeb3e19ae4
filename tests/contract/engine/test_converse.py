"""One turn over the wire: what is streamed, what is stored, what memory is asked and told."""

from __future__ import annotations

import dataclasses
import json

from engine.domain.event import Role
from engine.domain.prompt import PromptMessage, prefix_hash
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mnemesh.conversation.v1 import turn_pb2
from mnemesh.memory.v1.recall_service_pb2 import RecallResult
from tests.contract.engine.memory_server import CHUNK, FACT
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


async def test_g20_the_prefix_of_ten_turns_with_changing_recall_only_ever_grows(mesh: MeshOfOne) -> None:
    model = ScriptedModel([says(f"Answer {number}.") for number in range(10)])
    engine = await mesh.engine(model)
    session = new_uuid()
    for number in range(10):
        recalled = RecallResult(fact=FACT.fact, score=0.5 + number / 100)
        mesh.memory.results = [recalled, CHUNK][number % 2 :]
        await engine.converse(session, f"Message {number}")

    rows = await mesh.rows("select prompt_prefix_hash from engine.turns order by user_seq")
    for number, (request, row) in enumerate(zip(model.requests, rows, strict=True)):
        past = request.messages[:-1]
        expected = [
            (role, f"{word} {turn}{end}")
            for turn in range(number)
            for role, word, end in (("user", "Message", ""), ("assistant", "Answer", "."))
        ]
        assert [(message.role, message.text) for message in past] == expected
        assert request.instructions == model.requests[0].instructions
        messages = [PromptMessage(Role(message.role), message.text) for message in past]
        assert bytes(row["prompt_prefix_hash"]) == prefix_hash(request.instructions, messages)
        assert "recalled_memory" in request.messages[-1].text


async def test_a_past_that_is_too_long_is_cut_and_memory_may_recall_what_was_cut(mesh: MeshOfOne) -> None:
    mesh.limits = dataclasses.replace(mesh.limits, history_chars=400)
    model = ScriptedModel([says("a" * 50)])
    engine = await mesh.engine(model)
    session = new_uuid()
    for _ in range(6):
        await engine.converse(session, "u" * 50)

    sizes = [len(request.messages) for request in model.requests]
    excluded = [request.exclude_session for _, request in mesh.memory.recalls]

    assert sizes == [1, 3, 5, 7, 9, 9]
    assert excluded == [session] * 5 + [""]
    [row] = await mesh.rows("select provenance from engine.turns order by user_seq desc limit 1")
    assert row["provenance"]["history"] == {"strategy": "full_replay", "turns": 4, "cut_chars": 100}


async def test_a_failed_turn_is_no_part_of_the_past(mesh: MeshOfOne) -> None:
    down = Unavailable(Reason.MODEL_UNAVAILABLE, "down")
    model = ScriptedModel([says("One."), [down], says("Three.")])
    engine = await mesh.engine(model)
    session = new_uuid()
    for text in ("1", "2", "3"):
        await engine.converse(session, text)

    assert [message.text for message in model.requests[2].messages[:-1]] == ["1", "One."]


async def test_l15_the_first_event_carries_the_avatar(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    changes = {
        "lora_adapter_path": "/models/lora/mia-v2.safetensors",
        "lora_quality_passed": True,
        "collection_name": "mia-docs",
        "voice_clone_path": "voices/mia.wav",
        "voice_clone_text": "Hello.",
    }

    start = (await engine.converse(new_uuid(), avatar_changes=changes))[0].session_start

    assert (start.avatar_slug, start.avatar_name, start.lora_name) == ("mia", "Mia", "mia-v2")
    assert (start.collection_name, start.voice_clone_path, start.voice_clone_text) == (
        "mia-docs",
        "voices/mia.wav",
        "Hello.",
    )
