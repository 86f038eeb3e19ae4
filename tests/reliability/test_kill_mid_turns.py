"""Engine, memory, workers and PostgreSQL are killed in the midst of 200 turns; nothing acknowledged is lost or doubled.

Eight sessions of eight users talk at the same time through `mnemesh up`, which starts again what was killed. Each
message carries a request id and goes out again with it when it failed. What the committed stream said must then be
found, exactly once: the turn, both messages, the fact that was stated and the passage that states it.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from mesh.cli.conversation import choose_avatar, list_avatars
from mesh.cli.http_client import MeshClient
from mesh.cli.turns import Message, SilentView, TurnResult, run_turn, with_patience
from mesh.testing.running_mesh import RunningMesh

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("running-mesh")]

SEED = 20261201
SESSIONS = 8
TURNS = 25
VICTIMS = ("engine", "memory", "postgres", "engine-worker", "memory-worker") * 2
# fmt: off
LIKED = (
    "jazz", "chess", "mountains", "pottery", "tulips", "sailing", "noodles", "astronomy", "poetry", "cycling",
    "puzzles", "opera", "gardening", "thunderstorms", "lighthouses", "volleyball", "origami", "cinnamon",
    "documentaries", "camping", "archery", "museums", "kittens", "karaoke", "geology",
)
# fmt: on
"""So far apart in meaning that none can be taken for another."""

PATIENCE_S = 60.0
DRAIN_S = 60.0


@dataclass
class Talk:
    """One user's session and what was acknowledged in it."""

    user_id: str
    words: list[str]
    session_id: str = ""
    acknowledged: list[tuple[Message, TurnResult]] = field(default_factory=list)

    def text(self, word: str) -> str:
        return f"I like {word}."


class Progress:
    """Counts acknowledged turns, and wakes those who wait for a number."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def add(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._count >= count, timeout=PATIENCE_S * 2)


@pytest.fixture
def mesh() -> Iterator[RunningMesh]:
    # What a killed process held is released when its lease ends; short leases keep this test short.
    with RunningMesh({"MNEMESH_ENGINE_LEASE_SECONDS": "5", "MNEMESH_ENGINE_RELAY_LEASE_SECONDS": "5"}) as running:
        yield running


def talk_through(mesh: RunningMesh, talk: Talk, random_: random.Random, progress: Progress) -> None:
    with mesh.client(talk.user_id) as client:
        avatar = choose_avatar(with_patience(lambda: list_avatars(client), patience_s=PATIENCE_S), "mia")
        body = {"avatarId": avatar.uid, "requestId": str(uuid.UUID(int=random_.getrandbits(128), version=4))}
        opened = with_patience(lambda: client.post("/v1/sessions", body), patience_s=PATIENCE_S)
        talk.session_id = opened["session"]["id"]
        for word in talk.words:
            request_id = str(uuid.UUID(int=random_.getrandbits(128), version=4))
            message = Message(talk.session_id, talk.text(word), request_id)
            talk.acknowledged.append((message, run_turn(client, message, SilentView(), patience_s=PATIENCE_S)))
            progress.add()


def kill_at_random(mesh: RunningMesh, random_: random.Random, progress: Progress) -> list[str]:
    """Kill one process after the other, spread over the turns, each at a random instant."""
    victims = list(VICTIMS)
    random_.shuffle(victims)
    killed = []
    for number, victim in enumerate(victims):
        progress.wait_for(int(SESSIONS * TURNS * (number + random_.random()) / (len(victims) + 1)))
        time.sleep(random_.random() * 0.3)  # an instant that nothing chose, and no wait for anything
        try:
            os.kill(mesh.pids()[victim], signal.SIGKILL)
            killed.append(victim)
        except ProcessLookupError:
            pass
    return killed


def pages(client: MeshClient, path: str, name: str, params: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return with_patience(lambda: list(client.pages(path, name, params)), patience_s=PATIENCE_S)


def eventually(look: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DRAIN_S
    while not look():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def check_turns(client: MeshClient, talk: Talk) -> None:
    turns = pages(client, f"/v1/sessions/{talk.session_id}/turns", "turns")
    assert [turn["state"] for turn in turns] == ["COMMITTED"] * TURNS
    stored = {turn["requestId"]: turn for turn in turns}
    assert len(stored) == TURNS
    for message, result in talk.acknowledged:
        turn = stored[message.request_id]
        assert turn["id"] == result.turn_id
        assert turn["userText"] == message.text
        assert turn["assistantText"] == result.text
    events = [int(turn[name]) for turn in turns for name in ("userSeq", "assistantSeq")]
    assert sorted(events) == list(range(min(events), min(events) + 2 * TURNS)), "an event was doubled or lost"


def check_memory(client: MeshClient, talk: Talk) -> None:
    def likes() -> Counter[str]:
        return Counter(fact["value"].lower() for fact in pages(client, "/v1/memory/facts", "facts"))

    eventually(lambda: set(talk.words) <= set(likes()), "not everything was learned")
    assert likes() == Counter(talk.words)
    for word in talk.words:
        body = {"query": word, "limit": 50}
        found = with_patience(lambda body=body: client.post("/v1/memory/chunks:search", body), patience_s=PATIENCE_S)
        passages = [result["chunk"]["text"] for result in found.get("results", [])]
        assert passages.count(talk.text(word)) == 1, f"{word}: {passages}"


def test_nothing_acknowledged_is_lost_or_doubled(mesh: RunningMesh) -> None:
    random_ = random.Random(SEED)
    talks = [
        Talk(str(uuid.UUID(int=random_.getrandbits(128), version=4)), random_.sample(LIKED, TURNS))
        for _ in range(SESSIONS)
    ]
    progress = Progress()
    with ThreadPoolExecutor(SESSIONS + 1) as pool:
        killer = pool.submit(kill_at_random, mesh, random.Random(SEED + 1), progress)
        talking = [
            pool.submit(talk_through, mesh, talk, random.Random(SEED + 2 + number), progress)
            for number, talk in enumerate(talks)
        ]
        for future in talking:
            future.result()
        killed = killer.result()
    assert set(killed) == set(VICTIMS)
    for talk in talks:
        with mesh.client(talk.user_id) as client:
            check_turns(client, talk)
            check_memory(client, talk)
