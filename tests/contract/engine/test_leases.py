"""An engine that dies, is paused or loses its lease in the middle of a turn (G16, G18)."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys

import grpc
import pytest

from engine.app import EngineWorker
from mesh.rpc.status import from_rpc_error
from mnemesh.conversation.v1 import turn_pb2
from tests.contract.engine.mesh_of_one import (
    EngineUnderTest,
    MeshOfOne,
    answer,
    eventually,
    first,
    kinds,
    new_uuid,
    rest,
)
from tests.contract.engine.scripted_model import Pause, ScriptedModel, says

END_LEASES = "update engine.thread_state set lease_until = now() - interval '1 second'"


async def refused_with(engine: EngineUnderTest, session: str, request: str = "") -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await engine.converse(session, "Hi", request)
    return from_rpc_error(caught.value).reason.value


async def message_log(mesh: MeshOfOne) -> list[tuple[str, str]]:
    rows = await mesh.rows("select role, content from engine.session_events order by seq")
    return [(row["role"], row["content"]) for row in rows]


async def test_g16_a_turn_whose_engine_was_killed_is_failed_and_tried_again_under_its_id(mesh: MeshOfOne) -> None:
    session, request = new_uuid(), new_uuid()
    arguments = json.dumps([mesh.database_url, mesh.memory.target, session, request])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.contract.engine.doomed_engine",
        arguments,
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    turn_id = (await process.stdout.readline()).decode().strip()
    process.kill()
    await process.wait()
    engine = await mesh.engine(ScriptedModel([says("Here I am.")]))

    assert await refused_with(engine, session, request) == "TURN_IN_PROGRESS"
    assert (await engine.turn(session, turn_id)).state == turn_pb2.TURN_STATE_RUNNING
    await mesh.rows(END_LEASES)
    dead = await engine.turn(session, turn_id)
    assert (dead.state, dead.failure_reason) == (turn_pb2.TURN_STATE_FAILED, "SERVICE_UNAVAILABLE")

    events = await engine.converse(session, "Hi", request)

    assert events[-1].committed.turn_id == turn_id
    assert {event.cursor.epoch for event in events} == {2}
    assert await message_log(mesh) == [("user", "Hi"), ("assistant", "Here I am.")]
    rows = await mesh.rows("select turn_attempt, outcome, measured, input_tokens from engine.token_usage order by 1")
    assert [(row["turn_attempt"], row["outcome"], row["measured"]) for row in rows] == [
        (1, "lost", False),
        (2, "finished", True),
    ]
    assert rows[0]["input_tokens"] > 0
    assert len(await mesh.rows("select 1 from engine.outbox")) == 1


async def test_a_new_message_goes_through_when_the_lease_before_it_has_ended(mesh: MeshOfOne) -> None:
    pause = Pause()
    paused = await mesh.engine(ScriptedModel([["Wait", pause]]))
    engine = await mesh.engine()
    session = new_uuid()
    call = paused.call(session, "Hi")
    await pause.reached.wait()
    assert await refused_with(engine, session) == "TURN_IN_PROGRESS"
    await mesh.rows(END_LEASES)

    events = await engine.converse(session, "Another")

    assert kinds(events)[-1] == "committed"
    states = [(turn.user_text, turn.state, turn.failure_reason) for turn in (await engine.turns(session)).turns]
    assert states == [
        ("Another", turn_pb2.TURN_STATE_COMMITTED, ""),
        ("Hi", turn_pb2.TURN_STATE_FAILED, "SERVICE_UNAVAILABLE"),
    ]
    call.cancel()


async def test_the_sweep_fails_dead_turns_of_every_tenant_once(mesh: MeshOfOne) -> None:
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause]]))
    worker = EngineWorker(mesh.settings())
    calls = [engine.call(new_uuid(), "Hi", caller=dataclasses.replace(mesh.caller, tenant_id=name)) for name in "ab"]
    for call in calls:
        await first(call)
    assert await worker.sweep.fail_abandoned_turns() == 0
    await mesh.rows(END_LEASES)

    found = [await worker.sweep.fail_abandoned_turns(), await worker.sweep.fail_abandoned_turns()]

    assert found == [2, 0]
    turns = await mesh.rows("select tenant_id, state, failure_reason, end_time from engine.turns order by tenant_id")
    assert [(row["tenant_id"], row["state"], row["failure_reason"]) for row in turns] == [
        ("a", "failed", "SERVICE_UNAVAILABLE"),
        ("b", "failed", "SERVICE_UNAVAILABLE"),
    ]
    usage = await mesh.rows("select outcome from engine.token_usage")
    assert [row["outcome"] for row in usage] == ["lost", "lost"]
    await worker.close()


async def test_an_attempt_that_was_replaced_cannot_commit(mesh: MeshOfOne) -> None:
    pause = Pause()
    slow = await mesh.engine(ScriptedModel([["Too late", pause, *says(".")]]))
    fast = await mesh.engine(ScriptedModel([says("In time.")]))
    session, request = new_uuid(), new_uuid()
    call = slow.call(session, "Hi", request)
    await pause.reached.wait()
    await mesh.rows(END_LEASES)
    taken_over = await fast.converse(session, "Hi", request)
    assert answer(taken_over) == "In time."
    before = await mesh.rows("select xmin::text, * from engine.turns")

    pause.go_on.set()
    events = await rest(call)

    assert kinds(events).count("error") == 1
    assert kinds(events)[-1] == "error"
    assert (events[-1].error.reason, events[-1].error.retryable) == ("CONFLICT", True)
    assert await message_log(mesh) == [("user", "Hi"), ("assistant", "In time.")]
    assert await mesh.rows("select xmin::text, * from engine.turns") == before
    assert len(await mesh.rows("select 1 from engine.outbox")) == 1


async def test_an_attempt_that_was_replaced_is_stopped_by_its_heartbeat(mesh: MeshOfOne) -> None:
    mesh.limits = dataclasses.replace(mesh.limits, lease_s=0.3)
    model = ScriptedModel([["Wait", Pause()]])
    engine = await mesh.engine(model)
    call = engine.call(new_uuid(), "Hi")
    await first(call)
    await mesh.rows("update engine.thread_state set running_attempt = 2, lease_holder = 'another'")

    events = await rest(call)

    assert events[-1].error.reason == "CONFLICT"
    assert model.closed_early == 1
    assert await mesh.rows("select 1 from engine.token_usage") == []


async def test_a_long_turn_keeps_its_lease(mesh: MeshOfOne) -> None:
    mesh.limits = dataclasses.replace(mesh.limits, lease_s=0.6)
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    session = new_uuid()
    call = engine.call(session, "Hi")
    await pause.reached.wait()
    [first] = await mesh.rows("select lease_until from engine.thread_state")
    until = first["lease_until"]

    async def first_lease_is_over() -> bool:
        [row] = await mesh.rows("select now() > %s::timestamptz as over", until)
        return bool(row["over"])

    await eventually(first_lease_is_over)

    assert await refused_with(engine, session) == "TURN_IN_PROGRESS"
    pause.go_on.set()
    assert kinds(await rest(call))[-1] == "committed"
