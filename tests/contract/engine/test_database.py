"""The database in the middle of a turn: it leaves, comes back, stays away, refuses."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from mnemesh.conversation.v1 import turn_pb2
from tests.contract.engine.mesh_of_one import EMPTY, MeshOfOne, answer, kinds, new_uuid, rest
from tests.contract.engine.own_postgres import OwnPostgres
from tests.contract.engine.scripted_model import Pause, ScriptedModel, says


@pytest.fixture(scope="module")
def own_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mnemesh-") as name:
        # Root's PostgreSQL runs as another user, who has to get through.
        Path(name).chmod(0o755)
        yield Path(name) / "postgres"


@pytest.fixture
async def own_postgres(own_directory: Path) -> AsyncIterator[OwnPostgres]:
    postgres = OwnPostgres(own_directory)
    await postgres.start()
    yield postgres
    await postgres.stop()


@pytest.fixture
def own_mesh(own_postgres: OwnPostgres, mesh: MeshOfOne) -> MeshOfOne:
    """A mesh over the PostgreSQL that may be stopped."""
    mesh.database_url, mesh.admin_url = own_postgres.url, own_postgres.admin_url
    with psycopg.connect(mesh.admin_url, autocommit=True) as connection:
        connection.execute(EMPTY)
    return mesh


async def test_a_database_that_restarts_during_a_turn_costs_nothing(
    own_mesh: MeshOfOne, own_postgres: OwnPostgres
) -> None:
    mesh, postgres = own_mesh, own_postgres
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause, *says(" done.")]]))
    session = new_uuid()
    call = engine.call(session, "Hi")
    await pause.reached.wait()

    await postgres.stop()
    pause.go_on.set()
    await postgres.start()
    events = await rest(call)

    assert kinds(events)[-1] == "committed"
    [turn] = (await engine.turns(session)).turns
    assert (turn.state, turn.assistant_text) == (turn_pb2.TURN_STATE_COMMITTED, "Wait done.")
    assert len(await mesh.rows("select 1 from engine.session_events")) == 2


async def test_a_database_that_stays_away_fails_the_turn_and_a_retry_runs_at_once(
    own_mesh: MeshOfOne, own_postgres: OwnPostgres
) -> None:
    mesh, postgres = own_mesh, own_postgres
    mesh.limits = dataclasses.replace(mesh.limits, commit_retry_s=0.2)
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Lost", pause, *says(".")], says("Kept.")]))
    session, request = new_uuid(), new_uuid()
    call = engine.call(session, "Hi", request)
    await pause.reached.wait()
    await postgres.stop()
    pause.go_on.set()

    events = await rest(call)

    assert kinds(events).count("error") == 1
    assert (events[-1].error.reason, events[-1].error.retryable) == ("DATABASE_UNAVAILABLE", True)
    await postgres.start()
    again = await engine.converse(session, "Hi", request)
    assert answer(again) == "Kept."
    assert again[-1].committed.turn_id == events[-1].error.turn_id
    log = await mesh.rows("select role, content from engine.session_events order by seq")
    assert [(row["role"], row["content"]) for row in log] == [("user", "Hi"), ("assistant", "Kept.")]
    outcomes = await mesh.rows("select outcome from engine.token_usage order by turn_attempt")
    assert [row["outcome"] for row in outcomes] == ["lost", "finished"]


async def test_l13_an_answer_that_the_database_refuses_fails_as_db_error_and_nothing_of_it_is_kept(
    mesh: MeshOfOne,
) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    await mesh.rows("alter table engine.outbox add constraint refuse check (false) not valid")
    try:
        events = await engine.converse(session)
    finally:
        await mesh.rows("alter table engine.outbox drop constraint refuse")

    assert kinds(events)[-1] == "error"
    assert (events[-1].error.reason, events[-1].error.code) == ("DB_ERROR", 13)
    assert "constraint" not in events[-1].error.message
    log = await mesh.rows("select role from engine.session_events")
    assert [row["role"] for row in log] == ["user"]
    [turn] = (await engine.turns(session)).turns
    assert (turn.state, turn.failure_reason) == (turn_pb2.TURN_STATE_FAILED, "DB_ERROR")
    [usage] = await mesh.rows("select outcome, measured from engine.token_usage")
    assert (usage["outcome"], usage["measured"]) == ("failed", True)


async def test_f3_the_server_can_neither_change_nor_delete_an_event(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    await engine.converse(new_uuid())

    async with await psycopg.AsyncConnection.connect(mesh.database_url, autocommit=True) as connection:
        await connection.execute("set app.tenant_id = 'default'")
        for statement in ("update engine.session_events set content = ''", "delete from engine.session_events"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(statement)


async def test_g6_without_a_tenant_the_server_sees_no_row(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    await engine.converse(new_uuid())

    async with await psycopg.AsyncConnection.connect(mesh.database_url, autocommit=True) as connection:
        for table in ("thread_state", "session_events", "turns", "token_usage", "outbox", "conversation_history"):
            cursor = await connection.execute(f"select count(*) from engine.{table}")
            assert await cursor.fetchone() == (0,)
