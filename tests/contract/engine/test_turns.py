"""Reading turns, and what nobody but their owner may see (G6)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import grpc
import psycopg
import pytest

from engine.repository import turns
from mesh.kernel.errors import MeshError
from mesh.kernel.reasons import Reason
from mesh.rpc.status import from_rpc_error
from mnemesh.conversation.v1 import turn_pb2
from tests.contract.engine.mesh_of_one import TENANT, USER, Caller, MeshOfOne, new_uuid
from tests.contract.engine.scripted_model import Pause, ScriptedModel, says

OTHERS = [Caller(user_id="22222222-2222-4222-8222-222222222222"), Caller(tenant_id="elsewhere")]


async def error_of(call: Awaitable[Any]) -> MeshError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value)


async def test_pages_hold_every_turn_once_newest_first(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    for number in range(7):
        await engine.converse(session, f"Message {number}")

    pages: list[list[str]] = []
    token = ""
    while True:
        page = await engine.turns(session, page_size=3, page_token=token)
        pages.append([turn.user_text for turn in page.turns])
        token = page.next_page_token
        if not token:
            break

    assert pages == [[f"Message {n}" for n in numbers] for numbers in ([6, 5, 4], [3, 2, 1], [0])]


async def test_turns_with_very_long_texts_are_spread_over_more_pages(mesh: MeshOfOne) -> None:
    engine = await mesh.engine(ScriptedModel([says("й" * 250_000)]))
    session = new_uuid()
    for number in range(12):
        await engine.converse(session, f"Message {number}")

    first = await engine.turns(session)
    second = await engine.turns(session, page_token=first.next_page_token)

    assert first.ByteSize() < 8 * 1024 * 1024
    assert [len(first.turns), len(second.turns), second.next_page_token] == [9, 3, ""]


async def test_a_turn_added_between_two_pages_moves_nothing(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    for number in range(4):
        await engine.converse(session, f"Message {number}")
    first = await engine.turns(session, page_size=2)
    await engine.converse(session, "Message 4")

    second = await engine.turns(session, page_size=2, page_token=first.next_page_token)

    assert [turn.user_text for turn in second.turns] == ["Message 1", "Message 0"]
    assert second.next_page_token == ""


async def test_a_running_turn_is_listed_as_running(mesh: MeshOfOne) -> None:
    pause = Pause()
    engine = await mesh.engine(ScriptedModel([["Wait", pause]]))
    session = new_uuid()
    call = engine.call(session, "Hi")
    await pause.reached.wait()

    [turn] = (await engine.turns(session)).turns

    assert turn.state == turn_pb2.TURN_STATE_RUNNING
    assert (turn.assistant_text, turn.HasField("assistant_seq"), turn.HasField("end_time")) == ("", False, False)
    call.cancel()


async def test_get_turn_finds_a_turn_of_its_session_only(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session, other_session = new_uuid(), new_uuid()
    turn_id = (await engine.converse(session, "Hi"))[-1].committed.turn_id
    await engine.converse(other_session, "Hi")

    turn = await engine.turn(session.upper(), turn_id.upper())

    assert (turn.id, turn.session_id, turn.user_text, turn.assistant_text) == (turn_id, session, "Hi", "Hello, you.")
    assert (await error_of(engine.turn(other_session, turn_id))).reason is Reason.TURN_NOT_FOUND
    assert (await error_of(engine.turn(session, new_uuid()))).reason is Reason.TURN_NOT_FOUND


async def test_a_session_without_a_thread_is_not_found(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()

    errors = [await error_of(engine.turns(new_uuid())), await error_of(engine.turn(new_uuid(), new_uuid()))]

    assert [error.reason for error in errors] == [Reason.THREAD_NOT_FOUND] * 2


@pytest.mark.parametrize("other", OTHERS, ids=["another user", "another tenant"])
async def test_g6_another_user_sees_nothing_of_a_thread(mesh: MeshOfOne, other: Caller) -> None:
    engine = await mesh.engine()
    session, request = new_uuid(), new_uuid()
    turn_id = (await engine.converse(session, "Secret", request))[-1].committed.turn_id

    listed = await error_of(engine.turns(session, other))
    got = await error_of(engine.turn(session, turn_id, other))

    assert [listed.reason, got.reason] == [Reason.THREAD_NOT_FOUND] * 2
    assert "Secret" not in f"{listed.message}{got.message}"


async def test_g6_another_user_of_the_tenant_cannot_write_into_a_thread(mesh: MeshOfOne) -> None:
    model = ScriptedModel()
    engine = await mesh.engine(model)
    session, request = new_uuid(), new_uuid()
    await engine.converse(session, "Secret", request)

    error = await error_of(engine.converse(session, "Secret", request, OTHERS[0]))

    assert error.reason is Reason.THREAD_NOT_FOUND
    assert len(model.requests) == 1


async def test_g6_the_same_session_id_in_two_tenants_is_two_threads(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    await engine.converse(session, "Ours")
    await engine.converse(session, "Theirs", caller=OTHERS[1])

    ours, theirs = await engine.turns(session), await engine.turns(session, OTHERS[1])

    assert [turn.user_text for turn in ours.turns] == ["Ours"]
    assert [turn.user_text for turn in theirs.turns] == ["Theirs"]


async def test_a_page_token_is_good_for_its_list_only(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    sessions = [new_uuid(), new_uuid()]
    for session in sessions * 2:
        await engine.converse(session)
    token = (await engine.turns(sessions[0], page_size=1)).next_page_token

    for wrong in (engine.turns(sessions[1], page_token=token), engine.turns(sessions[0], page_token="nonsense")):
        error = await error_of(wrong)
        assert error.reason is Reason.PAGE_TOKEN_INVALID
        assert [violation.field for violation in error.details.violations] == ["page_token"]


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"session_id": "not-a-uuid"}, "session_id", Reason.INVALID_REQUEST),
        ({"text": ""}, "text", Reason.INVALID_REQUEST),
        ({"text": " \n "}, "text", Reason.INVALID_REQUEST),
        ({"text": "x" * 65_537}, "text", Reason.INVALID_REQUEST),
        ({"text": "a\x00b"}, "text", Reason.TEXT_NOT_STORABLE),
        ({"request_id": "again"}, "request_id", Reason.INVALID_REQUEST),
        ({"time_zone": "Mars/Olympus"}, "time_zone", Reason.INVALID_REQUEST),
        ({"time_zone": "../../etc/passwd"}, "time_zone", Reason.INVALID_REQUEST),
        ({"avatar_changes": {"uid": "mia"}}, "avatar.uid", Reason.INVALID_REQUEST),
        ({"avatar_changes": {"system_prompt": "x" * 65_537}}, "avatar.system_prompt", Reason.INVALID_REQUEST),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
async def test_r3_bad_input_is_named_and_nothing_is_stored(
    mesh: MeshOfOne, fields: dict[str, Any], field: str, reason: Reason
) -> None:
    engine = await mesh.engine()

    error = await error_of(engine.converse(**{"session_id": new_uuid(), **fields}))

    assert error.reason is reason
    assert {violation.field for violation in error.details.violations} == {field}
    assert await mesh.rows("select 1 from engine.thread_state") == []


async def test_f2_thread_ids_are_tenant_and_session(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    await engine.converse(session.upper())

    [row] = await mesh.rows("select thread_id, user_id::text, next_seq from engine.thread_state")

    assert (row["thread_id"], row["user_id"], row["next_seq"]) == (f"{TENANT}:{session}", USER, 2)


async def test_f3_events_form_one_line_of_parents(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    for _ in range(3):
        await engine.converse(session)

    rows = await mesh.rows("select seq, event_id, parent_id, epoch from engine.session_events order by seq")
    [thread] = await mesh.rows("select leaf_event_id from engine.thread_state")

    assert [row["seq"] for row in rows] == list(range(6))
    assert [row["parent_id"] for row in rows] == [None, *[row["event_id"] for row in rows[:-1]]]
    assert thread["leaf_event_id"] == rows[-1]["event_id"]


async def test_reading_turns_and_history_goes_through_indexes(mesh: MeshOfOne) -> None:
    engine = await mesh.engine()
    session = new_uuid()
    await engine.converse(session)
    await mesh.rows(
        """
        with copies as (
            select number, gen_random_uuid() as thread_session from generate_series(1, 3000) as number
        ), threads as (
            insert into engine.thread_state (tenant_id, thread_id, session_id, user_id, avatar_id)
            select 'default', 'default:' || thread_session, thread_session, user_id, avatar_id
            from copies, engine.thread_state
            returning thread_id, session_id
        )
        insert into engine.turns (tenant_id, id, thread_id, session_id, user_id, avatar_id, request_digest, state,
                                  attempt, epoch, user_seq, model_provider, model_name, expected_input_tokens)
        select 'default', gen_random_uuid(), thread_id, session_id, gen_random_uuid(), gen_random_uuid(), '', 'running',
               1, 1, 0, 'openai', 'scripted-1', 0
        from threads
        """
    )
    await mesh.rows("analyze engine.turns, engine.thread_state, engine.session_events")
    for query, parameters in (
        (turns._LIST, {"before_seq": 2**62, "most": 51, "most_bytes": 10**6}),
        (turns._HISTORY, {"cut_chars": 0}),
        (turns._GET, {"turn_id": new_uuid()}),
        (turns._KNOWN, {"request_id": new_uuid()}),
    ):
        owner = {"tenant_id": TENANT, "thread_id": f"{TENANT}:{session}", "user_id": USER}
        async with await psycopg.AsyncConnection.connect(mesh.database_url) as connection:
            await connection.execute("select set_config('app.tenant_id', 'default', true)")
            cursor = await connection.execute(b"explain " + query.encoded, {**owner, **parameters})
            plan = "\n".join(row[0] for row in await cursor.fetchall())
        assert "Seq Scan on turns" not in plan, f"{query.name}:\n{plan}"
        assert "Seq Scan on session_events" not in plan or "rows=2 " in plan, f"{query.name}:\n{plan}"
