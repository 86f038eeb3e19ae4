"""`mnemesh up` as a person uses it: talk, pull the plug, start again, and everything is remembered."""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mesh.cli.conversation import Conversation, choose_avatar, list_avatars
from mesh.cli.http_client import MeshClient, Refused
from mesh.cli.ports import free_port, is_free
from mesh.cli.problems import ExitCode
from mesh.cli.turns import SilentView, with_patience
from mesh.testing.running_mesh import RunningMesh, is_running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.xdist_group("running-mesh")]

TOLD = (
    "Hi! My name is Olena.",
    "I moved to Lviv in March with my dog Biscuit.",
    "I'm allergic to peanuts.",
)


@pytest.fixture
def client(up_mesh: RunningMesh) -> Iterator[MeshClient]:
    with up_mesh.client(str(uuid.uuid4())) as caller:
        yield caller


def conversation(client: MeshClient) -> Conversation:
    return Conversation(client, choose_avatar(with_patience(lambda: list_avatars(client)), "mia"))


def eventually(look: Callable[[], Any], timeout_s: float = 20.0) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def tell_everything(client: MeshClient) -> None:
    talk = conversation(client)
    for text in TOLD:
        assert talk.say(text, SilentView()).text
    eventually(lambda: len(talk.facts()) >= len(TOLD))


def ask_in_a_new_session(client: MeshClient) -> str:
    return conversation(client).say("What am I allergic to?", SilentView()).text


def test_what_was_told_in_one_session_is_known_in_the_next(client: MeshClient) -> None:
    tell_everything(client)
    assert "peanut" in ask_in_a_new_session(client).lower()


def test_it_is_still_known_after_the_plug_was_pulled(up_mesh: RunningMesh, client: MeshClient) -> None:
    tell_everything(client)
    before = conversation(client).facts()
    up_mesh.kill_everything()
    up_mesh.start()
    assert "peanut" in ask_in_a_new_session(client).lower()
    assert {fact["id"] for fact in before} <= {fact["id"] for fact in conversation(client).facts()}


def test_it_starts_again_at_once_when_only_the_command_was_killed(up_mesh: RunningMesh, client: MeshClient) -> None:
    before = up_mesh.pids()
    up_mesh.kill_command()
    up_mesh.start()
    after = up_mesh.pids()
    assert {name for name in after if after[name] == before[name]} == {"postgres"}
    eventually(lambda: not any(is_running(pid) for name, pid in before.items() if name != "postgres"))
    assert ask_in_a_new_session(client)


def test_two_users_and_two_tenants_never_see_each_others(up_mesh: RunningMesh) -> None:
    olena, petro = str(uuid.uuid4()), str(uuid.uuid4())
    with up_mesh.client(olena) as first, up_mesh.client(petro) as second:
        tell_everything(first)
        session = conversation(first).session_id
        assert conversation(second).facts() == []
        assert "peanut" not in ask_in_a_new_session(second).lower()
        with pytest.raises(Refused) as caught:
            second.get(f"/v1/sessions/{session}")
        assert caught.value.reason == "SESSION_NOT_FOUND"
    made = up_mesh.run("keys", "create", "acme", "--tenant", "acme", "--scope", "*", "--for-user", olena, "--json")
    assert made.returncode == ExitCode.OK, made.stderr
    with up_mesh.client(api_key=json.loads(made.stdout)["secret"]) as acme:
        assert conversation(acme).facts() == []
        assert "peanut" not in ask_in_a_new_session(acme).lower()


def test_a_second_mesh_on_the_home_is_refused_in_one_sentence(up_mesh: RunningMesh) -> None:
    done = up_mesh.run("up", "--http-port", str(free_port()))
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "a mesh already runs on" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_killed_server_comes_back_and_the_answers_go_on(up_mesh: RunningMesh, client: MeshClient) -> None:
    for name in ("gateway", "memory", "engine-worker", "postgres"):
        before = up_mesh.pids()[name]
        os.kill(before, signal.SIGKILL)
        eventually(lambda name=name, before=before: up_mesh.pids()[name] != before)
    assert ask_in_a_new_session(client)


def test_it_stops_cleanly_on_ctrl_c_and_leaves_nothing_behind(up_mesh: RunningMesh) -> None:
    pids = up_mesh.pids()
    try:
        assert up_mesh.stop() == ExitCode.OK
        assert not any(is_running(pid) for pid in pids.values())
        assert not (up_mesh.home / "run" / "state.json").exists()
        assert is_free(int(up_mesh.url.rpartition(":")[2]))
    finally:
        up_mesh.start()
