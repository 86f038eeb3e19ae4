"""Avatars: all 17 columns of a table that is not ours (L1)."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg_errors

from gateway.example_avatars import EXAMPLES, seed
from tests.contract.gateway.callers import MIA, Caller, Refused
from tests.contract.gateway.conftest import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a0ff"
BARE = "6f1b8a0e-3a51-4c0e-9d57-1d3a4cf0a0fe"
ROWS = f"""
insert into ml.avatars values (
    '{FULL}', 'full', 'creator', 'Full', 'Be full.', 'loras/full', true, 'books', 'voice.wav', 'Hello.',
    'Has everything.', '{{"a","b"}}', 'https://example.org/full.png', 'voice-1', '{{"mood": {{"warm": 0.5}}}}',
    '2026-01-02 03:04:05+00', '2026-02-03 04:05:06+00');
insert into ml.avatars (uid, avatar_id, customization, date, updated_at) values ('{BARE}', null, '[1]', null, null);
"""


@pytest.fixture
def two_more(gateway: Gateway) -> object:
    gateway.sql(ROWS)
    yield
    gateway.sql(f"delete from ml.avatars where uid in ('{FULL}', '{BARE}')")


@pytest.mark.usefixtures("two_more")
async def test_every_column_is_returned(caller: Caller) -> None:
    assert (await caller("GetAvatar", uid=FULL))["avatar"] == {
        "uid": FULL,
        "avatarId": "full",
        "creatorId": "creator",
        "name": "Full",
        "systemPrompt": "Be full.",
        "loraAdapterPath": "loras/full",
        "loraQualityPassed": True,
        "collectionName": "books",
        "voiceClonePath": "voice.wav",
        "voiceCloneText": "Hello.",
        "description": "Has everything.",
        "tags": ["a", "b"],
        "previewUrl": "https://example.org/full.png",
        "elevenlabsVoiceId": "voice-1",
        "customization": {"mood": {"warm": 0.5}},
        "createTime": "2026-01-02T03:04:05Z",
        "updateTime": "2026-02-03T04:05:06Z",
    }


@pytest.mark.usefixtures("two_more")
async def test_columns_that_are_null_are_empty(caller: Caller) -> None:
    avatar = (await caller("GetAvatar", uid=BARE))["avatar"]
    assert (avatar["avatarId"], avatar["name"], avatar["tags"], avatar["customization"]) == ("", "", [], {})
    assert "createTime" not in avatar


@pytest.mark.usefixtures("two_more")
async def test_avatars_are_listed_newest_first_and_those_without_a_date_last(caller: Caller) -> None:
    found: list[str] = []
    token = ""
    while True:
        page = await caller("ListAvatars", pageSize=1, pageToken=token)
        found += [avatar["uid"] for avatar in page["avatars"]]
        token = page["nextPageToken"]
        if not token:
            break
    assert len(found) == len(set(found)) == 4
    assert found[-2:] == [FULL, BARE]


async def test_an_unknown_avatar_is_not_found(caller: Caller) -> None:
    with pytest.raises(Refused) as refused:
        await caller("GetAvatar", uid=FULL)
    assert (refused.value.status, refused.value.reason) == (404, "AVATAR_NOT_FOUND")


async def test_examples_are_seeded_once_and_never_overwritten(gateway: Gateway, caller: Caller) -> None:
    gateway.sql(f"update ml.avatars set description = 'ours' where uid = '{MIA}'")
    seed(gateway.admin_url)
    assert (await caller("GetAvatar", uid=MIA))["avatar"]["description"] == "ours"
    assert gateway.sql("select count(*) from ml.avatars") == [(len(EXAMPLES),)]


@pytest.mark.parametrize(
    "statement",
    [
        f"insert into ml.avatars (uid, avatar_id) values ('{FULL}', 'x')",
        "update ml.avatars set name = 'x'",
        "delete from ml.avatars",
        "truncate ml.avatars",
        "alter table ml.avatars add column x int",
        "drop table ml.avatars",
        "create table ml.mine (x int)",
    ],
)
async def test_the_gateways_role_cannot_write_avatars(gateway: Gateway, statement: str) -> None:
    with psycopg.connect(gateway.url) as connection, pytest.raises(pg_errors.InsufficientPrivilege):
        connection.execute(statement.encode())
