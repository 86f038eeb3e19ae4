"""RememberFacts: what becomes of a stated fact, alone and in a race (L10, G4)."""

from __future__ import annotations

import asyncio
import hashlib

import psycopg
import pytest

from mesh.kernel.errors import InvalidArgument, PermissionDenied
from mesh.kernel.reasons import Reason
from mesh.testing.postgres import MeshDatabase
from mnemesh.memory.v1 import fact_pb2
from tests.contract.memory.hashing_embedder import DOWN, HashingEmbedder
from tests.contract.memory.memory_under_test import (
    AVATAR,
    START,
    MemoryUnderTest,
    User,
    fields_of,
    new_uuid,
    refused,
    stamp,
    stated,
)

CREATED = fact_pb2.FACT_OUTCOME_CREATED
MERGED = fact_pb2.FACT_OUTCOME_MERGED
SUPERSEDED = fact_pb2.FACT_OUTCOME_SUPERSEDED
UNCHANGED = fact_pb2.FACT_OUTCOME_UNCHANGED
REFUSED = fact_pb2.FACT_OUTCOME_REFUSED


async def outcomes(user: User, *facts: fact_pb2.NewFact) -> list[int]:
    return [result.outcome for result in (await user.remember(*facts)).results]


async def test_a_new_fact_is_stored_as_it_was_stated(olena: User) -> None:
    fact = stated(
        "appointment",
        "dentist",
        kind=fact_pb2.FACT_KIND_EVENT,
        category="plan",
        subject="user.sister",
        confidence=0.75,
        multiple=True,
        trust=fact_pb2.FACT_TRUST_TOOL,
        valid_from_time=stamp(START),
        source=fact_pb2.FactSource(excerpt="She sees the dentist"),
    )
    (result,) = (await olena.remember(fact, avatar_id=AVATAR)).results

    stored = await olena.get(result.fact.id)
    assert stored == result.fact
    assert (stored.subject, stored.key, stored.value) == ("user.sister", "appointment", "dentist")
    assert (stored.kind, stored.trust) == (fact_pb2.FACT_KIND_EVENT, fact_pb2.FACT_TRUST_TOOL)
    assert (stored.category, stored.confidence, stored.avatar_id) == ("plan", 0.75, AVATAR)
    assert stored.source.excerpt == "She sees the dentist"
    assert stored.observe_time == stored.valid_from_time == stamp(START)
    assert stored.status == fact_pb2.FACT_STATUS_ACTIVE
    assert stored.etag


async def test_a_fact_without_times_is_observed_now_and_certain(olena: User) -> None:
    (result,) = (await olena.remember(fact_pb2.NewFact(key="name", value="Olena"))).results

    assert result.fact.confidence == 1.0
    assert abs(result.fact.observe_time.seconds - result.fact.create_time.seconds) < 60
    assert not result.fact.HasField("valid_from_time")


async def test_l10_a_new_value_supersedes_the_old_one_and_history_stays(olena: User) -> None:
    (first,) = (await olena.remember(stated("home_city", "Kyiv"))).results
    (second,) = (await olena.remember(stated("home_city", "Lviv", hour=1))).results

    assert (second.outcome, second.superseded_fact_id) == (SUPERSEDED, first.fact.id)
    assert await olena.facts() == {"home_city": "Lviv"}
    old = await olena.get(first.fact.id)
    assert old.status == fact_pb2.FACT_STATUS_SUPERSEDED
    assert old.superseded_by_id == second.fact.id
    assert old.value == "Kyiv"
    assert old.valid_to_time == second.fact.observe_time
    assert old.etag != first.fact.etag


async def test_several_values_of_one_key_stay_beside_each_other(olena: User) -> None:
    facts = [stated("allergy", value, multiple=True) for value in ("peanuts", "pollen")]
    assert await outcomes(olena, *facts) == [CREATED, CREATED]
    assert len((await olena.list()).facts) == 2


async def test_the_same_fact_again_changes_nothing_but_when_it_was_seen(olena: User) -> None:
    (first,) = (await olena.remember(stated("name", "Olena", confidence=0.6))).results
    (again,) = (await olena.remember(stated("name", "Olena", hour=2, confidence=0.9))).results

    assert again.outcome == UNCHANGED
    assert again.fact.id == first.fact.id
    assert again.fact.confidence == 0.9
    assert again.fact.last_seen_time.ToNanoseconds() > first.fact.last_seen_time.ToNanoseconds()
    assert len((await olena.list()).facts) == 1


@pytest.mark.parametrize(
    ("first", "again"), [("nurse", "a nurse"), ("Peanuts", "peanut"), ("Lviv", "lviv"), ("кіт", "Кіт")]
)
async def test_the_same_words_in_another_form_are_merged(olena: User, first: str, again: str) -> None:
    assert await outcomes(olena, stated("thing", first), stated("thing", again, hour=1)) == [CREATED, MERGED]
    assert await olena.facts() == {"thing": first}


