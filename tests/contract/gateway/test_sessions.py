"""Sessions over gRPC and over HTTP (L2)."""

from __future__ import annotations

import asyncio
import uuid
from datetime import datetime

import pytest

from tests.contract.gateway.callers import MIA, OSTAP, Caller, Refused
from tests.contract.gateway.conftest import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTHER = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a002"


def new_id() -> str:
    return str(uuid.uuid4())


async def created(caller: Caller, **more: object) -> dict[str, str]:
    answer = await caller("CreateSession", avatarId=MIA, **more)
    session: dict[str, str] = answer["session"]
    return session


async def test_a_session_is_created_and_read(caller: Caller) -> None:
    session = await created(caller, name="Trip", description="Plans")
    assert session["avatarId"] == MIA
    assert (session["name"], session["description"], session["status"]) == ("Trip", "Plans", "ACTIVE")
    assert "deleteTime" not in session
    assert datetime.fromisoformat(session["createTime"]).tzinfo is not None
    assert (await caller("GetSession", id=session["id"]))["session"] == session


async def test_an_id_is_the_same_in_capital_letters(caller: Caller) -> None:
    session = (await caller("CreateSession", avatarId=MIA.upper()))["session"]
    assert session["avatarId"] == MIA
    assert (await caller("GetSession", id=session["id"].upper()))["session"] == session


async def test_an_unknown_avatar_is_not_found_and_nothing_is_stored(caller: Caller) -> None:
    with pytest.raises(Refused) as refused:
        await caller("CreateSession", avatarId=OTHER)
    assert (refused.value.status, refused.value.reason) == (404, "AVATAR_NOT_FOUND")
    assert (await caller("ListSessions"))["sessions"] == []


async def test_sessions_are_listed_newest_first_in_pages(caller: Caller) -> None:
    ids = [(await created(caller, name=str(number)))["id"] for number in range(5)]
    found: list[str] = []
    token, pages = "", 0
    while True:
        page = await caller("ListSessions", pageSize=2, pageToken=token)
        found += [session["id"] for session in page["sessions"]]
        token, pages = page["nextPageToken"], pages + 1
        if not token:
            break
    assert found == ids[::-1]
    assert pages == 3


async def test_pages_hold_sessions_that_were_created_at_the_same_instant(caller: Caller, gateway: Gateway) -> None:
    ids = {(await created(caller))["id"] for _ in range(4)}
    gateway.sql("update gateway.sessions set created_at = '2026-12-01 00:00:00+00'")
    first = await caller("ListSessions", pageSize=3)
    second = await caller("ListSessions", pageSize=3, pageToken=first["nextPageToken"])
    listed = [session["id"] for session in first["sessions"] + second["sessions"]]
    assert len(listed) == 4
    assert set(listed) == ids


async def test_a_list_can_be_narrowed_to_an_avatar(caller: Caller) -> None:
    mine = await created(caller)
    await caller("CreateSession", avatarId=OSTAP)
    assert [one["id"] for one in (await caller("ListSessions", avatarId=MIA))["sessions"]] == [mine["id"]]
    assert (await caller("ListSessions", avatarId=OTHER))["sessions"] == []


@pytest.mark.parametrize("change", [{"avatarId": MIA}, {"pageToken": "x"}, {"pageToken": "Z" * 1024}])
async def test_a_page_token_is_refused_for_another_query(caller: Caller, change: dict[str, str]) -> None:
    for _ in range(2):
        await created(caller)
    token = (await caller("ListSessions", pageSize=1))["nextPageToken"]
    with pytest.raises(Refused) as refused:
        await caller("ListSessions", **{"pageSize": 1, "pageToken": token, **change})
    assert (refused.value.reason, refused.value.fields) == ("PAGE_TOKEN_INVALID", ["pageToken"])


async def test_a_page_token_is_refused_for_another_user(caller: Caller) -> None:
    for _ in range(2):
        await created(caller)
    token = (await caller("ListSessions", pageSize=1))["nextPageToken"]
    with pytest.raises(Refused) as refused:
        await caller.acting(user_id=OTHER)("ListSessions", pageSize=1, pageToken=token)
    assert refused.value.reason == "PAGE_TOKEN_INVALID"


async def test_an_update_changes_the_fields_of_its_mask_and_no_others(caller: Caller) -> None:
    session = await created(caller, name="a", description="b")
    update = {"id": session["id"], "name": "x", "description": ""}
    changed = (await caller("UpdateSession", session=update, updateMask="name"))["session"]
    assert (changed["name"], changed["description"]) == ("x", "b")
    assert changed["etag"] != session["etag"]
    assert changed["createTime"] == session["createTime"]
    assert datetime.fromisoformat(changed["updateTime"]) > datetime.fromisoformat(session["updateTime"])
    changed = (await caller("UpdateSession", session=update, updateMask="*"))["session"]
    assert (changed["name"], changed["description"]) == ("x", "")


@pytest.mark.parametrize("mask", ["avatarId", "name,status", "id", "nope"])
async def test_a_mask_may_name_only_what_can_change(caller: Caller, mask: str) -> None:
    session = await created(caller)
    with pytest.raises(Refused) as refused:
        await caller("UpdateSession", session={"id": session["id"]}, updateMask=mask)
    assert (refused.value.status, refused.value.fields) == (400, ["updateMask"])


async def test_without_a_mask_nothing_changes(caller: Caller) -> None:
    session = await created(caller)
    with pytest.raises(Refused) as refused:
        await caller("UpdateSession", session={"id": session["id"]})
    assert refused.value.fields == ["updateMask"]


