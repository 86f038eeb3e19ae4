"""Recall and SearchChunks: what is found, why, and what happens when an arm is missing."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from mesh.kernel.errors import InvalidArgument, NotFound
from mesh.kernel.reasons import Reason
from mnemesh.memory.v1 import chunk_pb2, recall_service_pb2
from tests.contract.memory.hashing_embedder import DOWN, HashingEmbedder
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
    stated,
)

FACT = recall_service_pb2.RECALL_KIND_FACT
CHUNK = recall_service_pb2.RECALL_KIND_CHUNK
COSINE_BOOST = chunk_pb2.CHUNK_RANKING_COSINE_BOOST

SMALL_TALK = [
    "The weather is lovely in the valley",
    "Yesterday the train was late again",
    "I finished the book about whales",
    "We painted the fence green",
    "The neighbours have a noisy lawnmower",
    "There is a new bakery around the corner",
    "My bicycle needs a new chain",
    "The lecture about volcanoes was long",
    "I watched an old film on Sunday",
    "The garden is full of tulips",
]


async def talk(user: User, *texts: str, **fields: Any) -> None:
    """Ingest small talk, then texts, each in a session of its own."""
    lines = [*SMALL_TALK, *texts]
    messages = [said(f"m{n}", text, n, session=f"s{n}") for n, text in enumerate(lines)]
    await user.ingest(*messages, **{"dialog_key": "d", **fields})


async def test_words_find_a_turn_and_each_arm_says_its_part(olena: User) -> None:
    await talk(olena, "The zeppelin landed near the lake")
    response = await olena.recall("zeppelin", explain=True)
    best = response.results[0]
    assert best.chunk.text == "The zeppelin landed near the lake"
    assert {part.arm for part in best.parts} == {"vector", "lexical", "topic_key", "neighbours", "source", "time"}
    assert sum(part.contribution for part in best.parts) == pytest.approx(best.score)
    assert [result.score for result in response.results] == sorted((r.score for r in response.results), reverse=True)
    assert not response.degraded
    assert not (await olena.recall("zeppelin")).results[0].parts


async def test_meaning_finds_a_turn_without_a_common_word(olena: User) -> None:
    await talk(olena, "Her automobile stopped on the bridge")
    assert (await olena.recalled("car"))[0] == "Her automobile stopped on the bridge"


async def test_a_turn_is_found_through_the_turns_beside_it(olena: User) -> None:
    await olena.ingest(
        *(said(f"m{n}", text, n, session="small") for n, text in enumerate(SMALL_TALK)),
        said("q", "What did the surgeon say about the operation?", 20, session="visit"),
        said("a", "It went well, he can come home", 21, session="visit"),
        dialog_key="d",
    )
    assert set((await olena.recalled("surgeon operation"))[:2]) == {
        "What did the surgeon say about the operation?",
        "It went well, he can come home",
    }


async def test_a_named_speaker_is_preferred(olena: User) -> None:
    for name in ("Maryna", "Taras"):
        await olena.ingest(
            said(f"{name}0", "I bought a kayak", 1, speaker=name, session=name),
            *(
                said(f"{name}{n}", text, n + 1, speaker=name, session=f"{name}{n}")
                for n, text in enumerate(SMALL_TALK, 1)
            ),
            dialog_key="d",
        )
    for name in ("Maryna", "Taras"):
        best = (await olena.recall(f"When did {name} buy a kayak?")).results[0].chunk
        assert (best.speaker, best.text) == (name, "I bought a kayak")


async def test_a_named_time_is_preferred(olena: User) -> None:
    days = {"January": 10, "May": 130, "September": 260}
    for number, offset in enumerate(days.values()):
        await olena.ingest(
            *(said(f"{number}.{n}", text, 0, session=f"{number}.{n}") for n, text in enumerate(SMALL_TALK)),
            chunk_pb2.DialogMessage(
                source_id=f"{number}.x",
                text="We planned the journey",
                session=f"{number}.x",
                sent_time=stamp(START.replace(month=1, day=1) + timedelta(days=offset)),
            ),
            dialog_key="d",
        )
    for month, offset in days.items():
        response = await olena.recall(f"Which journey did we plan in {month} 2026?", explain=True)
        expected = START.replace(month=1, day=1) + timedelta(days=offset)
        assert response.results[0].chunk.sent_time == stamp(expected)
        assert any(part.arm == "time" and part.contribution > 0 for part in response.results[0].parts)


async def test_a_topic_brings_up_facts_that_share_no_word(olena: User) -> None:
    await talk(olena)
    await olena.remember(
        stated("allergy", "peanuts", multiple=True),
        stated("home_city", "Lviv"),
        stated("work_role", "nurse"),
        stated("pet_dog", "Biscuit", multiple=True),
    )
    asked = {
        "What should I keep in mind when we book a restaurant?": "allergy=peanuts",
        "Where do I live?": "home_city=Lviv",
        "What is my job?": "work_role=nurse",
        "Що врахувати, коли ми підемо в ресторан?": "allergy=peanuts",
    }
    for question, expected in asked.items():
        assert expected in (await olena.recalled(question))[:2], question


async def test_facts_do_not_crowd_out_evidence(olena: User) -> None:
    await talk(olena, "The zeppelin landed near the lake")
    await olena.remember(*(stated("likes", f"thing {n}", multiple=True) for n in range(30)))
    assert (await olena.recalled("zeppelin"))[0] == "The zeppelin landed near the lake"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Учора бачила справжнього їжака біля Львова", "їжак"),
        ("Вчера мы видели барсука у дома", "барсука"),
        ("Gestern sah ich einen Dachs im Wald", "Dachs"),
        ("Die Bücher über Füchse sind schön", "Buch"),
        ("رأيت بالأمس قنفذا في الحديقة", "القنفذ"),
        ("昨天我在花园里看到一只刺猬", "刺猬"),
        ("昨日庭でハリネズミを見ました", "ハリネズミ"),
        ("어제 정원에서 고슴도치를 보았어요", "고슴도치"),
    ],
)
async def test_g10_words_of_every_language_are_found_without_vectors(
    olena: User, embedder: HashingEmbedder, text: str, query: str
) -> None:
    embedder.failure = DOWN
    await talk(olena, text)
    assert (await olena.recalled(query))[0] == text


async def test_a_question_without_a_searchable_word_says_so(olena: User) -> None:
    await talk(olena)
    for question in ("🎉🎉", "and what about you?", "..."):
        response = await olena.recall(question)
        assert [(arm.arm, arm.reason) for arm in response.degraded] == [("lexical", "NO_TERMS")]
        assert response.results


async def test_without_words_and_vectors_nothing_is_claimed(olena: User, embedder: HashingEmbedder) -> None:
    await talk(olena)
    embedder.failure = DOWN
    response = await olena.recall("🎉")
    assert not response.results
    assert {arm.arm for arm in response.degraded} == {"vector", "lexical"}


async def test_a_late_embedder_leaves_time_for_the_words(olena: User, embedder: HashingEmbedder) -> None:
    await talk(olena, "The zeppelin landed near the lake")
    embedder.hang = asyncio.Event()
    response = await olena.recall("zeppelin", timeout=1.0)
    assert response.results[0].chunk.text == "The zeppelin landed near the lake"
    assert [(arm.arm, arm.reason) for arm in response.degraded] == [("vector", "DEADLINE_EXCEEDED")]
    embedder.hang.set()


async def test_kinds_limit_and_filters_narrow_recall(olena: User) -> None:
    await talk(olena, "The zeppelin landed near the lake", avatar_id=AVATAR)
    await olena.ingest(said("other", "Another zeppelin", 500, session="x"), dialog_key="e", avatar_id=new_uuid())
    await olena.remember(stated("likes", "zeppelin", multiple=True), avatar_id=AVATAR)

    assert await olena.recalled("zeppelin", kinds=[FACT]) == ["likes=zeppelin"]
    assert "likes=zeppelin" not in await olena.recalled("zeppelin", kinds=[CHUNK])
    assert len(await olena.recalled("zeppelin", limit=3)) == 3
    assert len(await olena.recalled("zeppelin")) == 12
    assert "Another zeppelin" not in await olena.recalled("zeppelin", avatar_id=AVATAR)
    assert await olena.recalled("zeppelin", dialog_key="e", kinds=[CHUNK]) == ["Another zeppelin"]
    assert await olena.recalled("zeppelin", tags=["note"], kinds=[CHUNK]) == []
    assert len(await olena.recalled("zeppelin", tags=["conversation"], kinds=[CHUNK], limit=50)) == 12
    assert await olena.recalled("zeppelin", sources=[chunk_pb2.CHUNK_SOURCE_NOTE], kinds=[CHUNK]) == []
    late = stamp(START + timedelta(minutes=100))
    assert await olena.recalled("zeppelin", sent_after_time=late, kinds=[CHUNK]) == ["Another zeppelin"]
    assert "Another zeppelin" not in await olena.recalled("zeppelin", sent_before_time=late, limit=50)
    assert "Another zeppelin" not in await olena.recalled("zeppelin", exclude_session="x", limit=50)


async def test_facts_without_an_avatar_belong_to_every_avatar(olena: User) -> None:
    await olena.remember(stated("name", "Olena"))
    await olena.remember(stated("nickname", "Lena"), avatar_id=AVATAR)
    assert set(await olena.recalled("name", avatar_id=AVATAR)) == {"name=Olena", "nickname=Lena"}
    assert await olena.recalled("name", avatar_id=new_uuid()) == ["name=Olena"]


async def test_superseded_facts_are_not_recalled(olena: User) -> None:
    await olena.remember(stated("home_city", "Kyiv"))
    await olena.remember(stated("home_city", "Lviv", hour=1))
    assert await olena.recalled("Kyiv") == ["home_city=Lviv"]


async def test_memory_of_nothing_answers_nothing(olena: User) -> None:
    response = await olena.recall("What do you know about me?")
    assert not response.results


async def test_g15_an_unknown_dialog_is_not_found(memory: MemoryUnderTest, olena: User) -> None:
    await talk(olena)
    stranger = memory.user()
    for call in (
        olena.recall("x", dialog_key="nowhere"),
        olena.search("x", dialog_key="nowhere"),
        stranger.search("x", dialog_key="d"),
        stranger.search("x", dialog_key="d", ranking=COSINE_BOOST),
    ):
        error = await refused(call)
        assert isinstance(error, NotFound)
        assert error.reason is Reason.DIALOG_NOT_FOUND


async def test_g6_users_and_tenants_never_recall_each_other(memory: MemoryUnderTest) -> None:
    owner = memory.user("acme")
    await talk(owner, "the canary sings")
    await owner.remember(stated("bird", "canary"))
    strangers = [memory.user("acme"), memory.user("globex", owner.principal.user_id)]
    for stranger in strangers:
        await talk(stranger, "nothing of that kind")
        for texts in (
            await stranger.recalled("canary sings", limit=100),
            [one.chunk.text for one in (await stranger.search("canary sings", limit=50)).results],
            [one.chunk.text for one in (await stranger.search("canary sings", ranking=COSINE_BOOST)).results],
        ):
            assert texts
            assert not [text for text in texts if "canary" in text]


async def test_s6_search_finds_chunks_by_both_rankings(olena: User) -> None:
    await talk(olena, "The zeppelin landed near the lake")
    hybrid = (await olena.search("zeppelin")).results
    plain = (await olena.search("zeppelin", ranking=COSINE_BOOST, limit=50)).results
    assert hybrid[0].chunk == plain[0].chunk
    assert (len(hybrid), len(plain)) == (11, 11)
    assert [one.score for one in plain] == [one.match_score for one in plain]
    assert plain[0].boost == 0.0
    assert 0 < plain[0].match_score <= 1.0


async def test_s7_the_plain_ranking_falls_back_to_words_without_an_embedder(
    olena: User, embedder: HashingEmbedder
) -> None:
    await talk(olena, "The zeppelin landed near the lake")
    embedder.failure = DOWN
    response = await olena.search("zeppelin", ranking=COSINE_BOOST)
    assert response.results[0].chunk.text == "The zeppelin landed near the lake"
    assert [arm.arm for arm in response.degraded] == ["vector"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "a\x00b"}, "query"),
        ({"query": "x" * 65_537}, "query"),
        ({"avatar_id": "me"}, "avatar_id"),
        ({"dialog_key": "no spaces"}, "dialog_key"),
        ({"kinds": [0]}, "kinds[0]"),
        ({"sources": [77]}, "sources[0]"),
        ({"tags": [""]}, "tags[0]"),
        ({"limit": 101}, "limit"),
        ({"limit": -1}, "limit"),
        ({"sent_after_time": {"seconds": 10**15}}, "sent_after_time"),
    ],
)
async def test_bad_questions_are_refused_with_their_field(olena: User, fields: dict[str, Any], field: str) -> None:
    error = await refused(olena.recall(**{"query": "x", **fields}))
    assert isinstance(error, InvalidArgument)
    assert set(fields_of(error)) == {field}


@pytest.mark.parametrize(
    "query",
    [
        "x" * 65_536,
        "'; drop table memory.facts; --",
        "\\",
        "' | 'a' & !(",
        "a:b:*",
        "\ud83c\udf89".encode("utf-16", "surrogatepass").decode("utf-16"),
        " ".join(f"word{n}" for n in range(300)),
        "\u202e\u0300",
    ],
)
async def test_g12_any_question_is_answered(olena: User, query: str) -> None:
    await talk(olena)
    assert (await olena.recall(query)).results
    assert (await olena.search(query[:4000])).results


async def test_a_question_that_was_asked_in_many_sessions_does_not_hide_what_answers_it(olena: User) -> None:
    asked = [said(f"q{n}", "Where do I go on Thursdays?", n, session=f"q{n}") for n in range(20)]
    await olena.ingest(*asked, dialog_key="d")
    await olena.remember(stated("weekly_walk", "the harbour on Thursdays"))
    found = (await olena.recall("Where do I go on Thursdays?")).results
    assert [result.fact.value for result in found if result.HasField("fact")] == ["the harbour on Thursdays"]
    assert [result.chunk.text for result in found if result.HasField("chunk")] == ["Where do I go on Thursdays?"]