async def test_l10_other_words_for_the_same_are_merged_by_their_vectors(olena: User) -> None:
    facts = [stated("likes", value, multiple=True) for value in ("late supper", "late dinner", "late breakfast")]
    assert await outcomes(olena, *facts) == [CREATED, MERGED, CREATED]


async def test_values_that_differ_in_a_number_a_name_or_a_negation_are_never_merged(olena: User) -> None:
    long = "the weekly meeting of the whole project team with everybody from the office in the morning at"
    values = [f"{long} 9", f"{long} 10", f"not {long} 9", f"{long} 9 with Anna", f"{long} 9 with Hanna"]
    facts = [stated("plan", value, multiple=True) for value in values]
    assert await outcomes(olena, *facts) == [CREATED] * 5


async def test_g4_equal_values_of_different_subjects_are_different_facts(olena: User) -> None:
    facts = [stated("home_city", "Lviv", subject=subject) for subject in ("user", "user.sister", "user.brother")]
    assert await outcomes(olena, *facts) == [CREATED] * 3
    assert await outcomes(olena, stated("home_city", "Odesa", hour=1, subject="user.sister")) == [SUPERSEDED]
    assert sorted(fact.value for fact in (await olena.list()).facts) == ["Lviv", "Lviv", "Odesa"]


async def test_an_event_on_another_day_is_another_event(olena: User) -> None:
    def dentist(day: int) -> fact_pb2.NewFact:
        at = stamp(START.replace(day=day))
        return stated("appointment", "dentist", kind=fact_pb2.FACT_KIND_EVENT, multiple=True, valid_from_time=at)

    assert await outcomes(olena, dentist(10), dentist(20), dentist(10)) == [CREATED, CREATED, UNCHANGED]


async def test_a_less_trusted_source_corrects_nothing(olena: User) -> None:
    await olena.remember(stated("home_city", "Lviv"))
    inferred = stated("home_city", "Warsaw", hour=1, trust=fact_pb2.FACT_TRUST_ASSISTANT_INFERRED)
    (result,) = (await olena.remember(inferred)).results

    assert (result.outcome, result.fact.value) == (REFUSED, "Lviv")
    assert await olena.facts() == {"home_city": "Lviv"}
    assert len((await olena.list(statuses=[1, 2, 3])).facts) == 1


async def test_what_was_said_earlier_becomes_history_and_does_not_supersede(olena: User) -> None:
    (later,) = (await olena.remember(stated("home_city", "Lviv", hour=5))).results
    (late,) = (await olena.remember(stated("home_city", "Kyiv", hour=1))).results

    assert (late.outcome, late.fact.id) == (SUPERSEDED, later.fact.id)
    history = await olena.get(late.superseded_fact_id)
    assert (history.value, history.superseded_by_id) == ("Kyiv", later.fact.id)
    assert await olena.facts() == {"home_city": "Lviv"}

    (again,) = (await olena.remember(stated("home_city", "Kyiv", hour=1))).results
    assert again.outcome == UNCHANGED
    assert len((await olena.list(statuses=[1, 2])).facts) == 2


async def test_facts_of_one_request_see_each_other_and_are_stored_together(olena: User) -> None:
    facts = [stated("home_city", city, hour=hour) for hour, city in enumerate(("Kyiv", "Lviv", "Odesa"))]
    assert await outcomes(olena, *facts) == [CREATED, SUPERSEDED, SUPERSEDED]
    assert await olena.facts() == {"home_city": "Odesa"}


async def test_a_value_that_was_superseded_can_come_back(olena: User) -> None:
    for hour, city in enumerate(("Kyiv", "Lviv", "Kyiv")):
        await olena.remember(stated("home_city", city, hour=hour))
    assert await olena.facts() == {"home_city": "Kyiv"}
    assert len((await olena.list(statuses=[fact_pb2.FACT_STATUS_SUPERSEDED])).facts) == 2


async def test_facts_of_one_avatar_do_not_supersede_those_of_another(olena: User) -> None:
    other = new_uuid()
    await olena.remember(stated("nickname", "Lena"), avatar_id=AVATAR)
    (result,) = (await olena.remember(stated("nickname", "Olenka", hour=1), avatar_id=other)).results

    assert result.outcome == CREATED
    assert await olena.facts(avatar_id=AVATAR) == {"nickname": "Lena"}
    assert await olena.facts(avatar_id=other) == {"nickname": "Olenka"}


async def test_l10_the_dedup_hash_is_that_of_the_source_design(olena: User, memory_database: MeshDatabase) -> None:
    (result,) = (await olena.remember(stated("home_city", "Lviv"), avatar_id=AVATAR)).results
    with psycopg.connect(memory_database.admin_url) as connection:
        row = connection.execute("select dedup_hash from memory.facts where id = %s", (result.fact.id,)).fetchone()
    assert row == (hashlib.sha256(f"{AVATAR}:home_city:Lviv".encode()).digest(),)