async def test_a_stale_etag_is_refused_and_a_fresh_one_is_taken(caller: Caller) -> None:
    old = await created(caller)
    change = {"id": old["id"], "name": "x"}
    new = (await caller("UpdateSession", session={**change, "etag": old["etag"]}, updateMask="name"))["session"]
    with pytest.raises(Refused) as refused:
        await caller("UpdateSession", session={**change, "etag": old["etag"]}, updateMask="name")
    assert (refused.value.status, refused.value.reason) == (409, "ETAG_MISMATCH")
    with pytest.raises(Refused, match="ETAG_MISMATCH"):
        await caller("DeleteSession", id=old["id"], etag=old["etag"])
    await caller("DeleteSession", id=old["id"], etag=new["etag"])


async def test_of_two_updates_with_one_etag_one_wins(caller: Caller) -> None:
    session = await created(caller)
    change = {"id": session["id"], "etag": session["etag"]}
    answers = await asyncio.gather(
        *(caller("UpdateSession", session={**change, "name": name}, updateMask="name") for name in "abcd"),
        return_exceptions=True,
    )
    refusals = [answer for answer in answers if isinstance(answer, Refused)]
    assert len(refusals) == 3
    assert {refusal.reason for refusal in refusals} == {"ETAG_MISMATCH"}


async def test_deleting_is_soft_and_can_be_repeated(caller: Caller, gateway: Gateway) -> None:
    session = await created(caller)
    deleted = (await caller("DeleteSession", id=session["id"]))["session"]
    assert deleted["status"] == "DELETED"
    assert deleted["deleteTime"] == deleted["updateTime"]
    assert (await caller("DeleteSession", id=session["id"], etag=session["etag"]))["session"] == deleted
    assert gateway.sql("select status, deleted_at is not null from gateway.sessions") == [("deleted", True)]


async def test_a_deleted_session_is_neither_read_nor_listed_nor_changed(caller: Caller) -> None:
    session = await created(caller)
    await caller("DeleteSession", id=session["id"])
    assert (await caller("ListSessions"))["sessions"] == []
    for rpc, request in (
        ("GetSession", {"id": session["id"]}),
        ("UpdateSession", {"session": {"id": session["id"], "name": "x"}, "updateMask": "name"}),
        ("ListTurns", {"sessionId": session["id"]}),
    ):
        with pytest.raises(Refused) as refused:
            await caller(rpc, **request)
        assert (refused.value.status, refused.value.reason) == (404, "SESSION_NOT_FOUND")


async def test_another_users_session_does_not_exist(caller: Caller, gateway: Gateway) -> None:
    session = await created(caller, name="secret")
    other = caller.acting(user_id=OTHER)
    for rpc, request in (
        ("GetSession", {"id": session["id"]}),
        ("UpdateSession", {"session": {"id": session["id"], "name": "x"}, "updateMask": "name"}),
        ("DeleteSession", {"id": session["id"]}),
        ("ListTurns", {"sessionId": session["id"]}),
        ("GetTurn", {"sessionId": session["id"], "turnId": OTHER}),
    ):
        unknown = {**request, **({"id": OTHER} if "id" in request else {})}
        with pytest.raises(Refused) as refused:
            await other(rpc, **request)
        assert (refused.value.status, refused.value.reason) == (404, "SESSION_NOT_FOUND")
        with pytest.raises(Refused) as never_was:
            await other(rpc, **unknown)
        assert never_was.value.message == refused.value.message
    assert (await other("ListSessions"))["sessions"] == []
    assert gateway.sql("select name, status from gateway.sessions") == [("secret", "active")]


@pytest.mark.parametrize("rpc", ["CreateSession", "UpdateSession", "DeleteSession"])
async def test_a_repeated_request_is_answered_once(caller: Caller, gateway: Gateway, rpc: str) -> None:
    session = await created(caller)
    request = {
        "CreateSession": {"avatarId": MIA, "name": "n"},
        "UpdateSession": {"session": {"id": session["id"], "name": "n"}, "updateMask": "name"},
        "DeleteSession": {"id": session["id"]},
    }[rpc]
    request_id = new_id()
    first = await caller(rpc, **request, requestId=request_id)
    count = gateway.sql("select count(*), max(version) from gateway.sessions")
    assert await caller(rpc, **request, requestId=request_id) == first
    assert gateway.sql("select count(*), max(version) from gateway.sessions") == count


async def test_concurrent_repeats_store_one_session(caller: Caller, gateway: Gateway) -> None:
    request_id = new_id()
    answers = await asyncio.gather(*(created(caller, requestId=request_id) for _ in range(6)))
    assert len({answer["id"] for answer in answers}) == 1
    assert gateway.sql("select count(*) from gateway.sessions") == [(1,)]


async def test_a_request_id_of_another_request_is_refused(caller: Caller) -> None:
    request_id = new_id()
    await created(caller, requestId=request_id)
    with pytest.raises(Refused) as refused:
        await created(caller, name="other", requestId=request_id)
    assert (refused.value.status, refused.value.reason, refused.value.fields) == (
        400,
        "REQUEST_ID_REUSED",
        ["requestId"],
    )


async def test_a_request_id_belongs_to_its_user(caller: Caller) -> None:
    request_id = new_id()
    mine = await created(caller, requestId=request_id)
    theirs = await created(caller.acting(user_id=OTHER), requestId=request_id)
    assert mine["id"] != theirs["id"]
