"""An engine that is told to stop while turns run."""

from __future__ import annotations

import asyncio

from engine.usecase import running
from mnemesh.conversation.v1 import turn_pb2
from tests.contract.engine.mesh_of_one import MeshOfOne, answer, eventually, first, kinds, new_uuid, rest
from tests.contract.engine.scripted_model import Pause, ScriptedModel, says


async def test_running_turns_are_finished_also_those_whose_caller_left(mesh: MeshOfOne) -> None:
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    reader = await mesh.engine()
    kept, left = new_uuid(), new_uuid()
    gone = engine.call(left, "Hi")
    await first(gone)
    gone.cancel()
    call = engine.call(kept, "Hi")
    await first(call)

    stopping = asyncio.create_task(engine.server.stop(20.0))
    pause.go_on.set()
    events = await rest(call)
    await stopping

    assert kinds(events)[-1] == "committed"
    assert answer(events) == "Wait done."
    for session in (kept, left):
        [turn] = (await reader.turns(session)).turns
        assert turn.state == turn_pb2.TURN_STATE_COMMITTED


async def test_a_turn_that_takes_too_long_is_failed_visibly_and_can_be_sent_again(mesh: MeshOfOne) -> None:
    pause = Pause()
    model = ScriptedModel([["Half", pause]])
    engine = await mesh.engine(model)
    other = await mesh.engine(ScriptedModel([says("Whole.")]))
    session, request = new_uuid(), new_uuid()
    call = engine.call(session, "Hi", request)
    await pause.reached.wait()

    stopping = asyncio.create_task(engine.server.stop(running.CANCEL_BOUND_S))
    events = await rest(call)
    await stopping

    assert kinds(events).count("error") == 1
    assert (events[-1].error.reason, events[-1].error.retryable) == ("SERVICE_UNAVAILABLE", True)
    assert model.closed_early == 1
    [usage] = await mesh.rows("select outcome, measured from engine.token_usage")
    assert (usage["outcome"], usage["measured"]) == ("interrupted", False)
    again = await other.converse(session, "Hi", request)
    assert again[-1].committed.turn_id == events[-1].error.turn_id


async def test_r4_nothing_is_left_of_turns_that_ended(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel([says("x" * 10) for _ in range(20)]))
    before = len(asyncio.all_tasks())
    calls = [engine.call(new_uuid(), "Hi") for _ in range(20)]
    for number, call in enumerate(calls):
        await first(call)
        if number % 2:
            call.cancel()
        else:
            await rest(call)

    async def no_task_is_left() -> bool:
        return len(asyncio.all_tasks()) <= before

    await eventually(no_task_is_left)
    assert await mesh.rows("select 1 from engine.thread_state where running_turn_id is not null") == []
    assert len(await mesh.rows("select 1 from engine.turns where state = 'committed'")) == 20