async def test_a_retry_with_the_same_request_id_gets_the_first_answer(olena: User) -> None:
    request_id = new_uuid()
    fact = stated("likes", "tea", multiple=True)
    first = await olena.remember(fact, request_id=request_id)
    assert await olena.remember(fact, request_id=request_id) == first
    assert first.results[0].outcome == CREATED

    error = await refused(olena.remember(stated("likes", "coffee"), request_id=request_id))
    assert error.reason is Reason.REQUEST_ID_REUSED
    assert fields_of(error) == ["request_id"]


@pytest.mark.parametrize("same", [True, False])
async def test_l10_g4_racing_writers_end_with_one_active_value(olena: User, same: bool) -> None:
    facts = [stated("home_city", "Lviv" if same else f"City {n}", hour=n % 3) for n in range(16)]
    responses = await asyncio.gather(*(olena.remember(fact) for fact in facts))

    active = (await olena.list()).facts
    assert len(active) == 1
    assert active[0].observe_time == stamp(START.replace(hour=START.hour + 2))
    told = [response.results[0].outcome for response in responses]
    assert told.count(CREATED) == 1
    if same:
        assert told.count(UNCHANGED) == 15


async def test_g1_g3_without_an_embedder_facts_are_stored_and_found_by_their_words(
    olena: User, embedder: HashingEmbedder
) -> None:
    embedder.failure = DOWN
    assert await outcomes(olena, stated("allergy", "peanuts", multiple=True)) == [CREATED]
    response = await olena.recall("peanuts")
    assert response.results[0].fact.value == "peanuts"
    assert [(arm.arm, arm.reason) for arm in response.degraded] == [("vector", "EMBEDDER_UNAVAILABLE")]


@pytest.mark.parametrize(
    ("fact", "field"),
    [
        (fact_pb2.NewFact(key="", value="x"), "facts[0].key"),
        (fact_pb2.NewFact(key="Home City", value="x"), "facts[0].key"),
        (fact_pb2.NewFact(key="home_city", value=""), "facts[0].value"),
        (fact_pb2.NewFact(key="home_city", value="x" * 2001), "facts[0].value"),
        (fact_pb2.NewFact(key="home_city", value="a\x00b"), "facts[0].value"),
        (fact_pb2.NewFact(key="home_city", value="x", subject="My Sister"), "facts[0].subject"),
        (fact_pb2.NewFact(key="home_city", value="x", confidence=1.5), "facts[0].confidence"),
        (fact_pb2.NewFact(key="home_city", value="x", trust=99), "facts[0].trust"),
        (
            fact_pb2.NewFact(key="k", value="x", valid_from_time=stamp(START), valid_to_time={"seconds": 0}),
            "facts[0].valid_to_time",
        ),
        (fact_pb2.NewFact(key="k", value="x", observe_time={"seconds": 32503680000}), "facts[0].observe_time"),
        (fact_pb2.NewFact(key="k", value="x", observe_time={"seconds": 10**15}), "facts[0].observe_time"),
    ],
)
async def test_bad_input_is_refused_with_its_field(olena: User, fact: fact_pb2.NewFact, field: str) -> None:
    error = await refused(olena.remember(fact))
    assert isinstance(error, InvalidArgument)
    assert set(fields_of(error)) == {field}
    assert not (await olena.list()).facts


async def test_a_bad_fact_among_good_ones_stores_none(olena: User) -> None:
    await refused(olena.remember(stated("name", "Olena"), stated("age", "3", subject="NO")))
    assert not (await olena.list()).facts


async def test_callers_without_the_scope_are_refused(olena: User) -> None:
    error = await refused(olena.with_scopes("memory.read").remember(stated("name", "Olena")))
    assert isinstance(error, PermissionDenied)
    assert error.reason is Reason.SCOPE_MISSING


async def test_g12_text_of_any_script_and_size_comes_back_unchanged(olena: User) -> None:
    values = [
        "Львів",
        "لفول السوداني",
        "我对花生过敏",
        "👩‍👩‍👧‍👦 сім'я",
        "e\u0301",
        "x" * 2000,
        "'; drop table facts; --",
    ]
    await olena.remember(*(stated("note", value, multiple=True) for value in values))
    assert {fact.value for fact in (await olena.list()).facts} == set(values)


async def test_g6_users_and_tenants_do_not_see_each_other(memory: MemoryUnderTest) -> None:
    owner = memory.user("acme")
    (result,) = (await owner.remember(stated("secret", "canary"))).results
    strangers = [memory.user("acme"), memory.user("globex", owner.principal.user_id)]
    for stranger in strangers:
        assert not (await stranger.list()).facts
        assert not (await stranger.recall("secret canary")).results
        assert (await refused(stranger.get(result.fact.id))).reason is Reason.FACT_NOT_FOUND
        assert (await refused(stranger.delete(result.fact.id))).reason is Reason.FACT_NOT_FOUND
        (own,) = (await stranger.remember(stated("secret", "other", hour=1))).results
        assert own.outcome == CREATED
    assert await owner.facts() == {"secret": "canary"}
