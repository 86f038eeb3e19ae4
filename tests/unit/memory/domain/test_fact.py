"""The life of a fact: whatever is stated in whatever order, its promises hold (G4, L10)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.fact import (
    Fact,
    FactKind,
    FactStatus,
    FactTrust,
    NewFact,
    Outcome,
    Rival,
    decide,
    dedup_hash,
    taken_back,
)
from mesh.kernel.errors import Aborted
from mesh.kernel.ids import new_id

START = datetime(2026, 1, 1, tzinfo=UTC)


def stored(new: NewFact) -> Fact:
    return Fact(
        id=new_id(),
        avatar_id=None,
        subject=new.subject,
        kind=new.kind,
        category=new.category,
        fact_key=new.key,
        fact_value=new.value,
        confidence=new.confidence,
        trust=new.trust,
        multiple=new.multiple,
        status=FactStatus.ACTIVE,
        source_session_id=None,
        source_seq=None,
        source_turn_id=None,
        source_excerpt="",
        observed_at=new.observed_at,
        valid_from=new.valid_from,
        valid_to=None,
        dedup_hash=dedup_hash(None, new.key, new.value),
        superseded_by=None,
        revision=1,
        created_at=START,
        updated_at=START,
        last_seen_at=START,
        deleted_at=None,
    )


class Shelf:
    """Facts of one key, to which decisions are applied as the use case applies them."""

    def __init__(self) -> None:
        self.active: list[Fact] = []
        self.history: list[Fact] = []

    def state(self, new: NewFact, distance: Callable[[Fact], float | None] = lambda fact: None) -> Outcome:
        rivals = [Rival(fact, distance(fact)) for fact in self.active]
        decision = decide(new, dedup_hash(None, new.key, new.value), rivals, 0.08)
        before = len(self.active)
        if decision.late:
            self.history.append(stored(new))
        elif decision.outcome in (Outcome.CREATED, Outcome.SUPERSEDED):
            self.history += decision.retired
            self.active = [fact for fact in self.active if fact not in decision.retired] + [stored(new)]
        else:
            assert decision.kept in self.active
            kept = decision.kept
            confirmed = replace(kept, observed_at=max(kept.observed_at, new.observed_at))
            self.active[self.active.index(kept)] = confirmed
        assert len(self.active) >= min(before, 1), "the last active copy went away"
        return decision.outcome


news = st.builds(
    NewFact,
    key=st.just("home_city"),
    value=st.sampled_from(["Kyiv", "Lviv", "lviv", "Odesa", "a Lviv", "Warsaw"]),
    observed_at=st.integers(0, 5).map(lambda hours: START + timedelta(hours=hours)),
    trust=st.sampled_from(list(FactTrust)),
    multiple=st.just(False),
)
many = st.builds(
    NewFact,
    key=st.just("likes"),
    value=st.sampled_from(["tea", "Tea", "teas", "coffee", "the coffee", "jazz"]),
    observed_at=st.integers(0, 5).map(lambda hours: START + timedelta(hours=hours)),
    multiple=st.just(True),
)


@given(st.lists(news, min_size=1, max_size=12))
def test_g4_a_key_with_one_value_has_one_active_value_whatever_is_stated(stated: list[NewFact]) -> None:
    shelf = Shelf()
    for new in stated:
        shelf.state(new)
        assert len(shelf.active) == 1


@given(st.lists(news.filter(lambda new: new.trust is FactTrust.USER_SAID), min_size=1, max_size=12))
def test_the_active_value_is_the_one_observed_last(stated: list[NewFact]) -> None:
    shelf = Shelf()
    for new in stated:
        shelf.state(new)
    assert shelf.active[0].observed_at == max(new.observed_at for new in stated)


@given(st.lists(news, min_size=1, max_size=12))
def test_trust_never_falls(stated: list[NewFact]) -> None:
    shelf = Shelf()
    best = 0
    for new in stated:
        shelf.state(new)
        assert shelf.active[0].trust.rank >= best
        best = shelf.active[0].trust.rank


@given(st.lists(many, min_size=1, max_size=20))
def test_g4_repeating_what_was_said_adds_nothing(stated: list[NewFact]) -> None:
    shelf = Shelf()
    for new in stated:
        shelf.state(new)
    count = len(shelf.active)
    for new in stated:
        assert shelf.state(new) in (Outcome.UNCHANGED, Outcome.MERGED)
    assert len(shelf.active) == count <= 3
    assert not shelf.history


def said(value: str, hours: int = 0, **fields: object) -> NewFact:
    return NewFact(key="key", value=value, observed_at=START + timedelta(hours=hours), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(0.05, Outcome.MERGED), (0.08, Outcome.MERGED), (0.081, Outcome.CREATED), (None, Outcome.CREATED)],
)
def test_values_are_merged_up_to_the_distance(distance: float | None, expected: Outcome) -> None:
    shelf = Shelf()
    shelf.state(said("films", multiple=True))
    assert shelf.state(said("movies", multiple=True), lambda fact: distance) is expected


def test_distance_never_merges_a_key_with_one_value() -> None:
    shelf = Shelf()
    shelf.state(said("Lviv"))
    assert shelf.state(said("Kyiv", 1), lambda fact: 0.0) is Outcome.SUPERSEDED


def test_an_event_with_another_date_is_another_event() -> None:
    shelf = Shelf()
    first, second = START, START + timedelta(days=7)
    event = {"kind": FactKind.EVENT, "multiple": True}
    assert shelf.state(said("dentist", valid_from=first, **event)) is Outcome.CREATED
    assert shelf.state(said("dentist", valid_from=second, **event)) is Outcome.CREATED
    assert shelf.state(said("dentist", valid_from=second, **event)) is Outcome.UNCHANGED
    assert shelf.state(said("dentist", **event)) is Outcome.UNCHANGED


def test_what_was_taken_back_ends_only_what_it_names() -> None:
    facts = [
        Rival(stored(said("meat", 0, multiple=True))),
        Rival(stored(said("fish", 0, multiple=True))),
        Rival(stored(said("meat", 9, multiple=True))),
    ]
    back = said("Meat", 5, retract=True)
    assert [fact.fact_value for fact in taken_back(back, facts)] == ["meat"]
    assert len(taken_back(said("", 5, retract=True), facts)) == 2
    weak = said("", 5, retract=True, trust=FactTrust.ASSISTANT_INFERRED)
    assert taken_back(weak, facts) == []


def test_the_hash_is_that_of_the_source_design() -> None:
    assert dedup_hash("a", "k", "v") == hashlib.sha256(b"a:k:v").digest()
    assert dedup_hash(None, "k", "v") == hashlib.sha256(b":k:v").digest()


def test_a_stale_etag_is_refused_and_an_empty_one_is_not() -> None:
    fact = stored(said("x"))
    fact.require_etag("")
    fact.require_etag(fact.etag)
    with pytest.raises(Aborted):
        fact.require_etag("2")
