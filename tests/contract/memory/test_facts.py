"""GetFact, ListFacts, DeleteFact (L11)."""

from __future__ import annotations

import pytest

from mesh.kernel.errors import Aborted, InvalidArgument, NotFound
from mesh.kernel.reasons import Reason
from mnemesh.memory.v1 import fact_pb2
from tests.contract.memory.memory_under_test import AVATAR, MemoryUnderTest, User, fields_of, new_uuid, refused, stated


async def remember_many(user: User, count: int) -> list[str]:
    facts = [stated("likes", f"thing {n}", hour=n, multiple=True) for n in range(count)]
    return [result.fact.id for result in (await user.remember(*facts)).results]


async def test_pages_hold_every_fact_once(olena: User) -> None:
    ids = await remember_many(olena, 25)
    seen: list[str] = []
    token = ""
    while True:
        page = await olena.list(page_size=10, page_token=token)
        assert len(page.facts) <= 10
        seen += [fact.id for fact in page.facts]
        token = page.next_page_token
        if not token:
            break
    assert sorted(seen) == sorted(ids)


async def test_l11_facts_that_were_seen_last_come_first(memory: MemoryUnderTest, olena: User) -> None:
    await olena.remember(stated("name", "Olena"))
    await olena.remember(stated("allergy", "peanuts", multiple=True))
    assert [fact.key for fact in (await olena.list()).facts] == ["allergy", "name"]

    before = (await olena.list()).facts[1]
    await olena.as_engine().recall("What is my name?", limit=1)
    await memory.server.seen.flush()

    after = (await olena.list()).facts[0]
    assert (after.key, after.etag) == ("name", before.etag)
    assert after.last_seen_time.ToNanoseconds() > before.last_seen_time.ToNanoseconds()


async def test_recall_by_a_caller_is_no_injection_and_marks_nothing(memory: MemoryUnderTest, olena: User) -> None:
    await olena.remember(stated("name", "Olena"))
    before = (await olena.list()).facts[0]
    await olena.recall("What is my name?")
    await memory.server.seen.flush()
    assert (await olena.list()).facts[0] == before


async def test_filters_narrow_the_list(olena: User) -> None:
    await olena.remember(stated("name", "Olena"), stated("home_city", "Kyiv"), avatar_id=AVATAR)
    await olena.remember(stated("home_city", "Lviv", hour=1), avatar_id=AVATAR)
    await olena.remember(stated("name", "Lena"))
    turn = new_uuid()
    await olena.learn("My favourite colour is green.", turn_id=turn)

    assert {fact.value for fact in (await olena.list(key="name")).facts} == {"Olena", "Lena"}
    assert {fact.value for fact in (await olena.list(key="name", avatar_id=AVATAR.upper())).facts} == {"Olena"}
    superseded = (await olena.list(statuses=[fact_pb2.FACT_STATUS_SUPERSEDED])).facts
    assert [fact.value for fact in superseded] == ["Kyiv"]
    learned = (await olena.list(turn_id=turn)).facts
    assert [fact.value for fact in learned] == ["green"]
    assert learned[0].source.turn_id == turn


async def test_a_page_token_belongs_to_its_list_and_caller(memory: MemoryUnderTest, olena: User) -> None:
    await remember_many(olena, 3)
    token = (await olena.list(page_size=1)).next_page_token
    for attempt in (olena.list(page_size=1, page_token=token, key="likes"), memory.user().list(page_token=token)):
        error = await refused(attempt)
        assert error.reason is Reason.PAGE_TOKEN_INVALID
        assert fields_of(error) == ["page_token"]
    assert (await refused(olena.list(page_token="nonsense"))).reason is Reason.PAGE_TOKEN_INVALID


async def test_l11_deleting_is_soft_and_idempotent(olena: User) -> None:
    (fact_id,) = await remember_many(olena, 1)
    first = await olena.delete(fact_id)
    assert first.fact.status == fact_pb2.FACT_STATUS_DELETED
    assert first.fact.HasField("delete_time")

    again = await olena.delete(fact_id, etag="long gone")
    assert again == first
    assert not (await olena.list()).facts
    assert not (await olena.recall("thing", kinds=[1])).results
    assert (await olena.get(fact_id)) == first.fact
    assert len((await olena.list(statuses=[fact_pb2.FACT_STATUS_DELETED])).facts) == 1


async def test_a_deleted_fact_can_be_stated_again(olena: User) -> None:
    (fact_id,) = await remember_many(olena, 1)
    await olena.delete(fact_id)
    (new_id,) = await remember_many(olena, 1)
    assert new_id != fact_id
    assert [fact.id for fact in (await olena.list()).facts] == [new_id]


async def test_a_stale_etag_deletes_nothing(olena: User) -> None:
    (first,) = (await olena.remember(stated("name", "Olena", confidence=0.5))).results
    await olena.remember(stated("name", "Olena", hour=1))

    error = await refused(olena.delete(first.fact.id, etag=first.fact.etag))
    assert isinstance(error, Aborted)
    assert error.reason is Reason.ETAG_MISMATCH
    current = await olena.get(first.fact.id)
    assert current.status == fact_pb2.FACT_STATUS_ACTIVE
    deleted = await olena.delete(first.fact.id.upper(), etag=current.etag)
    assert deleted.fact.status == fact_pb2.FACT_STATUS_DELETED


async def test_deleting_with_evidence_removes_the_words_of_the_turn(olena: User) -> None:
    learned = await olena.learn(
        "My favourite colour is turquoise.", assistant_text="Turquoise suits you, and it is a calm colour."
    )
    await olena.learn("I walked along the river today.")
    assert len(await olena.recalled("turquoise", kinds=[2])) == 3

    request_id = new_uuid()
    fact_id = learned.results[0].fact.id
    deleted = await olena.delete(fact_id, delete_evidence=True, request_id=request_id)
    assert deleted.chunks_deleted == 2
    assert await olena.recalled("turquoise") == ["I walked along the river today."]
    assert await olena.delete(fact_id, delete_evidence=True, request_id=request_id) == deleted
    assert (await olena.delete(fact_id, delete_evidence=True)).chunks_deleted == 0


async def test_g15_an_unknown_fact_is_not_found(olena: User) -> None:
    unknown = new_uuid()
    for call in (olena.get(unknown), olena.delete(unknown)):
        error = await refused(call)
        assert isinstance(error, NotFound)
        assert error.reason is Reason.FACT_NOT_FOUND
        assert error.details.resource is not None
        assert error.details.resource.name == unknown


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"page_size": -1}, "page_size"),
        ({"avatar_id": "me"}, "avatar_id"),
        ({"statuses": [0]}, "statuses[0]"),
        ({"statuses": [77]}, "statuses[0]"),
        ({"key": "Home City"}, "key"),
        ({"turn_id": "1"}, "turn_id"),
    ],
)
async def test_bad_filters_are_refused_with_their_field(olena: User, fields: dict[str, object], field: str) -> None:
    error = await refused(olena.list(**fields))
    assert isinstance(error, InvalidArgument)
    assert set(fields_of(error)) == {field}


async def test_an_id_that_is_no_uuid_is_refused(olena: User) -> None:
    for call in (olena.get("1"), olena.delete("'; --")):
        assert fields_of(await refused(call)) == ["id"]
