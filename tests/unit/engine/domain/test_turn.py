"""The rule of what a message does to its thread (G16)."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.domain.avatar import Avatar
from engine.domain.thread import ThreadState
from engine.domain.turn import Attach, Here, KnownTurn, Message, Replay, Start, TurnState, decide, is_time_zone
from mesh.kernel.errors import Aborted, InvalidArgument
from mesh.kernel.reasons import Reason

DIGEST = b"d"
IDLE = ThreadState(4, "leaf", 1, 100, None, 0, "", lease_ended=True)
HERE, NOT_HERE = Here("me", runs_turn=True), Here("me", runs_turn=False)


def running(turn_id: str = "t1", *, holder: str = "other", ended: bool = False) -> ThreadState:
    return dataclasses.replace(IDLE, running_turn_id=turn_id, running_attempt=1, lease_holder=holder, lease_ended=ended)


def known(state: TurnState, turn_id: str = "t1", digest: bytes = DIGEST) -> KnownTurn:
    return KnownTurn(turn_id, state, digest, 1, 0, datetime(2026, 1, 1, tzinfo=UTC))


def test_a_message_in_an_idle_thread_starts_a_turn() -> None:
    assert decide(IDLE, None, DIGEST, NOT_HERE) == Start(None, abandoned=False)


@pytest.mark.parametrize("thread", [IDLE, running("t2"), running("t2", ended=True)], ids=["idle", "busy", "dead"])
def test_a_committed_turn_is_replayed_whatever_the_thread_does(thread: ThreadState) -> None:
    assert decide(thread, known(TurnState.COMMITTED), DIGEST, NOT_HERE) == Replay("t1")


@pytest.mark.parametrize("state", list(TurnState))
def test_a_request_id_of_another_message_is_refused_whatever_became_of_it(state: TurnState) -> None:
    with pytest.raises(InvalidArgument) as caught:
        decide(IDLE, known(state, digest=b"other"), DIGEST, NOT_HERE)
    assert caught.value.reason is Reason.REQUEST_ID_REUSED


def test_a_turn_that_runs_here_is_joined_by_its_own_message_only() -> None:
    thread = running(holder="me")

    assert decide(thread, known(TurnState.RUNNING), DIGEST, HERE) == Attach("t1")
    for other in (None, known(TurnState.FAILED, "t2")):
        with pytest.raises(Aborted) as caught:
            decide(thread, other, DIGEST, HERE)
        assert caught.value.reason is Reason.TURN_IN_PROGRESS
        assert caught.value.details.metadata == {"turn_id": "t1"}


def test_a_turn_that_runs_elsewhere_is_named() -> None:
    for message in (None, known(TurnState.RUNNING), known(TurnState.FAILED, "t2")):
        with pytest.raises(Aborted) as caught:
            decide(running(), message, DIGEST, NOT_HERE)
        assert caught.value.details.metadata == {"turn_id": "t1"}


def test_a_lease_that_ended_frees_the_thread() -> None:
    thread = running(ended=True)

    assert decide(thread, None, DIGEST, NOT_HERE) == Start(None, abandoned=True)
    retried = known(TurnState.RUNNING)
    assert decide(thread, retried, DIGEST, NOT_HERE) == Start(retried, abandoned=True)


def test_a_turn_that_runs_here_is_alive_although_its_lease_could_not_be_prolonged() -> None:
    assert decide(running(holder="me", ended=True), known(TurnState.RUNNING), DIGEST, HERE) == Attach("t1")


def test_a_turn_that_this_process_does_not_run_any_more_is_dead_before_its_lease_ends() -> None:
    retried = known(TurnState.RUNNING)

    assert decide(running(holder="me"), retried, DIGEST, NOT_HERE) == Start(retried, abandoned=True)


def test_a_failed_turn_starts_again() -> None:
    failed = known(TurnState.FAILED)

    assert decide(IDLE, failed, DIGEST, NOT_HERE) == Start(failed, abandoned=False)


def test_the_digest_covers_what_the_user_asked_and_not_the_avatars_profile() -> None:
    message = Message("s", Avatar("a", system_prompt="one"), "text", "r", "Europe/Kyiv")
    edited = dataclasses.replace(message, avatar=Avatar("a", system_prompt="two"), request_id="r2")

    assert edited.digest == message.digest
    changes: list[dict[str, Any]] = [
        {"session_id": "s2"},
        {"avatar": Avatar("b")},
        {"text": "other"},
        {"time_zone": ""},
    ]
    digests = {dataclasses.replace(message, **change).digest for change in changes}
    assert len(digests | {message.digest}) == 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", True), ("Europe/Kyiv", True), ("UTC", True), ("Mars/Olympus", False), ("../x", False), ("a\x00", False),
     ("Europe", False)],
)  # fmt: skip
def test_time_zones_are_those_of_iana(name: str, expected: bool) -> None:
    assert is_time_zone(name) is expected
