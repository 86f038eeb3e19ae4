"""The first and the last transaction of a turn when they run more than once."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import pytest

from engine.domain.avatar import Avatar
from engine.domain.errors import LeaseLost
from engine.domain.thread import ThreadKey
from engine.domain.turn import Message, Model
from engine.domain.usage import Outcome, ProviderAttempt, Tokens
from engine.usecase.abandoned import NO_PROMPT
from engine.usecase.accept import AcceptMessage
from engine.usecase.accepted import Accepted
from engine.usecase.generation import Answer
from engine.usecase.limits import TurnLimits
from engine.usecase.running import RunningTurns
from engine.usecase.settle import SettleTurn
from mesh.db.pool import Database
from mesh.db.settings import DatabaseSettings
from mesh.db.transaction import Tx
from mesh.jobs.outbox import Outbox
from mesh.kernel.errors import Unavailable
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from tests.contract.engine.mesh_of_one import AVATAR, TENANT, USER, MeshOfOne, new_uuid

T = TypeVar("T")

MODEL = Model("openai", "scripted-1")
ANSWER = Answer("Hello.", "stop", [ProviderAttempt(1, Tokens(7, 3, measured=True), Outcome.FINISHED)])


class _Undone(Exception):
    pass


class RepeatingDatabase(Database):
    """Runs every transaction once for nothing, as after a deadlock, and can lose the answer to a commit."""

    loses_commit = False

    async def run(self, tenant_id: str, work: Callable[[Tx], Awaitable[T]]) -> T:
        try:
            async with self.transaction(tenant_id) as tx:
                await work(tx)
                raise _Undone
        except _Undone:
            pass
        result = await super().run(tenant_id, work)
        if self.loses_commit:
            self.loses_commit = False
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "the connection broke")
        return result


@pytest.fixture
async def db(engine_database: MeshDatabase) -> AsyncIterator[RepeatingDatabase]:
    db = RepeatingDatabase(DatabaseSettings(engine_database.urls["engine"]), application_name="test")
    await db.open()
    yield db
    await db.close()


async def accepted(db: Database, running: RunningTurns) -> Accepted:
    key = ThreadKey(TENANT, USER, new_uuid())
    message = Message(key.session_id, Avatar(AVATAR.uid), "Hi", new_uuid())
    turn = await AcceptMessage(db, running, MODEL, TurnLimits())(key, message)
    assert isinstance(turn, Accepted)
    return turn


async def test_a_message_whose_transaction_ran_twice_is_one_turn(mesh: MeshOfOne, db: RepeatingDatabase) -> None:
    running = RunningTurns("me", 1)

    turn = await accepted(db, running)

    assert len(running) == 1
    assert running.runs(turn.turn_id, 1)
    assert [row["id"] for row in await mesh.rows("select id::text from engine.turns")] == [turn.turn_id]
    assert len(await mesh.rows("select 1 from engine.session_events")) == 1


async def test_a_message_that_was_not_accepted_for_certain_leaves_no_turn_in_the_process(db: RepeatingDatabase) -> None:
    running = RunningTurns("me", 5)
    db.loses_commit = True

    with pytest.raises(Unavailable):
        await accepted(db, running)

    assert len(running) == 0


async def test_g18_a_commit_whose_answer_was_lost_is_recognised_and_not_repeated(
    mesh: MeshOfOne, db: RepeatingDatabase
) -> None:
    turn = await accepted(db, RunningTurns("me", 5))
    settle = SettleTurn(db, Outbox("engine"), TurnLimits())
    db.loses_commit = True

    committed = await settle.commit(turn, ANSWER, NO_PROMPT)

    assert (committed.turn_id, committed.seq) == (turn.turn_id, 1)
    [row] = await mesh.rows("select end_time, state from engine.turns")
    assert (row["state"], row["end_time"]) == ("committed", committed.commit_time)
    for table, count in (("session_events", 2), ("token_usage", 1), ("outbox", 1)):
        assert len(await mesh.rows(f"select 1 from engine.{table}")) == count


async def test_an_attempt_that_lost_its_lease_neither_commits_nor_fails_the_turn(
    mesh: MeshOfOne, db: RepeatingDatabase
) -> None:
    turn = await accepted(db, RunningTurns("me", 5))
    settle = SettleTurn(db, Outbox("engine"), TurnLimits())
    late = dataclasses.replace(turn, attempt=dataclasses.replace(turn.attempt, number=2))

    with pytest.raises(LeaseLost):
        await settle.commit(late, ANSWER, NO_PROMPT)
    assert await settle.fail(late, "MODEL_STALLED", ANSWER.attempts, NO_PROMPT) is False

    [row] = await mesh.rows("select state from engine.turns")
    assert row["state"] == "running"
    assert await mesh.rows("select 1 from engine.token_usage") == []
