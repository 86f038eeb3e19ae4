"""Lessons on their way from the outbox to memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from engine.app import EngineWorker
from mesh.kernel.errors import FailedPrecondition, InvalidArgument, MeshError, Unavailable
from mesh.kernel.reasons import Reason
from mesh.testing.clock import ManualClock
from tests.contract.engine.mesh_of_one import AVATAR, USER, MeshOfOne, eventually, new_uuid
from tests.contract.engine.scripted_model import ScriptedModel, says

LONG_S = 3600.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def worker(mesh: MeshOfOne, clock: ManualClock) -> AsyncIterator[EngineWorker]:
    worker = EngineWorker(mesh.settings(learn_attempts=3), clock)
    await worker.start()
    yield worker
    await worker.close()


async def test_a_committed_turn_is_taught_once_with_everything_that_memory_needs(
    mesh: MeshOfOne, worker: EngineWorker, clock: ManualClock
) -> None:
    engine = await mesh.engine(ScriptedModel([says("Nice city.")]))
    session = new_uuid()
    events = await engine.converse(session, "I live in Lviv.", time_zone="Europe/Kyiv")
    clock.advance(1)

    assert await worker.relay.deliver_due() == 1
    assert await worker.relay.deliver_due() == 0

    [(call, lesson)] = mesh.memory.lessons
    start, end = events[0].session_start, events[-1].committed
    assert (call.tenant_id, call.user_id, call.principal.credential) == ("default", USER, "internal:engine")
    assert (lesson.session_id, lesson.turn_id) == (session, end.turn_id)
    assert (lesson.user_seq, lesson.assistant_seq) == (0, 1)
    assert (lesson.user_text, lesson.assistant_text) == ("I live in Lviv.", "Nice city.")
    assert (lesson.avatar_id, lesson.avatar_name, lesson.time_zone) == (AVATAR.uid, "Mia", "Europe/Kyiv")
    assert lesson.turn_time == start.accept_time
    assert lesson.assistant_grounded is False
    assert await mesh.rows("select 1 from engine.outbox") == []


async def test_lessons_wait_for_memory_and_arrive_in_order(mesh: MeshOfOne, clock: ManualClock) -> None:
    engine = await mesh.engine()
    worker = EngineWorker(mesh.settings(learn_attempts=1000), clock)
    session = new_uuid()
    await mesh.memory.stop()
    for text in ("One", "Two", "Three"):
        await engine.converse(session, text)
    clock.advance(1)
    assert await worker.relay.deliver_due() == 1
    assert mesh.memory.lessons == []

    await mesh.memory.start()

    async def all_are_delivered() -> bool:
        clock.advance(LONG_S)
        await worker.relay.deliver_due()
        return await mesh.rows("select 1 from engine.outbox") == []

    await eventually(all_are_delivered)
    assert [lesson.user_text for _, lesson in mesh.memory.lessons] == ["One", "Two", "Three"]
    await worker.close()


async def test_a_lesson_that_memory_can_never_take_is_buried_and_holds_nothing_back(
    mesh: MeshOfOne, worker: EngineWorker, clock: ManualClock
) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    await engine.converse(session, "One")
    await engine.converse(session, "Two")
    mesh.memory.learn_error = InvalidArgument(Reason.INVALID_REQUEST, "no")
    clock.advance(1)

    await worker.relay.deliver_due()

    assert [lesson.user_text for _, lesson in mesh.memory.lessons] == ["One", "Two"]
    rows = await mesh.rows("select dead_at is not null as dead, last_error from engine.outbox")
    assert [(row["dead"], row["last_error"]) for row in rows] == [(True, "INVALID_REQUEST")] * 2


@pytest.mark.parametrize(
    "error",
    [
        Unavailable(Reason.DATABASE_UNAVAILABLE, "away"),
        FailedPrecondition(Reason.SCHEMA_BEHIND, "old"),
    ],
    ids=lambda error: error.reason.value,
)
async def test_g2_a_lesson_that_always_fails_is_tried_so_often_and_then_buried(
    mesh: MeshOfOne, worker: EngineWorker, clock: ManualClock, error: MeshError
) -> None:
    engine = await mesh.engine()
    await engine.converse(new_uuid())
    mesh.memory.learn_error = error

    outcomes = []
    for _ in range(4):
        clock.advance(LONG_S)
        await worker.relay.deliver_due()
        rows = await mesh.rows("select attempts, dead_at is not null as dead, last_error from engine.outbox")
        outcomes.append([(row["attempts"], row["dead"], row["last_error"]) for row in rows])

    reason = error.reason.value
    assert outcomes == [[(1, False, reason)], [(2, False, reason)], [(3, True, reason)], [(3, True, reason)]]


async def test_a_payload_that_is_no_lesson_is_buried(mesh: MeshOfOne, worker: EngineWorker, clock: ManualClock) -> None:
    await mesh.rows(
        "insert into engine.outbox (tenant_id, topic, key, payload) values ('default', 'learn_turn', 'k', '{\"a\": 1}')"
    )
    clock.advance(1)

    await worker.relay.deliver_due()

    [row] = await mesh.rows("select dead_at is not null as dead, last_error from engine.outbox")
    assert (row["dead"], row["last_error"]) == (True, "MALFORMED_MESSAGE")
    assert mesh.memory.lessons == []


async def test_answers_kept_for_retries_are_forgotten_when_their_life_is_over(
    mesh: MeshOfOne, worker: EngineWorker, clock: ManualClock
) -> None:
    await mesh.rows(
        """
        insert into engine.idempotency (tenant_id, user_id, method, request_id, request_digest, expires_at)
        values ('default', 'u', 'm', 'old', '', now() + interval '1 hour'),
               ('default', 'u', 'm', 'new', '', now() + interval '9 hours')
        """
    )
    clock.advance(2 * LONG_S)

    assert await worker.sweep.forget_old_answers() == 1
    assert [row["request_id"] for row in await mesh.rows("select request_id from engine.idempotency")] == ["new"]
