"""The same message again: replayed, followed, tried again or refused (G16)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import grpc
import pytest

from mesh.kernel.errors import Aborted, InvalidArgument, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.rpc.status import from_rpc_error
from mnemesh.conversation.v1 import turn_pb2
from tests.contract.engine.mesh_of_one import EngineUnderTest, MeshOfOne, answer, first, kinds, new_uuid, rest
from tests.contract.engine.scripted_model import Pause, ScriptedModel, says

DOWN = Unavailable(Reason.MODEL_UNAVAILABLE, "The model cannot be reached.")


async def refusal(engine: EngineUnderTest, session: str, text: str = "Hi", request_id: str = "") -> MeshError:
    """Return the error that a message is refused with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await engine.converse(session, text, request_id)
    return from_rpc_error(caught.value)


async def all_rows(mesh: MeshOfOne) -> list[object]:
    """Return everything that a turn may write, row versions included."""
    return [
        await mesh.rows(f"select xmin::text, * from engine.{table} order by 2, 3, 4")
        for table in ("session_events", "turns", "token_usage", "outbox")
    ]


async def test_g16_the_same_request_id_streams_the_committed_turn_again_and_writes_nothing(mesh: MeshOfOne) -> None:
    model = ScriptedModel([says("word " * 2000)])
    engine = await mesh.engine(model)
    session, request = new_uuid(), new_uuid()
    original = await engine.converse(session, "Hi", request)
    before = await all_rows(mesh)

    again = await engine.converse(session, "Hi", request)

    assert kinds(again) == ["session_start", "context", "delta", "usage", "committed"]
    assert again[0].session_start.replayed
    assert again[0].session_start.turn_id == original[0].session_start.turn_id
    assert answer(again) == answer(original) == "word " * 2000
    assert again[-1].committed == original[-1].committed
    assert [event.cursor.sequence for event in again] == list(range(len(again)))
    assert [fact.fact.id for fact in again[1].context.facts] == [fact.fact.id for fact in original[1].context.facts]
    assert len(model.requests) == 1
    assert await all_rows(mesh) == before


async def test_a_request_id_cannot_be_used_for_another_message(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session, request = new_uuid(), new_uuid()
    await engine.converse(session, "Hi", request)

    error = await refusal(engine, session, "Something else", request)

    assert isinstance(error, InvalidArgument)
    assert error.reason is Reason.REQUEST_ID_REUSED
    assert [violation.field for violation in error.details.violations] == ["request_id"]


async def test_an_avatar_that_was_edited_between_two_tries_is_no_other_request(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session, request = new_uuid(), new_uuid()
    original = await engine.converse(session, "Hi", request)

    call = engine.call(session, "Hi", request, avatar_changes={"system_prompt": "You are Mia, and you changed."})
    again = await rest(call)

    assert again[-1].committed.turn_id == original[-1].committed.turn_id


async def test_g16_of_two_concurrent_messages_one_is_answered_and_one_is_told_which_turn_runs(mesh: MeshOfOne) -> None:
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    session = new_uuid()
    call = engine.call(session, "One")
    start = await first(call)

    error = await refusal(engine, session, "Two")

    assert isinstance(error, Aborted)
    assert error.reason is Reason.TURN_IN_PROGRESS
    assert error.details.metadata["turn_id"] == start.session_start.turn_id
    pause.go_on.set()
    assert kinds(await rest(call))[-1] == "committed"
    assert len((await engine.turns(session)).turns) == 1


async def test_many_concurrent_messages_leave_one_running_turn_at_a_time(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()

    async def attempt(number: int) -> str:
        try:
            return kinds(await engine.converse(session, f"Message {number}"))[-1]
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error).reason.value

    results = await asyncio.gather(*(attempt(number) for number in range(12)))

    assert set(results) <= {"committed", "TURN_IN_PROGRESS"}
    turns = (await engine.turns(session)).turns
    assert len(turns) == results.count("committed") >= 1
    log = await mesh.rows("select seq, role from engine.session_events order by seq")
    assert [row["seq"] for row in log] == list(range(2 * len(turns)))
    assert [row["role"] for row in log] == ["user", "assistant"] * len(turns)


async def test_the_same_request_id_follows_a_turn_that_runs_here_from_its_start(mesh: MeshOfOne) -> None:
    pause = Pause()
    model = ScriptedModel([["Wait", pause, *says(" done.")]])
    engine = await mesh.engine(model)
    session, request = new_uuid(), new_uuid()
    earlier = engine.call(session, "Hi", request)
    await pause.reached.wait()

    second = engine.call(session, "Hi", request)
    start = await first(second)
    pause.go_on.set()
    one, two = await rest(earlier), [start, *await rest(second)]

    assert one == two
    assert answer(two) == "Wait done."
    assert len(model.requests) == 1


async def test_a_turn_that_runs_in_another_process_is_named_and_not_run_twice(mesh: MeshOfOne) -> None:
    pause = Pause()
    here = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    there = await mesh.engine()
    session, request = new_uuid(), new_uuid()
    call = here.call(session, "Hi", request)
    start = await first(call)

    error = await refusal(there, session, "Hi", request)

    assert error.reason is Reason.TURN_IN_PROGRESS
    assert error.details.metadata["turn_id"] == start.session_start.turn_id
    pause.go_on.set()
    assert kinds(await rest(call))[-1] == "committed"
    assert kinds(await there.converse(session, "Hi", request))[-1] == "committed"


async def test_a_failed_turn_is_tried_again_under_its_id(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel([[DOWN], says("Back again.")]))
    session, request = new_uuid(), new_uuid()
    failed = await engine.converse(session, "Hi", request)
    assert kinds(failed)[-1] == "error"

    again = await engine.converse(session, "Hi", request)

    assert again[-1].committed.turn_id == failed[-1].error.turn_id
    assert {event.cursor.epoch for event in failed} == {1}
    assert {event.cursor.epoch for event in again} == {2}
    log = await mesh.rows("select seq, role, content from engine.session_events order by seq")
    assert [(row["role"], row["content"]) for row in log] == [("user", "Hi"), ("assistant", "Back again.")]
    [turn] = (await engine.turns(session)).turns
    assert (turn.state, turn.failure_reason) == (turn_pb2.TURN_STATE_COMMITTED, "")
    usage = await mesh.rows("select turn_attempt, outcome from engine.token_usage order by turn_attempt")
    assert [(row["turn_attempt"], row["outcome"]) for row in usage] == [(1, "failed"), (2, "finished")]


async def test_without_a_request_id_the_same_text_is_a_new_turn(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()

    one, two = await engine.converse(session, "Hi"), await engine.converse(session, "Hi")

    assert one[-1].committed.turn_id != two[-1].committed.turn_id
    assert two[-1].committed.seq == 3


async def test_a_full_engine_refuses_at_once_and_says_when_to_come_back(mesh: MeshOfOne) -> None:
    pause = Pause()
    mesh.limits = type(mesh.limits)(recall_budget_s=5.0, max_running_turns=1)
    engine = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    call = engine.call(new_uuid(), "Hi")
    await pause.reached.wait()

    error = await refusal(engine, new_uuid())

    assert error.reason is Reason.OVERLOADED
    assert error.details.retry_after == timedelta(seconds=1)
    pause.go_on.set()
    assert kinds(await rest(call))[-1] == "committed"
