"""IngestDialog: what is new is stored, what is known is left alone (S1, S8)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import psycopg
import pytest

from mesh.kernel.errors import InvalidArgument
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from mnemesh.memory.v1 import chunk_pb2, chunk_service_pb2
from tests.contract.memory.hashing_embedder import DOWN, REFUSED, HashingEmbedder
from tests.contract.memory.memory_under_test import (
    AVATAR,
    START,
    MemoryUnderTest,
    User,
    fields_of,
    new_uuid,
    refused,
    said,
    stamp,
)


def counts(answer: chunk_service_pb2.IngestDialogResponse) -> tuple[int, int, int]:
    return answer.inserted, answer.updated, answer.unchanged


async def test_messages_come_back_as_they_were_sent(olena: User) -> None:
    message = said(
        "D1:1",
        "We saw the sea.",
        speaker="Petro",
        session="s1",
        direction=chunk_pb2.MESSAGE_DIRECTION_INCOMING,
        image_caption="waves at sunset",
    )
    answer = await olena.ingest(message, dialog_key="trip", avatar_id=AVATAR)
    assert counts(answer) == (1, 0, 0)
    assert (answer.dialog_key, answer.total_chunks, dict(answer.sources)) == ("trip", 1, {"conversation": 1})
    assert answer.pending_vectors == 0

    (found,) = (await olena.search("sunset", dialog_key="trip")).results
    chunk = found.chunk
    assert chunk.text == "We saw the sea. [Image: waves at sunset]"
    assert (chunk.source_id, chunk.speaker, chunk.session, chunk.avatar_id) == ("D1:1", "Petro", "s1", AVATAR)
    assert (chunk.source, chunk.direction) == (chunk_pb2.CHUNK_SOURCE_CONVERSATION, message.direction)
    assert chunk.sent_time == message.sent_time
    assert list(chunk.tags) == ["conversation"]


async def test_s1_what_is_known_is_neither_written_nor_embedded_again(
    olena: User, embedder: HashingEmbedder, memory_database: MeshDatabase
) -> None:
    messages = [said(f"m{n}", f"Message number {n}", n) for n in range(20)]
    assert counts(await olena.ingest(*messages, dialog_key="d")) == (20, 0, 0)
    embedder.documents.clear()
    query = "select xmin::text from memory.chunks where user_id = %s order by ordinal"
    with psycopg.connect(memory_database.admin_url, autocommit=True) as connection:
        before = connection.execute(query, (olena.principal.user_id,)).fetchall()
        answer = await olena.ingest(*messages, said("m20", "One more", 20), dialog_key="d")
        after = connection.execute(query, (olena.principal.user_id,)).fetchall()
    assert counts(answer) == (1, 0, 20)
    assert embedder.documents == ["One more"]
    assert after[:20] == before


async def test_a_changed_text_replaces_its_chunks_in_place(olena: User) -> None:
    messages = [said(f"m{n}", text, n) for n, text in enumerate(("first", "second thing", "third"))]
    await olena.ingest(*messages, dialog_key="d")
    answer = await olena.ingest(said("m1", "a new second", 1), dialog_key="d")
    assert counts(answer) == (0, 1, 0)
    texts = {one.chunk.text for one in (await olena.search("first second third", dialog_key="d")).results}
    assert texts == {"first", "a new second", "third"}


async def test_a_message_that_becomes_shorter_loses_its_rest(olena: User) -> None:
    long = " ".join(f"Sentence {n} is here." for n in range(60))
    await olena.ingest(said("m", long), dialog_key="d")
    answer = await olena.ingest(said("m", "Short now."), dialog_key="d")
    assert counts(answer) == (0, 1, 0)
    assert [one.chunk.text for one in (await olena.search("sentence short", dialog_key="d")).results] == ["Short now."]


async def test_s1_the_content_hash_is_that_of_the_source_design(olena: User, memory_database: MeshDatabase) -> None:
    await olena.ingest(said("m1", "Hello there"), dialog_key="d")
    with psycopg.connect(memory_database.admin_url) as connection:
        row = connection.execute(
            "select content_hash from memory.chunks where user_id = %s", (olena.principal.user_id,)
        ).fetchone()
    assert row == (hashlib.sha256(b"dconversationm1Hello there").digest(),)


async def test_s4_without_a_key_the_dialog_is_that_of_user_and_avatar(olena: User) -> None:
    answer = await olena.ingest(said("m", "Hello"), avatar_id=AVATAR)
    expected = hashlib.sha256(f"dialog:{olena.principal.user_id}:{AVATAR}".encode()).hexdigest()
    assert answer.dialog_key == expected
    assert (await olena.ingest(said("m", "Hello"), avatar_id=AVATAR.upper())).unchanged == 1


async def test_ingests_of_the_same_messages_at_once_store_them_once(olena: User) -> None:
    messages = [said(f"m{n}", f"Message number {n}", n) for n in range(50)]
    answers = await asyncio.gather(*(olena.ingest(*messages, dialog_key="d") for _ in range(6)))
    assert sum(answer.inserted for answer in answers) == 50
    assert all(answer.total_chunks == 50 for answer in answers)


async def test_two_users_may_use_the_same_key(memory: MemoryUnderTest) -> None:
    users = [memory.user("acme"), memory.user("acme"), memory.user("globex")]
    for number, user in enumerate(users):
        assert counts(await user.ingest(said("m", f"canary {number}"), dialog_key="shared")) == (1, 0, 0)
    for number, user in enumerate(users):
        assert await user.recalled("canary", dialog_key="shared") == [f"canary {number}"]


async def test_a_retry_with_the_same_request_id_gets_the_first_answer(olena: User) -> None:
    request_id = new_uuid()
    first = await olena.ingest(said("m", "Hello"), dialog_key="d", request_id=request_id)
    assert first.inserted == 1
    assert await olena.ingest(said("m", "Hello"), dialog_key="d", request_id=request_id) == first
    error = await refused(olena.ingest(said("m", "Other"), dialog_key="d", request_id=request_id))
    assert error.reason is Reason.REQUEST_ID_REUSED


async def test_s5_without_an_embedder_messages_are_stored_and_vectors_follow(
    memory: MemoryUnderTest, olena: User, embedder: HashingEmbedder
) -> None:
    embedder.failure = DOWN
    answer = await olena.ingest(said("m1", "My feline sleeps"), said("m2", "It rains", 1), dialog_key="d")
    assert (answer.inserted, answer.pending_vectors) == (2, 2)
    assert (await olena.ingest(said("m1", "My feline sleeps"), dialog_key="d")).pending_vectors == 1
    assert "My feline sleeps" in await olena.recalled("feline")

    embedder.failure = None
    worker = memory.worker()
    await worker.start()
    await worker.backlog.work_off()
    await worker.close()
    assert (await olena.ingest(said("m1", "My feline sleeps"), dialog_key="d")).pending_vectors == 0
    assert (await olena.recalled("cat"))[0] == "My feline sleeps"


async def test_an_embedder_that_hangs_delays_no_acknowledgement_beyond_its_share(
    olena: User, embedder: HashingEmbedder
) -> None:
    embedder.hang = asyncio.Event()
    answer = await olena.ingest(said("m1", "Hello there"), dialog_key="d", timeout=2.5)
    assert (answer.inserted, answer.pending_vectors) == (1, 1)
    embedder.hang.set()


async def test_a_text_that_the_embedder_refuses_holds_up_no_other(
    memory: MemoryUnderTest, olena: User, embedder: HashingEmbedder
) -> None:
    embedder.failure = DOWN
    await olena.ingest(*(said(f"m{n}", f"harmless {n}" if n != 3 else "poison", n) for n in range(7)), dialog_key="d")
    embedder.failure, embedder.refused_word = None, "poison"
    assert REFUSED.reason is Reason.MODEL_REFUSED
    worker = memory.worker()
    await worker.start()
    await worker.backlog.work_off()
    await worker.close()
    again = await olena.ingest(said("m3", "poison", 3), said("m4", "harmless 4", 4), dialog_key="d")
    assert again.pending_vectors == 1
    assert await olena.recalled("poison", limit=1) == ["poison"]


@pytest.mark.parametrize(
    ("messages", "fields", "field"),
    [
        ([], {}, "messages"),
        ([said("", "x")], {}, "messages[0].source_id"),
        ([said("m", "")], {}, "messages[0].text"),
        ([said("m", "a\x00b")], {}, "messages[0].text"),
        ([said("m", "x" * 8001)], {}, "messages[0].text"),
        ([chunk_pb2.DialogMessage(source_id="m", text="x")], {}, "messages[0].sent_time"),
        ([said("a", "x"), said("a", "y")], {}, "messages"),
        ([said("m", "x", direction=9)], {}, "messages[0].direction"),
        (
            [chunk_pb2.DialogMessage(source_id="m", text="x", sent_time={"seconds": 10**15})],
            {},
            "messages[0].sent_time",
        ),
        ([said("m", "x")], {"dialog_key": "no spaces"}, "dialog_key"),
        ([said("m", "x")], {"avatar_id": "me"}, "avatar_id"),
        ([said("m", "x")], {"request_id": "again"}, "request_id"),
    ],
)
async def test_bad_input_is_refused_with_its_field(
    olena: User, messages: list[chunk_pb2.DialogMessage], fields: dict[str, Any], field: str
) -> None:
    error = await refused(olena.ingest(*messages, **fields))
    assert isinstance(error, InvalidArgument)
    assert set(fields_of(error)) == {field}


async def test_a_blank_text_is_no_chunk(olena: User) -> None:
    assert (await olena.ingest(said("m", " \n\t "), said("n", "words", 1), dialog_key="d")).total_chunks == 1


async def test_a_message_that_becomes_blank_loses_its_chunks(olena: User) -> None:
    await olena.ingest(said("m", "a secret"), dialog_key="d")
    await olena.ingest(said("m", " "), dialog_key="d")
    assert not (await olena.search("secret", dialog_key="d")).results


async def test_times_before_the_epoch_and_far_ahead_are_kept(olena: User) -> None:
    old = chunk_pb2.DialogMessage(source_id="old", text="diary", sent_time=stamp(START.replace(year=1850)))
    new = chunk_pb2.DialogMessage(source_id="new", text="diary", sent_time=stamp(START.replace(year=9000)))
    await olena.ingest(old, new, dialog_key="d")
    found = {one.chunk.source_id: one.chunk.sent_time for one in (await olena.search("diary")).results}
    assert found == {"old": old.sent_time, "new": new.sent_time}
