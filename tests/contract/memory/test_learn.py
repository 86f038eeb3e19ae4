"""LearnFromTurn: chunks at once, facts by the extractor, every delivery of a turn counts once (G1, G4, G5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mesh.kernel.errors import PermissionDenied, Unavailable
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from mnemesh.memory.v1 import chunk_pb2, fact_pb2
from tests.contract.memory.hashing_embedder import DOWN, HashingEmbedder
from tests.contract.memory.memory_under_test import (
    AVATAR,
    MemoryUnderTest,
    User,
    fields_of,
    new_uuid,
    refused,
    stamp,
)


class ScriptedExtractor:
    """A structured model that answers with what a test gives it; an error is raised, a delay is waited for."""

    name = "scripted"
    provider = "gemini"

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.failure: Any = None
        self.prompts: list[str] = []

    async def extract(self, prompt: str, schema: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        self.prompts.append(prompt)
        # Channels repeat what is unavailable, so a failure lasts until the test ends it.
        answer = self.failure or self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        """Hold nothing."""


@pytest.fixture
def extractor() -> ScriptedExtractor:
    return ScriptedExtractor()


@pytest.fixture
async def with_model(
    memory_database: MeshDatabase, sockets: Path, extractor: ScriptedExtractor
) -> AsyncIterator[MemoryUnderTest]:
    server = MemoryUnderTest(memory_database.urls["memory"], sockets, model=extractor)
    await server.start()
    yield server
    await server.stop()


def extracted(key: str, value: str, excerpt: str, **fields: Any) -> dict[str, Any]:
    defaults = {"subject": "user", "kind": "fact", "confidence": 0.9, "multiple": False, "valid_from": ""}
    return {**defaults, "key": key, "value": value, "excerpt": excerpt, **fields}


async def test_a_turn_becomes_chunks_and_facts(olena: User) -> None:
    session, turn = new_uuid(), new_uuid()
    learned = await olena.learn(
        "I live in Lviv.",
        session_id=session,
        turn_id=turn,
        user_seq=6,
        assistant_seq=7,
        assistant_text="A beautiful city with many cafés.",
    )
    assert learned.chunks_inserted == 2
    (result,) = learned.results
    assert (result.outcome, result.fact.key, result.fact.value) == (1, "home_city", "Lviv")
    source = result.fact.source
    assert (source.session_id, source.turn_id, source.seq) == (session, turn, 6)
    assert source.excerpt in "I live in Lviv."
    assert result.fact.avatar_id == AVATAR

    found = (await olena.search("Lviv cafés")).results
    by_direction = {one.chunk.direction: one.chunk for one in found}
    user = by_direction[chunk_pb2.MESSAGE_DIRECTION_INCOMING]
    assistant = by_direction[chunk_pb2.MESSAGE_DIRECTION_OUTGOING]
    assert (user.source_id, user.session, user.text) == (f"{session}:6", session, "I live in Lviv.")
    assert (assistant.source_id, assistant.speaker) == (f"{session}:7", "Mira")
    assert user.avatar_id == AVATAR


async def test_g4_the_same_turn_again_changes_nothing(olena: User) -> None:
    turn = {"session_id": new_uuid(), "turn_id": new_uuid()}
    await olena.learn("I live in Lviv and I love hiking.", **turn)
    before = await olena.list()
    for _ in range(5):
        again = await olena.learn("I live in Lviv and I love hiking.", **turn)
        assert (again.chunks_inserted, len(again.results)) == (0, 0)
    assert await olena.list() == before
    assert len((await olena.search("hiking")).results) == 1


async def test_deliveries_at_the_same_time_store_a_turn_once(olena: User) -> None:
    turn = {"session_id": new_uuid(), "turn_id": new_uuid(), "assistant_text": "Noted, and enjoy the mountains."}
    answers = await asyncio.gather(*(olena.learn("I live in Lviv.", **turn) for _ in range(8)))
    assert sum(answer.chunks_inserted for answer in answers) == 2
    assert sum(len(answer.results) for answer in answers) == 1
    assert await olena.facts() == {"home_city": "Lviv"}


async def test_g5_turns_that_repeat_recalled_facts_add_none(olena: User) -> None:
    await olena.learn("My name is Olena and I live in Lviv.")
    before = {fact.id for fact in (await olena.list()).facts}
    for number in range(10):
        await olena.learn(
            "What do you know about me?",
            session_id=new_uuid(),
            user_seq=number,
            assistant_text='You said: "My name is Olena and I live in Lviv."',
            assistant_grounded=True,
        )
    assert {fact.id for fact in (await olena.list()).facts} == before
    texts = [one.chunk.text for one in (await olena.search("Olena Lviv", limit=50)).results]
    assert sum("You said" in text for text in texts) == 0


async def test_no_fact_is_learned_from_the_assistant(olena: User) -> None:
    learned = await olena.learn("Tell me a story.", assistant_text="I live in Odesa and my name is Mira.")
    assert not learned.results
    assert learned.chunks_inserted == 2


async def test_a_correction_supersedes_with_turn_and_words(olena: User, memory_database: MeshDatabase) -> None:
    await olena.learn("I live in Kyiv.", turn_time=stamp(datetime(2026, 3, 1, tzinfo=UTC)))
    turn = new_uuid()
    later = await olena.learn(
        "Actually, I live in Lviv now.", turn_id=turn, turn_time=stamp(datetime(2026, 3, 5, tzinfo=UTC))
    )
    assert later.results[0].outcome == fact_pb2.FACT_OUTCOME_SUPERSEDED
    import psycopg  # noqa: PLC0415

    with psycopg.connect(memory_database.admin_url) as connection:
        row = connection.execute(
            "select fact_value, superseded_turn_id::text, superseded_excerpt from memory.facts where id = %s",
            (later.results[0].superseded_fact_id,),
        ).fetchone()
    assert row is not None
    assert row[:2] == ("Kyiv", turn)
    assert "Lviv" in row[2]


async def test_a_turn_that_arrives_late_does_not_undo_a_newer_one(olena: User) -> None:
    await olena.learn("I live in Lviv.", turn_time=stamp(datetime(2026, 3, 5, tzinfo=UTC)))
    await olena.learn("I live in Kyiv.", turn_time=stamp(datetime(2026, 3, 1, tzinfo=UTC)))
    assert await olena.facts() == {"home_city": "Lviv"}


async def test_what_was_taken_back_is_history(olena: User) -> None:
    await olena.learn("I'm vegetarian.", turn_time=stamp(datetime(2026, 3, 1, tzinfo=UTC)))
    assert "diet" in await olena.facts()
    taken = await olena.learn("I'm not vegetarian anymore.", turn_time=stamp(datetime(2026, 3, 5, tzinfo=UTC)))
    assert "diet" not in await olena.facts()
    (result,) = taken.results
    assert result.fact.status == fact_pb2.FACT_STATUS_SUPERSEDED
    assert result.fact.HasField("valid_to_time")
    assert not result.fact.superseded_by_id


async def test_g13_days_are_those_of_the_users_zone(olena: User) -> None:
    # 22:30 UTC on 30 March 2026 is already the 31st in Kyiv, where summer time began the day before.
    learned = await olena.learn(
        "I have a dentist appointment tomorrow.",
        turn_time=stamp(datetime(2026, 3, 30, 22, 30, tzinfo=UTC)),
        time_zone="Europe/Kyiv",
    )
    starts = [
        r.fact.valid_from_time.ToDatetime(tzinfo=UTC) for r in learned.results if r.fact.HasField("valid_from_time")
    ]
    assert starts == [datetime(2026, 3, 31, 21, 0, tzinfo=UTC)]


async def test_an_unknown_zone_is_utc(olena: User) -> None:
    learned = await olena.learn("I live in Lviv.", time_zone="Middle/Earth")
    assert learned.results[0].fact.value == "Lviv"


async def test_a_long_text_is_cut_into_pieces_that_together_hold_it(olena: User) -> None:
    sentences = [f"Sentence number {n} tells about the day {n * 7} of the journey." for n in range(60)]
    learned = await olena.learn(" ".join(sentences))
    pieces = [one.chunk for one in (await olena.search("journey", limit=50)).results]
    assert learned.chunks_inserted == len(pieces) > 5
    assert max(len(piece.text) for piece in pieces) <= 420
    assert set(" ".join(piece.text for piece in pieces).split()) == set(" ".join(sentences).split())


@pytest.mark.parametrize("text", ["x" * 65_536, "Я живу у Львові. " * 3_800, "🎉" * 20_000, "我住在利沃夫。" * 5_000])
async def test_huge_texts_are_learned(olena: User, text: str) -> None:
    assert (await olena.learn(text)).chunks_inserted > 0


async def test_g1_without_an_embedder_a_turn_is_readable_at_once_and_vectors_follow(
    memory: MemoryUnderTest, olena: User, embedder: HashingEmbedder
) -> None:
    embedder.failure = DOWN
    await olena.learn("My automobile is a red one.")
    assert "My automobile is a red one." in await olena.recalled("red automobile")

    embedder.failure = None
    assert not (await olena.recall("red car")).degraded
    worker = memory.worker()
    await worker.start()
    await worker.backlog.work_off()
    await worker.close()
    response = await olena.recall("car", explain=True, kinds=[2])
    (vector,) = [part for part in response.results[0].parts if part.arm == "vector"]
    assert vector.value > 0.3


async def test_only_the_mesh_itself_may_teach(olena: User) -> None:
    from mnemesh.memory.v1.fact_service_pb2_grpc import FactServiceStub  # noqa: PLC0415
    from tests.contract.memory.memory_under_test import lesson  # noqa: PLC0415

    error = await refused(olena._call(FactServiceStub(olena.channel).LearnFromTurn, lesson("I live in Lviv.")))
    assert isinstance(error, PermissionDenied)
    assert error.reason is Reason.SCOPE_MISSING


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"session_id": "1"}, "session_id"),
        ({"turn_id": ""}, "turn_id"),
        ({"user_seq": -1}, "user_seq"),
        ({"avatar_id": "x"}, "avatar_id"),
        ({"assistant_text": "a\x00"}, "assistant_text"),
        ({"turn_time": None}, "turn_time"),
    ],
)
async def test_bad_turns_are_refused_with_their_field(olena: User, fields: dict[str, Any], field: str) -> None:
    assert set(fields_of(await refused(olena.learn("I live in Lviv.", **fields)))) == {field}


async def test_a_model_extracts_with_date_zone_and_schema(
    with_model: MemoryUnderTest, extractor: ScriptedExtractor
) -> None:
    user = with_model.user()
    text = "My sister Iryna moved to Gdańsk in May, and I adore climbing."
    extractor.answers = [
        {
            "facts": [
                extracted(
                    "homeCity",
                    "Gdańsk",
                    "My sister Iryna moved to Gdańsk in May",
                    subject="sister",
                    valid_from="2026-05-01",
                ),
                extracted("likes", "climbing", "I adore climbing", multiple=False),
                extracted("home_city", "Warsaw", "I live in Warsaw"),
                extracted("mood", "perhaps happy", "I adore climbing", confidence=0.2),
            ]
        }
    ]
    learned = await user.learn(text)

    assert "Monday, 2026-03-02 11:00" in extractor.prompts[0]
    assert "Europe/Kyiv" in extractor.prompts[0]
    assert text in extractor.prompts[0]
    facts = [(r.fact.subject, r.fact.key, r.fact.value) for r in learned.results]
    assert facts == [("user.sister", "home_city", "Gdańsk"), ("user", "likes", "climbing")]
    assert learned.results[0].fact.valid_from_time.ToDatetime(tzinfo=UTC) == datetime(2026, 4, 30, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    "failure",
    [
        Unavailable(Reason.MODEL_UNAVAILABLE, "away"),
        Unavailable(Reason.MODEL_OUTPUT_INVALID, "no JSON"),
        {"fact": []},
        {"facts": "none"},
    ],
)
async def test_a_failing_model_keeps_the_words_and_learns_the_facts_on_the_next_delivery(
    with_model: MemoryUnderTest, extractor: ScriptedExtractor, failure: Any
) -> None:
    user = with_model.user()
    turn = {"session_id": new_uuid(), "turn_id": new_uuid()}
    extractor.failure = failure

    error = await refused(user.learn("I walk with my dog Biscuit.", **turn))
    assert isinstance(error, Unavailable)
    assert await user.recalled("dog") == ["I walk with my dog Biscuit."]
    assert not (await user.list()).facts

    extractor.failure, extractor.answers = None, [{"facts": [extracted("pet_dog", "Biscuit", "my dog Biscuit")]}]
    again = await user.learn("I walk with my dog Biscuit.", **turn)
    assert again.chunks_inserted == 0
    assert await user.facts() == {"pet_dog": "Biscuit"}
    assert len((await user.search("dog")).results) == 1


async def test_a_model_is_asked_once_for_a_turn_that_is_known(
    with_model: MemoryUnderTest, extractor: ScriptedExtractor
) -> None:
    user = with_model.user()
    turn = {"session_id": new_uuid(), "turn_id": new_uuid()}
    extractor.answers = [{"facts": []}]
    await user.learn("Nothing to learn here.", **turn)
    await user.learn("Nothing to learn here.", **turn)
    assert len(extractor.prompts) == 1
